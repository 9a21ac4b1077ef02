"""Hold out a random tenth of the plays.

In v2 it is a tenth of the games, with all their plays.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from mlebench.preparation.files import (
    hold_out,
    hold_out_groups,
    link_files,
    require_unique,
    write_csv,
    write_rows,
)
from mlebench.preparation.inexact_floats import read_csv_inexactly

TABLES = ["baseline_helmets", "player_tracking", "video_metadata"]
VIEWS = ["All29", "Endzone", "Sideline"]


def prepare(raw: Path, public: Path, private: Path) -> None:
    labels = _read_labels(raw)
    _divide(raw, public, private, labels, *hold_out(labels["game_play"].drop_duplicates(), 0.1))


def prepare_v2(raw: Path, public: Path, private: Path) -> None:
    labels = _read_labels(raw)
    plays = labels[["game_play"]].drop_duplicates()
    plays["game"] = plays["game_play"].str.partition("_")[0]
    train, test = hold_out_groups(plays, "game", 0.1)
    _divide(raw, public, private, labels, train["game_play"], test["game_play"])


def _read_labels(raw: Path) -> pd.DataFrame:
    labels = read_csv_inexactly(raw / "train_labels.csv")
    require_unique(labels["contact_id"])
    return labels


def _divide(
    raw: Path, public: Path, private: Path, labels: pd.DataFrame, train_plays: pd.Series, test_plays: pd.Series
) -> None:
    """Write all files; tables keep the order of the rows."""
    _write_rows_of(train_plays, labels, public / "train_labels.csv")
    _write_rows_of(test_plays, labels, private / "test.csv")
    tested = labels.loc[labels["game_play"].isin(test_plays), ["contact_id"]]
    write_csv(tested.assign(contact=0), public / "sample_submission.csv")
    for name in TABLES:
        table = read_csv_inexactly(raw / f"train_{name}.csv")
        _write_rows_of(train_plays, table, public / f"train_{name}.csv")
        _write_rows_of(test_plays, table, public / f"test_{name}.csv")
    for side, plays in (("train", train_plays), ("test", test_plays)):
        videos = [f"{play}_{view}.mp4" for play in plays for view in VIEWS]
        link_files(((raw / "train" / name, public / side / name) for name in videos), f"placing videos of {side}")


def _write_rows_of(plays: pd.Series, table: pd.DataFrame, path: Path) -> None:
    write_rows(table, np.flatnonzero(table["game_play"].isin(plays)), path)
