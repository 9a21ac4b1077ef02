"""What is wrong with data, and what may have happened: each kind of damage done to real prepared files."""

import dataclasses
import hashlib
import json
import os
import shutil
import time
import zipfile

import numpy as np
import pandas as pd
import pytest

from mlebench import catalog
from mlebench.dataset import Dataset
from mlebench.errors import NotPreparedError, PreparationError
from mlebench.preparation.engine import prepare
from mlebench.preparation.kept_raw import record_raw
from mlebench.preparation.sources import Local, Synthetic
from mlebench.preparation.verification import (
    checksums,
    explain,
    inspect,
    look_quickly,
    published_mismatches,
    verify,
)

TITANIC = "spaceship-titanic"
TABLE = "public/train.csv"


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    dataset = Dataset(catalog.get(TITANIC), tmp_path_factory.mktemp("prepared"))
    prepare(dataset, Synthetic(rows=60))
    return dataset


@pytest.fixture
def dataset(prepared, tmp_path):
    """A copy to be damaged, with its times."""
    shutil.copytree(prepared.data_dir, tmp_path / "data")
    return Dataset(prepared.competition, tmp_path / "data")


def the_only(mismatches):
    assert len(mismatches) == 1, mismatches
    return mismatches[0]


def rewrite(path, content, *, is_old=False):
    """Write `content` some minutes after the preparation, or with the time that the file had."""
    facts = path.stat()
    path.write_bytes(content)
    moment = facts.st_mtime if is_old else time.time() + 300
    os.utime(path, (moment, moment))


def test_all_is_well(dataset):
    found = inspect(dataset)
    assert found.mismatches == ()
    assert found.files == 5
    assert found.bytes == sum(facts["size"] for facts in dataset.manifest()["files"].values())
    assert look_quickly(dataset) == []


