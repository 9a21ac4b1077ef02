"""Hold out a random tenth of the plays.

In v2 it is a tenth of the games, with all their plays.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from mlebench.preparation.files import hold_out, hold_out_groups, link_files, read_csv, require_unique, write_csv
from mlebench.preparation.inexact_floats import read_csv_inexactly, read_parts_inexactly
from mlebench.preparation.parts import write_by_key

TABLES = ["baseline_helmets", "player_tracking", "video_metadata"]
VIEWS = ["All29", "Endzone", "Sideline"]


def prepare(raw: Path, public: Path, private: Path) -> None:
    _divide(raw, public, private, *hold_out(_read_plays(raw)["game_play"], 0.1))


def prepare_v2(raw: Path, public: Path, private: Path) -> None:
    plays = _read_plays(raw)
    plays["game"] = plays["game_play"].str.partition("_")[0]
    train, test = hold_out_groups(plays, "game", 0.1)
    _divide(raw, public, private, train["game_play"], test["game_play"])


def _read_plays(raw: Path) -> pd.DataFrame:
    """A row for each labelled play, in the order of the labels."""
    labels = read_csv(raw / "train_labels.csv", usecols=["contact_id", "game_play"])
    require_unique(labels["contact_id"])
    return labels[["game_play"]].drop_duplicates()


def _divide(raw: Path, public: Path, private: Path, train_plays: pd.Series, test_plays: pd.Series) -> None:
    """Write all files; tables keep the order of the rows."""
    _divide_table(raw / "train_labels.csv", train_plays, public / "train_labels.csv", test_plays, private / "test.csv")
    tested = read_csv(private / "test.csv", usecols=["contact_id"])
    write_csv(tested.assign(contact=0), public / "sample_submission.csv")
    for name in TABLES:
        train, test = (public / f"{side}_{name}.csv" for side in ("train", "test"))
        _divide_table(raw / f"train_{name}.csv", train_plays, train, test_plays, test)
    for side, plays in (("train", train_plays), ("test", test_plays)):
        videos = [f"{play}_{view}.mp4" for play in plays for view in VIEWS]
        link_files(((raw / "train" / name, public / side / name) for name in videos), f"placing videos of {side}")


def _divide_table(source: Path, train_plays: pd.Series, train: Path, test_plays: pd.Series, test: Path) -> None:
    sides = {train: train_plays, test: test_plays}
    write_by_key("game_play", sides, read_parts_inexactly(source), lambda: read_csv_inexactly(source))
