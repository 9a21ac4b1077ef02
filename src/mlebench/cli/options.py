"""Options and types that several commands share. A type turns text into our noun and owns the error."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from mlebench import catalog
from mlebench.competition import REVISIONS, Competition
from mlebench.dataset import Dataset, default_data_dir
from mlebench.errors import UsageError

NOTHING_NAMED = "no competition is named: use -c ID, --split NAME or --list FILE"

Command = TypeVar("Command", bound=Callable[..., Any])

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def competitions_option(command: Command) -> Command:
    """`--competitions DIR`, repeatable."""
    return click.option(
        "--competitions",
        "folders",
        multiple=True,
        type=click.Path(path_type=Path),
        help="A folder of your own competitions; repeatable. Also: MLEBENCH_COMPETITIONS.",
    )(command)


def data_dir_option(command: Command) -> Command:
    """`--data-dir DIR`."""
    return click.option(
        "--data-dir",
        type=click.Path(path_type=Path),
        default=None,
        help="Where the data are. Default: MLEBENCH_DATA_DIR or the user's cache folder.",
    )(command)


def edition_option(command: Command) -> Command:
    """`--edition v1|v2`."""
    return click.option(
        "--edition",
        type=click.Choice(list(REVISIONS)),
        default="v1",
        show_default=True,
        help="v1: as published. v2: known leaks, faulty divisions and graders corrected (docs/editions.md).",
    )(command)


def selection_options(command: Command) -> Command:
    """`-c ID…`, `--split S`, `--competitions-file F` (also `-l`, `--list`)."""
    for option in (
        click.option(
            "-l",
            "--list",
            "--competitions-file",
            "ids_file",
            type=click.Path(exists=True, dir_okay=False, path_type=Path),
            help="A file with one competition id a line.",
        ),
        click.option("--split", "split_name", type=click.Choice(catalog.SPLITS), help="All competitions of a split."),
        click.option("-c", "--competition-id", "ids", multiple=True, help="The id of a competition; repeatable."),
    ):
        command = option(command)
    return command


def selected(
    ids: Sequence[str], split_name: str | None, ids_file: Path | None, folders: Sequence[Path]
) -> list[Competition]:
    """The competitions that the selection options name, each once. Raises UsageError if there is none."""
    own = catalog.own_folders(folders)
    chosen = [catalog.get(competition_id, own) for competition_id in ids]
    if split_name:
        chosen += catalog.split(split_name, own)
    if ids_file:
        chosen += catalog.from_file(ids_file, own)
    if not chosen:
        raise UsageError(NOTHING_NAMED)
    return list({competition.id: competition for competition in chosen}.values())


def wide_selection_options(command: Command) -> Command:
    """The selection options, and `--all` and `--lite`."""
    command = click.option("--lite", is_flag=True, help="The split lite.")(command)
    command = click.option(
        "-a", "--all", "everything", is_flag=True, help="All competitions, those for development too."
    )(command)
    return selection_options(command)


def selected_widely(
    ids: Sequence[str],
    split_name: str | None,
    ids_file: Path | None,
    everything: bool,
    lite: bool,
    folders: Sequence[Path],
) -> list[Competition]:
    """The competitions that the wide selection options name, each once; none if no option was given."""
    own = catalog.own_folders(folders)
    chosen = list(catalog.competitions(own).values()) if everything else []
    chosen += catalog.split("lite", own) if lite else []
    chosen += selected(ids, split_name, ids_file, folders) if ids or split_name or ids_file else []
    return list({competition.id: competition for competition in chosen}.values())


def dataset_of(competition_id: str, folders: Sequence[Path], data_dir: Path | None, edition: str) -> Dataset:
    """The data of one competition in one edition."""
    competition = catalog.get(competition_id, catalog.own_folders(folders)).in_edition(edition)
    return Dataset(competition, data_dir or default_data_dir())


class Duration(click.ParamType):
    """A time: 90s, 30m, 24h, 1h30m, 2d, or bare seconds."""

    name = "time"
    _UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}  # noqa: RUF012

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Seconds."""
        if isinstance(value, float | int):
            return float(value)
        text = str(value).strip().lower()
        if re.fullmatch(r"\d+(\.\d+)?", text):
            return self._positive(float(text), value, param, ctx)
        if re.fullmatch(r"(\d+(\.\d+)?[smhd])+", text):
            parts = re.findall(r"(\d+(?:\.\d+)?)([smhd])", text)
            return self._positive(sum(float(number) * self._UNITS[unit] for number, unit in parts), value, param, ctx)
        self.fail(f"{value!r} is no time; write 90s, 30m, 24h or 1h30m", param, ctx)

    def _positive(self, seconds: float, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if seconds <= 0:
            self.fail(f"{value!r} is no time that anything can be done in", param, ctx)
        return seconds


class Size(click.ParamType):
    """A number of bytes: 500MB, 8GB, 1.5TB, 4GiB, or bare bytes."""

    name = "size"
    _UNITS = {"": 1, "b": 1, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12}  # noqa: RUF012
    _BINARY = {"k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}  # noqa: RUF012

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Bytes."""
        if isinstance(value, int):
            return value
        match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kmgt]?)(i?)b?", str(value).strip().lower())
        if not match or (match[3] and not match[2]):
            self.fail(f"{value!r} is no size; write 500MB, 8GB or 4GiB", param, ctx)
        units = self._BINARY if match[3] else self._UNITS
        return int(float(match[1]) * units[match[2]])
