"""Hold out a random fifth of the labelled cut-outs."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from mlebench.errors import PreparationError
from mlebench.preparation.files import hold_out_groups, random_order, require_unique, unpack, write_csv
from mlebench.preparation.seven_zip import write_7z

CutOut = dict[str, Any]
HEAD = 1 << 22  # characters, more than the first object of a file takes
UNKNOWN = "na"


def prepare(raw: Path, public: Path, private: Path) -> None:
    cut_outs, fields = _read_labelled(raw), _test_fields(raw)
    order, count = random_order(len(cut_outs), 0.2)
    sample = _write(cut_outs, order[count:], order[:count], fields, public, private)

    write_csv(sample, private / "sample_submission.csv")
    _write_7z(private / "sample_submission.csv", public / "sample_submission.csv.7z")


def prepare_v2(raw: Path, public: Path, private: Path) -> None:
    """Hold out the cut-outs of a random fifth of the known angles of incidence."""
    cut_outs, fields = _read_labelled(raw), _test_fields(raw)
    angles = pd.DataFrame({"angle": [str(cut_out["inc_angle"]) for cut_out in cut_outs]})
    _, test = hold_out_groups(angles[angles["angle"] != UNKNOWN], "angle", 0.2)
    order = np.random.RandomState(0).permutation(len(cut_outs))
    held_out = np.isin(order, test.index)
    sample = _write(cut_outs, order[~held_out], order[held_out], fields, public, private)

    write_csv(sample, public / "sample_submission.csv")


def _read_labelled(raw: Path) -> list[CutOut]:
    with (unpack(raw, "train.json.7z") / "data" / "processed" / "train.json").open(encoding="utf-8") as file:
        cut_outs = json.load(file)
    if any(cut_out.keys() != cut_outs[0].keys() for cut_out in cut_outs):
        raise PreparationError("train.json: the objects differ in their fields")
    require_unique(pd.Series([cut_out["id"] for cut_out in cut_outs], name="id"))
    return cut_outs


def _test_fields(raw: Path) -> list[str]:
    """The fields of the first object of the unlabelled file, which is too big to be read for their names alone."""
    with (unpack(raw, "test.json.7z") / "data" / "processed" / "test.json").open(encoding="utf-8") as file:
        head = file.read(HEAD)
    try:
        first, _ = json.JSONDecoder().raw_decode(head, head.index("{"))
    except ValueError as error:
        raise PreparationError(f"test.json does not begin with an object: {error}") from error
    return list(first)


def _write(
    cut_outs: list[CutOut], train: np.ndarray, test: np.ndarray, fields: list[str], public: Path, private: Path
) -> pd.DataFrame:
    """Both parts and the answers; `train` and `test` are places. Returns the sample submission."""
    answers = pd.DataFrame({name: [cut_outs[place][name] for place in test] for name in ("id", "is_iceberg")})
    _write_packed((cut_outs[place] for place in train), public / "train.json.7z")
    _write_packed(({name: cut_outs[place][name] for name in fields} for place in test), public / "test.json.7z")
    write_csv(answers.astype({"is_iceberg": int}), private / "test.csv")
    return answers.assign(is_iceberg=0.5)


def _write_packed(cut_outs: Iterable[CutOut], archive: Path) -> None:
    """A JSON list, as `json.dump` would write it, as the single member of an archive."""
    with tempfile.TemporaryDirectory(dir=archive.parent) as folder:
        path = Path(folder, archive.stem)
        with path.open("w", encoding="utf-8") as file:
            for place, cut_out in enumerate(cut_outs):
                file.write((", " if place else "[") + json.dumps(cut_out))
            file.write("]")
        _write_7z(path, archive)


def _write_7z(path: Path, archive: Path) -> None:
    with path.open("rb") as file:
        write_7z(archive, [(path.name, file)])
