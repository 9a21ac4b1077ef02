"""Comments whose words betray each kind of abuse; the labels of three fifths of the test are not told."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from mlebench.preparation.synthetic import hex_ids, write_zip

FILLERS = [
    *("the", "article", "edit", "page", "revert", "source", "section", "talk", "please", "user", "thanks", "policy"),
    *("link,", 'so-called "reference"', "caf\u00e9", "\u2014", "line\nbreak", "other\r\nbreak", "== Heading =="),
]
WORDS = {
    "toxic": ["idiotic", "rubbish"],
    "severe_toxic": ["loathsome", "vilest"],
    "obscene": ["lewd", "filthy"],
    "threat": ["beware", "you will regret"],
    "insult": ["moron", "fool"],
    "identity_hate": ["your kind", "those people"],
}
SHARES = [0.10, 0.05, 0.06, 0.03, 0.06, 0.04]  # the rare ones are more frequent than in the real data
UNSCORED = 0.58
CERTAIN = 2 * len(WORDS)  # of the first test rows, which are scored, one has each label and the others have none


def make_raw(raw: Path, rng: np.random.Generator, size: int) -> None:
    further = max(40, size)
    comments = _comments(rng, size, size + further)
    train, test = comments.iloc[:size], comments.iloc[size:].copy()
    labels = test.drop(columns="comment_text")
    labels.loc[(rng.random(further) < UNSCORED) & (np.arange(further) >= CERTAIN), list(WORDS)] = -1

    _write(raw, "train", train)
    _write(raw, "test", test[["id", "comment_text"]])
    _write(raw, "test_labels", labels)
    _write(raw, "sample_submission", test[["id"]].assign(**dict.fromkeys(WORDS, 0.5)))


def _comments(rng: np.random.Generator, train_rows: int, rows: int) -> pd.DataFrame:
    labels = (rng.random((rows, len(WORDS))) < SHARES).astype(np.int64)
    labels[:, 0] |= labels[:, 1:].any(axis=1)
    labels[train_rows : train_rows + CERTAIN] = np.eye(CERTAIN, len(WORDS), dtype=np.int64)
    texts = [_comment(rng, row) for row in labels]
    texts[0], texts[-1] = "null", "NA"  # words that pandas takes for missing ones
    return pd.DataFrame(
        {"id": hex_ids(rng, rows, 16), "comment_text": texts, **dict(zip(WORDS, labels.T, strict=True))}
    )


def _comment(rng: np.random.Generator, labels: np.ndarray) -> str:
    words = rng.choice(FILLERS, int(rng.integers(3, 30))).tolist()
    for label, choices in zip(labels, WORDS.values(), strict=True):
        if label != (rng.random() < 0.03):
            words.insert(int(rng.integers(len(words))), str(rng.choice(choices)))
    return " ".join(words)


def _write(raw: Path, name: str, table: pd.DataFrame) -> None:
    write_zip(raw / f"{name}.csv.zip", {f"{name}.csv": table.to_csv(index=False, lineterminator="\n")})
