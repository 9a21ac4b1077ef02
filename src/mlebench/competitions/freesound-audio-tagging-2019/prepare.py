"""Take the clips of the contest's private leaderboard as the test; their labels were published afterwards.

In v2 only the files of the task become public, whatever else lies among the raw ones.
"""

from __future__ import annotations

import shutil
import tempfile
import urllib.error
import urllib.request
from pathlib import Path

import numpy as np
import pandas as pd

from mlebench.errors import PreparationError
from mlebench.preparation.archives import reading_member
from mlebench.preparation.files import link_files, link_folder, read_csv, write_csv

METADATA = "FSDKaggle2019.meta"
METADATA_URL = "https://zenodo.org/records/3612637/files/FSDKaggle2019.meta.zip?download=1"
TABLES = ["sample_submission.csv", "train_curated.csv", "train_noisy.csv"]
FOLDERS = ["test", "train_curated", "train_noisy"]


def prepare(raw: Path, public: Path, private: Path) -> None:
    items = [item for item in sorted(raw.iterdir()) if METADATA not in item.name and item.name != ".unpacked"]
    _place(items, public)
    _write_answers(raw, private)


def prepare_v2(raw: Path, public: Path, private: Path) -> None:
    _place([raw / name for name in [*TABLES, *FOLDERS]], public)
    _write_answers(raw, private)


def _place(items: list[Path], public: Path) -> None:
    link_files((item, public / item.name) for item in items if not item.is_dir())
    for item in items:
        if item.is_dir():
            link_folder(item, public / item.name, f"placing {item.name}")


def _write_answers(raw: Path, private: Path) -> None:
    sample = read_csv(raw / "sample_submission.csv", dtype={"fname": str})
    clips = _metadata(raw)
    answers = _indicators(clips[clips["usage"] == "Private"], list(sample.columns[1:]))
    if sorted(answers["fname"]) != sorted(sample["fname"]):
        raise PreparationError(
            f"{len(answers):,} clips are labelled for the test and {len(sample):,} stand in sample_submission.csv, "
            "or their names differ"
        )
    write_csv(answers, private / "test.csv")


def _indicators(clips: pd.DataFrame, classes: list[str]) -> pd.DataFrame:
    """The name of each clip, and 1 for each of the classes that it has, else 0."""
    labels = clips["labels"].str.split(",").reset_index(drop=True).explode()
    place = pd.Index(classes).get_indexer(pd.Index(labels))
    indicators = np.zeros((len(clips), len(classes)), dtype=np.int64)
    indicators[labels.index[place >= 0], place[place >= 0]] = 1
    table = pd.DataFrame(indicators, columns=classes)
    table.insert(0, "fname", clips["fname"].to_numpy())
    return table


def _metadata(raw: Path) -> pd.DataFrame:
    """What was published on the test clips: from the archive among the raw files, else from the web."""
    local = raw / f"{METADATA}.zip"
    if local.is_file():
        return _read_metadata(local)
    with tempfile.TemporaryDirectory(prefix="mlebench-") as folder:
        download = Path(folder) / local.name
        try:
            with urllib.request.urlopen(METADATA_URL, timeout=60) as source, download.open("wb") as target:
                shutil.copyfileobj(source, target)
        except (urllib.error.URLError, OSError) as error:
            raise PreparationError(
                f"the labels of the test clips can't be downloaded from {METADATA_URL}: {error}. "
                f"Put the file there as {local.name} among the raw files"
            ) from error
        return _read_metadata(download)


def _read_metadata(archive: Path) -> pd.DataFrame:
    with reading_member(archive, f"{METADATA}/test_post_competition.csv") as member:
        return read_csv(member)
