"""Hold out a random tenth of the questions; in edition v2 questions with the same text stay together."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from mlebench.errors import PreparationError
from mlebench.preparation.files import random_order, unpack
from mlebench.preparation.parts import append_csv
from mlebench.preparation.shuffling import divided, in_order

SAMPLE = "javascript c# python php java"
COLUMNS = ["Id", "Title", "Body", "Tags"]
SHARE = 0.1
ROWS = 50_000  # read at once


def prepare(raw: Path, public: Path, private: Path) -> None:
    source = unpack(raw, "Train.zip") / "Train.csv"
    rows = sum(map(len, _parts(source, ["Id"])))
    order, tested = random_order(rows, SHARE)
    for test, train in divided(in_order(_parts(source), order, scratch=private), tested):
        append_csv(train, public / "train.csv")
        append_csv(test.drop(columns="Tags"), public / "test.csv")
        append_csv(test.assign(Tags=SAMPLE), public / "sample_submission.csv")
        append_csv(test, private / "test.csv")


def prepare_v2(raw: Path, public: Path, private: Path) -> None:
    source = unpack(raw, "Train.zip") / "Train.csv"
    order, tested = _texts_apart(source)
    for test, train in divided(in_order(_parts(source, verbatim=True), order, scratch=private), tested):
        # In quotes, as else a lone carriage return within a text would end the row.
        append_csv(train, public / "train.csv", quoting=csv.QUOTE_ALL)
        append_csv(test.drop(columns="Tags"), public / "test.csv", quoting=csv.QUOTE_ALL)
        append_csv(test[["Id"]].assign(Tags=SAMPLE), public / "sample_submission.csv")
        append_csv(test[["Id", "Tags"]], private / "test.csv")


def _parts(source: Path, columns: Sequence[str] = COLUMNS, *, verbatim: bool = False) -> Iterator[pd.DataFrame]:
    """All questions, part by part; all cells are texts.

    Unless it is `verbatim` a text that is a word such as null or NA becomes a missing one.
    """
    with pd.read_csv(source, usecols=list(columns), dtype=str, keep_default_na=not verbatim, chunksize=ROWS) as parts:
        for part in parts:
            yield part[list(columns)]


def _texts_apart(source: Path) -> tuple[np.ndarray, int]:
    """The row numbers in random order, those of the test first, and how many these are.

    No title with the same body is on both sides; the texts of the test have a tenth of the rows, or a few more.
    """
    parts = _parts(source, ["Title", "Body"], verbatim=True)
    hashes = [pd.util.hash_pandas_object(part, index=False, categorize=False) for part in parts]
    text = pd.factorize(np.concatenate(hashes))[0]
    random = np.random.RandomState(0)
    texts = random.permutation(text.max() + 1)
    sizes = np.bincount(text)[texts]
    hidden = texts[np.cumsum(sizes) - sizes < SHARE * len(text)]
    order = random.permutation(len(text))
    is_test = np.isin(text[order], hidden)
    if is_test.all():
        raise PreparationError(f"{len(text):,} questions have only {len(texts):,} texts, too few to divide them")
    return np.concatenate([order[is_test], order[~is_test]]), int(is_test.sum())
