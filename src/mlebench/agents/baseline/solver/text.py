"""Weighted counts of words and of runs of characters."""

from __future__ import annotations

from typing import cast

import numpy as np
from scipy import sparse

from .learn import Block, Matrix

ROWS_FOR_LONG_RUNS = 60_000


def block(texts: dict[str, list[str]], train_rows: int) -> Block:
    """All columns of texts side by side in one sparse matrix."""
    parts = [matrix for column in texts.values() for matrix in _column(column, train_rows)]
    both = cast(Matrix, sparse.hstack(parts, format="csr"))
    return Block("text", both[:train_rows], both[train_rows:])


def _column(texts: list[str], train_rows: int) -> list[Matrix]:
    from sklearn.feature_extraction.text import TfidfVectorizer

    long = 5 if len(texts) <= ROWS_FOR_LONG_RUNS else 4
    rare = 1 if train_rows < 1000 else 2
    settings = {"sublinear_tf": True, "min_df": rare, "dtype": np.float32, "strip_accents": "unicode"}
    words = TfidfVectorizer(ngram_range=(1, 2), token_pattern=r"(?u)\b\w+\b|[^\w\s]", max_features=200_000, **settings)
    runs = TfidfVectorizer(analyzer="char_wb", ngram_range=(2, long), max_features=200_000, lowercase=False, **settings)
    return [cast(Matrix, words.fit_transform(texts)), cast(Matrix, runs.fit_transform(texts))]


def components(block_: Block, count: int, seed: int) -> Block | None:
    """The strongest components of the counts, for models that take few columns; None if there are too few rows."""
    from sklearn.decomposition import TruncatedSVD

    count = min(count, block_.train.shape[1] - 1, block_.train.shape[0] - 1)
    if count < 2:
        return None
    svd = TruncatedSVD(count, random_state=seed)
    return Block("text components", svd.fit_transform(block_.train), svd.transform(block_.test))
