"""Hold out the photographs of a random tenth of the TFRecord shards.

In v2 the test shards do not tell the targets.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from mlebench.errors import PreparationError
from mlebench.preparation.files import hold_out, link_files, read_csv, write_csv
from mlebench.preparation.tfrecords import drop_features, read_texts

Placement = tuple[Path, Path]  # source and target


def prepare(raw: Path, public: Path, private: Path) -> None:
    link_files(_prepare_all_but_test_shards(raw, public, private), "placing test_tfrecords")


def prepare_v2(raw: Path, public: Path, private: Path) -> None:
    for source, target in _prepare_all_but_test_shards(raw, public, private):
        drop_features(source, target, {"target"})


def _prepare_all_but_test_shards(raw: Path, public: Path, private: Path) -> list[Placement]:
    """Write all other files, and say where each test shard comes from and belongs."""
    train_shards, test_shards = hold_out(_shards(raw / "train_tfrecords"), 0.1)
    photographs = read_csv(raw / "train.csv")[["image_id", "label"]]
    held_out = pd.Series([name for shard in test_shards for name in read_texts(shard, "image_name")], dtype=object)
    _require_a_row_for_each(held_out, photographs["image_id"])
    in_test = photographs["image_id"].isin(held_out)
    train, test = photographs[~in_test], photographs[in_test]

    write_csv(train, public / "train.csv")
    write_csv(test.assign(label=4), public / "sample_submission.csv")
    write_csv(test, private / "test.csv")
    for part, side in ((train, "train_images"), (test, "test_images")):
        link_files(
            ((raw / "train_images" / name, public / side / name) for name in part["image_id"]), f"placing {side}"
        )
    link_files(_renumbered(train_shards, public / "train_tfrecords" / "ld_train"), "placing train_tfrecords")
    name = "label_num_to_disease_map.json"
    link_files([(raw / name, public / name)])
    return _renumbered(test_shards, public / "test_tfrecords" / "ld_test")


def _shards(folder: Path) -> pd.Series:
    shards = sorted(path for path in folder.glob("*.tfrec") if path.is_file())
    unnumbered = [path.name for path in shards if "-" not in path.stem]
    if unnumbered:
        raise PreparationError(f"shards without a count of records in their name: {', '.join(unnumbered[:3])}")
    return pd.Series(shards, dtype=object)


def _require_a_row_for_each(names: pd.Series, known: pd.Series) -> None:
    unknown = names[~names.isin(known)]
    if len(unknown):
        shown = ", ".join(unknown[:3])
        raise PreparationError(f"{len(unknown):,} photographs of the shards are not in train.csv: {shown}")


def _renumbered(shards: pd.Series, start: Path) -> list[Placement]:
    """Where each shard goes: numbered by its position, the count of records kept."""
    counts = [shard.stem.split("-")[1] for shard in shards]
    targets = [start.with_name(f"{start.name}{place:02d}-{count}.tfrec") for place, count in enumerate(counts)]
    return list(zip(shards, targets, strict=True))
