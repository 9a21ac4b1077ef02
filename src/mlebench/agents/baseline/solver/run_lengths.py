"""Masks as run-length codes."""

from __future__ import annotations

import re

import numpy as np

RUNS = re.compile(r"^\s*(\d+\s+\d+\s*)*$")
BY_ROWS = re.compile(r"row[- ]major|left to right,? then|along the rows", re.IGNORECASE)


def decoded(cell: str, shape: tuple[int, ...], by_columns: bool, first: int) -> np.ndarray:
    """The mask (height, width) that runs of start and length describe; what lies past the end is left out."""
    numbers = np.array(cell.split(), dtype=int)
    flat = np.zeros(shape[0] * shape[1] + 1, dtype=int)
    starts = np.clip(numbers[0::2] - first, 0, len(flat) - 1)
    ends = np.clip(starts + numbers[1::2], 0, len(flat) - 1)
    np.add.at(flat, starts, 1)
    np.add.at(flat, ends, -1)
    mask = np.cumsum(flat)[:-1] > 0
    return mask.reshape(shape[1], shape[0]).T if by_columns else mask.reshape(shape[0], shape[1])


def encoded(mask: np.ndarray, by_columns: bool, first: int) -> str:
    """The runs of a mask."""
    flat = np.concatenate([[0], (mask.T if by_columns else mask).astype(np.int8).ravel(), [0]])
    edges = np.flatnonzero(np.diff(flat))
    return " ".join(f"{start + first} {end - start}" for start, end in zip(edges[::2], edges[1::2], strict=True))


def usual_order(description: str) -> bool:
    """Whether runs go down the columns, as nothing else is said."""
    return BY_ROWS.search(description) is None
