"""A stretch of each text, copied out of it: words are scored one by one, the best run of words is taken."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import pandas as pd

from .task import Task

FEATURES = 2**18
ROWS = 40_000
CUTS = np.r_[0.0, np.arange(0.05, 0.96, 0.05)]
WORD = re.compile(r"\S+")
MARKS = ".,!?;:'\"()-*।"
COMMON = 0.4  # words in a larger share of the questions ask for nothing in particular
MOST_WORDS = 1_000_000  # of all training texts together


class Given(NamedTuple):
    """What stands beside a text: the values that it is one of few with, and the words of a question."""

    kind: str
    asked: frozenset[str]


def applies(task: Task) -> bool:
    """Whether the answers are texts that stand in a text column of the same row."""
    return text_column(task) is not None


def text_column(task: Task) -> str | None:
    """The column of texts that nearly always hold the answer."""
    labels = task.labels
    if labels is None or labels.form not in ("columns", "renamed") or len(task.targets) != 1 or not task.test_path:
        return None
    head, target = task.tables[labels.path], labels.columns[0]
    if head[target].nunique() < 0.2 * len(head):
        return None
    for column in task.tables[task.test_path].columns:
        if column in head.columns and column != task.id:
            inside = [answer in text for answer, text in zip(head[target], head[column], strict=True)]
            several = head[column].str.count(r"\S+").mean() > 3
            if several and np.mean(inside) > 0.95 and (head[target] != "").mean() > 0.8:
                return str(column)
    return None


def run(task: Task) -> list[pd.DataFrame]:
    """Learn which words belong to the answer, and for each condition how choosy to be."""
    column, target, labels = text_column(task), task.targets[0], task.labels
    assert column is not None
    assert labels is not None
    train, test = task.train_texts.rename(columns={labels.columns[0]: target}), task.test_texts.fillna("")
    train = train[train[column] != ""].sample(frac=1, random_state=task.seed).head(ROWS)
    train = train[train[column].str.count(r"\S+").cumsum() < MOST_WORDS].reset_index(drop=True)
    train_conditions, test_conditions = conditions(train, test, {column, target, task.id})
    words = [list(WORD.finditer(text)) for text in train[column]]
    inside = [
        marks(text, answer, found) for text, answer, found in zip(train[column], train[target], words, strict=True)
    ]
    half = len(train) // 2
    first = fit(words[:half], train_conditions[:half], inside[:half])
    shares = predict(first, words[half:], train_conditions[half:])
    cuts, likeness = choose_cuts(shares, words[half:], train_conditions[half:], list(train[target][half:]))
    print(f"  mean Jaccard similarity {likeness:.5f}, cuts {cuts}", flush=True)
    model = fit(words, train_conditions, inside)
    test_words = [list(WORD.finditer(text)) for text in test[column]]
    shares = predict(model, test_words, test_conditions)
    rows = zip(test[column], test_words, shares, test_conditions, strict=True)
    return [pd.DataFrame({target: [text[slice(*stretch(w, p, cuts.get(c.kind, 0.0)))] for text, w, p, c in rows]})]


def conditions(train: pd.DataFrame, test: pd.DataFrame, others: set[str]) -> tuple[list[Given], list[Given]]:
    """For each row the values of the columns with few values, joined, and the rarer words of its other texts."""
    shared = [c for c in test.columns if c in train.columns and c not in others]
    few = [c for c in shared if train[c].nunique() <= 10]
    long = [c for c in shared if c not in few and train[c].str.count(r"\S+").mean() > 3]
    questions = [
        table[long].agg(" ".join, axis=1).map(bare_words) if long else [[]] * len(table) for table in (train, test)
    ]
    counts = Counter(word for words in questions[0] for word in set(words))
    common = {word for word, count in counts.items() if count > COMMON * len(train)}
    found = []
    for table, asked in zip((train, test), questions, strict=True):
        kinds = table[few].agg("|".join, axis=1) if few else [""] * len(table)
        found.append([Given(kind, frozenset(words) - common) for kind, words in zip(kinds, asked, strict=True)])
    return found[0], found[1]


def bare_words(text: str) -> list[str]:
    """The words of a text in lower case, without marks around them."""
    return [bare(word) for word in text.lower().split()]


def bare(word: str) -> str:
    """A word without marks around it."""
    return word.strip(MARKS) or word


def marks(text: str, answer: str, words: list[re.Match[str]]) -> list[bool]:
    """For each word whether it overlaps with the answer."""
    start = text.find(answer)
    end = start + len(answer)
    return [start < word.end() and word.start() < end for word in words]


def features(words: list[re.Match[str]], given: Given) -> Iterable[list[str]]:
    """For each word its own form, its neighbours, its place, and how far behind a word of the question it is."""
    texts = [word.group().lower() for word in words]
    stems = [bare(text) for text in texts]
    count, condition, last = len(texts), given.kind, -1
    for place, (text, stem) in enumerate(zip(texts, stems, strict=True)):
        before = stems[place - 1] if place else "<"
        after = stems[place + 1] if place + 1 < count else ">"
        found = [
            f"w={stem}",
            f"f={text}",
            f"b={before}",
            f"a={after}",
            f"p={min(place, 5)}",
            f"e={min(count - place, 5)}",
        ]
        found += [f"n={min(count, 12)}", f"s={text[-1]}", f"x={place and texts[place - 1][-1]}"]
        if given.asked:
            far = min(place - last, 9) if last >= 0 else -1
            found += [f"d={far}", f"l={stems[last] if last >= 0 else ''}:{far}", f"g={stem[0].isdigit()}:{far}"]
            found.append(f"q={stem in given.asked}")
            last = place if stem in given.asked else last
        yield [*found, *(f"{condition}:{name}" for name in found), f"{condition}:{before} {stem}"]


def _matrix(words: list[list[re.Match[str]]], given: list[Given]):  # noqa: ANN202 (a sparse matrix)
    from sklearn.feature_extraction import FeatureHasher

    hasher = FeatureHasher(FEATURES, input_type="string", alternate_sign=False)
    return hasher.transform(
        row for found, condition in zip(words, given, strict=True) for row in features(found, condition)
    )


def fit(words: list[list[re.Match[str]]], given: list[Given], inside: list[list[bool]]):  # noqa: ANN201 (an estimator)
    """A model of whether a word belongs to the answer."""
    from sklearn.linear_model import LogisticRegression

    y = np.array([mark for row in inside for mark in row])
    return LogisticRegression(C=1.0, max_iter=60).fit(_matrix(words, given), y)


def predict(model, words: list[list[re.Match[str]]], given: list[Given]) -> list[np.ndarray]:  # noqa: ANN001
    """For each text the probabilities of its words."""
    lengths = [len(found) for found in words]
    if not sum(lengths):
        return [np.zeros(0) for _ in words]
    shares = model.predict_proba(_matrix(words, given))[:, 1]
    return np.split(shares, np.cumsum(lengths)[:-1])


def stretch(words: list[re.Match[str]], shares: np.ndarray, cut: float) -> tuple[int, int]:
    """Start and end, in characters, of the run of words with the largest sum of probability minus `cut`."""
    if not words:
        return 0, 0
    sums = np.r_[0.0, np.cumsum(shares - cut)]
    lowest = np.minimum.accumulate(sums[:-1])
    last = int(np.argmax(sums[1:] - lowest))
    first = int(np.argmin(sums[: last + 1]))
    return words[first].start(), words[last].end()


def choose_cuts(
    shares: list[np.ndarray], words: list[list[re.Match[str]]], given: list[Given], answers: list[str]
) -> tuple[dict[str, float], float]:
    """For each condition the cut with the best mean Jaccard similarity of words, and that mean over all rows."""
    best: dict[str, float] = {}
    total = 0.0
    for condition in sorted({one.kind for one in given}):
        every = [row for row, other in enumerate(given) if other.kind == condition]
        rows = every[:3000]
        means = []
        for cut in CUTS:
            found = [stretch(words[row], shares[row], cut) for row in rows]
            texts = [
                " ".join(w.group() for w in words[row] if w.start() >= s and w.end() <= e)
                for row, (s, e) in zip(rows, found, strict=True)
            ]
            means.append(np.mean([jaccard(text, answers[row]) for text, row in zip(texts, rows, strict=True)]))
        best[condition] = float(CUTS[int(np.argmax(means))])
        total += max(means) * len(every)
    return best, total / max(1, len(given))


def jaccard(first: str, second: str) -> float:
    """Words in both over words in either."""
    a, b = set(first.lower().split()), set(second.lower().split())
    return len(a & b) / len(a | b) if a | b else 1.0
