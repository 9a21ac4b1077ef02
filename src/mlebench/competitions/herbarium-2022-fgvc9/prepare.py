"""Hold out a random fifth of each species."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pandas as pd

from mlebench.preparation.files import link_files, write_csv
from mlebench.preparation.herbarium import (
    Pair,
    Record,
    folder_of,
    hold_out_of_each,
    pairs_by_category,
    with_pairs,
    write_metadata,
)


def prepare(raw: Path, public: Path, private: Path) -> None:
    metadata = json.loads((raw / "train_metadata.json").read_text(encoding="utf-8"))
    train, test = hold_out_of_each(pairs_by_category(metadata, image_id="image_id"))
    shown, hidden = _renumbered(train), [_test_image(number, pair) for number, pair in enumerate(test)]
    categories = [annotation["category_id"] for annotation, _ in test]
    answers = pd.DataFrame({"Id": range(len(test)), "Predicted": categories})

    write_metadata(with_pairs(metadata, shown), public / "train_metadata.json")
    write_metadata(hidden, public / "test_metadata.json")
    write_csv(answers.assign(Predicted=42), public / "sample_submission.csv")
    write_csv(answers, private / "answers.csv")
    old, source = [image["file_name"] for _, image in [*train, *test]], raw / "train_images"
    new = [public / "train_images" / image["file_name"] for _, image in shown]
    new += [public / "test_images" / image["file_name"] for image in hidden]
    link_files((source / name, target) for name, target in zip(old, new, strict=True))


def _renumbered(pairs: list[Pair]) -> list[Pair]:
    """The training pairs with numbers that count anew within each category, from 1."""
    counts: Counter[int] = Counter()
    renumbered = []
    for annotation, image in pairs:
        category = annotation["category_id"]
        counts[category] += 1
        name = f"{category:05d}__{counts[category]:03d}"
        new = {**image, "image_id": name, "file_name": f"{folder_of(category)}/{name}.jpg"}
        renumbered.append(({**annotation, "image_id": name}, new))
    return renumbered


def _test_image(number: int, pair: Pair) -> Record:
    return {**pair[1], "image_id": str(number), "file_name": f"{number // 1000:03d}/test-{number:06d}.jpg"}
