"""Hold out a random 12 % of each category's pictures, and one picture of each category of two to four.

In v2 the archives are what their names say, and validation pictures are among them.
"""

from __future__ import annotations

import shutil
import tarfile
import tempfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import IO

import pandas as pd

from mlebench.errors import PreparationError
from mlebench.preparation import progress
from mlebench.preparation.files import link_files, require_unique, write_csv
from mlebench.preparation.herbarium import (
    Record,
    hold_out_of_each,
    pairs_by_category,
    read_metadata,
    with_pairs,
    write_metadata,
)

SAMPLE_CATEGORY = 654  # the published preparation drew each row's number with the same seed
PICTURES = "train_val2019"

Member = tuple[str, int, IO[bytes]]  # name, size and content of a picture


def prepare(raw: Path, public: Path, private: Path) -> None:
    metadata = _read(raw / "train2019.json")
    train, test = hold_out_of_each(pairs_by_category(metadata), few=5, share=0.12)
    _write_metadata(raw, public, with_pairs(metadata, train), [_in_test(image) for _, image in test])
    _write_answers(private, public, [(image["id"], annotation["category_id"]) for annotation, image in test])
    to_train = {image["file_name"]: _without_folder(image["file_name"]) for _, image in train}
    to_test = {image["file_name"]: PurePosixPath(image["file_name"]).name for _, image in test}
    _pack(raw, (public / f"{PICTURES}.tar.gz", to_train), (public / "test2019.tar.gz", to_test))


def prepare_v2(raw: Path, public: Path, private: Path) -> None:
    metadata, validation = _read(raw / "train2019.json"), _read(raw / "val2019.json")
    train, test = hold_out_of_each(pairs_by_category(metadata), few=5, share=0.12)
    first_id = 1 + max(image["id"] for image in (*metadata["images"], *validation["images"]))
    images = [{**_in_test(image), "id": first_id + place} for place, (_, image) in enumerate(test)]
    _write_metadata(raw, public, with_pairs(metadata, train), images)
    categories = [annotation["category_id"] for annotation, _ in test]
    _write_answers(private, public, [(image["id"], each) for image, each in zip(images, categories, strict=True)])
    shown = [*(image["file_name"] for _, image in train), *(image["file_name"] for image in validation["images"])]
    to_test = {image["file_name"]: _in_test(image)["file_name"] for _, image in test}
    _pack(raw, (public / f"{PICTURES}.tar", {name: name for name in shown}), (public / "test2019.tar", to_test))


def _read(file: Path) -> Record:
    metadata = read_metadata(file, ["annotations", "categories", "images", "info", "licenses"])
    require_unique(pd.Series([image["file_name"] for image in metadata["images"]], name="file_name"))
    return metadata


def _in_test(image: Record) -> Record:
    """The picture's facts under its new name."""
    return {**image, "file_name": f"test2019/{PurePosixPath(image['file_name']).name}"}


def _without_folder(name: str) -> str:
    return name.removeprefix(f"{PICTURES}/")


def _write_metadata(raw: Path, public: Path, train: Record, test_images: list[Record]) -> None:
    write_metadata(train, public / "train2019.json")
    write_metadata(
        {**{key: train[key] for key in ("info", "licenses")}, "images": test_images}, public / "test2019.json"
    )
    link_files([(raw / "val2019.json", public / "val2019.json")])


def _write_answers(private: Path, public: Path, rows: Iterable[tuple[int, int]]) -> None:
    answers = pd.DataFrame(rows, columns=["id", "predicted"])
    write_csv(answers, private / "answers.csv")
    write_csv(answers.assign(predicted=SAMPLE_CATEGORY), public / "kaggle_sample_submission.csv")


def _pack(raw: Path, shown: tuple[Path, Mapping[str, str]], tested: tuple[Path, Mapping[str, str]]) -> None:
    """Write two tar archives, each with the pictures that it maps from raw name to member name.

    The order of the raw pictures tells their categories, so those of the test are ordered by name.
    """
    (train, to_train), (test, to_test) = shown, tested
    require_unique(pd.Series(list(to_test.values()), name="file name"))
    left = {*to_train, *to_test}
    with tarfile.open(train, "w") as archive, tempfile.TemporaryDirectory(prefix=".test-", dir=test.parent) as folder:
        with progress.step("packing pictures", len(left), "files") as done:
            for name, size, content in _pictures(raw, left):
                if name in to_train:
                    _add(archive, to_train[name], size, content)
                elif name in to_test:
                    with Path(folder, PurePosixPath(name).name).open("wb") as file:
                        shutil.copyfileobj(content, file)
                if name in left:
                    left.remove(name)
                    done()
        if left:
            raise PreparationError(f"{len(left):,} pictures of the metadata are missing: {', '.join(sorted(left)[:3])}")
        _pack_folder(Path(folder), test, sorted(to_test.values()))


def _pack_folder(folder: Path, target: Path, names: list[str]) -> None:
    """Write the members `names`, in this order, each from the file of its name in `folder`."""
    with tarfile.open(target, "w") as archive:
        for name in names:
            path = folder / PurePosixPath(name).name
            with path.open("rb") as content:
                _add(archive, name, path.stat().st_size, content)


def _add(archive: tarfile.TarFile, name: str, size: int, content: IO[bytes]) -> None:
    member = tarfile.TarInfo(name)
    member.size = size
    archive.addfile(member, content)


def _pictures(raw: Path, wanted: Iterable[str]) -> Iterator[Member]:
    """The pictures of training and validation set: from their folder if it was unpacked, else from the archive."""
    if (raw / PICTURES).is_dir():
        for path in (raw / name for name in sorted(wanted)):
            if path.is_file():
                with path.open("rb") as content:
                    yield path.relative_to(raw).as_posix(), path.stat().st_size, content
        return
    try:
        with tarfile.open(raw / f"{PICTURES}.tar.gz", "r|*") as archive:
            for member in archive:
                content = archive.extractfile(member) if member.isfile() else None
                if content is not None:
                    yield member.name.removeprefix("./"), member.size, content
    except (OSError, EOFError, tarfile.TarError, zlib.error) as error:
        raise PreparationError(f"{PICTURES}.tar.gz can't be read: {error}") from error
