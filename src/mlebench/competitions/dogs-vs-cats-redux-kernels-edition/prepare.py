"""Hold out a random tenth of the labelled pictures, and number both parts anew."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from mlebench.errors import PreparationError
from mlebench.preparation.files import hold_out, link_files, unpack, write_csv, zip_files


def prepare(raw: Path, public: Path, private: Path) -> None:
    labelled = unpack(raw, "train.zip") / "train"
    names = sorted(path.name for path in labelled.glob("*.jpg"))
    if not names:
        raise PreparationError("train.zip holds no pictures train/*.jpg")
    train, test = hold_out(pd.Series(names), 0.1)
    answers = pd.DataFrame({"id": np.arange(1, len(test) + 1), "label": _contains(test, "dog").astype(int)})

    _place(labelled, train, _training_names(train), public / "train")
    _place(labelled, test, answers["id"].map(str) + ".jpg", public / "test")
    write_csv(answers.assign(label=0.5), public / "sample_submission.csv")
    write_csv(answers, private / "answers.csv")


def _training_names(names: pd.Series) -> pd.Series:
    """Kind and number, which counts from 0 for each kind."""
    kinds = pd.Series(np.where(_contains(names, "cat"), "cat", "dog"), dtype=str)
    return kinds + "." + kinds.groupby(kinds).cumcount().map(str) + ".jpg"


def _contains(names: pd.Series, word: str) -> np.ndarray:
    return names.str.contains(word, regex=False).to_numpy(dtype=bool)


def _place(source: Path, names: pd.Series, new_names: pd.Series, target: Path) -> None:
    """The pictures under new names, in a folder and in a zip beside it."""
    pairs = list(zip(names, new_names, strict=True))
    link_files(((source / old, target / new) for old, new in pairs), f"placing {target.name}")
    zip_files(((source / old, new) for old, new in pairs), target.with_suffix(".zip"))
