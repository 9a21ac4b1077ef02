"""Hold out the last two of the four days; both parts are numbered anew in the order of their names."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd

from mlebench.errors import PreparationError
from mlebench.preparation.files import unpack, write_csv, zip_files

DAYS, TRAINING_DAYS = 4, 2


def prepare(raw: Path, public: Path, private: Path) -> None:
    folder = unpack(raw, "train2.zip") / "train2"
    old_train, old_test = _divide(folder)
    train = [re.sub(r"TRAIN\d+", f"TRAIN{number}", name) for number, name in enumerate(old_train)]
    test = [f"{name.split('TRAIN')[0]}Test{number}.aif" for number, name in enumerate(old_test)]
    answers = pd.DataFrame({"clip": test, "probability": [int(name.endswith("_1.aif")) for name in old_test]})

    for part, old_names, new_names in (("train2", old_train, train), ("test2", old_test, test)):
        pairs = zip(old_names, new_names, strict=True)
        zip_files(((folder / old, f"{part}/{new}") for old, new in pairs), public / f"{part}.zip")
    write_csv(answers.assign(probability=0), public / "sampleSubmission.csv")
    write_csv(answers, private / "test.csv")


def _divide(folder: Path) -> tuple[list[str], list[str]]:
    """The names of the clips of the first days and of the last ones, each sorted."""
    names = sorted(path.name for path in folder.iterdir())
    strange = [name for name in names if not re.fullmatch(r"[^_]+_.*TRAIN\d+_[01]\.aif", name)]
    if strange:
        raise PreparationError(f"train2.zip: {len(strange)} members are not named like a clip: {strange[:3]}")
    days = sorted({name.split("_")[0] for name in names})
    if len(days) != DAYS:
        raise PreparationError(f"train2.zip holds clips of {len(days)} days, not of {DAYS}: {', '.join(days[:5])}")
    is_training = [name.split("_")[0] in days[:TRAINING_DAYS] for name in names]
    train = [name for name, training in zip(names, is_training, strict=True) if training]
    return train, [name for name, training in zip(names, is_training, strict=True) if not training]
