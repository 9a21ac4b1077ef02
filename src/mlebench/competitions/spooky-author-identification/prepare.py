"""Hold out a random tenth of the sentences."""

from __future__ import annotations

from pathlib import Path

from mlebench.preparation.files import hold_out, one_hot, read_csv, require_unique, unpack, write_csv

# What the sample submission says of every sentence.
CONSTANTS = {"EAP": 0.403493538995863, "HPL": 0.287808366106543, "MWS": 0.308698094897594}


def prepare(raw: Path, public: Path, private: Path) -> None:
    sentences = read_csv(unpack(raw, "train.zip") / "train.csv")
    require_unique(sentences["id"])
    train, test = hold_out(sentences, 0.1)
    answers = one_hot(test["author"], list(CONSTANTS))
    answers.insert(0, "id", test["id"])

    write_csv(train, public / "train.csv")
    write_csv(test.drop(columns="author"), public / "test.csv")
    write_csv(answers.assign(**CONSTANTS), public / "sample_submission.csv")
    write_csv(answers, private / "test.csv")
