"""What getting from a downloaded zip to prepared data costs, beside the plain way, in the same run.

    python benchmarks/data.py [--files 5000] [--gigabytes 0.2] [--rounds 3] [--dir FOLDER] [--only PART]... [--json]

Two archives are made from synthetic twins: one with that many files, pictures grown to the size of real ones by more
data of the same format, and one with a table of that size. Each is prepared by `mlebench.preparation.engine.prepare`
and in the plain way: `zipfile.extractall`, `shutil.copy` of every file that is public, and the md5 of the zip and of
all tables. Labels, and the table, are divided with pandas and scikit-learn; a table that is too large for that in the
memory that there is (DIVIDED_PLAINLY times its size) is only copied, which is much less than what is done for it
otherwise. The same is told of unpacking alone.

Every round runs all ways, each in a process of its own, every other round in the opposite order; ratios are of the
medians. Before the rounds, one that does not count shows how much disk each way takes at its peak and at its end:
blocks below its folder, without the zip. Memory is the most that the process and its children had. Seconds of the
wall clock depend on who else works, so those of the processor, of all threads together, stand beside them.

The files that a round writes are emptied then, and removed when all are over: where files were deleted less than a few
minutes ago, ext4 makes new ones at a tenth of its speed. `--dir` keeps the archives.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

import psutil

if TYPE_CHECKING:
    import pandas as pd

PICTURES, TABLE = "dog-breed-identification", "new-york-city-taxi-fare-prediction"
USUAL_SIZE, SPREAD, LARGEST = 30_000, 0.55, 200_000  # bytes of a picture: median, spread of the logarithm, limit
TWIN_OF_TABLE = 500_000  # rows, repeated until the table is large enough
DIVIDED_PLAINLY = 8  # bytes of memory for a byte of the table
AIM_SECONDS, AIM_DISK = 4.0, 1.1  # for pictures: so many times as fast, so much disk at the end for a byte of raw files


@dataclass(frozen=True)
class Cost:
    """What one way took."""

    seconds: float
    cpu: float
    peak_mb: float


@dataclass(frozen=True)
class Disk:
    """What one way has on disk."""

    peak_mb: float
    final_mb: float


@dataclass(frozen=True)
class Compared:
    """Ours beside the plain way, medians of the rounds."""

    what: str
    files: int
    raw_mb: float
    zip_mb: float
    ours: Cost
    plain: Cost
    our_disk: Disk
    plain_disk: Disk

    @property
    def speed(self) -> float:
        return self.plain.seconds / self.ours.seconds

    @property
    def final(self) -> float:
        return self.our_disk.final_mb / self.raw_mb


def main() -> None:
    if len(sys.argv) == 5 and sys.argv[1] in WAYS:
        way, competition_id, archive, folder = sys.argv[1:]
        WAYS[way](competition_id, Path(archive), Path(folder))
        return
    options = _options()
    found = []
    with ExitStack() as stack:
        folder = options.dir or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="mlebench-data-")))
        folder.mkdir(parents=True, exist_ok=True)
        if not options.json:
            print(f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}")
        for part in options.only or ("pictures", "table"):
            found += _measure(part, options, folder.resolve())
            if not options.json:
                _show(found[-2:])
    if options.json:
        print(json.dumps([asdict(compared) for compared in found], indent=2))
        return
    for compared in found:
        if compared.what == "prepare pictures" and (compared.speed < AIM_SECONDS or compared.final > AIM_DISK):
            print(f"the aim is {AIM_SECONDS:g} x as fast and {AIM_DISK:g} bytes on disk for a raw one")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=5000, help="of the picture competition; default: 5000")
    parser.add_argument("--gigabytes", type=float, default=0.2, help="of the table; default: 0.2")
    parser.add_argument("--rounds", type=int, default=3, help="default: 3")
    parser.add_argument("--dir", metavar="FOLDER", type=Path, help="work here and keep the archives")
    parser.add_argument("--only", metavar="PART", action="append", choices=["pictures", "table"], help="repeatable")
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser.parse_args()


def _measure(part: str, options: argparse.Namespace, folder: Path) -> list[Compared]:
    """Unpacking alone, and preparing."""
    if part == "pictures":
        competition_id, archive = PICTURES, folder / f"pictures-{options.files}.zip"
        make: Callable[[Path], None] = lambda path: _zip_of_pictures(path, options.files)  # noqa: E731
    else:
        competition_id, archive = TABLE, folder / f"table-{options.gigabytes:g}.zip"
        make = lambda path: _zip_of_table(path, int(options.gigabytes * 1e9))  # noqa: E731
    if not archive.is_file():
        partial = archive.with_suffix(".partial")
        make(partial)
        partial.rename(archive)
    work = Path(tempfile.mkdtemp(prefix=".work-", dir=folder))
    try:
        costs: dict[str, list[Cost]] = {way: [] for way in WAYS}
        disk: dict[str, Disk] = {}
        for number in range(options.rounds + 1):
            for way in list(WAYS)[:: -1 if number % 2 else 1]:
                target = work / f"{way}-{number}"
                if number == 0:
                    disk[way] = _disk(way, competition_id, archive, target)
                else:
                    costs[way].append(_cost(way, competition_id, archive, target))
                _empty(target)
    finally:
        shutil.rmtree(work)
    with zipfile.ZipFile(archive) as opened:
        raw = [member.file_size for member in opened.infolist()]
    medians = {way: Cost(*(statistics.median(each) for each in zip(*map(_fields, costs[way])))) for way in WAYS}  # noqa: B905
    return [
        Compared(
            f"{what} {part}",
            len(raw),
            sum(raw) / 1e6,
            archive.stat().st_size / 1e6,
            medians[ours],
            medians[plain],
            disk[ours],
            disk[plain],
        )
        for what, ours, plain in (("unpack", "unzip", "extractall"), ("prepare", "prepare", "plain"))
    ]


def _fields(cost: Cost) -> tuple[float, float, float]:
    return cost.seconds, cost.cpu, cost.peak_mb


# --- one way in a process of its own


def _start(way: str, competition_id: str, archive: Path, folder: Path) -> subprocess.Popen[bytes]:
    folder.mkdir()
    return subprocess.Popen([sys.executable, __file__, way, competition_id, str(archive), str(folder)])


def _end(way: str, process: subprocess.Popen[bytes]) -> None:
    if process.wait():
        sys.exit(f"{way} failed")


def _cost(way: str, competition_id: str, archive: Path, folder: Path) -> Cost:
    with archive.open("rb") as file:  # read once, so that no way has it from a slower place
        while file.read(1 << 24):
            pass
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    process = _start(way, competition_id, archive, folder)
    with _Sampled(lambda: _memory(process.pid), 0.05) as memory:
        _end(way, process)
    seconds, now = time.monotonic() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = now.ru_utime - before.ru_utime + now.ru_stime - before.ru_stime
    return Cost(seconds, cpu, memory.most / 1e6)


def _disk(way: str, competition_id: str, archive: Path, folder: Path) -> Disk:
    process = _start(way, competition_id, archive, folder)
    with _Sampled(lambda: _used(folder), 0.5) as used:
        _end(way, process)
    final = _used(folder)
    return Disk(max(used.most, final) / 1e6, final / 1e6)


def _memory(pid: int) -> int:
    try:
        process = psutil.Process(pid)
        return sum(each.memory_info().rss for each in (process, *process.children(recursive=True)))
    except psutil.NoSuchProcess:
        return 0


def _used(folder: Path) -> int:
    """Bytes of all blocks below `folder`, each file once however many names it has."""
    seen: dict[int, int] = {}
    for directory, _, files in os.walk(folder):
        for name in files:
            try:
                facts = os.lstat(f"{directory}/{name}")
            except FileNotFoundError:
                continue
            seen[facts.st_ino] = facts.st_blocks * 512
    return sum(seen.values())


def _empty(folder: Path) -> None:
    for directory, _, files in os.walk(folder):
        for name in files:
            os.truncate(f"{directory}/{name}", 0)


class _Sampled:
    """The most that `measure` returned while the block ran."""

    def __init__(self, measure: Callable[[], int], seconds: float) -> None:
        self.most = 0
        self._measure, self._seconds = measure, seconds
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._sample)

    def __enter__(self) -> _Sampled:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _sample(self) -> None:
        while not self._over.wait(self._seconds):
            self.most = max(self.most, self._measure())


# --- the ways


def _prepare(competition_id: str, archive: Path, folder: Path) -> None:
    from mlebench import catalog
    from mlebench.dataset import Dataset
    from mlebench.preparation.engine import prepare
    from mlebench.preparation.sources import find_source

    prepare(Dataset(catalog.get(competition_id), folder), find_source(str(archive)))


def _unzip(competition_id: str, archive: Path, folder: Path) -> None:  # noqa: ARG001
    from mlebench.preparation.archives import unzip

    unzip(archive, folder / "raw")


def _extractall(competition_id: str, archive: Path, folder: Path) -> None:  # noqa: ARG001
    with zipfile.ZipFile(archive) as opened:
        opened.extractall(folder / "raw")


def _plain(competition_id: str, archive: Path, folder: Path) -> None:
    raw, public, private = folder / "raw", folder / "public", folder / "private"
    for each in (public, private):
        each.mkdir()
    _extractall(competition_id, archive, folder)
    if competition_id == PICTURES:
        _divide_pictures(raw, public, private)
    elif (raw / "train.csv").stat().st_size * DIVIDED_PLAINLY < psutil.virtual_memory().available:
        from plain_preparation import PLAIN

        PLAIN[competition_id](raw, public, private)
    else:
        shutil.copy(raw / "train.csv", public / "labels.csv")
    for path in (archive, *public.glob("*.csv"), *private.glob("*.csv")):
        with path.open("rb") as file:
            hashlib.file_digest(file, "md5")


def _divide_pictures(raw: Path, public: Path, private: Path) -> None:
    import pandas as pd
    from sklearn.model_selection import train_test_split

    labels = pd.read_csv(raw / "labels.csv")
    train, test = cast("list[pd.DataFrame]", train_test_split(labels, test_size=0.1, random_state=0))
    answers = pd.get_dummies(test.set_index("id")["breed"]).astype(int)
    train.to_csv(public / "labels.csv", index=False)
    answers.to_csv(private / "test.csv")
    (answers * 0.0 + 1 / answers.shape[1]).to_csv(public / "sample_submission.csv")
    for rows, side in ((train, "train"), (test, "test")):
        (public / side).mkdir()
        for name in rows["id"]:
            shutil.copy(raw / "train" / f"{name}.jpg", public / side / f"{name}.jpg")


WAYS: dict[str, Callable[[str, Path, Path], None]] = {
    "unzip": _unzip,
    "extractall": _extractall,
    "prepare": _prepare,
    "plain": _plain,
}


# --- the archives


def _twin(competition_id: str, size: int, raw: Path) -> None:
    from mlebench import catalog
    from mlebench.preparation.sources import Synthetic

    Synthetic(rows=size).fetch(catalog.get(competition_id), raw)


def _zip_of_pictures(archive: Path, files: int) -> None:
    """A zip of so many pictures; a fifth has no labels."""
    import numpy as np

    rng = np.random.default_rng(0)
    filling = _jpeg_data(16 << 20)
    with tempfile.TemporaryDirectory(dir=archive.parent) as name:
        raw = Path(name)
        _twin(PICTURES, files * 4 // 5, raw)
        with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as opened:
            for path in sorted(path for path in raw.rglob("*") if path.is_file()):
                content = path.read_bytes()
                if path.suffix == ".jpg":
                    more = min(LARGEST, int(rng.lognormal(np.log(USUAL_SIZE), SPREAD)))
                    start = int(rng.integers(0, len(filling) - more))
                    content += filling[start : start + more]
                opened.writestr(path.relative_to(raw).as_posix(), content)


def _jpeg_data(size: int) -> bytes:
    """Pictures of noise, one after the other: they can be packed as little as photographs."""
    import numpy as np

    from mlebench.preparation.synthetic import jpeg_bytes

    rng = np.random.default_rng(1)
    made = bytearray()
    while len(made) < size:
        smooth = np.kron(rng.integers(0, 256, (12, 16, 3)), np.ones((32, 32, 1)))
        made += jpeg_bytes(np.clip(smooth + rng.normal(0, 25, smooth.shape), 0, 255).astype(np.uint8))
    return bytes(made)


def _zip_of_table(archive: Path, size: int) -> None:
    """A zip of a twin whose table is repeated until it has `size` bytes."""
    with tempfile.TemporaryDirectory(dir=archive.parent) as name:
        raw = Path(name)
        _twin(TABLE, TWIN_OF_TABLE, raw)
        with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as opened:
            for path in sorted(raw.iterdir()):
                if path.name != "train.csv":
                    opened.write(path, path.name)
                    continue
                with path.open("rb") as table, opened.open(path.name, "w", force_zip64=True) as member:
                    for part in _repeated(table, size):
                        member.write(part)


def _repeated(table: BinaryIO, size: int) -> Iterator[bytes]:
    header, body = table.readline(), table.read()
    yield header
    left = size - len(header)
    while left > len(body):
        yield body
        left -= len(body)
    yield body[: body.rindex(b"\n", 0, max(left, len(body) // 100)) + 1]


# --- the table


def _show(found: Sequence[Compared]) -> None:
    for compared in found:
        ours, plain = compared.ours, compared.plain
        print(
            f"{compared.what}: {compared.files:,} files, {compared.raw_mb:,.0f} MB raw, {compared.zip_mb:,.0f} MB zip\n"
            f"  seconds     {ours.seconds:8.1f}   plain {plain.seconds:8.1f}   {compared.speed:5.2f} x as fast\n"
            f"  processor   {ours.cpu:8.1f}   plain {plain.cpu:8.1f}   {ours.cpu / plain.cpu:5.2f} of it\n"
            f"  memory MB   {ours.peak_mb:8.0f}   plain {plain.peak_mb:8.0f}   "
            f"{ours.peak_mb / plain.peak_mb:5.2f} of it"
        )
        for text, mine, theirs in (
            ("peak", compared.our_disk.peak_mb, compared.plain_disk.peak_mb),
            ("final", compared.our_disk.final_mb, compared.plain_disk.final_mb),
        ):
            print(
                f"  {text} disk MB {mine:7.0f}   plain {theirs:8.0f}   "
                f"{mine / compared.raw_mb:5.2f} and {theirs / compared.raw_mb:.2f} of the raw size"
            )
    sys.stdout.flush()


if __name__ == "__main__":
    main()
