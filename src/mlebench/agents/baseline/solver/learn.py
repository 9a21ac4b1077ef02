"""Train a portfolio of models with cross-validation, as many as time allows, and blend them."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .clock import Clock

Matrix = np.ndarray  # or a sparse matrix, which behaves like one here
Estimator = Any  # scikit-learn has no common type for what is fitted and predicts
FOLDS = 5
ROWS_FOR_ONE_FOLD = 60_000
ROWS_TO_MEASURE = 8_000
ROWS_FOR_THREADS = 50_000  # below, starting threads costs more than they bring
BLEND_ROUNDS = 25


@dataclass(frozen=True)
class Problem:
    """What is to be learned.

    `kind`: "classes" (`y`: class numbers, shape (rows,); predictions are probabilities (rows, width)),
    "labels" (`y`: 0/1, shape (rows, width); predictions are probabilities) or "numbers" (`y`: (rows, width)).
    """

    kind: str
    y: np.ndarray
    width: int
    loss: Callable[[np.ndarray, np.ndarray], float]
    seed: int = 0
    groups: np.ndarray | None = None  # rows of one group stay on one side when models are compared


@dataclass(frozen=True)
class Block:
    """Features of one origin. `categories`: columns of codes; `keys`: codes to be replaced by the target's mean."""

    name: str
    train: Matrix
    test: Matrix
    categories: tuple[int, ...] = ()
    train_keys: np.ndarray | None = None
    test_keys: np.ndarray | None = None

    def rows(self, chosen: np.ndarray) -> Block:
        """The block with these training rows only."""
        keys = None if self.train_keys is None else self.train_keys[chosen]
        return Block(self.name, self.train[chosen], self.test, self.categories, keys, self.test_keys)


@dataclass(frozen=True)
class Model:
    """How to make an estimator for a problem and a block; `cost` orders them in time."""

    name: str
    make: Callable[[Problem, Block], Estimator]
    several_columns: bool = False  # whether the estimator takes a `y` of several columns of numbers
    several_labels: bool = False  # … of labels


@dataclass
class Learned:
    """Out-of-fold predictions of the training rows `rows`, predictions for the test, and the loss."""

    name: str
    out_of_fold: np.ndarray
    test: np.ndarray
    loss: float
    rows: np.ndarray
    parts: dict[str, float] = field(default_factory=dict)


def learn(problem: Problem, portfolio: list[tuple[Block, Model]], clock: Clock) -> Learned:
    """Train the models of the portfolio in order while time remains; the blend of all. RuntimeError if none works."""
    *_, last = stages(problem, portfolio, clock)
    return last


def stages(problem: Problem, portfolio: list[tuple[Block, Model]], clock: Clock) -> Iterator[Learned]:
    """As `learn`, but what the first model that works has learned comes first."""
    chosen = rows_within_reach(problem, portfolio[0], clock)
    groups = None if problem.groups is None else problem.groups[chosen]
    part = replace(problem, y=problem.y[chosen], groups=groups)
    folds = split(part)
    results: list[Learned] = []
    for block, model in portfolio:
        if results and clock.left() < 1:
            break
        started = time.monotonic()
        try:
            result = cross_validate(part, block.rows(chosen), model, folds, clock, keep_part=not results)
        except (ValueError, ArithmeticError, MemoryError, np.linalg.LinAlgError) as error:
            print(f"  {block.name}/{model.name} failed: {error!r}"[:300], flush=True)
            continue
        if result is not None:
            results.append(result)
            print(f"  {result.name}: loss {result.loss:.5f} ({time.monotonic() - started:.1f} s)", flush=True)
            if len(results) == 1:
                yield replace(result, rows=chosen)
    if not results:
        raise RuntimeError("no model could be trained")
    yield replace(blend(part, results), rows=chosen)


def rows_within_reach(problem: Problem, first: tuple[Block, Model], clock: Clock) -> np.ndarray:
    """The training rows that the first model can learn from in a fifth of the time, drawn at random if not all."""
    rows = len(problem.y)
    rng = np.random.default_rng(problem.seed)
    if rows <= 2 * ROWS_TO_MEASURE:
        return np.arange(rows)
    sample = np.sort(rng.choice(rows, ROWS_TO_MEASURE, replace=False))
    block, model = first
    started = time.monotonic()
    fit_predict(problem, block, model, sample, [])
    per_row = (time.monotonic() - started) / ROWS_TO_MEASURE
    fits = 1 if rows > ROWS_FOR_ONE_FOLD else FOLDS
    affordable = int(0.2 * clock.left() / fits / per_row)
    return np.arange(rows) if affordable >= rows else np.sort(rng.choice(rows, max(ROWS_TO_MEASURE, affordable), False))


