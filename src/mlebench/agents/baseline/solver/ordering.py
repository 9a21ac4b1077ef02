"""The right order of a document's cells: some kinds of cells keep theirs, the others are placed among them."""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np
import pandas as pd

from .learn import threads
from .task import Task

TRAIN_DOCUMENTS = 3_000
CHARACTERS = 2_000


@dataclass(frozen=True)
class Document:
    """The cells of one document in the order of its file: ids, kinds and texts."""

    ids: list[str]
    kinds: list[str]
    texts: list[str]


def applies(task: Task) -> bool:
    """Whether the answers are orders of the ids that a JSON file for each row has as keys."""
    labels = task.labels
    if labels is None or labels.form != "columns" or len(task.targets) != 1:
        return False
    row = task.sample.iloc[0]
    document = read(task, [row[task.id]], "test")[0]
    return document is not None and set(row[task.targets[0]].split()) == set(document.ids)


def read(task: Task, ids: list[str], role: str) -> list[Document | None]:
    """The documents of these ids; None where there is none of the expected form."""
    return [None if path is None else document(path.read_bytes()) for path in task.files.of_ids(ids, {".json"}, role)]


def document(content: bytes) -> Document | None:
    """A document from JSON: objects with the same keys, one with few values (kinds), one with many (texts)."""
    try:
        parts = [part for part in json.loads(content).values() if isinstance(part, dict)]
    except (ValueError, AttributeError):
        return None
    parts.sort(key=lambda part: sum(len(str(value)) for value in part.values()))
    if len(parts) < 2 or list(parts[0]) != list(parts[-1]):
        return None
    texts = [str(value)[:CHARACTERS] for value in parts[-1].values()]
    return Document(list(parts[0]), [str(value) for value in parts[0].values()], texts)


def run(task: Task) -> list[pd.DataFrame]:
    """Learn how far down the movable cells stand, from their words and from the cells that are like them."""
    train = task.train_texts.sample(frac=1, random_state=task.seed).head(TRAIN_DOCUMENTS)
    name, target = task.id, task.targets[0]
    pairs = zip(read(task, train[name].tolist(), "train"), train[target], strict=True)
    known = [(found, order.split()) for found, order in pairs if found is not None]
    fixed = fixed_kinds(known)
    print(f"  kinds that keep their order: {sorted(fixed)}", flush=True)
    tests = read(task, task.sample[name].tolist(), "test")
    there = [found for found in tests if found is not None]
    heights = placed(known, there, fixed, task.seed)
    placed_documents = iter(zip(there, heights, strict=True))
    orders = []
    for found, given in zip(tests, task.sample[target], strict=True):
        orders.append(given if found is None else " ".join(arranged(*next(placed_documents), fixed)))
    return [pd.DataFrame({target: orders})]


def fixed_kinds(known: list[tuple[Document, list[str]]]) -> set[str]:
    """The kinds of cells that stand in the file as in the right order, in nearly all documents."""
    kept: dict[str, list[bool]] = {}
    for found, order in known:
        place = {cell: number for number, cell in enumerate(order)}
        for kind in set(found.kinds):
            places = [place.get(cell, 0) for cell, other in zip(found.ids, found.kinds, strict=True) if other == kind]
            if len(places) > 1:
                kept.setdefault(kind, []).append(places == sorted(places))
    return {kind for kind, sorted_ in kept.items() if np.mean(sorted_) > 0.95}


def heights_of(found: Document, order: list[str], fixed: set[str]) -> list[float]:
    """For each movable cell the share of fixed cells that stand before it."""
    kind = dict(zip(found.ids, found.kinds, strict=True))
    count, before, height = sum(k in fixed for k in found.kinds), 0, {}
    for cell in order:
        before += kind.get(cell) in fixed
        height[cell] = before / max(1, count)
    return [height.get(cell, 0.5) for cell, k in zip(found.ids, found.kinds, strict=True) if k not in fixed]


