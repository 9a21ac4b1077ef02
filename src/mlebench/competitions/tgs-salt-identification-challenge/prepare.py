"""Hold out a random quarter of the labelled images."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from mlebench.errors import PreparationError
from mlebench.preparation.files import hold_out, link_files, read_csv, unpack, write_csv


def prepare(raw: Path, public: Path, private: Path) -> None:
    _prepare(raw, public, private, depths_of_test=False)


def prepare_v2(raw: Path, public: Path, private: Path) -> None:
    """The same, but the depths of the test images are given too."""
    _prepare(raw, public, private, depths_of_test=True)


def _prepare(raw: Path, public: Path, private: Path, *, depths_of_test: bool) -> None:
    labelled = unpack(raw, "competition_data.zip") / "competition_data"
    masks = read_csv(labelled / "train.csv", dtype=str)[["id", "rle_mask"]]
    _require_an_image_for_each(masks["id"], labelled / "train" / "images")
    train, test = (part.sort_values("id") for part in hold_out(masks, 0.25))
    depths = read_csv(raw / "depths.csv", dtype={"id": str})[["id", "z"]].sort_values("id")

    write_csv(train, public / "train.csv")
    given = masks["id"] if depths_of_test else train["id"]
    write_csv(depths[depths["id"].isin(given)], public / "depths.csv")
    write_csv(test[["id"]].assign(rle_mask="1 1"), public / "sample_submission.csv")
    write_csv(test, private / "test.csv")
    _link_pngs(train["id"], labelled / "train" / "images", public / "train" / "images")
    _link_pngs(train["id"], labelled / "train" / "masks", public / "train" / "masks")
    _link_pngs(test["id"], labelled / "train" / "images", public / "test" / "images")


def _require_an_image_for_each(ids: Iterable[str], folder: Path) -> None:
    ids = list(ids)
    images = sum(1 for _ in folder.glob("*.png"))
    if len(set(ids)) != len(ids) or images != len(ids):
        raise PreparationError(f"train.csv has {len(ids)} rows of {len(set(ids))} ids, {folder} {images} images")


def _link_pngs(ids: Iterable[str], source: Path, target: Path) -> None:
    link_files(((source / f"{name}.png", target / f"{name}.png") for name in ids), "placing images")