@pytest.mark.parametrize(
    ("change", "is_old", "kind", "hint"),
    [
        (lambda _: b"", True, "empty", "disk was full"),
        (lambda content: content[: len(content) // 2], True, "cut", "interrupted"),
        (lambda content: content[:500] + bytes(len(content) - 500), True, "zeros", "machine stopped"),
        (lambda content: content[:300] + b"#" + content[301:], True, "decayed", "disk or its cable"),
        (lambda content: content[:300] + b"#" + content[301:], False, "edited", "some program edited it"),
        (lambda content: content[: len(content) // 2], False, "edited", "or a copy onto it was interrupted"),
        (lambda content: content + b"1,2\n", True, "changed", "replaced by another file"),
        (lambda content: content.replace(b"\n", b"\r\n"), False, "line ends", "from LF to CR LF"),
        (lambda content: content[:-1], False, "line ends", "line break at its end"),
        (lambda content: content + b"\n", False, "line ends", "line break at its end"),
    ],
    ids=["empty", "cut", "zeros", "decayed", "edited", "shortened", "grown", "CRLF", "no last", "one more"],
)
def test_a_changed_file_is_named_with_its_cause(dataset, change, is_old, kind, hint):
    path = dataset.prepared / TABLE
    size = path.stat().st_size
    rewrite(path, change(path.read_bytes()), is_old=is_old)
    found = the_only(verify(dataset))
    assert (found.path, found.kind) == (TABLE, kind)
    assert hint in found.hint
    assert (found.expected_size, found.found_size) == (size, path.stat().st_size)
    assert found.expected == f"blake3 {dataset.manifest()['files'][TABLE]['blake3']}"
    assert found.found.startswith("blake3 ")
    assert found.found != found.expected


def test_line_breaks_of_windows_made_those_of_unix(dataset):
    path = dataset.prepared / TABLE
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n") * 4000)  # several blocks
    manifest = dataset.manifest()
    manifest["files"] |= checksums(dataset.prepared, [TABLE])
    dataset.manifest_path.write_text(json.dumps(manifest))
    assert verify(dataset) == []
    rewrite(path, path.read_bytes().replace(b"\r\n", b"\n"))
    assert "from CR LF to LF" in the_only(verify(dataset)).hint


def test_a_copy_without_times_is_not_taken_for_edited(dataset, tmp_path):
    moment = time.time() + 86400
    for path in dataset.prepared.rglob("*"):
        os.utime(path, (moment, moment))
    path = dataset.prepared / TABLE
    content = path.read_bytes()
    path.write_bytes(b"#" + content[1:])
    os.utime(path, (moment + 60, moment + 60))
    assert the_only(verify(dataset)).kind == "changed"


def test_missing_files_and_folders(dataset):
    (dataset.prepared / TABLE).unlink()
    found = the_only(verify(dataset))
    assert (found.kind, found.found, found.found_size) == ("missing", "", None)
    assert "deleted" in found.hint
    shutil.rmtree(dataset.private)
    hints = {mismatch.path: mismatch.hint for mismatch in verify(dataset)}
    assert "whole folder private is gone" in hints["private/test.csv"]
    assert {mismatch.path for mismatch in look_quickly(dataset)} == {TABLE, "private/test.csv"}


def test_an_archive_that_was_unpacked_in_place(tmp_path):
    pizza = Dataset(catalog.get("random-acts-of-pizza"), tmp_path)
    prepare(pizza, Synthetic(rows=60))
    archive = pizza.public / "train.zip"
    assert archive.is_file()
    with zipfile.ZipFile(archive) as opened:
        opened.extractall(pizza.public / "train")
    archive.unlink()
    found = {mismatch.path: mismatch for mismatch in verify(pizza)}
    assert found.pop("public/train.zip").kind == "unpacked"
    assert {mismatch.kind for mismatch in found.values()} == {"extra"}


@pytest.mark.parametrize(("name", "hint"), [(".DS_Store", "macOS"), ("notes.txt", "agents would see it")])
def test_files_that_nobody_prepared(dataset, name, hint):
    (dataset.public / name).write_text("x")
    found = the_only(verify(dataset))
    assert (found.path, found.kind, found.expected) == (f"public/{name}", "extra", "")
    assert hint in found.hint


def test_what_cannot_be_read(dataset):
    path = dataset.prepared / TABLE
    path.unlink()
    path.symlink_to(path.name)  # whoever opens it goes round in circles
    found = the_only([mismatch for mismatch in verify(dataset) if mismatch.kind != "extra"])
    assert found.kind == "unreadable"
    assert "symbolic links" in found.found


def test_a_damaged_manifest_is_no_traceback(dataset):
    dataset.manifest_path.write_text('{"edition": "v1", "files"')
    with pytest.raises(PreparationError, match=r"manifest\.json is damaged.*--force"):
        verify(dataset)
    shutil.rmtree(dataset.prepared)
    with pytest.raises(NotPreparedError):
        verify(dataset)


def test_sizes_alone_are_looked_at_quickly(dataset):
    path = dataset.prepared / TABLE
    content = path.read_bytes()
    rewrite(path, b"#" + content[1:])
    assert look_quickly(dataset) == []
    rewrite(path, content[:10])
    found = the_only(look_quickly(dataset))
    assert (found.kind, found.expected_size, found.found_size) == ("cut", len(content), 10)


# --- the published ones


def prepared_from(raw, data_dir, competition_id=TITANIC):
    dataset = Dataset(catalog.get(competition_id), data_dir)
    prepare(dataset, Local(raw))
    return dataset


def raw_of(competition_id, folder, rows=60):
    folder.mkdir()
    catalog.get(competition_id).make_raw(folder, np.random.default_rng(0), rows)
    return folder


def with_zip(dataset, md5):
    manifest = dataset.manifest()
    manifest |= {"source": "kaggle", "zip": {"md5": md5, "size": 7, "modified": "then"}}
    manifest.pop("path", None)
    before = dataset.manifest_path.stat().st_mtime
    dataset.manifest_path.write_text(json.dumps(manifest))
    os.utime(dataset.manifest_path, (before, before))


def test_why_files_are_not_the_published_ones(tmp_path):
    dataset = prepared_from(raw_of(TITANIC, tmp_path / "raw"), tmp_path / "data")
    expected = dataset.competition.checksums
    by_hand = verify(dataset)
    assert {mismatch.kind for mismatch in by_hand} == {"published"}
    assert {mismatch.path for mismatch in by_hand} == set(expected) - {"zip"}
    assert [m.path for m in published_mismatches(dataset.competition, dataset.prepared)] == [m.path for m in by_hand]

    with_zip(dataset, expected["zip"])
    assert {mismatch.kind for mismatch in verify(dataset)} == {"preparation"}

    with_zip(dataset, "0" * 32)
    first, *rest = verify(dataset)
    assert (first.path, first.kind) == (f"{TITANIC}.zip", "archive")
    assert first.expected == f"md5 {expected['zip']}"
    assert "Kaggle changed the archive" in first.hint
    assert {mismatch.kind for mismatch in rest} == {"follows"}


def test_another_archive_with_the_same_tables_is_no_failure(tmp_path):
    dataset = prepared_from(raw_of(TITANIC, tmp_path / "raw"), tmp_path / "data")
    with_zip(dataset, "0" * 32)
    sums = {
        path: hashlib.md5((dataset.prepared / path).read_bytes()).hexdigest()
        for path in dataset.competition.checksums
        if path != "zip"
    }
    same = Dataset(dataclasses.replace(dataset.competition, checksums={"zip": "1" * 32, **sums}), dataset.data_dir)
    found = inspect(same)
    assert found.failures == []
    assert "the same nevertheless" in the_only(found.notes).hint
    assert found.published == len(sums)


def test_of_another_edition_nothing_was_published_so_another_archive_is_no_failure(tmp_path):
    dataset = Dataset(catalog.get("random-acts-of-pizza").in_edition("v2"), tmp_path / "data")
    prepare(dataset, Local(raw_of("random-acts-of-pizza", tmp_path / "raw")))
    with_zip(dataset, "0" * 32)
    found = inspect(dataset)
    assert found.failures == []
    assert the_only(found.notes).kind == "archive"


def test_a_file_that_was_changed_is_not_blamed_on_the_archive(tmp_path):
    dataset = prepared_from(raw_of(TITANIC, tmp_path / "raw"), tmp_path / "data")
    with_zip(dataset, "0" * 32)
    (dataset.prepared / TABLE).unlink()
    kinds = [mismatch.kind for mismatch in verify(dataset) if mismatch.path == TABLE]
    assert kinds == ["missing"]


# --- Parquet


@pytest.fixture(scope="module")
def icecube(tmp_path_factory):
    folder = tmp_path_factory.mktemp("icecube")
    raw = raw_of("icecube-neutrinos-in-deep-ice", folder / "raw", 400)
    return prepared_from(raw, folder / "data", "icecube-neutrinos-in-deep-ice")


def test_parquet_of_another_writer_than_the_published_is_no_failure(icecube):
    tables = {"public/train_meta.parquet", "public/test_meta.parquet"}
    assert tables < set(icecube.competition.checksums)
    found = inspect(icecube)
    assert {note.path for note in found.notes} == tables
    assert {note.kind for note in found.notes} == {"writer"}
    assert not tables & {mismatch.path for mismatch in found.failures}
    assert not tables & {m.path for m in published_mismatches(icecube.competition, icecube.prepared)}


def test_the_same_rows_in_other_bytes_are_no_failure(icecube, tmp_path):
    shutil.copytree(icecube.data_dir, tmp_path / "data")
    copy = Dataset(icecube.competition, tmp_path / "data")
    path = copy.public / "train_meta.parquet"
    table = pd.read_parquet(path)
    table.to_parquet(path, compression="gzip", row_group_size=50, index=False)
    found = [m for m in inspect(copy).mismatches if m.path == "public/train_meta.parquet"]
    assert (the_only(found).kind, found[0].is_failure) == ("rewritten", False)
    assert "same rows, other bytes" in found[0].hint
    assert "parquet-cpp-arrow" in found[0].hint

    table.loc[7, "first_pulse_index"] += 1
    table.to_parquet(path, index=False)
    moment = time.time() + 300
    os.utime(path, (moment, moment))
    found = [m for m in inspect(copy).mismatches if m.path == "public/train_meta.parquet"]
    assert (the_only(found).kind, found[0].is_failure) == ("edited", True)
    path.write_bytes(b"PAR1 and no more")
    assert [m.is_failure for m in inspect(copy).mismatches if m.path == "public/train_meta.parquet"] == [True]


# --- what is kept beside


def record(dataset):
    made = dataset.manifest()["files"]
    record_raw(dataset.raw, dataset.prepared, made, {"source": "local"}, dataset.home / "raw.json")


def test_kept_raw_files_are_verified(tmp_path):
    raw = raw_of(TITANIC, tmp_path / "raw")
    dataset = prepared_from(raw, tmp_path / "data")
    shutil.copytree(raw, dataset.raw)
    record(dataset)
    assert not [m for m in verify(dataset) if m.path.startswith("raw/")]
    rewrite(dataset.raw / "train.csv", b"", is_old=True)
    found = the_only([m for m in verify(dataset) if m.path.startswith("raw/")])
    assert (found.path, found.kind) == ("raw/train.csv", "empty")


def test_raw_files_that_prepared_ones_share_are_not_read_twice(tmp_path):
    cactus = Dataset(catalog.get("plant-pathology-2020-fgvc7"), tmp_path)
    prepare(cactus, Synthetic(rows=60), keep="raw")
    record(cactus)
    recorded = json.loads((cactus.home / "raw.json").read_text())["files"]
    sizes = {path.relative_to(cactus.raw).as_posix(): path.stat().st_size for path in cactus.raw.rglob("*.*")}
    assert {path: facts["size"] for path, facts in recorded.items()} == sizes
    assert verify(cactus) == []
    found = inspect(cactus)
    assert found.files > len(recorded)


@pytest.mark.parametrize(
    ("change", "is_old", "kind"),
    [
        (lambda content: content[:50], False, "cut"),
        (lambda content: b"#" + content[1:-30] + bytes(30), False, "changed"),
        (lambda content: content[:50] + b"#" + content[51:], True, "decayed"),
        (lambda content: content + b"#", False, "replaced"),
    ],
    ids=["cut", "no zip", "decayed", "replaced"],
)
@pytest.mark.parametrize("is_ours", [True, False])
def test_a_kept_zip_is_verified(dataset, is_ours, change, is_old, kind):
    path = dataset.home / f"{TITANIC}.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("train.csv", "a" * 100)
    facts = {"md5": hashlib.md5(path.read_bytes()).hexdigest(), "size": path.stat().st_size, "modified": "then"}
    if is_ours:
        record = {**facts, "modified": path.stat().st_mtime_ns}
        path.with_name(f"{path.name}.json").write_text(json.dumps(record))
    manifest = dataset.manifest()
    dataset.manifest_path.write_text(json.dumps({**manifest, "zip": facts}))
    assert verify(dataset) == []
    before = path.stat()
    path.write_bytes(change(path.read_bytes()))
    if is_old:
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    found = the_only(inspect(dataset).mismatches)
    expected = "replaced" if kind == "decayed" and not is_ours else kind  # without the time, nobody knows
    assert (found.path, found.kind, found.is_failure) == (f"{TITANIC}.zip", expected, expected != "replaced")
    assert ("downloads it again" in found.hint) == found.is_failure


# --- words


def test_explaining(dataset):
    (dataset.public / "notes.txt").write_text("x")
    rewrite(dataset.prepared / TABLE, b"", is_old=True)
    lines = explain(verify(dataset))
    table = next(line for line in lines if line.startswith(TABLE))
    assert "bytes (blake3 " in table
    assert "0 bytes (blake3 af1349b9f5f9…)" in table
    assert table.endswith("-> the disk was full, or a copy or extraction was interrupted when it began")
    extra = next(line for line in lines if "notes.txt" in line)
    assert "expected nothing, found a file that nobody prepared" in extra


def test_of_many_alike_a_few_are_shown(tmp_path):
    plants = Dataset(catalog.get("plant-pathology-2020-fgvc7"), tmp_path)
    prepare(plants, Synthetic(rows=60))
    pictures = sorted((plants.public / "images").glob("*.jpg"))
    for picture in pictures:
        picture.unlink()
    assert len(pictures) > 20
    lines = explain(verify(plants))
    assert len(lines) == 3
    assert f"and {len(pictures) - 3:,} more in public/images" in lines[-1]


def test_notes_are_told_as_such(icecube):
    assert any("-> no failure:" in line for line in explain(inspect(icecube).notes))
