"""How long preparation takes, and how much memory, where the tables are largest; beside the plain way.

    python benchmarks/preparing.py [--scale SHARE] [--dir FOLDER] [--only ID]... [--json]

Each competition gets a synthetic twin of `--scale` times the rows of the real table, a tenth if nothing else is said.
It is prepared twice, each time in a process of its own: by the competition's `prepare`, and in the plain way (see
plain_preparation.py), which reads the whole table with pandas, divides it with scikit-learn and writes it. Both must
write the same bytes. `--dir` keeps the twins, so that the next run only prepares; it holds some 4 GB at a tenth.

Seconds are of the wall clock and of the processor (user and system); imports are not counted. Memory is the most that
the process had at once; its share is told of what came on top of the imports, which take as much at any size. What
is written includes temporary files and is known on Linux alone. The twins' texts are shorter than the real ones and
their pictures smaller.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import resource
import shutil
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, TypeVar

import psutil

MOST_MEMORY, MOST_SECONDS = 0.25, 1.0  # of the plain way: what is aimed at
BIG_MB = 300  # that the plain way takes; a smaller table tells little of memory, as parts of it are as large
Result = TypeVar("Result")

# What `make_raw` is asked for so that the table has as many rows as the real one.
REAL_SIZES = {
    "new-york-city-taxi-fare-prediction": 55_423_856,
    "facebook-recruiting-iii-keyword-extraction": 6_034_195,
    "billion-word-imputation": 30_301_028,
    "h-and-m-personalized-fashion-recommendations": 943_000,  # customers, of 34 purchases each
    "champs-scalar-coupling": 4_658_147,
    "nfl-player-contact-detection": 4_700_000,
    "ventilator-pressure-prediction": 75_450,  # breaths of 80 steps
    "tabular-playground-series-dec-2021": 4_000_000,
    "tabular-playground-series-may-2022": 900_000,
    "text-normalization-challenge-english-language": 9_918_441,
    "text-normalization-challenge-russian-language": 10_574_516,
}


@dataclass(frozen=True)
class Cost:
    """What one preparation took."""

    seconds: float
    cpu: float
    peak_mb: float
    grown_mb: float  # on top of the imports
    written_mb: float


@dataclass(frozen=True)
class Measured:
    """A preparation beside the plain way."""

    competition: str
    rows: int
    raw_mb: float
    ours: Cost
    plain: Cost

    @property
    def seconds(self) -> float:
        """Seconds of the processor as a share of the plain way's: those of the wall clock depend on who else works."""
        return self.ours.cpu / self.plain.cpu

    @property
    def memory(self) -> float:
        return self.ours.grown_mb / self.plain.grown_mb


def main() -> None:
    options = _options()
    found = []
    with ExitStack() as stack:
        folder = options.dir or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="mlebench-benchmark-")))
        for number, competition_id in enumerate(options.only or REAL_SIZES):
            found.append(_measure(competition_id, options.scale, folder))
            if not options.json:
                if number == 0:
                    _show_header()
                _show(found[-1])
    if options.json:
        print(json.dumps([asdict(measured) for measured in found], indent=2))
        return
    big = [measured for measured in found if measured.plain.grown_mb >= BIG_MB]
    if missed := [m.competition for m in big if m.memory > MOST_MEMORY or m.seconds > MOST_SECONDS]:
        print(f"\nmore than {MOST_MEMORY:.0%} of the plain way's memory, or no less time: {', '.join(missed)}")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", metavar="SHARE", type=float, default=0.1, help="of the real rows; default: 0.1")
    parser.add_argument("--dir", metavar="FOLDER", type=Path, help="keep the twins here")
    parser.add_argument("--only", metavar="ID", action="append", choices=REAL_SIZES, help="repeatable")
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser.parse_args()


def _measure(competition_id: str, scale: float, folder: Path) -> Measured:
    twin = folder.resolve() / f"{competition_id}-{scale:g}"
    if not twin.is_dir():
        _in_own_process(_make_twin, competition_id, int(scale * REAL_SIZES[competition_id]), twin)
    with tempfile.TemporaryDirectory(prefix=".prepared-", dir=folder) as name:
        ours, plain = Path(name) / "ours", Path(name) / "plain"
        _, our_cost = _in_own_process(_prepared, competition_id, twin, ours)
        rows, plain_cost = _in_own_process(_prepared_plainly, competition_id, twin, plain)
        if different := _differences(ours, plain):
            sys.exit(f"{competition_id}: the files differ: {', '.join(different[:5])}")
    raw_mb = sum(path.stat().st_size for path in twin.rglob("*") if path.is_file()) / 1e6
    return Measured(competition_id, rows, raw_mb, our_cost, plain_cost)


