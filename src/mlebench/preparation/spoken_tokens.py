"""Sentences cut into tokens, written and spoken: what the contests on the normalisation of text share.

Their raw file is one CSV of ten million tokens in a zip; so are the public files.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from mlebench.preparation.archives import reading_member, writing_member
from mlebench.preparation.files import hold_out, write_csv
from mlebench.preparation.synthetic import write_zip
from mlebench.tables import read_csv

_QUOTED = csv.QUOTE_NONNUMERIC
_ROWS_OF_A_PART = 500_000
_TEXTS = ["class", "before", "after"]


def read_tokens(raw: Path, name: str, *, verbatim: bool) -> pd.DataFrame:
    """The table in `raw`/`name`.csv.zip; `verbatim` takes words such as NA for texts, not for missing cells."""
    with reading_member(raw / f"{name}.csv.zip", f"{name}.csv") as member:
        if verbatim:
            return read_csv(member, dtype=dict.fromkeys(_TEXTS, str), keep_default_na=False)
        return read_csv(member)


def divide(tokens: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """The numbers of the training rows and of the test rows, rising: a random tenth of the sentences is the test."""
    _, test = hold_out(tokens["sentence_id"].drop_duplicates(), 0.1)
    in_test = tokens["sentence_id"].isin(test).to_numpy()
    return np.flatnonzero(~in_test), np.flatnonzero(in_test)


def without_sentences_of(train: np.ndarray, test: np.ndarray, tokens: pd.DataFrame) -> np.ndarray:
    """The rows `train` without the sentences that, as they are written, stand among the rows `test`, too."""
    sentences = tokens["before"].groupby(tokens["sentence_id"], sort=False).agg("\n".join)
    texts = tokens["sentence_id"].map(pd.Series(pd.factorize(sentences)[0], index=sentences.index)).to_numpy()
    return train[~np.isin(texts[train], texts[test])]


def write_tokens(
    tokens: pd.DataFrame, train: np.ndarray, test: np.ndarray, public: Path, private: Path, prefix: str, compress: bool
) -> None:
    """Write all files: texts in quotes, sentences numbered anew in each part, public files zipped."""
    held_out = _renumbered(tokens, test)
    ids = held_out["sentence_id"].map(str) + "_" + held_out["token_id"].map(str)
    answers = pd.DataFrame({"id": ids, "after": held_out["after"]})
    sample = pd.DataFrame({"id": ids, "after": held_out["before"]})

    write_csv(answers, private / "answers.csv", quoting=_QUOTED)
    write_csv(sample, private / "sample_submission.csv", quoting=_QUOTED)
    test_columns = ["sentence_id", "token_id", "before"]
    _write_zipped([sample], public, f"{prefix}_sample_submission_2", compress)
    _write_zipped([held_out[test_columns]], public, f"{prefix}_test_2", compress)
    _write_zipped(_parts(tokens, train), public, f"{prefix}_train", compress)


def _renumbered(tokens: pd.DataFrame, rows: np.ndarray) -> pd.DataFrame:
    part = tokens.take(rows).reset_index(drop=True)
    return part.assign(sentence_id=pd.factorize(part["sentence_id"])[0])


def _parts(tokens: pd.DataFrame, rows: np.ndarray) -> Iterator[pd.DataFrame]:
    """What `_renumbered` gives, in parts."""
    numbers = pd.factorize(tokens["sentence_id"].to_numpy()[rows])[0]
    for start in range(0, len(rows), _ROWS_OF_A_PART):
        end = start + _ROWS_OF_A_PART
        yield tokens.take(rows[start:end]).assign(sentence_id=numbers[start:end])


def _write_zipped(parts: Iterable[pd.DataFrame], public: Path, name: str, compress: bool) -> None:
    with writing_member(public / f"{name}.csv.zip", f"{name}.csv", compress=compress) as member:
        for number, part in enumerate(parts):
            part.to_csv(member, index=False, header=number == 0, lineterminator="\n", quoting=_QUOTED)


Token = tuple[str, str, str]  # class, written form, spoken form


def make_tokens(
    rng: np.random.Generator, count: int, make_token: Callable[[np.random.Generator], Token]
) -> pd.DataFrame:
    """A synthetic table of `count` tokens; one sentence in ten repeats another, some numbers are left out."""
    sentences: list[list[Token]] = []
    made = 0
    while made < count:
        if sentences and rng.random() < 0.1:
            sentence = sentences[rng.integers(len(sentences))]
        else:
            sentence = [make_token(rng) for _ in range(rng.integers(3, 12))] + [("PUNCT", ".", ".")]
        sentences.append(sentence)
        made += len(sentence)
    rows = [(number, place, *token) for number, s in enumerate(sentences) for place, token in enumerate(s)]
    table = pd.DataFrame(rows[:count], columns=["sentence_id", "token_id", *_TEXTS])
    gaps = np.cumsum(rng.random(len(sentences)) < 0.1)
    return table.assign(sentence_id=table["sentence_id"] + gaps[table["sentence_id"]])


def write_raw(raw: Path, train: pd.DataFrame, test: pd.DataFrame, prefix: str) -> None:
    """Write a synthetic twin as the contests ship their files; `test` is of both stages."""
    sample = pd.DataFrame(
        {"id": test["sentence_id"].map(str) + "_" + test["token_id"].map(str), "after": test["before"]}
    )
    tables = {f"{prefix}_train": train}
    for stage in ("", "_2"):
        tables[f"{prefix}_test{stage}"] = test[["sentence_id", "token_id", "before"]]
        tables[f"{prefix}_sample_submission{stage}"] = sample
    for name, table in tables.items():
        content = table.to_csv(index=False, lineterminator="\n", quoting=_QUOTED)
        write_zip(raw / f"{name}.csv.zip", {f"{name}.csv": content})