def arranged(found: Document, heights: np.ndarray, fixed: set[str]) -> list[str]:
    """The cells by height; the fixed ones evenly spaced."""
    count = sum(kind in fixed for kind in found.kinds)
    keys, stands, moves = [], 0, 0
    for kind in found.kinds:
        if kind in fixed:
            keys.append((stands + 0.5) / count)
            stands += 1
        else:
            keys.append(float(heights[moves]))
            moves += 1
    return [found.ids[place] for place in np.argsort(keys, kind="stable")]


def placed(
    known: list[tuple[Document, list[str]]], tests: list[Document], fixed: set[str], seed: int
) -> list[np.ndarray]:
    """For each test document the heights of its movable cells."""
    from sklearn.ensemble import HistGradientBoostingRegressor

    documents = [found for found, _ in known]
    y = np.array([height for found, order in known for height in heights_of(found, order, fixed)])
    groups = np.repeat(np.arange(len(known)), [len(movable(found, fixed)) for found in documents])
    train, test = ([text for found in part for text in movable(found, fixed)] for part in (documents, tests))
    first, later = by_words(train, test, y, groups)
    likeness = vocabulary(documents)
    features, test_features = (
        np.vstack([similarities(found, fixed, likeness) for found in part]) for part in (documents, tests)
    )
    with threads(len(y)):
        model = HistGradientBoostingRegressor(
            learning_rate=0.06, max_iter=150, max_leaf_nodes=15, loss="absolute_error", random_state=seed
        ).fit(np.column_stack([features, first]), y)
        heights = model.predict(np.column_stack([test_features, later]))
    return np.split(heights, np.cumsum([len(movable(found, fixed)) for found in tests])[:-1])


def by_words(train: list[str], test: list[str], y: np.ndarray, groups: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Heights from a text's words alone: of the training texts out of fold, and of the test's."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import Ridge
    from sklearn.model_selection import GroupKFold, cross_val_predict

    pattern = r"(?u)[A-Za-z]{2,}|\d+|#+"
    words = TfidfVectorizer(
        token_pattern=pattern, ngram_range=(1, 2), min_df=2, sublinear_tf=True, max_features=100_000
    )
    matrix = words.fit_transform(train)
    first = cross_val_predict(Ridge(alpha=2.0), matrix, y, groups=groups, cv=GroupKFold(5))
    later = Ridge(alpha=2.0).fit(matrix, y).predict(words.transform(test))
    return np.asarray(first), np.asarray(later)


def vocabulary(documents: list[Document]):  # noqa: ANN201 (a vectorizer)
    """Weighted counts of the words of all cells; names in code are taken apart."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    likeness = TfidfVectorizer(token_pattern=r"(?u)[A-Za-z]{2,}", sublinear_tf=True, max_features=100_000)
    return likeness.fit([text.replace("_", " ") for found in documents for text in found.texts])


def movable(found: Document, fixed: set[str]) -> list[str]:
    """The texts of the cells that are to be placed."""
    return [text for text, kind in zip(found.texts, found.kinds, strict=True) if kind not in fixed]


def similarities(found: Document, fixed: set[str], likeness) -> np.ndarray:  # noqa: ANN001 (a vectorizer)
    """For each movable cell: where the fixed cells stand that share its words, how alike they are, and its form."""
    texts = movable(found, fixed)
    stands = [text for text, kind in zip(found.texts, found.kinds, strict=True) if kind in fixed]
    if not texts:
        return np.zeros((0, 10))
    form = [[len(text), text.count("\n"), len(text) - len(text.lstrip("#")), len(stands), len(texts)] for text in texts]
    if not stands:
        return np.hstack([np.full((len(texts), 5), np.nan), np.array(form, dtype=float)])
    there = likeness.transform([text.replace("_", " ") for text in stands])
    alike = (likeness.transform([text.replace("_", " ") for text in texts]) @ there.T).toarray()
    heights = (np.arange(len(stands)) + 0.5) / len(stands)
    best, total = alike.argmax(axis=1), alike.sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = (alike @ heights) / total
        sharp = (alike**4 @ heights) / (alike**4).sum(axis=1)
    spot = np.where(alike.max(axis=1) > 0, heights[best], np.nan)
    return np.column_stack([spot, mean, sharp, alike.max(axis=1), total, np.array(form, dtype=float)])