def _in_own_process(function: Callable[..., Result], *arguments: object) -> Result:
    """Call `function` in a fresh process. A process inherits the peak of its parent, so the parent does nothing."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(function, arguments)


def _differences(ours: Path, plain: Path) -> list[str]:
    """The files that are not the same on both sides; of zip archives the members count, not how they are packed."""
    names = {path.relative_to(side).as_posix() for side in (ours, plain) for path in side.rglob("*") if path.is_file()}
    return sorted(name for name in names if not _is_same(ours / name, plain / name))


def _is_same(one: Path, other: Path) -> bool:
    if not (one.is_file() and other.is_file()):
        return False
    if one.suffix != ".zip":
        with one.open("rb") as first, other.open("rb") as second:
            return _same_bytes(first, second)
    with zipfile.ZipFile(one) as first_archive, zipfile.ZipFile(other) as second_archive:
        names = first_archive.namelist()
        if names != second_archive.namelist():
            return False
        for name in names:
            with first_archive.open(name) as first, second_archive.open(name) as second:
                if not _same_bytes(first, second):
                    return False
    return True


def _same_bytes(first: IO[bytes], second: IO[bytes]) -> bool:
    while block := first.read(1 << 20):
        if block != second.read(len(block)):
            return False
    return not second.read(1)


# --- in processes of their own


def _make_twin(competition_id: str, size: int, twin: Path) -> None:
    from mlebench import catalog
    from mlebench.preparation.sources import Synthetic

    partial = twin.with_name(twin.name + ".partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    Synthetic(rows=size).fetch(catalog.get(competition_id), partial)
    partial.rename(twin)


def _prepared(competition_id: str, twin: Path, folder: Path) -> tuple[None, Cost]:
    from mlebench import catalog
    from mlebench.preparation.engine import run_prepare

    competition = catalog.get(competition_id)
    callable(competition.prepare)  # imports what it needs
    return _timed(lambda *folders: run_prepare(competition, *folders), twin, folder)


def _prepared_plainly(competition_id: str, twin: Path, folder: Path) -> tuple[int, Cost]:
    from plain_preparation import PLAIN

    return _timed(PLAIN[competition_id], twin, folder)


def _timed(prepare: Callable[[Path, Path, Path], Result], twin: Path, folder: Path) -> tuple[Result, Cost]:
    """What `prepare` returns and what it took; the twin's files appear as links, so that it stays as it is."""
    raw, public, private = folder / "raw", folder / "public", folder / "private"
    for each in (raw, public, private):
        each.mkdir(parents=True)
    for entry in twin.iterdir():
        (raw / entry.name).symlink_to(entry)
    process = psutil.Process()
    before, written, times, start = process.memory_info().rss, _written(process), process.cpu_times(), time.monotonic()
    result = prepare(raw, public, private)
    seconds, now = time.monotonic() - start, process.cpu_times()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    cost = Cost(
        seconds=seconds,
        cpu=now.user - times.user + now.system - times.system,
        peak_mb=peak / 1e6,
        grown_mb=(peak - before) / 1e6,
        written_mb=(_written(process) - written) / 1e6,
    )
    shutil.rmtree(raw)
    return result, cost


def _written(process: psutil.Process) -> int:
    """Bytes written so far, 0 where the system does not tell."""
    return process.io_counters().write_chars if sys.platform == "linux" else 0


# --- the table


def _show_header() -> None:
    print("seconds: wall clock (processor); shares are of the plain way")
    print(
        f"{'competition':<50}{'rows':>11}{'raw MB':>9}{'seconds':>16}{'plain':>16}{'share':>8}"
        f"{'peak MB':>9}{'plain':>8}{'share':>8}{'MB written':>12}{'plain':>8}"
    )


def _show(measured: Measured) -> None:
    ours, plain = measured.ours, measured.plain
    times = "".join(f"{f'{cost.seconds:.1f} ({cost.cpu:.1f})':>16}" for cost in (ours, plain))
    print(
        f"{measured.competition:<50}{measured.rows:>11,}{measured.raw_mb:>9,.0f}{times}{measured.seconds:>8.0%}"
        f"{ours.peak_mb:>9,.0f}{plain.peak_mb:>8,.0f}{measured.memory:>8.0%}"
        f"{ours.written_mb:>12,.0f}{plain.written_mb:>8,.0f}",
        flush=True,
    )


if __name__ == "__main__":
    main()
