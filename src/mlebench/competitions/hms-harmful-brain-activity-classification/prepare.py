"""Hold out a random tenth of the spectrograms with all their segments."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from mlebench.preparation.files import hold_out_groups, link_files, link_folder, read_csv, write_csv

VOTES = ["seizure_vote", "lpd_vote", "gpd_vote", "lrda_vote", "grda_vote", "other_vote"]
RECORDINGS = {"eegs": "eeg_id", "spectrograms": "spectrogram_id"}


def prepare(raw: Path, public: Path, private: Path) -> None:
    train, test = hold_out_groups(read_csv(raw / "train.csv"), "spectrogram_id", 0.1)

    write_csv(test[["spectrogram_id", "eeg_id", "patient_id"]], public / "test.csv")
    _write(train, test, "eeg_id", public, private)
    _link(raw, train, test, public)


def prepare_v2(raw: Path, public: Path, private: Path) -> None:
    """Hold out a random tenth of the patients; a row has its own id, and the test table has the offsets."""
    segments = read_csv(raw / "train.csv")
    segments.insert(0, "segment_id", segments["eeg_id"].map(str) + "_" + segments["eeg_sub_id"].map(str))
    train, test = hold_out_groups(segments, "patient_id", 0.1)

    write_csv(test.drop(columns=["label_id", "expert_consensus", *VOTES]), public / "test.csv")
    _write(train, test, "segment_id", public, private)
    _link(raw, train, test, public)


def _write(train: pd.DataFrame, test: pd.DataFrame, key: str, public: Path, private: Path) -> None:
    gold = test[[key]].join(test[VOTES].div(test[VOTES].sum(axis=1), axis=0))
    write_csv(train, public / "train.csv")
    write_csv(gold.assign(**dict.fromkeys(VOTES, 1 / 6)), public / "sample_submission.csv")
    write_csv(test, private / "test.csv")
    write_csv(gold, private / "gold_submission.csv")


def _link(raw: Path, train: pd.DataFrame, test: pd.DataFrame, public: Path) -> None:
    link_folder(raw / "example_figures", public / "example_figures", "placing example_figures")
    for kind, key in RECORDINGS.items():
        for table, folder in ((train, f"train_{kind}"), (test, f"test_{kind}")):
            names = [f"{number}.parquet" for number in table[key].unique()]
            pairs = ((raw / f"train_{kind}" / name, public / folder / name) for name in names)
            link_files(pairs, f"placing {folder}")
