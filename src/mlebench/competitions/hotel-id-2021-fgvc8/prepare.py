"""Hold out a random tenth of the photographs; in edition v2 whole visits, and never a hotel's only one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from mlebench.errors import PreparationError
from mlebench.preparation.files import hold_out, link_files, random_order, read_csv, require_unique, write_csv

LISTED_TWICE = "ce27d36c9147cc19.jpg"
SAMPLE = "36363 53586 18807 64314 60181"
LONGEST_PAUSE = pd.Timedelta(hours=1)  # between photographs of one visit


def prepare(raw: Path, public: Path, private: Path) -> None:
    train, test = hold_out(_photographs(raw), 0.1)

    _write(train, test, raw, public, private)


def prepare_v2(raw: Path, public: Path, private: Path) -> None:
    photographs = _photographs(raw)
    hidden = _visits_to_hold_out(photographs)
    order, _ = random_order(len(photographs), 0.1)
    mixed, is_test = photographs.iloc[order], hidden[order]

    _write(mixed[~is_test], mixed[is_test], raw, public, private)


def _photographs(raw: Path) -> pd.DataFrame:
    photographs = read_csv(raw / "train.csv", dtype={"image": str})
    photographs = photographs[photographs["image"] != LISTED_TWICE]
    require_unique(photographs["image"])
    return photographs


def _visits_to_hold_out(photographs: pd.DataFrame) -> np.ndarray:
    """Whether each photograph is held out, shape (rows,): about a tenth, random visits, not the only ones of a hotel.

    A visit are the photographs of a hotel that follow each other without a long pause. Raises PreparationError if
    no hotel has two visits.
    """
    visits = _visits(photographs)
    sizes = visits.groupby("visit").agg(hotel_id=("hotel_id", "first"), photographs=("hotel_id", "size"))
    mixed = sizes.iloc[np.random.RandomState(0).permutation(len(sizes))]
    candidates = mixed[mixed["hotel_id"].duplicated()]  # the first one of each hotel stays
    if candidates.empty:
        raise PreparationError("no hotel was photographed in two visits, so none can be held out")
    before = candidates["photographs"].cumsum() - candidates["photographs"]
    held_out = candidates.index[before < 0.1 * len(photographs)]
    return visits["visit"].isin(held_out).to_numpy()


def _visits(photographs: pd.DataFrame) -> pd.DataFrame:
    """Hotel and number of the visit of each photograph, in their order. One without a time is a visit by itself."""
    times = pd.to_datetime(photographs["timestamp"], errors="coerce")
    table = photographs[["hotel_id"]].assign(time=times).sort_values(["hotel_id", "time"], kind="stable")
    goes_on = table["hotel_id"].eq(table["hotel_id"].shift()) & (table["time"].diff() <= LONGEST_PAUSE)
    return table.assign(visit=(~goes_on).cumsum()).loc[photographs.index, ["hotel_id", "visit"]]


def _write(train: pd.DataFrame, test: pd.DataFrame, raw: Path, public: Path, private: Path) -> None:
    write_csv(train, public / "train.csv")
    write_csv(test[["image"]].assign(hotel_id=SAMPLE), public / "sample_submission.csv")
    write_csv(test, private / "test.csv")
    _link(train, raw, public / "train_images", by_chain=True)
    _link(test, raw, public / "test_images", by_chain=False)


def _link(photographs: pd.DataFrame, raw: Path, target: Path, *, by_chain: bool) -> None:
    names = photographs["chain"].map(str) + "/" + photographs["image"]
    placed = names if by_chain else photographs["image"]
    pairs = zip(names, placed, strict=True)
    link_files(((raw / "train_images" / name, target / new) for name, new in pairs), f"placing {target.name}")
