"""Test on a random tenth of the patients, and on the fifth and later scans of the others."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from mlebench.errors import PreparationError
from mlebench.preparation.files import hold_out, link_files, read_csv, walk, write_csv

TRAINING_DAYS = 4
SLICE = r"^(?P<slice>slice_[^_]+)_(?P<image_width>\d+)_(?P<image_height>\d+)_[^_]+_[^_]+\.png$"


def prepare(raw: Path, public: Path, private: Path) -> None:
    masks = read_csv(raw / "train.csv", dtype=str)[["id", "class", "segmentation"]]
    scans = masks["id"].str.split("_slice_").str[0]
    tested = _tested_scans(scans)
    is_test = scans.isin(tested)
    train, test = masks[~is_test], masks[is_test]
    files = _files(raw / "train", scans.str.split("_").str[0].unique())
    _require_folders(scans.unique(), files)
    answers = _with_size(test.rename(columns={"segmentation": "predicted"}), files, tested)

    write_csv(train, public / "train.csv")
    write_csv(test[["id", "class"]], public / "test.csv")
    write_csv(test[["id", "class"]].assign(predicted="1 1 5 2"), public / "sample_submission.csv")
    write_csv(answers, private / "test.csv")
    known_cases = set(train["id"].str.split("_").str[0])
    is_tested = files["scan"].isin(tested) | ~files["case"].isin(known_cases)
    placed = zip(files["path"], is_tested.map({False: "train", True: "test"}), strict=True)
    link_files(((raw / "train" / path, public / side / path) for path, side in placed), "placing slices")


def _tested_scans(scans: pd.Series) -> pd.Index:
    """The scans, `case<c>_day<d>`, of the test."""
    table = pd.DataFrame({"scan": scans.unique()})
    parts = table["scan"].str.extract(r"^(?P<case>[^_]+)_day(?P<day>\d+)$")
    if parts.isna().any(axis=None):
        wrong = table.loc[parts["day"].isna(), "scan"].iloc[0]
        raise PreparationError(f"train.csv: {wrong!r} is no case and day")
    table = table.join(parts.astype({"day": int}))
    _, new_cases = hold_out(pd.Series(table["case"].unique()), 0.1, seed=42)
    rank = table.groupby("case")["day"].rank(method="first")
    return pd.Index(table.loc[table["case"].isin(new_cases) | (rank > TRAINING_DAYS), "scan"])


def _files(folder: Path, cases: Iterable[str]) -> pd.DataFrame:
    """All files of the cases: `path` relative to `folder`, `case`, and `scan`, the folder of the day."""
    paths = [path.relative_to(folder) for case in cases for path in walk(folder / case)]
    scans = [path.parts[1] if len(path.parts) > 2 else "" for path in paths]
    return pd.DataFrame({"path": paths, "case": [path.parts[0] for path in paths], "scan": scans}, dtype=object)


def _require_folders(scans: Iterable[str], files: pd.DataFrame) -> None:
    missing = sorted(set(scans) - set(files["scan"]))
    if missing:
        raise PreparationError(f"{len(missing)} scans have no folder in train: {', '.join(missing[:3])}")


def _with_size(masks: pd.DataFrame, files: pd.DataFrame, scans: pd.Index) -> pd.DataFrame:
    """`masks` with the width and height that the name of each slice's file tells, as real numbers."""
    slices = files[files["scan"].isin(scans)]
    names = pd.Series([path.name for path in slices["path"]], index=slices.index, dtype=object)
    facts = names.str.extract(SLICE)
    facts["id"] = slices["scan"] + "_" + facts.pop("slice")
    facts = facts.dropna()
    repeated, missing = facts.loc[facts["id"].duplicated(), "id"], masks.loc[~masks["id"].isin(facts["id"]), "id"]
    for ids, fault in ((missing, "no file"), (repeated[repeated.isin(masks["id"])], "several files")):
        if len(ids):
            raise PreparationError(f"{ids.nunique()} slices have {fault} in train: {', '.join(ids.unique()[:3])}")
    sizes = facts.drop_duplicates("id").set_index("id").astype(float)
    return masks.join(sizes, on="id")
