"""Hold out 5,000 pictures, each with or without a message, and give all pictures new names."""

from __future__ import annotations

import random
from pathlib import Path

import pandas as pd

from mlebench.errors import PreparationError
from mlebench.preparation.files import hold_out, link_files, write_csv

TEST_PICTURES = 5_000
SHARE_IF_FEWER = 0.2  # of the pictures, where there are not more than TEST_PICTURES
COVER = "Cover"
SCHEMES = ["JMiPOD", "JUNIWARD", "UERD"]


def prepare(raw: Path, public: Path, private: Path) -> None:
    covers = pd.Series(sorted(path.name for path in (raw / COVER).glob("*.jpg")), dtype=object)
    enough = len(covers) > TEST_PICTURES
    train, test = hold_out(covers, TEST_PICTURES if enough else SHARE_IF_FEWER, seed=42)
    _require_all_schemes(raw, covers)
    answers, folders, originals = _draw(test.tolist())

    for folder in (COVER, *SCHEMES):
        names = [f"{number:05d}.jpg" for number in range(1, len(train) + 1)]
        pairs = zip(train, names, strict=True)
        link_files(((raw / folder / name, public / folder / new) for name, new in pairs), f"placing {folder}")
    triples = zip(folders, originals, answers["Id"], strict=True)
    link_files(((raw / folder / name, public / "Test" / new) for folder, name, new in triples), "placing Test")
    write_csv(answers.assign(Label=0), public / "sample_submission.csv")
    write_csv(answers, private / "test.csv")


def _require_all_schemes(raw: Path, covers: pd.Series) -> None:
    """Raise PreparationError unless each folder has the pictures of `Cover` and no others."""
    for folder in SCHEMES:
        found = {path.name for path in (raw / folder).glob("*.jpg")}
        if differ := found.symmetric_difference(covers):
            raise PreparationError(f"{folder} and {COVER} differ in {len(differ):,} pictures, such as {min(differ)}")


def _draw(names: list[str]) -> tuple[pd.DataFrame, list[str], list[str]]:
    """New names and labels, and of each picture the folder and the name it comes from."""
    draws = random.Random(0)  # the stream of Python's own generator, as published
    draws.shuffle(names)
    folders = [COVER if draws.choice([True, False]) else draws.choice(SCHEMES) for _ in names]
    ids = [f"{number:04d}.jpg" for number in range(1, len(names) + 1)]
    return pd.DataFrame({"Id": ids, "Label": [int(folder != COVER) for folder in folders]}), folders, names
