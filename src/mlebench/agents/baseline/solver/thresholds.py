"""From probabilities of pixels to a mask: the threshold and the least area that the metric likes best."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import numpy as np

from .pixels import step_of

THRESHOLDS = (0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)
AREAS = (0.0, 0.005, 0.01, 0.02, 0.04)
Masks = Sequence[np.ndarray]


def cut(shares: np.ndarray, threshold: float, area: float) -> np.ndarray:
    """The mask above a threshold, empty if it covers less than the least area."""
    mask = shares > threshold
    return mask if mask.mean() >= area else np.zeros_like(mask)


def choose(shares: Masks, masks: Masks, description: str) -> tuple[float, float]:
    """Threshold and least area with the best Dice coefficient if the description names it, else precision."""
    alike = re.search(r"\bdice\b|\bF0\.5|\bF1\b", description, re.IGNORECASE)
    value: Callable[[Masks, Masks], float] = dice if alike else precisions
    options = [(threshold, area) for threshold in THRESHOLDS for area in ((0.0,) if alike else AREAS)]
    return max(options, key=lambda o: value([cut(p, *o) for p in shares], masks)) if shares else (0.5, 0.0)


def dice(found: Masks, truths: Masks) -> float:
    """The Dice coefficient of all pixels, and some weight on that of each picture."""
    both = sum((mask & truth).sum() for mask, truth in zip(found, truths, strict=True))
    total = sum(mask.sum() + truth.sum() for mask, truth in zip(found, truths, strict=True))
    return float(2 * both / max(1, total))


def precisions(found: Masks, truths: Masks) -> float:
    """Mean share of the thresholds 0.5, 0.55 … 0.95 that overlaps exceed, with some weight on the overlaps."""
    return float(np.mean([precision(mask, truth) for mask, truth in zip(found, truths, strict=True)]))


def precision(mask: np.ndarray, truth: np.ndarray) -> float:
    """Share of the thresholds 0.5, 0.55 … 0.95 that the overlap exceeds, with some weight on the overlap itself."""
    union = (mask | truth).sum()
    overlap = (mask & truth).sum() / union if union else 1.0
    return float((overlap > np.arange(0.5, 1.0, 0.05)).mean() + 0.1 * overlap)


def enlarged(mask: np.ndarray, shape: Sequence[int]) -> np.ndarray:
    """The mask of a thinned picture at the picture's own size."""
    step = step_of(shape)
    return np.kron(mask, np.ones((step, step), dtype=bool))[: shape[0], : shape[1]]