def split(problem: Problem) -> list[tuple[np.ndarray, np.ndarray]]:
    """Folds of the rows: (train, held out); one only where there are many rows."""
    from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold

    rows = len(problem.y)
    if problem.groups is not None:
        folds = min(FOLDS, len(np.unique(problem.groups)))
        parts = list(GroupKFold(folds, shuffle=True, random_state=problem.seed).split(problem.y, groups=problem.groups))
        return parts[:1] if rows > ROWS_FOR_ONE_FOLD else parts
    counts = np.bincount(problem.y) if problem.kind == "classes" else np.array([rows])
    folds = min(FOLDS, rows)
    if counts[counts > 0].min() >= folds and problem.kind == "classes":
        parts = list(StratifiedKFold(folds, shuffle=True, random_state=problem.seed).split(np.zeros(rows), problem.y))
    else:
        parts = list(KFold(folds, shuffle=True, random_state=problem.seed).split(np.zeros(rows)))
    return parts[:1] if rows > ROWS_FOR_ONE_FOLD else parts


def cross_validate(
    problem: Problem,
    block: Block,
    model: Model,
    folds: list[tuple[np.ndarray, np.ndarray]],
    clock: Clock,
    keep_part: bool,
) -> Learned | None:
    """One model on all folds; its prediction for the test is the mean over the folds' models.

    None if the time would not suffice for all folds, unless `keep_part`.
    """
    out_of_fold = np.full((len(problem.y), problem.width), np.nan)
    tests = []
    for number, (train, held_out) in enumerate(folds):
        started = time.monotonic()
        inner, test = fit_predict(problem, block, model, train, [held_out])
        out_of_fold[held_out] = inner
        tests.append(test)
        expected = (time.monotonic() - started) * (len(folds) - number - 1)
        if expected > clock.left():
            if not keep_part:
                return None
            break
    known = ~np.isnan(out_of_fold).any(axis=1)
    if not known.any():
        raise ArithmeticError("the predictions are not finite")
    loss = problem.loss(problem.y[known], out_of_fold[known])
    return Learned(f"{block.name}/{model.name}", out_of_fold, np.mean(tests, axis=0), loss, np.arange(len(problem.y)))


def fit_predict(
    problem: Problem, block: Block, model: Model, train: np.ndarray, held_out: list[np.ndarray]
) -> list[np.ndarray]:
    """Train on the rows `train`; predictions for each array of rows in `held_out`, and for the test."""
    inputs = [block.train[rows] for rows in held_out] + ([block.test] if held_out else [])
    matrix = block.train[train]
    if block.train_keys is not None and block.test_keys is not None:
        keys = [block.train_keys[rows] for rows in held_out] + ([block.test_keys] if held_out else [])
        encoded, others = encode_keys(problem, block.train_keys[train], problem.y[train], keys)
        matrix = np.hstack([matrix, encoded])
        inputs = [np.hstack([part, extra]) for part, extra in zip(inputs, others, strict=True)]
    y = problem.y[train]
    with warnings.catch_warnings(), threads(len(train)):
        warnings.simplefilter("ignore")
        if problem.kind == "classes":
            return _fit_classes(problem, model.make(problem, block), matrix, y, inputs)
        if problem.kind == "labels" and model.several_labels:
            return _fit_all_labels(model.make(problem, block), matrix, y, inputs)
        if problem.kind == "labels":
            columns = [_fit_label(model.make(problem, block), matrix, y[:, k], inputs) for k in range(problem.width)]
            return [np.column_stack(parts) for parts in zip(*columns, strict=True)]
        return _fit_numbers(problem, model, block, matrix, y, inputs)


def threads(rows: int) -> AbstractContextManager[object]:
    """A context in which small problems are solved by one thread."""
    from threadpoolctl import threadpool_limits

    return threadpool_limits(1 if rows < ROWS_FOR_THREADS else None)


