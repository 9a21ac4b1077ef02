"""What the herbarium competitions share: metadata in the COCO layout, and a part of every species held out.

The metadata are one JSON object in which `annotations` and `images` are parallel lists.
"""

from __future__ import annotations

import json
import random
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from mlebench.errors import PreparationError
from mlebench.preparation.files import link_files, random_order

Record = dict[str, Any]
Pair = tuple[Record, Record]  # an annotation and its image


def divide_specimens(metadata: Mapping[str, Any], source: Path, train: Path, test: Path) -> pd.DataFrame:
    """Divide the images that lie in `source` among `train` and `test`, with a metadata.json each; the answers.

    Held out are a random fifth of each category, one image where there are two to four, none where there is one.
    The test's images are numbered anew, their ids being texts. Columns of the answers: Id, Predicted.
    """
    shown, hidden = hold_out_of_each(pairs_by_category(metadata), few=5)
    files = [f"images/{number // 1000:03d}/{number}.jpg" for number in range(len(hidden))]
    images = [{**image, "id": str(number), "file_name": files[number]} for number, (_, image) in enumerate(hidden)]
    write_metadata(with_pairs(metadata, shown), train / "metadata.json")
    write_metadata(_of_the_test(metadata, images), test / "metadata.json")
    link_files((source / image["file_name"], train / image["file_name"]) for _, image in shown)
    link_files((source / image["file_name"], test / file) for (_, image), file in zip(hidden, files, strict=True))
    return pd.DataFrame({"Id": range(len(hidden)), "Predicted": [record["category_id"] for record, _ in hidden]})


def read_metadata(path: Path, keys: Collection[str]) -> Record:
    """The object in the JSON file `path`. Raises PreparationError if it can't be read or lacks one of `keys`."""
    try:
        metadata = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise PreparationError(f"{path} can't be read: {error}") from error
    if lost := set(keys) - set(metadata):
        raise PreparationError(f"{path} lacks {', '.join(sorted(lost))}")
    return metadata


def pairs_by_category(metadata: Mapping[str, Any], image_id: str = "id") -> dict[int, list[Pair]]:
    """The pairs of annotation and image of each `category_id`, all in the order of the file.

    `image_id` is the key of an image's own id. Raises PreparationError if the two lists are not parallel.
    """
    annotations, images = metadata["annotations"], metadata["images"]
    if len(annotations) != len(images):
        raise PreparationError(f"the metadata have {len(annotations):,} annotations of {len(images):,} images")
    groups: dict[int, list[Pair]] = {}
    for annotation, image in zip(annotations, images, strict=True):
        if annotation["image_id"] != image[image_id]:
            raise PreparationError(f"annotation {annotation['image_id']} stands beside image {image[image_id]}")
        groups.setdefault(annotation["category_id"], []).append((annotation, image))
    return groups


def hold_out_of_each(
    groups: Mapping[int, list[Pair]], few: int = 0, share: float = 0.2
) -> tuple[list[Pair], list[Pair]]:
    """The other pairs, category by category, and a random `share` of each category, rounded up, for the test.

    Categories of less than `few` pairs give their last one to the test, unless it is the only one. The test is
    shuffled. Raises PreparationError if a category that is divided at random has one pair only.
    """
    train: list[Pair] = []
    test: list[Pair] = []
    for pairs in groups.values():
        shown, hidden = _divide(len(pairs), few, share)
        train += [pairs[place] for place in shown]
        test += [pairs[place] for place in hidden]
    random.Random(0).shuffle(test)
    return train, test


@cache
def _divide(count: int, few: int, share: float) -> tuple[Sequence[int], Sequence[int]]:
    """The places for training and for the test among `count`, the same for all categories of one size."""
    if count < few:
        kept = max(count - 1, 1)
        return range(kept), range(kept, count)
    order, hidden = random_order(count, share)
    return order[hidden:].tolist(), order[:hidden].tolist()


def with_pairs(metadata: Mapping[str, Any], pairs: Sequence[Pair]) -> Record:
    """`metadata` with the annotations and images of `pairs` in place of its own."""
    return {**metadata, "annotations": [pair[0] for pair in pairs], "images": [pair[1] for pair in pairs]}


def _of_the_test(metadata: Mapping[str, Any], images: Sequence[Record]) -> Record:
    """What may be known of the test: `images`, and of `metadata` what it says about the data as a whole.

    Raises PreparationError if the metadata hold more than what is known to be harmless or left out.
    """
    kept = {"info", "licenses"}
    unknown = set(metadata) - kept - {"annotations", "categories", "images", "institutions", "regions"}
    if unknown or not kept <= set(metadata):
        raise PreparationError(f"the metadata have the keys {', '.join(sorted(metadata))}")
    return {**{key: metadata[key] for key in kept}, "images": images}


def write_metadata(metadata: object, path: Path) -> None:
    """Write JSON in ASCII with sorted keys and an indent of 4. Makes the parent folders."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="ascii") as file:
        json.dump(metadata, file, indent=4, sort_keys=True)


def folder_of(category: int) -> str:
    """The folder of a category's training images: 15504 -> "155/04"."""
    return f"{category // 100:03d}/{category % 100:02d}"


def long_tailed_species(rng: np.random.Generator, size: int, limit: int, least: int = 1) -> np.ndarray:
    """The category of each of `size` invented specimens, shape (size,), in no order.

    Categories are numbers below `limit`. Many have only `least` specimens or few more, some have up to 80.
    """
    counts = np.minimum(least + (3 * rng.pareto(1.2, size)).astype(int), 80)
    counts[0] = max(counts[0], 5)
    counts = counts[: np.searchsorted(np.cumsum(counts), size) + 1]
    counts[-1] -= counts.sum() - size
    if counts[-1] < least and len(counts) > 1:
        counts[-2] += counts[-1]
        counts = counts[:-1]
    numbers = rng.choice(limit, len(counts), replace=False)
    return rng.permutation(np.repeat(numbers, counts))
