"""Sentences cut into tokens, written and spoken: what the contests on the normalisation of text share.

Their raw file is one CSV of ten million tokens in a zip; so are the public files.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import IO

import numpy as np
import pandas as pd

from mlebench.preparation.archives import reading_member, writing_member
from mlebench.preparation.files import hold_out
from mlebench.preparation.parts import ROWS, TypesDiffer, read_parts
from mlebench.preparation.synthetic import write_zip
from mlebench.tables import read_csv

_QUOTED = csv.QUOTE_NONNUMERIC
_TEXTS = ["class", "before", "after"]


def prepare_v1(raw: Path, public: Path, private: Path, language: str) -> None:
    """Write all files as they were published; only a part of the table is in memory at a time."""
    with _table(raw, language) as member:
        sentence_ids = read_csv(member, usecols=["sentence_id"])["sentence_id"]
    division = sentence_ids, *divide(sentence_ids)
    try:
        with _table(raw, language) as member:
            write_tokens(read_parts(member), *division, public, private, language, compress=False)
    except TypesDiffer:
        with _table(raw, language) as member:
            write_tokens([read_csv(member)], *division, public, private, language, compress=False)


def prepare_v2(raw: Path, public: Path, private: Path, language: str) -> None:
    """The same, but words such as NA are texts, and no sentence of the test is in the training part."""
    with _table(raw, language) as member:
        tokens = read_csv(member, dtype=dict.fromkeys(_TEXTS, str), keep_default_na=False)
    train, test = divide(tokens["sentence_id"])
    train = without_sentences_of(train, test, tokens)
    parts = (tokens.iloc[start : start + ROWS] for start in range(0, len(tokens), ROWS))
    write_tokens(parts, tokens["sentence_id"], train, test, public, private, language, compress=True)


def _table(raw: Path, language: str) -> AbstractContextManager[IO[bytes]]:
    return reading_member(raw / f"{language}_train.csv.zip", f"{language}_train.csv")


def divide(sentence_ids: pd.Series) -> tuple[np.ndarray, np.ndarray]:
    """The numbers of the training rows and of the test rows, rising: a random tenth of the sentences is the test."""
    _, test = hold_out(sentence_ids.drop_duplicates(), 0.1)
    in_test = sentence_ids.isin(test).to_numpy()
    return np.flatnonzero(~in_test), np.flatnonzero(in_test)


def without_sentences_of(train: np.ndarray, test: np.ndarray, tokens: pd.DataFrame) -> np.ndarray:
    """The rows `train` without the sentences that, as they are written, stand among the rows `test`, too."""
    sentences = tokens["before"].groupby(tokens["sentence_id"], sort=False).agg("\n".join)
    texts = tokens["sentence_id"].map(pd.Series(pd.factorize(sentences)[0], index=sentences.index)).to_numpy()
    return train[~np.isin(texts[train], texts[test])]


def write_tokens(
    parts: Iterable[pd.DataFrame],
    sentence_ids: pd.Series,
    train: np.ndarray,
    test: np.ndarray,
    public: Path,
    private: Path,
    language: str,
    compress: bool,
) -> None:
    """Write all files: texts in quotes, sentences numbered anew in each part, public files zipped.

    `parts` are the table, `sentence_ids` its whole column; `train` and `test` are the numbers of their rows.
    """
    numbers = np.empty(len(sentence_ids), dtype=np.int64)
    side = np.zeros(len(sentence_ids), dtype=np.int8)
    for value, rows in ((1, train), (2, test)):
        numbers[rows] = pd.factorize(sentence_ids.to_numpy()[rows])[0]
        side[rows] = value
    with ExitStack() as stack:
        names = [f"{language}_{name}" for name in ("train", "test_2", "sample_submission_2")]
        zipped = [_zipped(public, name, compress) for name in names]
        plain = [(private / name).open("wb") for name in ("answers.csv", "sample_submission.csv")]
        outputs = [stack.enter_context(each) for each in (*zipped, *plain)]
        first = 0
        for part in parts:
            rows = slice(first, first + len(part))
            tables = _tables_of(part.assign(sentence_id=numbers[rows]), side[rows])
            for output, table in zip(outputs, tables, strict=True):
                table.to_csv(output, index=False, header=first == 0, lineterminator="\n", quoting=_QUOTED)
            first += len(part)


def _zipped(public: Path, name: str, compress: bool) -> AbstractContextManager[IO[bytes]]:
    return writing_member(public / f"{name}.csv.zip", f"{name}.csv", compress=compress)


def _tables_of(part: pd.DataFrame, side: np.ndarray) -> list[pd.DataFrame]:
    """What of `part` goes to training, test, sample submission, answers, and the sample submission once more."""
    held_out = part[side == 2]
    ids = [f"{sentence}_{place}" for sentence, place in zip(held_out["sentence_id"], held_out["token_id"], strict=True)]
    answers = pd.DataFrame({"id": ids, "after": held_out["after"]})
    sample = pd.DataFrame({"id": ids, "after": held_out["before"]})
    return [part[side == 1], held_out[["sentence_id", "token_id", "before"]], sample, answers, sample]


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
