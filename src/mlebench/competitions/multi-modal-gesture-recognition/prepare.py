"""Take the recordings of the fourth training archive as the test.

In v2 these do not hold the labels.
"""

from __future__ import annotations

import gzip
import io
import random
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pandas as pd

from mlebench.errors import PreparationError
from mlebench.preparation import progress
from mlebench.preparation.files import link_files, read_csv, write_csv
from mlebench.preparation.matlab import empty_field

TEST_ARCHIVE = "training4.tar.gz"
UNCHANGED = [
    *("training1.tar.gz", "training2.tar.gz", "training3.tar.gz"),
    *("validation1.tar.gz", "validation2.tar.gz", "validation3.tar.gz"),
    *("devel01-40.7z", "valid_all_files_combined.7z", "sample_code_mmrgc.zip"),
]
SIGNS = range(1, 21)


def prepare(raw: Path, public: Path, private: Path) -> None:
    _write_tables(raw, public, private)
    link_files([(raw / TEST_ARCHIVE, public / "test.tar.gz")])


def prepare_v2(raw: Path, public: Path, private: Path) -> None:
    _write_tables(raw, public, private)
    _copy_without_labels(raw / TEST_ARCHIVE, public / "test.tar.gz")


def _write_tables(raw: Path, public: Path, private: Path) -> None:
    """Write and link everything but the test recordings."""
    sequences = read_csv(raw / "training.csv", dtype=str)
    ids = sorted(_recording_ids(raw / TEST_ARCHIVE))
    in_test = sequences["Id"].isin(ids)
    if not ids or sorted(sequences["Id"][in_test]) != ids:
        raise PreparationError(f"the recordings in {TEST_ARCHIVE} do not stand in training.csv, each once")
    generator = random.Random(0)
    guesses = [" ".join(map(str, generator.sample(SIGNS, len(SIGNS)))) for _ in ids]

    write_csv(sequences[~in_test], public / "training.csv")
    write_csv(pd.DataFrame({"Id": ids}), public / "test.csv")
    write_csv(pd.DataFrame({"Id": ids, "Sequence": guesses}), public / "randomPredictions.csv")
    write_csv(sequences[in_test][["Id", "Sequence"]], private / "test.csv")
    link_files((raw / name, public / name) for name in UNCHANGED)


def _recording_ids(archive: Path) -> Iterator[str]:
    """The last four characters of the name of each zip at the top level of the archive."""
    with _reading(archive) as opened:
        for member in opened:
            name = member.name.removeprefix("./")
            if name.endswith(".zip") and "/" not in name:
                yield name.removesuffix(".zip")[-4:]


@contextmanager
def _reading(archive: Path) -> Iterator[tarfile.TarFile]:
    """The archive, to be read from front to back."""
    try:
        with tarfile.open(archive, "r|gz") as opened:
            yield opened
    except (tarfile.TarError, EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise PreparationError(f"{archive.name} is damaged: {error}") from error


def _copy_without_labels(source: Path, target: Path) -> None:
    """Copy an archive of recordings; in each recording the signs and when they were made are left out."""
    with (
        _reading(source) as opened,
        gzip.GzipFile(target, "wb", compresslevel=1, mtime=0) as packed,  # sounds and videos hardly get smaller
        tarfile.open(fileobj=packed, mode="w|") as copy,
        progress.step("taking the labels out of the test recordings", source.stat().st_size, "B") as done,
    ):
        for member in opened:
            file = opened.extractfile(member)
            if file is None:  # a folder
                copy.addfile(member)
                continue
            content = file.read()
            if member.name.endswith(".zip"):
                content = _without_labels(member.name, content)
            member.size = len(content)
            copy.addfile(member, io.BytesIO(content))
            done(len(content))


def _without_labels(name: str, recording: bytes) -> bytes:
    buffer = io.BytesIO()
    try:
        with zipfile.ZipFile(io.BytesIO(recording)) as opened, zipfile.ZipFile(buffer, "w") as copy:
            for info in opened.infolist():
                content = opened.read(info)
                if info.filename.endswith(".mat"):
                    content = empty_field(content, "Video", "Labels")
                member = zipfile.ZipInfo(info.filename, info.date_time)
                member.external_attr = info.external_attr
                copy.writestr(member, content)  # stored: the archive around it is packed
    except (zipfile.BadZipFile, zlib.error) as error:
        raise PreparationError(f"the recording {name} is damaged: {error}") from error
    return buffer.getvalue()
