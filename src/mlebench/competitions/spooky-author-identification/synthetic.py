"""Sentences whose words and punctuation betray their writer."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pandas as pd

from mlebench.preparation.synthetic import write_zip

# Words that all use, and those that one writer likes.
COMMON = ["the", "of", "and", "to", "a", "in", "was", "that", "with", "it", "had", "from", "upon", "night", "house"]
FAVOURITES = {
    "EAP": ["lady", "balloon", "perhaps", "altogether", "therefore", "manner", "visage", "naïveté", "chamber", "cask"],
    "HPL": ["ancient", "gulfs", "hideous", "whispered", "cosmic", "slope", "cöllapse", "dreams", "streets", "curwen"],
    "MWS": ["misery", "affection", "raymond", "father", "hope", "feelings", "tears", "beloved", "plague", "æther"],
}
SHARES = {"EAP": 0.4, "HPL": 0.29, "MWS": 0.31}
SEMICOLONS = {"EAP": 0.02, "HPL": 0.01, "MWS": 0.06}  # after a word; commas are as frequent with everybody


def make_raw(raw: Path, rng: np.random.Generator, size: int) -> None:
    sentences = _sentences(rng, size + max(1, size // 2))
    train, test = sentences.iloc[:size], sentences.iloc[size:].drop(columns="author")

    _write(raw, "train", train)
    _write(raw, "test", test)
    _write(raw, "sample_submission", test[["id"]].assign(EAP=0.4, HPL=0.29, MWS=0.31))


def _sentences(rng: np.random.Generator, rows: int) -> pd.DataFrame:
    writers = rng.choice(list(SHARES), rows, p=list(SHARES.values()))
    numbers = rng.permutation(max(rows, 30_000))[:rows]
    return pd.DataFrame(
        {
            "id": [f"id{number:05d}" for number in numbers],
            "text": [_sentence(rng, writer) for writer in writers],
            "author": writers,
        }
    )


def _sentence(rng: np.random.Generator, writer: str) -> str:
    length = 4 + rng.poisson(12)
    own = rng.random(length) < 0.15
    words = np.where(own, rng.choice(FAVOURITES[writer], length), rng.choice(COMMON, length))
    stop = rng.random(length - 1)
    semicolon = SEMICOLONS[writer]
    marks = np.select([stop < semicolon, stop < semicolon + 0.06], [";", ","], "")
    text = " ".join(word + mark for word, mark in zip(words, [*marks, "."], strict=True))
    text = text[0].upper() + text[1:]
    return f'"{text}"' if rng.random() < 0.05 else text


def _write(raw: Path, name: str, table: pd.DataFrame) -> None:
    """A zip with one table, in which header and texts are quoted."""
    content = table.to_csv(index=False, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
    write_zip(raw / f"{name}.zip", {f"{name}.csv": content})
