"""Which metric a description names, and a loss for each, so that models can be compared."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np

# The first that is found in the description's section on the metric wins: the special before the general.
NAMES = (
    ("kappa", r"\bkappa\b"),
    ("divergence", r"kullback|divergence"),
    ("rmsle", r"rmsle|squared log(arithmic)? error|squared logarithmic"),
    ("log loss", r"log[- ]?loss|cross[- ]entropy|logarithmic loss"),
    ("auc", r"\bauc\b|\broc\b|area under"),
    ("correlation of classes", r"matthews"),
    ("average precision", r"average precision|\bmap@"),
    ("f1", r"\bf1\b|f-?score|f-?measure|f_1"),
    ("mae", r"mean absolute error|\bmae\b|absolute deviation"),
    ("correlation", r"pearson|spearman"),
    ("rmse", r"rmse|root[- ]mean[- ]squared?|mean squared error|\bmse\b"),
    ("accuracy", r"accuracy|classification error|share of .{0,60}(correct|equal|right)"),
)
FOR_CLASSES = {"kappa", "log loss", "auc", "f1", "accuracy", "average precision", "correlation of classes"}
NEEDS_THRESHOLD = {"f1", "correlation of classes"}
FOR_NUMBERS = {"rmsle", "mae", "correlation", "rmse"}
WANTS_PROBABILITIES = {"log loss", "auc"}
STEADY = 0.3  # share of the log loss in losses that count mistakes: their steps are noise on few rows


def infer(description: str) -> str | None:
    """The metric's name by the section called metric or evaluation, else by the whole text; None if none is named."""
    section = re.search(
        r"^#+ *(metric|evaluation|scoring)[^\n]*\n(.*?)(?=^# |^## |\Z)", description, re.I | re.M | re.S
    )
    for text in (section.group(2) if section else "", description):
        for name, pattern in NAMES:
            if re.search(pattern, text, re.IGNORECASE):
                return name
    return None


def loss_of_classes(metric: str | None) -> Callable[[np.ndarray, np.ndarray], float]:
    """A loss of class numbers (rows,) and probabilities (rows, classes), by the metric.

    Losses that count mistakes have a share of the log loss added.
    """
    from sklearn.metrics import cohen_kappa_score, f1_score, roc_auc_score

    def auc(y: np.ndarray, p: np.ndarray) -> float:
        present = [k for k in range(p.shape[1]) if 0 < (y == k).sum() < len(y)]
        return 1 - float(np.mean([roc_auc_score(y == k, p[:, k]) for k in present])) if present else 0.5

    def log_loss(y: np.ndarray, p: np.ndarray) -> float:
        p = p / p.sum(axis=1, keepdims=True)
        return float(-np.log(np.clip(p[np.arange(len(y)), y], 1e-6, 1)).mean())

    def kappa(y: np.ndarray, p: np.ndarray) -> float:
        return 1 - float(cohen_kappa_score(y, p.argmax(axis=1), weights="quadratic"))

    def f1(y: np.ndarray, p: np.ndarray) -> float:
        return 1 - float(f1_score(y, p.argmax(axis=1), average="macro"))

    def error(y: np.ndarray, p: np.ndarray) -> float:
        return float((y != p.argmax(axis=1)).mean())

    def steadied(loss: Callable[[np.ndarray, np.ndarray], float]) -> Callable[[np.ndarray, np.ndarray], float]:
        return lambda y, p: loss(y, p) + STEADY * log_loss(y, p)

    if metric == "auc":
        return auc
    steps = {"kappa": kappa, "f1": f1, "accuracy": error}
    return steadied(steps[metric]) if metric in steps else log_loss


def loss_of_labels(metric: str | None) -> Callable[[np.ndarray, np.ndarray], float]:
    """A loss of 0/1 columns and their probabilities, both (rows, columns): log loss, or the mean AUC's."""
    from sklearn.metrics import roc_auc_score

    def auc(y: np.ndarray, p: np.ndarray) -> float:
        present = [k for k in range(y.shape[1]) if 0 < y[:, k].sum() < len(y)]
        return 1 - float(np.mean([roc_auc_score(y[:, k], p[:, k]) for k in present])) if present else 0.5

    def log_loss(y: np.ndarray, p: np.ndarray) -> float:
        p = np.clip(p, 1e-6, 1 - 1e-6)
        return float(-(y * np.log(p) + (1 - y) * np.log(1 - p)).mean())

    return auc if metric == "auc" else log_loss


def loss_of_numbers(metric: str | None) -> Callable[[np.ndarray, np.ndarray], float]:
    """A loss of numbers, both (rows, columns): mean absolute error or root mean squared error, mean over columns."""
    if metric == "mae":
        return lambda y, p: float(np.abs(y - p).mean())
    return lambda y, p: float(np.sqrt(((y - p) ** 2).mean(axis=0)).mean())
