"""Texts written in another way: each answer is a text that mostly equals a column of the same row."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

import numpy as np
import pandas as pd

from .task import Task

LEAST_EQUAL = 0.3
HELD_OUT = 0.1
FEWEST_SEEN = 1


def applies(task: Task) -> bool:
    """Whether the answers are texts that often equal a text column of the test table."""
    return source_column(task) is not None


def source_column(task: Task) -> str | None:
    """The column that is to be written in another way."""
    labels = task.labels
    if labels is None or labels.form == "lists" or len(task.targets) != 1 or task.test_path is None:
        return None
    head = task.tables[labels.path]
    answers = head[labels.columns[0]]
    if pd.to_numeric(answers, errors="coerce").notna().mean() > 0.5 or answers.nunique() < 10:
        return None
    for column in task.tables[task.test_path].columns:
        if column in head.columns and column != task.id and (head[column] == answers).mean() > LEAST_EQUAL:
            return str(column)
    return None


def run(task: Task) -> list[pd.DataFrame]:
    """What a text was most often turned into where it was seen; else by the answers to texts of the same form."""
    column, labels = source_column(task), task.labels
    assert column is not None
    assert labels is not None
    train, test = task.train_texts, task.test_texts[column].fillna("").tolist()
    texts, answers = train[column].tolist(), train[labels.columns[0]].tolist()
    cut = round((1 - HELD_OUT) * len(texts))
    guess = rewrite(texts[:cut], answers[:cut], texts[cut:])
    right = np.mean([a == b for a, b in zip(guess, answers[cut:], strict=True)])
    print(f"  right on held-out rows: {right:.4f}", flush=True)
    return [pd.DataFrame({task.targets[0]: rewrite(texts, answers, test)})]


def rewrite(texts: Sequence[str], answers: Sequence[str], asked: Sequence[str]) -> list[str]:
    """The most frequent answer to each text; to one that was never seen, what its words were turned into."""
    whole: dict[str, Counter[str]] = defaultdict(Counter)
    words: dict[str, Counter[str]] = defaultdict(Counter)
    for text, answer in zip(texts, answers, strict=True):
        whole[text][answer] += 1
        before, after = text.split(), answer.split()
        if len(before) == len(after):
            for word, other in zip(before, after, strict=True):
                words[word][other] += 1
    best = {text: counts.most_common(1)[0][0] for text, counts in whole.items()}
    word = {text: counts.most_common(1)[0][0] for text, counts in words.items()}
    return [
        best[text] if text in best else " ".join(word.get(part, part) for part in text.split(" ")) for text in asked
    ]
