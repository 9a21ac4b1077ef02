"""Masks as run-length codes, and metrics of them.

A code is a text of blank-separated pairs "start length". Pixels are numbered from 1, down the first column,
then down the second, and so on; starts ascend and runs don't overlap. The empty text is the empty mask.
Areas and intersections are computed from the runs: no mask is painted.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from mlebench.metrics._checks import FloatArray, require_same_shape

IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

IOU_THRESHOLDS: FloatArray = np.arange(0.5, 1.0, 0.05)  # 0.6 is 0.6000000000000001, and so on
_WHOLE_NUMBERS = re.compile(r"[ \t\r\n]*([+-]?[0-9]+([ \t\r\n]+|$))*")
BLOCK = 1000  # masks that are looked at together
_FAR = 1 << 40  # numbers are cut off here, so that sums of them can't overflow


class Runs(NamedTuple):
    """The runs of many masks, mask by mask and ascending within one; all of shape (runs,)."""

    masks: IntArray  # which mask, from 0
    starts: IntArray  # the first pixel, from 0
    lengths: IntArray


class RunFault(NamedTuple):
    """What is wrong with some masks, and an example of it."""

    kind: str  # "not whole numbers", "odd count", "below 1", "past the end", "not ascending" or "overlap"
    masks: BoolArray  # (masks,)
    example: str


def mean_precision_score(
    y_true: np.ndarray,
    y_pred: np.ndarray,
    *,
    pixels: int,
    thresholds: Sequence[float] | FloatArray = IOU_THRESHOLDS,
    empty_prediction_is_full: bool = False,
) -> float:
    """Mean over images of the share of IoU thresholds that the predicted mask exceeds; 1 is perfect.

    Both arrays: run-length codes of images with `pixels` pixels, shape (rows,); a missing value is an empty
    mask. Where both masks are empty an image counts 1, where only the true one is, 0. Where only the
    predicted one is, it counts 0 as well, unless `empty_prediction_is_full`: then it is taken as a mask of all
    pixels. Raises ValueError if the shapes differ or a code is malformed.
    Source: the metric of the TGS Salt Identification Challenge; edition v1 takes an empty prediction as a full one.

    >>> mean_precision_score(np.array(["1 4", "1 9", ""]), np.array(["1 3", "", ""]), pixels=10)
    0.5
    >>> mean_precision_score(np.array(["1 9"]), np.array([""]), pixels=10, empty_prediction_is_full=True)
    0.8
    """
    require_same_shape(y_true, y_pred)
    true, predicted = as_codes(y_true), as_codes(y_pred)
    precisions = []
    for block in _blocks(len(true)):
        true_area, predicted_area, both = _areas(true[block], predicted[block], pixels)
        union = true_area + predicted_area - both
        iou = both / np.maximum(union, 1)
        if empty_prediction_is_full:
            iou = np.where(predicted_area == 0, true_area / pixels, iou)
        exceeded = (iou[:, None] > np.asarray(thresholds)).mean(axis=1)
        precisions.append(np.where(union == 0, 1.0, exceeded))
    return float(np.concatenate(precisions).mean())


def _areas(true: Sequence[str], predicted: Sequence[str], pixels: int) -> tuple[IntArray, IntArray, IntArray]:
    """The areas of true masks, of predicted ones, and of what each pair shares; all of shape (masks,)."""
    masks = len(true)
    true_runs, predicted_runs = read_runs(true, pixels), read_runs(predicted, pixels)
    shared = intersections(true_runs, predicted_runs, masks, pixels)
    return areas(true_runs, masks), areas(predicted_runs, masks), shared


def _blocks(masks: int) -> Iterator[slice]:
    """Slices of a few masks each, so that memory does not grow with their number."""
    return (slice(begin, begin + BLOCK) for begin in range(0, masks, BLOCK))


def as_codes(values: np.ndarray) -> list[str]:
    """Codes as texts, missing ones (None, NaN) as the empty text."""
    return ["" if value is None or _is_nan(value) else str(value) for value in values.tolist()]


def _is_nan(value: object) -> bool:
    return isinstance(value, float) and math.isnan(value)


def areas(runs: Runs, masks: int) -> IntArray:
    """The number of pixels of each mask, shape (masks,)."""
    return np.bincount(runs.masks, weights=runs.lengths, minlength=masks).astype(np.int64)


def intersections(first: Runs, second: Runs, masks: int, pixels: int) -> IntArray:
    """How many pixels mask i of `first` and mask i of `second` share, shape (masks,)."""
    starts = second.masks * pixels + second.starts
    covered = _covered_before(first, starts + second.lengths, pixels) - _covered_before(first, starts, pixels)
    return np.bincount(second.masks, weights=covered, minlength=masks).astype(np.int64)


def _covered_before(runs: Runs, positions: IntArray, pixels: int) -> IntArray:
    """How many pixels of `runs` lie before each position, when all masks are laid end to end."""
    if len(runs.starts) == 0:
        return np.zeros(len(positions), dtype=np.int64)
    starts = runs.masks * pixels + runs.starts
    before = np.concatenate([[0], np.cumsum(runs.lengths)])
    last = np.searchsorted(starts, positions, side="right") - 1  # the last run that starts at or before
    inside = np.minimum(positions - starts[last], runs.lengths[last])
    return np.where(last < 0, 0, before[last] + inside)


def decode_run_lengths(codes: Sequence[str], height: int, width: int) -> BoolArray:
    """Masks of shape (codes, height, width). Raises ValueError if a code is malformed.

    >>> decode_run_lengths(["2 2", ""], 2, 2).astype(int).tolist()
    [[[0, 1], [1, 0]], [[0, 0], [0, 0]]]
    """
    pixels = height * width
    runs = read_runs(codes, pixels)
    starts = runs.masks * pixels + runs.starts
    change = np.zeros(len(codes) * pixels + 1, dtype=np.int8)
    change[starts] += 1  # no two runs start, and no two end, at the same pixel
    change[starts + runs.lengths] -= 1
    painted = np.cumsum(change[:-1], dtype=np.int8).astype(bool)
    return painted.reshape(len(codes), width, height).transpose(0, 2, 1)


def encode_run_lengths(masks: BoolArray) -> list[str]:
    """The codes of masks of shape (masks, height, width).

    >>> encode_run_lengths(np.array([[[0, 1], [1, 0]], [[0, 0], [0, 0]]], dtype=bool))
    ['2 2', '']
    """
    count, height, width = masks.shape
    pixels = height * width
    framed = np.zeros((count, pixels + 2), dtype=np.int8)
    framed[:, 1:-1] = masks.transpose(0, 2, 1).reshape(count, pixels)
    change = np.diff(framed, axis=1)
    mask, start = np.nonzero(change == 1)
    length = np.nonzero(change == -1)[1] - start
    numbers = np.column_stack([start + 1, length]).ravel().tolist()
    ends = 2 * np.cumsum(np.bincount(mask, minlength=count))
    return [" ".join(map(str, numbers[a:b])) for a, b in zip([0, *ends[:-1]], ends, strict=True)] if count else []


def read_runs(codes: Sequence[str], pixels: int | None = None) -> Runs:
    """The runs of all codes. Raises ValueError that names the first code which is malformed.

    >>> read_runs(["1 3 10 5", "7 1"], 20).starts.tolist()
    [0, 9, 6]
    """
    numbers, counts = whole_numbers(codes)
    for fault in _run_faults(numbers, counts, pixels):
        raise ValueError(f"code {int(np.argmax(fault.masks))} ({fault.example}): {fault.kind}")
    masks = np.repeat(np.arange(len(counts)), counts // 2)
    return Runs(masks, numbers[0::2] - 1, numbers[1::2])


def whole_numbers(texts: Sequence[str]) -> tuple[IntArray, IntArray]:
    """All numbers of texts of blank-separated whole numbers, and how many each text has, shape (texts,).

    Numbers beyond 2**40 are cut off there. Raises ValueError if there is anything but digits, signs and blanks.

    >>> whole_numbers(["1 22", "", "-3"])
    (array([ 1, 22, -3]), array([2, 0, 1]))
    """
    if len(texts) == 0:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    joined = " ".join(texts) + " "
    if (strange := not_whole_numbers(texts)).any():
        raise ValueError(f"text {int(np.argmax(strange))} holds something else than whole numbers")
    ink = np.frombuffer(joined.encode("ascii"), dtype=np.uint8) > ord(" ")
    begins = np.flatnonzero(ink[1:] & ~ink[:-1]) + 1
    if ink[0]:
        begins = np.insert(begins, 0, 0)
    ends_of_texts = np.cumsum(np.fromiter(map(len, texts), dtype=np.int64, count=len(texts)) + 1)
    counts = np.diff(np.searchsorted(begins, ends_of_texts), prepend=0)
    if len(begins) == 0:
        return np.zeros(0, dtype=np.int64), counts
    numbers = np.fromstring(joined, sep=" ", dtype=np.int64)
    return np.clip(numbers, -_FAR, _FAR), counts


def not_whole_numbers(texts: Sequence[str]) -> BoolArray:
    """Which texts hold something else than blank-separated whole numbers, shape (texts,).

    >>> not_whole_numbers(["1 22", "", "-3 +4", "2.5", "1-2", "none"])
    array([False, False, False,  True,  True,  True])
    """
    if not " ".join(texts).encode(errors="replace").translate(None, b"0123456789 "):
        return np.zeros(len(texts), dtype=bool)
    return np.array([_WHOLE_NUMBERS.fullmatch(text) is None for text in texts], dtype=bool)


def code_faults(codes: Sequence[str], pixels: int | None = None) -> list[RunFault]:
    """Everything that is wrong with codes of masks with `pixels` pixels (None: without end), each kind once.

    >>> [(fault.kind, fault.example) for fault in code_faults(["1 3", "1.5 3", "7", "1 2 3"], 10)]
    [('not whole numbers', '1.5 3'), ('odd count', '1 number')]
    """
    found: dict[str, RunFault] = {}
    for block in _blocks(len(codes)):
        for kind, masks, example in _faults(codes[block], pixels):
            fault = found.setdefault(kind, RunFault(kind, np.zeros(len(codes), dtype=bool), example))
            fault.masks[block] = masks
    return list(found.values())


def _faults(codes: Sequence[str], pixels: int | None) -> Iterator[RunFault]:
    strange = not_whole_numbers(codes)
    if strange.any():
        yield RunFault("not whole numbers", strange, codes[int(np.argmax(strange))][:20])
        codes = ["" if wrong else code for code, wrong in zip(codes, strange, strict=True)]
    yield from _run_faults(*whole_numbers(codes), pixels)


def _run_faults(numbers: IntArray, counts: IntArray, pixels: int | None) -> Iterator[RunFault]:
    """Everything that is wrong with codes, given as `whole_numbers` returns them; `pixels`: None for no end."""
    masks = np.repeat(np.arange(len(counts)), counts)
    odd = counts % 2 == 1
    if odd.any():
        first = int(np.argmax(odd))
        yield RunFault("odd count", odd, f"{counts[first]} number{'s' if counts[first] > 1 else ''}")
    paired = ~odd[masks]
    numbers, masks = numbers[paired], masks[paired][0::2]
    starts, lengths = numbers[0::2], numbers[1::2]
    follows = np.zeros(len(masks), dtype=bool)  # whether the run before belongs to the same mask
    follows[1:] = masks[1:] == masks[:-1]
    previous, previous_length = np.roll(starts, 1), np.roll(lengths, 1)
    faulty = {
        "below 1": (starts < 1) | (lengths < 1),
        "past the end": np.zeros(len(masks), bool) if pixels is None else starts + lengths - 1 > pixels,
        "not ascending": follows & (starts <= previous),
        "overlap": follows & (starts > previous) & (starts < previous + previous_length),
    }
    for kind, wrong in faulty.items():
        if wrong.any():
            first = int(np.argmax(wrong))
            found = np.bincount(masks[wrong], minlength=len(counts)) > 0
            yield RunFault(kind, found, f"{starts[first]} {lengths[first]}")