def _fit_classes(
    problem: Problem, estimator: Estimator, matrix: Matrix, y: np.ndarray, inputs: list[Matrix]
) -> list[np.ndarray]:
    estimator.fit(matrix, y)
    found = []
    for part in inputs:
        probabilities = np.full((part.shape[0], problem.width), 1e-9)
        probabilities[:, estimator.classes_.astype(int)] = estimator.predict_proba(part)
        found.append(probabilities / probabilities.sum(axis=1, keepdims=True))
    return found


def _fit_label(estimator: Estimator, matrix: Matrix, y: np.ndarray, inputs: list[Matrix]) -> list[np.ndarray]:
    if len(np.unique(y)) < 2:
        return [np.full(part.shape[0], float(y[0])) for part in inputs]
    estimator.fit(matrix, y)
    return [estimator.predict_proba(part)[:, 1] for part in inputs]


def _fit_all_labels(estimator: Estimator, matrix: Matrix, y: np.ndarray, inputs: list[Matrix]) -> list[np.ndarray]:
    """All columns at once; a column that is constant in training has one class only."""
    estimator.fit(matrix, y)
    found = []
    for part in inputs:
        shares = estimator.predict_proba(part)
        found.append(
            np.column_stack([p[:, 1] if p.shape[1] == 2 else np.full(len(p), y[0, k]) for k, p in enumerate(shares)])
        )
    return found


def _fit_numbers(
    problem: Problem, model: Model, block: Block, matrix: Matrix, y: np.ndarray, inputs: list[Matrix]
) -> list[np.ndarray]:
    if model.several_columns:
        estimator = model.make(problem, block)
        estimator.fit(matrix, y)
        return [estimator.predict(part).reshape(-1, problem.width) for part in inputs]
    columns = []
    for k in range(problem.width):
        estimator = model.make(problem, block)
        estimator.fit(matrix, y[:, k])
        columns.append([estimator.predict(part) for part in inputs])
    return [np.column_stack(parts) for parts in zip(*columns, strict=True)]


def encode_keys(
    problem: Problem, train: np.ndarray, y: np.ndarray, others: list[np.ndarray]
) -> tuple[np.ndarray, list[np.ndarray]]:
    """Replace codes (rows, keys) by the smoothed mean of the target; training rows without their own part of it."""
    from sklearn.preprocessing import TargetEncoder

    names = {"classes": "binary" if problem.width == 2 else "multiclass"}
    kind = names.get(problem.kind, "continuous")
    encoded, found = [], [[] for _ in others]
    for target in [y] if y.ndim == 1 else list(y.T):
        encoder = TargetEncoder(target_type=kind, cv=5, random_state=problem.seed)  # pyright: ignore[reportArgumentType]
        encoded.append(encoder.fit_transform(train, target))
        for place, part in zip(found, others, strict=True):
            place.append(encoder.transform(part))
    return np.hstack(encoded), [np.hstack(parts) for parts in found]


def blend(problem: Problem, results: list[Learned]) -> Learned:
    """The weighted mean of the results that is best out of fold: greedy selection with replacement.

    Source: Caruana et al., Ensemble Selection from Libraries of Models, ICML 2004.
    """
    known = ~np.isnan(np.concatenate([result.out_of_fold for result in results], axis=1)).any(axis=1)
    y = problem.y[known]
    members = [result.out_of_fold[known] for result in results]
    weights, best, total = np.zeros(len(results)), np.inf, np.zeros_like(members[0])
    for round_ in range(BLEND_ROUNDS):
        losses = [problem.loss(y, (total + member) / (round_ + 1)) for member in members]
        choice = int(np.argmin(losses))
        if losses[choice] >= best and round_ >= len(results):
            break
        total = total + members[choice]
        weights[choice] += 1
        best = min(best, losses[choice])
    weights /= weights.sum()
    out_of_fold = sum(weight * result.out_of_fold for weight, result in zip(weights, results, strict=True))
    test = sum(weight * result.test for weight, result in zip(weights, results, strict=True))
    parts = {result.name: round(float(weight), 3) for weight, result in zip(weights, results, strict=True)}
    out_of_fold, test = np.asarray(out_of_fold), np.asarray(test)
    return Learned("blend", out_of_fold, test, problem.loss(y, out_of_fold[known]), np.arange(len(problem.y)), parts)
