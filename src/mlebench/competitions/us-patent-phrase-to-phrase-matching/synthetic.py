"""Phrases of technical words; pairs score by the words and by the concepts they share."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from mlebench.preparation.files import write_csv
from mlebench.preparation.synthetic import hex_ids

# Each line names one concept in several words.
CONCEPTS = [
    ["gas", "vapor", "fume"],
    ["cell", "battery", "accumulator"],
    ["wire", "conductor", "line"],
    ["wheel", "roller", "caster"],
    ["sheet", "film", "layer"],
    ["signal", "pulse", "wave"],
    ["shaft", "axle", "spindle"],
    ["reduction", "decrease", "abatement"],
    ["image", "picture", "frame"],
    ["null", "zero", "empty, void"],
]
LEAST = 20  # examples, so that the test has several
HEADS = ["device", "method", "system", 'member "a"', "of pollution", ""]


def make_raw(raw: Path, rng: np.random.Generator, size: int) -> None:
    size = max(size, LEAST)
    pairs = _pairs(rng, size + max(2, size // 25))
    train, test = pairs.iloc[:size].copy(), pairs.iloc[size:].drop(columns="score")
    train.loc[3, "target"] = "null"  # a word that pandas takes for a missing one

    write_csv(train, raw / "train.csv")
    write_csv(test, raw / "test.csv")
    write_csv(test[["id"]].assign(score=0), raw / "sample_submission.csv")


def _pairs(rng: np.random.Generator, rows: int) -> pd.DataFrame:
    anchors = [_phrase(rng, rng.integers(0, len(CONCEPTS), 2)) for _ in range(max(2, rows // 30))]
    table = []
    for _ in range(rows):
        concepts, words, anchor = anchors[rng.integers(len(anchors))]
        others = np.where(rng.random(2) < 0.5, concepts, rng.integers(0, len(CONCEPTS), 2))
        target_concepts, target_words, target = _phrase(rng, others)
        shared = (np.mean(concepts == target_concepts) + np.mean(words == target_words)) / 2
        score = np.clip(np.rint(4 * shared + rng.normal(0, 0.4)), 0, 4) / 4
        table.append((anchor, target, float(score)))
    pairs = pd.DataFrame(table, columns=["anchor", "target", "score"])
    sections = rng.choice(list("ABCDEFGH"), rows)
    pairs.insert(2, "context", [f"{s}{n:02d}" for s, n in zip(sections, rng.integers(1, 70, rows), strict=True)])
    pairs.insert(0, "id", hex_ids(rng, rows, 16))
    return pairs


def _phrase(rng: np.random.Generator, concepts: np.ndarray) -> tuple[np.ndarray, np.ndarray, str]:
    """The concepts, which words stand for them, and the text."""
    words = rng.integers(0, 3, 2)
    named = [CONCEPTS[concept][word] for concept, word in zip(concepts, words, strict=True)]
    return concepts, words, " ".join([*named, str(rng.choice(HEADS))]).strip()
