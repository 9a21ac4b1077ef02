"""Some competitions graded by the definition of their metric, in plain Python, one row after the other.

Each function reads answers and submission, takes them for valid, and returns the score.
"""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

csv.field_size_limit(1 << 30)


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def _column(path: Path, key: str, name: str) -> dict[str, str]:
    return {row[key]: row[name] for row in _rows(path)}


def mean_average_precision_of_baskets(answers: Path, submission: Path) -> float:
    predicted = _column(submission, "customer_id", "prediction")
    values = []
    for customer, basket in _column(answers, "customer_id", "prediction").items():
        truth, seen, hits, total = set(basket.split(" ")), set(), 0, 0.0
        for rank, entry in enumerate(predicted[customer].split(" ")[:12], start=1):
            if entry in truth and entry not in seen:
                hits += 1
                total += hits / rank
            seen.add(entry)
        values.append(total / min(len(truth), 12))
    return float(np.mean(values))


def error_of_pixels(answers: Path, submission: Path) -> float:
    predicted = _column(submission, "id", "value")
    squares = [
        (float(value) - float(predicted[pixel])) ** 2 for pixel, value in _column(answers, "id", "value").items()
    ]
    return float(np.sqrt(np.mean(squares)))


def mean_precision_of_salt(answers: Path, submission: Path) -> float:
    predicted = _column(submission, "id", "rle_mask")
    values = []
    for name, code in _column(answers, "id", "rle_mask").items():
        truth, found = _painted(code, 101 * 101), _painted(predicted[name], 101 * 101)
        if not truth.any():
            values.append(float(not found.any()))
            continue
        if not found.any():
            found[:] = True
        iou = np.count_nonzero(truth & found) / np.count_nonzero(truth | found)
        values.append(float((iou > np.arange(0.5, 1.0, 0.05)).mean()))
    return float(np.mean(values))


def dice_of_contrails(answers: Path, submission: Path) -> float:
    predicted = _column(submission, "record_id", "encoded_pixels")
    shared = total = 0
    for record, code in _column(answers, "record_id", "encoded_pixels").items():
        truth, found = _painted(code, 256 * 256), _painted(predicted[record], 256 * 256)
        shared += np.count_nonzero(truth & found)
        total += np.count_nonzero(truth) + np.count_nonzero(found)
    return 2 * shared / total


def _painted(code: str, pixels: int) -> np.ndarray:
    mask = np.zeros(pixels, dtype=bool)
    numbers = [int(word) for word in code.replace("-", "").split()]
    for start, length in zip(numbers[0::2], numbers[1::2], strict=True):
        mask[start - 1 : start - 1 + length] = True
    return mask


PLAIN = {
    "denoising-dirty-documents": error_of_pixels,
    "google-research-identify-contrails-reduce-global-warming": dice_of_contrails,
    "h-and-m-personalized-fashion-recommendations": mean_average_precision_of_baskets,
    "tgs-salt-identification-challenge": mean_precision_of_salt,
}
