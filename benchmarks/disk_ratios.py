"""How much disk each preparation takes, in units of its raw files: measured on synthetic twins.

    python benchmarks/disk_ratios.py [--only ID]... [--write]

Every competition's twin, in both editions, is packed as Kaggle packs it, prepared, and looked at file by file, each
inode once, right before anything is removed. `--write` puts the ratios into the sizes.toml that
`mlebench.preparation.disk.sizes` reads; what that file says of real sizes is left as it is.

    download  the zip
    peak      all that is there beside the zip at once: raw files, what was unpacked from archives among them, and
              prepared files that are no links to those
    kept      raw files, and prepared files that are no links to those
    prepared  the prepared files alone, when the raw ones are gone

A twin has many rows and small pictures, the real data the other way round. So tables and other files are measured
apart and put together in the real proportion: a table has as many bytes a row as the twin's, and the rows are known;
beside pictures it takes a tenth at most. What no twin can tell is how well real data compress: tables are taken to
shrink as six real ones did (TABLE_RATIO), all else not at all, so that the estimates err upwards. REASONED names the
competitions whose twin tells nothing.
"""

from __future__ import annotations

import argparse
import tempfile
import tomllib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

from mlebench import catalog
from mlebench.competition import Competition
from mlebench.dataset import Dataset
from mlebench.preparation import engine, manifest
from mlebench.preparation.archives import zip_files
from mlebench.preparation.commit import Plan, commit
from mlebench.preparation.disk.sizes import listed_bytes
from mlebench.preparation.engine import prepare
from mlebench.preparation.files import walk
from mlebench.preparation.layout import FETCHING, SCRATCH
from mlebench.preparation.sources import Local, Synthetic

TABLE = Path(__file__).parents[1] / "src" / "mlebench" / "preparation" / "disk" / "sizes.toml"
TABLES = {".csv", ".tsv", ".json", ".jsonl", ".txt"}
TABLE_RATIO = 0.35  # six real tables: 12,387,817 bytes, deflated 4,276,492
LARGEST_EXPANSION = 1 / 0.2  # of an archive: made-up tables repeat themselves more than real ones
MOST_TABLES = 0.1  # beside pictures
FEW = 0.03  # of the bytes: some readme beside tables


@dataclass(frozen=True)
class File:
    """One file on disk."""

    path: str
    size: int
    inode: int

    @property
    def is_table(self) -> bool:
        return Path(self.path).suffix in TABLES


@dataclass(frozen=True)
class Ratios:
    """In units of the raw files."""

    download: float
    peak: float
    kept: float
    prepared: float

    def mixed_with(self, other: Ratios, share: float) -> Ratios:
        """`share` of the other, the rest of this one."""
        pairs = zip(vars(self).values(), vars(other).values(), strict=True)
        return Ratios(*((1 - share) * ours + share * theirs for ours, theirs in pairs))


