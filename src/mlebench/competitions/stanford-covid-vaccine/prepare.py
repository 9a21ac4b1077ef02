"""Hold out a tenth of the molecules, drawn among those that pass the filter against noise."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from mlebench.errors import PreparationError
from mlebench.preparation.files import write_csv

TARGETS = ["reactivity", "deg_Mg_pH10", "deg_pH10", "deg_Mg_50C", "deg_50C"]


def prepare(raw: Path, public: Path, private: Path) -> None:
    train, test = _divide(_read_lines(raw / "train.json"))
    columns = _read_lines(raw / "test.json").columns
    if shown := [name for name in TARGETS if name in columns]:
        raise PreparationError(f"test.json shows the targets {', '.join(shown)}")
    answers = _one_row_a_position(test)

    _write_lines(train, public / "train.json")
    _write_lines(test[columns], public / "test.json")
    write_csv(
        answers.drop(columns="keep").assign(**dict.fromkeys(TARGETS, 0.0)),
        public / "sample_submission.csv",
        float_format="%.10f",
    )
    write_csv(answers, private / "test.csv", float_format="%.10f")


def _divide(molecules: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Training and test molecules, each in the order of the file and numbered anew."""
    count = int(len(molecules) * 0.1)
    passed = molecules[molecules["SN_filter"] > 0]
    if not 0 < count <= len(passed):
        raise PreparationError(
            f"{count} of {len(molecules)} molecules can't be held out: {len(passed)} pass the filter SN_filter"
        )
    held_out = molecules.index.isin(passed.sample(n=count, random_state=0).index)
    train, test = molecules[~held_out], molecules[held_out]
    return train.assign(index=range(len(train))), test.assign(index=range(len(test)))


def _one_row_a_position(molecules: pd.DataFrame) -> pd.DataFrame:
    """The targets, position by position; `keep` says which were measured, the others are zero."""
    _check_lengths(molecules)
    lengths, scored = molecules["seq_length"].to_numpy(), molecules["seq_scored"].to_numpy()
    position = np.arange(lengths.sum()) - np.repeat(lengths.cumsum() - lengths, lengths)
    keep = position < np.repeat(scored, lengths)
    ids = [f"{name}_{at}" for name, at in zip(np.repeat(molecules["id"].to_numpy(), lengths), position, strict=True)]
    table = pd.DataFrame({"id_seqpos": ids})
    for target in TARGETS:
        values = np.zeros(len(table))
        values[keep] = np.concatenate(molecules[target].tolist())
        table[target] = values
    return table.assign(keep=keep)


def _check_lengths(molecules: pd.DataFrame) -> None:
    """Raise PreparationError unless all molecules are of one length and measured at `seq_scored` positions of it."""
    if molecules["seq_length"].nunique() > 1:
        raise PreparationError("train.json: the molecules differ in seq_length")
    if (molecules["seq_scored"] >= molecules["seq_length"]).any():
        raise PreparationError("train.json: seq_scored is not below seq_length")
    for target in TARGETS:
        wrong = molecules[target].map(len) != molecules["seq_scored"]
        if wrong.any():
            name = molecules.loc[wrong, "id"].iloc[0]
            raise PreparationError(f"train.json: {target} of {name} has not seq_scored values")


def _read_lines(path: Path) -> pd.DataFrame:
    with path.open(encoding="utf-8") as file:
        return pd.read_json(file, lines=True)


def _write_lines(table: pd.DataFrame, path: Path) -> None:
    table.to_json(path, orient="records", lines=True)
