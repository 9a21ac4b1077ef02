"""Every prepared file is byte-identical to the published benchmark's, every score equal, garbage is refused."""

import hashlib
import json
import math
import shutil
import tarfile
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import pytest

from mlebench import catalog
from mlebench.dataset import Dataset
from mlebench.errors import InvalidSubmission
from mlebench.grading import score_submission
from mlebench.preparation.engine import prepare
from mlebench.preparation.seven_zip import un7zip
from mlebench.preparation.sources import Local

FIXTURES = sorted(path.parent for path in (Path(__file__).parent / "fixtures").glob("*/expected.json"))

# Submissions that are refused although v1 scores them: garbage, by kind of problem that must be named.
REFUSED = json.loads((Path(__file__).parent / "refused.json").read_text())


@dataclass(frozen=True)
class Case:
    dataset: Dataset
    expected: dict
    submissions: Path
    tables: dict  # rows, types and content of tables in a format whose bytes depend on the program that writes it


@pytest.fixture(scope="module", params=FIXTURES, ids=lambda path: path.name)
def case(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param.name)
    with zipfile.ZipFile(request.param / "submissions.zip") as archive:
        archive.extractall(folder / "submissions")
    dataset = Dataset(catalog.get(request.param.name), folder / "data")
    prepare(dataset, Local(request.param / "raw.zip"))
    tables = request.param / "tables.json"
    yield Case(
        dataset,
        json.loads((request.param / "expected.json").read_text()),
        folder / "submissions",
        json.loads(tables.read_text()) if tables.is_file() else {},
    )
    shutil.rmtree(folder)


def test_every_prepared_file_is_byte_identical(case):
    for side, folder in (("public", case.dataset.public), ("private", case.dataset.private)):
        found = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
        found.discard("description.md")
        wanted = {name.partition("!")[0] for name in case.expected[side]}
        assert found == wanted
        by_bytes = {name: digest for name, digest in case.expected[side].items() if f"{side}/{name}" not in case.tables}
        wrong = [name for name, digest in by_bytes.items() if _sha256(folder, name) != digest]
        assert wrong == []


def test_tables_whose_bytes_depend_on_their_writer_hold_the_same(case):
    for name, expected in case.tables.items():
        table = pd.read_parquet(case.dataset.prepared / name)
        assert {column: str(dtype) for column, dtype in table.dtypes.items()} == expected["dtypes"]
        assert len(table) == expected["rows"]
        text = table.to_csv(index=False, lineterminator="\n")
        assert hashlib.sha256(text.encode()).hexdigest() == expected["sha256_of_csv"]


def test_every_score_is_equal(case):
    competition = case.dataset.competition.id
    found = {}
    for path in sorted(case.submissions.glob("*.csv")):
        try:
            found[path.stem] = score_submission(path, case.dataset)
        except InvalidSubmission as error:
            assert error.problems, f"{path.stem} is refused without a problem being named"
            found[path.stem] = None
    wanted = {name: _as_refusal(score) for name, score in case.expected["scores"].items()}
    wanted.update(dict.fromkeys(REFUSED.get(competition, ())))
    assert found == wanted


def test_each_expected_refusal_is_garbage():
    for competition, names in REFUSED.items():
        assert all(name.startswith("bad_") for name in names), competition


def _as_refusal(score):
    """An undefined score and a refusal count as equal."""
    return None if score is None or math.isnan(score) else score


def _sha256(folder, name):
    file, _, member = name.partition("!")
    if member and file.endswith(".7z"):
        with tempfile.TemporaryDirectory() as unpacked:
            un7zip(folder / file, Path(unpacked))
            return hashlib.sha256(Path(unpacked, member).read_bytes()).hexdigest()
    if member and zipfile.is_zipfile(folder / file):
        with zipfile.ZipFile(folder / file) as archive:
            return hashlib.sha256(archive.read(member)).hexdigest()
    if member:
        with tarfile.open(folder / file) as archive:
            return hashlib.sha256(archive.extractfile(member).read()).hexdigest()
    return hashlib.sha256((folder / file).read_bytes()).hexdigest()