REASONED = {
    # Pictures in tar.gz, nine tenths of which are written into tar.gz anew; the twin's are smaller than tar's headers.
    "inaturalist-2019-fgvc6": Ratios(1.0, 1.95, 1.95, 0.95),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", metavar="ID", help="a competition; repeatable")
    parser.add_argument("--write", action="store_true", help=f"write {TABLE.name}")
    arguments = parser.parse_args()
    measured: dict[str, dict[str, Ratios]] = {}
    for competition_id in arguments.only or catalog.competitions():
        for edition in catalog.get(competition_id).editions:
            measured.setdefault(edition, {})[competition_id] = ratios = measure(competition_id, edition)
            print(competition_id, edition, line(ratios), flush=True)
    if arguments.write:
        write(measured)


def measure(competition_id: str, edition: str) -> Ratios:
    """Prepare the twin and put its parts together in the proportion of the real data."""
    if competition_id in REASONED:
        return REASONED[competition_id]
    competition = catalog.get(competition_id).in_edition(edition)
    with tempfile.TemporaryDirectory() as folder:
        raw, prepared = prepared_twin(competition, Path(folder))
    tables = [file for file in raw if file.is_table and not is_unpacked(file)]
    others = [file for file in raw if not file.is_table and not is_unpacked(file)]
    if bytes_of(others) < FEW * bytes_of(tables):
        return ratios(raw, prepared, lambda _: True, TABLE_RATIO)
    if not tables or any(file.is_table and is_unpacked(file) for file in raw):
        return ratios(raw, prepared, lambda _: True, 1.0)
    of_tables = ratios(raw, prepared, lambda file: file.is_table, TABLE_RATIO)
    of_others = ratios(raw, prepared, lambda file: not file.is_table, 1.0)
    return of_others.mixed_with(of_tables, share_of_tables(competition, sum(file.size for file in tables)))


def prepared_twin(competition: Competition, folder: Path) -> tuple[list[File], list[File]]:
    """The raw files (unpacked ones too) and the prepared ones."""
    made, archive = folder / "made", folder / "twin.zip"
    made.mkdir()
    Synthetic().fetch(competition, made)
    zip_files([(path, path.relative_to(made).as_posix()) for path in walk(made)], archive)
    dataset = Dataset(competition, folder / "data")
    with looking_before_the_end() as found:
        prepare(dataset, Local(archive))
    ours = ("manifest.json", "public/description.md")
    return found["raw"], [file for file in found["prepared"] if file.path not in ours]


@contextmanager
def looking_before_the_end() -> Iterator[dict[str, list[File]]]:
    """Fills in what files there are when all is made and nothing is in its place yet.

    Of made-up pictures many are the same, of real ones few: such are not made one file here.
    """
    found: dict[str, list[File]] = {}

    def looked_at(home: Path, plan: Plan, discard: Callable[[], object]) -> None:
        found["raw"] = files_below(home / FETCHING)
        found["prepared"] = files_below(home / plan.made)
        commit(home, plan, discard)

    with patch.object(engine, "commit", looked_at), patch.object(manifest, "_store_once"):
        yield found


def files_below(folder: Path) -> list[File]:
    found = []
    for path in walk(folder):
        facts = path.stat()
        found.append(File(path.relative_to(folder).as_posix(), facts.st_size, facts.st_ino))
    return found


def is_unpacked(file: File) -> bool:
    return file.path.startswith(f"{SCRATCH}/")


def ratios(raw: list[File], prepared: list[File], chosen: Callable[[File], bool], download: float) -> Ratios:
    """Those of the chosen files."""
    raw, prepared = list(filter(chosen, raw)), list(filter(chosen, prepared))
    delivered = [file for file in raw if not is_unpacked(file)]
    raw_bytes = sum(file.size for file in delivered)
    unpacked = min(sum(file.size for file in raw if is_unpacked(file)), LARGEST_EXPANSION * raw_bytes)
    peak = raw_bytes + unpacked + added(prepared, raw)
    kept = raw_bytes + added(prepared, delivered)
    return Ratios(download, peak / raw_bytes, kept / raw_bytes, bytes_of(prepared) / raw_bytes)


def added(files: list[File], there: list[File]) -> int:
    """The bytes of the files that are no links to those which are there."""
    inodes = {file.inode for file in there}
    return bytes_of(file for file in files if file.inode not in inodes)


def bytes_of(files: Iterable[File]) -> int:
    """Each inode once."""
    return sum({file.inode: file.size for file in files}.values())


def share_of_tables(competition: Competition, twin_bytes: int) -> float:
    """Of the real raw files."""
    if not competition.examples:
        return MOST_TABLES
    real_bytes = twin_bytes / competition.synthetic_size * competition.examples
    return min(real_bytes / listed_bytes(competition)[0], MOST_TABLES)


def line(ratios: Ratios) -> str:
    values = ", ".join(f"{name} = {value:.2f}" for name, value in vars(ratios).items())
    return f"{{ {values} }}"


def write(measured: dict[str, dict[str, Ratios]]) -> None:
    """Replace the lines of these competitions in the tables [ratios.v1] and [ratios.v2]."""
    text = TABLE.read_text(encoding="utf-8")
    text, _, _ = text.partition("\n[ratios.v1]\n")
    known = tomllib.loads(TABLE.read_text(encoding="utf-8")).get("ratios", {})
    for edition in ("v1", "v2"):
        table = {name: Ratios(**values) for name, values in known.get(edition, {}).items()}
        table |= measured.get(edition, {})
        text += f"\n[ratios.{edition}]\n"
        text += "".join(f"{name} = {line(table[name])}\n" for name in sorted(table, key=str.lower))
    TABLE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
