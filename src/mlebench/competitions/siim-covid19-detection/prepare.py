"""Hold out a random tenth of the studies with all their pictures."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pandas as pd

from mlebench.errors import PreparationError
from mlebench.preparation.files import hold_out, link_files, read_csv, require_unique, walk, write_csv

WORDS = np.array(["negative", "typical", "indeterminate", "atypical"])  # in the order of the table's columns
DUMMY = " 1 0 0 1 1"  # confidence and box of what has no place


def prepare(raw: Path, public: Path, private: Path) -> None:
    studies = read_csv(raw / "train_study_level.csv")
    require_unique(studies["id"])
    if studies.shape[1] != 1 + len(WORDS):
        raise PreparationError(f"train_study_level.csv has {studies.shape[1]} columns instead of {1 + len(WORDS)}")
    images = read_csv(raw / "train_image_level.csv", dtype=str)
    train, test = (part.sort_values("id") for part in hold_out(studies, 0.1))
    train_images, test_images = _divided(images, train["id"], test["id"])
    answers = pd.concat([_gradings(test), test_images.set_index("id")["label"]])

    write_csv(train, public / "train_study_level.csv")
    columns = ["id", "boxes", "label", "StudyInstanceUID"]
    write_csv(train_images[columns], public / "train_image_level.csv")
    write_csv(_submission(answers), private / "test.csv")
    dummies = np.repeat(["negative" + DUMMY, "none" + DUMMY], [len(test), len(test_images)])
    write_csv(_submission(pd.Series(dummies, index=answers.index)), public / "sample_submission.csv")
    _link_studies(train["id"], raw / "train", public / "train")
    _link_studies(test["id"], raw / "train", public / "test")


def _divided(images: pd.DataFrame, train: pd.Series, test: pd.Series) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The pictures of the studies of each part, sorted by id."""
    study = images["StudyInstanceUID"] + "_study"
    strange = ~(study.isin(train) | study.isin(test))
    if strange.any():
        raise PreparationError(f"{strange.sum():,} pictures belong to no study, as {images.loc[strange, 'id'].iloc[0]}")
    ordered = images.sort_values("id")
    return ordered[study.isin(train)[ordered.index]], ordered[study.isin(test)[ordered.index]]


def _gradings(studies: pd.DataFrame) -> pd.Series:
    """The word of the first largest column of each study, with the dummy box."""
    best = studies.iloc[:, 1:].to_numpy().argmax(axis=1)
    return pd.Series([word + DUMMY for word in WORDS[best].tolist()], index=studies["id"])


def _submission(predictions: pd.Series) -> pd.DataFrame:
    return pd.DataFrame({"id": predictions.index, "PredictionString": predictions.to_numpy()})


def _link_studies(ids: Iterable[str], source: Path, target: Path) -> None:
    folders = [name.removesuffix("_study") for name in ids]
    missing = [name for name in folders if not (source / name).is_dir()]
    if missing:
        raise PreparationError(f"{len(missing):,} studies have no folder in {source}: {', '.join(missing[:3])}")
    files = (path.relative_to(source) for name in folders for path in walk(source / name))
    link_files(((source / path, target / path) for path in files), "placing pictures")
