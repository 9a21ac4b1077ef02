"""Keep a random tenth of the studies for training; about a tenth of the boxes and segmentations is among them."""

from __future__ import annotations

import random
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

import pandas as pd

from mlebench.errors import PreparationError
from mlebench.preparation.files import hold_out, link_files, read_csv, require_unique, walk, write_csv

TRAIN_SHARE = 0.1  # the published preparation takes for training what was meant for the test
LABELS = ["patient_overall", "C1", "C2", "C3", "C4", "C5", "C6", "C7"]
STUDY = "StudyInstanceUID"


def prepare(raw: Path, public: Path, private: Path) -> None:
    studies, boxes, segmented = _read(raw)
    train, with_boxes, with_segmentation = _draw(studies[STUDY].to_list(), sorted(set(boxes[STUDY])), segmented)
    in_train = studies[STUDY].isin(train)

    _write_tables(studies[in_train], studies[~in_train], boxes[boxes[STUDY].isin(with_boxes)], public, private)
    _link(raw, public, studies[in_train], studies[~in_train], with_segmentation)


def prepare_v2(raw: Path, public: Path, private: Path) -> None:
    """Hold out a random tenth of the studies; all boxes and segmentations of the others are public."""
    studies, boxes, segmented = _read(raw)
    train, test = hold_out(studies, 0.1)

    _write_tables(train, test, boxes[boxes[STUDY].isin(train[STUDY])], public, private)
    _link(raw, public, train, test, set(segmented) & set(train[STUDY]))


def _read(raw: Path) -> tuple[pd.DataFrame, pd.DataFrame, list[str]]:
    """The labels, the boxes, and the studies with a segmentation, sorted."""
    studies = read_csv(raw / "train.csv", dtype={STUDY: str})
    require_unique(studies[STUDY])
    boxes = read_csv(raw / "train_bounding_boxes.csv", dtype={STUDY: str})
    return studies, boxes, sorted(path.stem for path in (raw / "segmentations").glob("*.nii"))


def _draw(
    studies: Sequence[str], boxed: Sequence[str], segmented: Sequence[str]
) -> tuple[set[str], set[str], set[str]]:
    """The training studies, and those of them whose boxes and whose segmentation are public.

    One generator draws all, in this order: with both, with a segmentation alone, with boxes alone, and any others.
    """
    both = sorted(set(boxed) & set(segmented))
    wanted, wanted_boxed, wanted_segmented, wanted_both = (
        round(TRAIN_SHARE * len(names)) for names in (studies, boxed, segmented, both)
    )
    if not 0 < wanted < len(studies):
        raise PreparationError(f"{len(studies)} studies are too few to keep a tenth of them for training")
    rng = random.Random(0)
    drawn_both = _sample(rng, both, wanted_both)
    only_segmented = _sample(rng, _without(segmented, both), wanted_segmented - wanted_both)
    only_boxed = _sample(rng, _without(boxed, both), wanted_boxed - wanted_both)
    chosen = {*drawn_both, *only_segmented, *only_boxed}
    others = _sample(rng, _without(studies, chosen), wanted - len(chosen))
    return {*chosen, *others}, {*drawn_both, *only_boxed}, {*drawn_both, *only_segmented}


def _without(names: Iterable[str], left_out: Collection[str]) -> list[str]:
    left_out = set(left_out)
    return [name for name in names if name not in left_out]


def _sample(rng: random.Random, names: Sequence[str], count: int) -> list[str]:
    """`count` of the names, or as many as there are: in small data the rounded sizes need not fit."""
    return rng.sample(names, min(max(count, 0), len(names)))


def _write_tables(train: pd.DataFrame, test: pd.DataFrame, boxes: pd.DataFrame, public: Path, private: Path) -> None:
    answers = test.melt(STUDY, LABELS, "prediction_type", "fractured")
    answers["row_id"] = answers[STUDY] + "_" + answers["prediction_type"]

    write_csv(train, public / "train.csv")
    write_csv(boxes, public / "train_bounding_boxes.csv")
    write_csv(answers.drop(columns="fractured"), public / "test.csv")
    write_csv(answers[["row_id"]].assign(fractured=0.5), public / "sample_submission.csv")
    write_csv(answers, private / "answers.csv")


def _link(raw: Path, public: Path, train: pd.DataFrame, test: pd.DataFrame, segmented: Collection[str]) -> None:
    names = [f"{study}.nii" for study in sorted(segmented)]
    folder = "segmentations"
    link_files(((raw / folder / name, public / folder / name) for name in names), f"placing {folder}")
    for studies, folder in ((train[STUDY], "train_images"), (test[STUDY], "test_images")):
        link_files(_slices(raw / "train_images", studies, public / folder), f"placing {folder}")


def _slices(source: Path, studies: Iterable[str], target: Path) -> Iterable[tuple[Path, Path]]:
    for study in studies:
        if not (source / study).is_dir():
            raise PreparationError(f"the study {study} has no folder in {source}")
        for path in walk(source / study):
            yield path, target / path.relative_to(source)
