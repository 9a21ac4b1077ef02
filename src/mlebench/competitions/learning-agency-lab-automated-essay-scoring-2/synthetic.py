"""Essays that are the longer and the richer in rare words, the better their mark."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from mlebench.preparation.files import write_csv
from mlebench.preparation.synthetic import hex_ids

SHARES = [0.07, 0.27, 0.36, 0.23, 0.06, 0.01]  # of the marks from 1 to 6
PLAIN = ["car", "and", "good", "like", "yes", "i", "it", "think", "because", "so", "people", "alot", "becuase"]
RARE = ["furthermore", "congestion,", "consequently", "legislators", "deliberate", "nevertheless", "evidence", "naïve"]
OPENINGS = ["Dear state senator,\n", "", "", "“In my opinion” ", "He said, \"it's 90% true\", didn't he? "]


def make_raw(raw: Path, rng: np.random.Generator, size: int) -> None:
    ids = hex_ids(rng, size + 3, 7)
    ids[0], ids[1] = "0000012", "12e4567"  # one of digits only, one that could be taken for a number
    marks = rng.choice(6, len(ids), p=SHARES) + 1
    marks[: min(6, size)] = range(1, 7)[:size]
    essays = pd.DataFrame({"essay_id": ids, "full_text": [_essay(rng, int(mark)) for mark in marks], "score": marks})
    train, test = essays.iloc[:size].sort_values("essay_id"), essays.iloc[size:].drop(columns="score")

    write_csv(train, raw / "train.csv")
    write_csv(test, raw / "test.csv")
    write_csv(test[["essay_id"]].assign(score=[3, 3, 4]), raw / "sample_submission.csv")


def _essay(rng: np.random.Generator, mark: int) -> str:
    quality = mark + rng.normal(0, 0.4)
    paragraphs = [_paragraph(rng, quality) for _ in range(1 + mark // 2)]
    line_end = "\r\n\r\n" if rng.random() < 0.05 else "\n\n"
    return str(rng.choice(OPENINGS)) + line_end.join(paragraphs)


def _paragraph(rng: np.random.Generator, quality: float) -> str:
    length = max(4, rng.poisson(10 + 5 * quality))
    rare = rng.random(length) < 0.08 * quality
    words = np.where(rare, rng.choice(RARE, length), rng.choice(PLAIN, length))
    return " ".join(words).capitalize() + "."
