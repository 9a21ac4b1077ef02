"""Hold out the pictures of random camera locations.

In v2 the test is the share of the pictures that v1 meant, and the metadata do not count the test's categories.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from mlebench.errors import PreparationError
from mlebench.preparation.files import hold_out, link_files, require_unique, write_csv
from mlebench.preparation.herbarium import Record, read_metadata

SHARE = 0.22  # of the locations, and about that of the pictures
SAMPLE_CATEGORIES = 676
TRAIN, TEST = "iwildcam2020_train_annotations.json", "iwildcam2020_test_information.json"
DETECTIONS = "iwildcam2020_megadetector_results.json"


def prepare(raw: Path, public: Path, private: Path) -> None:
    given = _read(raw / TRAIN, ["annotations", "images", "categories", "info"])
    # The pictures of the test are counted twice, so that more of them are held out than was meant.
    train, test = _divide(given, count_test_twice=True)
    _write(raw, public, private, given | train, _read(raw / TEST, ["categories", "info"]) | test)


def prepare_v2(raw: Path, public: Path, private: Path) -> None:
    given = _read(raw / TRAIN, ["annotations", "images", "categories", "info"])
    train, test = _divide(given, count_test_twice=False)
    test["annotations"] = _first_of_each_image(test["annotations"])
    known = _read(raw / TEST, ["categories", "info"])
    known["categories"] = [{key: each[key] for key in each if key != "count"} for each in known["categories"]]
    _write(raw, public, private, given | train | {"categories": _recounted(given, train)}, known | test)


def _read(file: Path, keys: list[str]) -> Record:
    """The object in `file`, reduced to `keys`, in this order; lists of records in the form that v1 gave them."""
    content = read_metadata(file, keys)
    return {key: content[key] if key == "info" else _as_of_a_table(content[key]) for key in keys}


def _as_of_a_table(records: list[Record]) -> list[Record]:
    """The records as they came back from v1's pandas table: all with the same keys, gaps NaN, columns of one type."""
    keys = list(dict.fromkeys(key for record in records for key in record))
    columns = [_as_of_a_column([record.get(key, np.nan) for record in records]) for key in keys]
    return [dict(zip(keys, row, strict=True)) for row in zip(*columns, strict=True)]


def _as_of_a_column(values: list[Any]) -> list[Any]:
    """Numbers of one type; texts, and what stands among them, are left alone."""
    return values if any(isinstance(value, str) for value in values) else pd.Series(values).tolist()


def _divide(given: Record, *, count_test_twice: bool) -> tuple[Record, Record]:
    """Images and annotations of the training and the test locations, in the order of the file."""
    images, annotations = given["images"], given["annotations"]
    locations = pd.Series([image["location"] for image in images])
    names = pd.Series([image["id"] for image in images], name="image id")
    annotated = pd.Series([annotation["image_id"] for annotation in annotations], name="image_id")
    require_unique(names)
    if not names.isin(annotated).all():
        lost = names[~names.isin(annotated)]
        raise PreparationError(f"{len(lost):,} of {len(names):,} images have no annotation: {', '.join(lost[:3])}")
    held_out = locations.isin(_test_locations(locations, count_test_twice=count_test_twice))
    # Annotations of pictures that are not listed are left out.
    train, test = (annotated.isin(names[chosen]) for chosen in (~held_out, held_out))
    return _chosen(given, ~held_out, train), _chosen(given, held_out, test)


def _chosen(given: Record, images: pd.Series, annotations: pd.Series) -> Record:
    return {
        "annotations": [each for each, taken in zip(given["annotations"], annotations, strict=True) if taken],
        "images": [each for each, taken in zip(given["images"], images, strict=True) if taken],
    }


def _first_of_each_image(annotations: list[Record]) -> list[Record]:
    """One annotation an image, so that no id stands twice in the answers."""
    first: Record = {}
    for each in annotations:
        first.setdefault(each["image_id"], each)
    return list(first.values())


def _test_locations(locations: pd.Series, *, count_test_twice: bool) -> list[Any]:
    """Random locations, then one after the other added or given back until they have the right share of pictures."""
    train, test = (part.tolist() for part in hold_out(locations.drop_duplicates(), SHARE))
    pictures = locations.value_counts()
    held_out = int(pictures[test].sum())

    def share() -> float:
        return held_out / (len(locations) + held_out * count_test_twice)

    while share() < SHARE:
        test.append(train.pop())
        held_out += int(pictures[test[-1]])
    while share() > SHARE:
        train.append(test.pop())
        held_out -= int(pictures[train[-1]])
    if not train or not test:
        raise PreparationError(f"the {len(pictures):,} locations can't be divided: some have too many of the pictures")
    return test


def _recounted(given: Record, train: Record) -> list[Record]:
    """The categories, with the training annotations of each as `count`."""
    counts = pd.Series([annotation["category_id"] for annotation in train["annotations"]]).value_counts()
    return [{**each, "count": int(counts.get(each["id"], 0))} for each in given["categories"]]


def _write(raw: Path, public: Path, private: Path, train: Record, test: Record) -> None:
    _write_json(train, public / TRAIN)
    _write_json({key: test[key] for key in ("images", "categories", "info")}, public / TEST)
    link_files([(raw / DETECTIONS, public / DETECTIONS)])
    answers = pd.DataFrame(
        {
            "Id": [annotation["image_id"] for annotation in test["annotations"]],
            "Category": [annotation["category_id"] for annotation in test["annotations"]],
        }
    )
    guesses = np.random.RandomState(0).randint(0, SAMPLE_CATEGORIES, size=len(answers))
    write_csv(answers, private / "answers.csv")
    write_csv(answers.assign(Category=guesses), public / "sample_submission.csv")
    for side, images in (("train", train["images"]), ("test", test["images"])):
        names = [f"{image['id']}.jpg" for image in images]
        link_files(((raw / "train" / name, public / side / name) for name in names), f"placing {side}")


def _write_json(content: Record, file: Path) -> None:
    file.write_text(json.dumps(content), encoding="ascii")
