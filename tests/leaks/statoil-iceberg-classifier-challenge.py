"""Cut-outs with exactly the same angle of incidence come from one picture, and mostly show the same kind of object.

Each test cut-out gets the mean label of the training cut-outs with its angle.
"""

import json
import tempfile
from pathlib import Path

import pandas as pd

from mlebench.preparation.seven_zip import un7zip

SURE = 0.995  # a few labels of one angle are not quite enough for more


def exploit(public: Path) -> pd.DataFrame:
    train, test = _read(public, "train"), _read(public, "test")
    by_angle = train.groupby("inc_angle")["is_iceberg"].mean()
    predicted = test["inc_angle"].map(by_angle).fillna(train["is_iceberg"].mean()).clip(1 - SURE, SURE)
    return pd.DataFrame({"id": test["id"], "is_iceberg": predicted})


def _read(public: Path, part: str) -> pd.DataFrame:
    with tempfile.TemporaryDirectory() as folder:
        un7zip(public / f"{part}.json.7z", Path(folder))
        cut_outs = json.loads(Path(folder, f"{part}.json").read_text())
    names = [name for name in ("id", "inc_angle", "is_iceberg") if name in cut_outs[0]]
    return pd.DataFrame([{name: cut_out[name] for name in names} for cut_out in cut_outs]).astype({"inc_angle": str})
