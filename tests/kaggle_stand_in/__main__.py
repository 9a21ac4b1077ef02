"""The stand-in as a program, to try commands by hand: `python -m tests.kaggle_stand_in --twins lite`.

It prints the two variables that lead `mlebench` here, then a line for each request. Ctrl-C ends it; then, and at
the address /report, it tells how many bytes of each competition were sent, and how many of them twice.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import click

from mlebench import catalog

from .content import BLOCK
from .faults import Fault, RateLimit
from .server import Recorded, StandIn
from .twins import zip_of_twin


@click.command()
@click.option(
    "--folder",
    "folders",
    multiple=True,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="A folder of <id>.zip; they are read when they are sent.",
)
@click.option("--twins", "wanted", multiple=True, help="Make small twins of a split (lite, all ...) or a competition.")
@click.option("--rows", type=int, default=100, show_default=True, help="Labelled examples of a twin.")
@click.option("--port", type=int, default=0, help="Default: any that is free.")
@click.option("--mb-per-second", type=float, help="How fast each download comes.")
@click.option("--rules", "refused", multiple=True, metavar="ID", help="The rules of this competition are not accepted.")
@click.option("--closed", multiple=True, metavar="ID", help="This competition's data are not given out any more.")
@click.option("--no-phone", is_flag=True, help="The account's phone number is not verified.")
@click.option("--no-account", is_flag=True, help="No token or key is known: everything is answered 401.")
@click.option("--no-hashes", is_flag=True, help="The storage tells no hashes.")
@click.option("--zipped-files", is_flag=True, help="Single files come zipped.")
@click.option("--calls-per-second", type=int, help="More calls are answered 429.")
@click.option("--requests-per-address", type=int, help="After that many requests an address has expired.")
@click.option(
    "--fail",
    "faults",
    multiple=True,
    metavar="WHERE=JSON",
    help="The next request to WHERE (a method such "
    'as DownloadDataFiles, or storage) fails so, e.g. storage={"cut_after":1000} or '
    'DownloadDataFiles={"status":503}; fields as of Fault, and "times".',
)
def main(
    folders: tuple[Path, ...],
    wanted: tuple[str, ...],
    rows: int,
    port: int,
    mb_per_second: float | None,
    refused: tuple[str, ...],
    closed: tuple[str, ...],
    no_phone: bool,
    no_account: bool,
    no_hashes: bool,
    zipped_files: bool,
    calls_per_second: int | None,
    requests_per_address: int | None,
    faults: tuple[str, ...],
) -> None:
    """Stand in for Kaggle until Ctrl-C."""
    with tempfile.TemporaryDirectory(prefix="kaggle-stand-in-") as made:
        archives = {path.stem: path for folder in folders for path in sorted(folder.glob("*.zip"))}
        archives |= {name: _twin(name, Path(made), rows) for each in wanted for name in _ids(each)}
        if missing := {*refused, *closed} - {*archives}:
            raise click.UsageError(f"there is no zip of {', '.join(sorted(missing))}: give --folder or --twins")
        with StandIn(port, on_request=_tell) as kaggle:
            for name, archive in archives.items():
                held = kaggle.add(name, archive, tells_hashes=not no_hashes, zips_files=zipped_files)
                held.has_entered, held.is_closed = name not in refused, name in closed
            kaggle.has_verified_phone, kaggle.knows_credentials = not no_phone, not no_account
            kaggle.pace = BLOCK / (mb_per_second * 1e6) if mb_per_second else 0.0
            kaggle.limit = RateLimit(calls_per_second, 1.0) if calls_per_second else None
            kaggle.requests_per_address = requests_per_address
            for fault in faults:
                _plan(kaggle, fault)
            _serve(kaggle)


def _ids(text: str) -> list[str]:
    """The competitions of a split; or the one of this id."""
    if text == "all":
        return list(catalog.competitions())
    with suppress(Exception):
        return [competition.id for competition in catalog.split(text)]
    return [catalog.get(text).id]


def _twin(name: str, folder: Path, rows: int) -> Path:
    click.echo(f"making a twin of {name}", err=True)
    return zip_of_twin(name, folder, rows)


def _plan(kaggle: StandIn, text: str) -> None:
    where, _, fields = text.partition("=")
    facts = json.loads(fields)
    times = facts.pop("times", 1)
    kaggle.fail(where, Fault(**facts), times=times)


def _tell(request: Recorded) -> None:
    sent = f" {request.sent:,} bytes from {request.start:,}" if request.sent else ""
    what = " ".join(filter(None, (request.path.rpartition("/")[2], request.competition, request.file)))
    click.echo(f"{time.strftime('%H:%M:%S')} {request.status} {what}{sent}", err=True)


def _serve(kaggle: StandIn) -> None:
    for name, value in kaggle.environment.items():
        click.echo(f"export {name}={value}")
    sys.stdout.flush()
    with suppress(KeyboardInterrupt):
        while True:
            time.sleep(3600)
    for name in kaggle.held:
        traffic = kaggle.traffic(name)
        if traffic.requests:
            click.echo(f"{name}: {traffic.served:,} bytes in {traffic.requests} requests, {traffic.twice:,} twice")


if __name__ == "__main__":
    main()
