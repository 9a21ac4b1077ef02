"""Masks as run-length codes, and metrics of them.

A code is a text of blank-separated pairs "start length". Pixels are numbered from 1, down the first column,
then down the second, and so on, unless they are said to be numbered row by row; starts ascend and runs don't
overlap. The empty text is the empty mask. Areas and intersections are computed from the runs, whatever the
numbering: no mask is painted.
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
Pixels = int | IntArray  # of every mask, or of each, shape (masks,)

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
    true_area, predicted_area, both = mask_areas(y_true, y_pred, pixels=pixels)
    union = true_area + predicted_area - both
    iou = both / np.maximum(union, 1)
    if empty_prediction_is_full:
        iou = np.where(predicted_area == 0, true_area / pixels, iou)
    exceeded = (iou[:, None] > np.asarray(thresholds)).mean(axis=1)
    return float(np.where(union == 0, 1.0, exceeded).mean())


def mean_dice_score(y_true: np.ndarray, y_pred: np.ndarray, *, pixels: Pixels | None = None) -> float:
    """Mean over images of 2·|X ∩ Y| / (|X| + |Y|), 1 where both masks are empty; 1 is perfect.

    Both arrays: run-length codes, shape (rows,); a missing value is an empty mask. `pixels`: how many each image
    has, None for no end. Raises ValueError if the shapes differ or a code is malformed.
    Source: the metric of HuBMAP - Hacking the Kidney.

    >>> mean_dice_score(np.array(["1 4", "1 9", ""]), np.array(["3 4", "", ""]))
    0.5
    """
    true_area, predicted_area, both = mask_areas(y_true, y_pred, pixels=pixels)
    total = true_area + predicted_area
    return float(np.where(total == 0, 1.0, 2 * both / np.maximum(total, 1)).mean())


def global_dice_score(
    y_true: np.ndarray,
    y_pred: np.ndarray,
    *,
    pixels: Pixels | None = None,
    empty_code: str = "",
    of_nothing: float = math.nan,
) -> float:
    """2·|X ∩ Y| / (|X| + |Y|) of the masks of all images taken together; 1 is perfect.

    Both arrays: run-length codes, shape (rows,); a missing value and `empty_code` are an empty mask. `pixels`:
    how many each image has, None for no end. `of_nothing` is returned if all masks of both sides are empty.
    Raises ValueError if the shapes differ or a code is malformed.
    Source: the metric of Google Research - Identify Contrails; edition v1 leaves the case of no mask at all open.

    >>> global_dice_score(np.array(["1 4", "1 4", "-"]), np.array(["3 4", "-", "-"]), empty_code="-")
    0.3333333333333333
    """
    true_area, predicted_area, both = mask_areas(y_true, y_pred, pixels=pixels, empty_code=empty_code)
    total = int(true_area.sum() + predicted_area.sum())
    return 2 * int(both.sum()) / total if total else of_nothing


def mean_f_beta_score(
    y_true: np.ndarray,
    y_pred: np.ndarray,
    *,
    beta: float,
    pixels: Pixels | None = None,
    cut_off: bool = False,
) -> float:
    """Mean over images of (1 + β²)·P·R / (β²·P + R), P and R the pixels' precision and recall; 1 is perfect.

    Both arrays: run-length codes, shape (rows,); a missing value is an empty mask. An image of which no pixel is
    hit counts 0, also if there is none to hit. `pixels`: how many each image has, None for no end. `cut_off`:
    predicted runs may go past the last pixel, see `read_runs`. Raises ValueError if the shapes differ or a code is
    malformed.
    Source: the metric of the Vesuvius Challenge - Ink Detection; equals scikit-learn's `fbeta_score` of all pixels.

    >>> mean_f_beta_score(np.array(["1 4"]), np.array(["3 4"]), beta=0.5)
    0.5
    """
    true_area, predicted_area, both = mask_areas(y_true, y_pred, pixels=pixels, cut_off=cut_off)
    weighted = (1 + beta**2) * both / np.maximum(beta**2 * true_area + predicted_area, 1)
    return float(np.where(both == 0, 0.0, weighted).mean())


def mask_areas(
    y_true: np.ndarray,
    y_pred: np.ndarray,
    *,
    pixels: Pixels | None = None,
    empty_code: str = "",
    cut_off: bool = False,
) -> tuple[IntArray, IntArray, IntArray]:
    """The areas of true masks, of predicted ones, and of what each pair shares; all of shape (rows,).

    Both arrays: run-length codes, shape (rows,); a missing value and `empty_code` are an empty mask. `cut_off`
    holds for the predicted ones. Raises ValueError if the shapes differ or a code is malformed.

    >>> [int(area[0]) for area in mask_areas(np.array(["1 4"]), np.array(["3 4"]))]
    [4, 4, 2]
    """
    require_same_shape(y_true, y_pred)
    true, predicted = as_codes(y_true, empty_code), as_codes(y_pred, empty_code)
    found = []
    for block in _blocks(len(true)):
        ends = _of_block(pixels, block)
        masks = len(true[block])
        true_runs = read_runs(true[block], ends)
        predicted_runs = read_runs(predicted[block], ends, cut_off=cut_off)
        shared = intersections(true_runs, predicted_runs, masks)
        found.append((areas(true_runs, masks), areas(predicted_runs, masks), shared))
    true_area, predicted_area, both = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return true_area, predicted_area, both


def _blocks(masks: int) -> Iterator[slice]:
    """Slices of a few masks each, so that memory does not grow with their number."""
    return (slice(begin, begin + BLOCK) for begin in range(0, masks, BLOCK))


def _of_block(pixels: Pixels | None, block: slice) -> Pixels | None:
    return pixels[block] if isinstance(pixels, np.ndarray) else pixels


def as_codes(values: np.ndarray, empty_code: str = "") -> list[str]:
    """Codes as texts, missing ones (None, NaN) and `empty_code` as the empty text."""
    texts = ("" if value is None or _is_nan(value) else str(value) for value in values.tolist())
    return ["" if text == empty_code else text for text in texts]


def _is_nan(value: object) -> bool:
    return isinstance(value, float) and math.isnan(value)


def areas(runs: Runs, masks: int) -> IntArray:
    """The number of pixels of each mask, shape (masks,)."""
    return np.bincount(runs.masks, weights=runs.lengths, minlength=masks).astype(np.int64)


def intersections(first: Runs, second: Runs, masks: int) -> IntArray:
    """How many pixels mask i of `first` and mask i of `second` share, shape (masks,)."""
    apart = max(int((runs.starts + runs.lengths).max(initial=0)) for runs in (first, second))
    starts = second.masks * apart + second.starts
    covered = _covered_before(first, starts + second.lengths, apart) - _covered_before(first, starts, apart)
    return np.bincount(second.masks, weights=covered, minlength=masks).astype(np.int64)


def _covered_before(runs: Runs, positions: IntArray, apart: int) -> IntArray:
    """How many pixels of `runs` lie before each position, when masks of `apart` pixels each are laid end to end."""
    if len(runs.starts) == 0:
        return np.zeros(len(positions), dtype=np.int64)
    starts = runs.masks * apart + runs.starts
    before = np.concatenate([[0], np.cumsum(runs.lengths)])
    last = np.searchsorted(starts, positions, side="right") - 1  # the last run that starts at or before
    inside = np.minimum(positions - starts[last], runs.lengths[last])
    return np.where(last < 0, 0, before[last] + inside)


def stacked_runs(runs: Runs, layers: IntArray, pixels: int) -> Runs:
    """The masks on top of each other as one mask, that of a volume; where several cover a pixel it counts once.

    `layers`: the place of each mask in the stack, shape (masks,); masks of the same layer are merged. `pixels`:
    how many each layer has. Pixel p of layer k becomes pixel k · `pixels` + p, and runs that touch become one.

    >>> stacked_runs(read_runs(["1 3", "2 4", "9 2"]), np.array([0, 0, 1]), 10)[1:]
    (array([ 0, 18]), array([5, 2]))
    """
    begins = layers[runs.masks] * pixels + runs.starts
    order = np.argsort(begins, kind="stable")
    begins, ends = begins[order], np.maximum.accumulate((begins + runs.lengths)[order])
    opens = np.ones(len(begins), dtype=bool)
    opens[1:] = begins[1:] > ends[:-1]
    starts, lasts = begins[opens], ends[np.append(opens[1:], True)[: len(opens)]]
    return Runs(np.zeros(len(starts), dtype=np.int64), starts, lasts - starts)


def painted_runs(runs: Runs, masks: int, pixels: int) -> BoolArray:
    """Which of its `pixels` pixels each mask covers, shape (masks, pixels).

    >>> painted_runs(read_runs(["2 3", ""]), 2, 5).astype(int).tolist()
    [[0, 1, 1, 1, 0], [0, 0, 0, 0, 0]]
    """
    starts = runs.masks * pixels + runs.starts
    borders = np.column_stack([starts, starts + runs.lengths]).ravel()
    widths = np.diff(borders, prepend=0, append=masks * pixels)  # of what is outside and inside in turn
    return np.repeat(np.arange(len(widths)) % 2 == 1, widths).reshape(masks, pixels)


def decode_run_lengths(codes: Sequence[str], height: int, width: int, *, row_by_row: bool = False) -> BoolArray:
    """Masks of shape (codes, height, width). Raises ValueError if a code is malformed.

    >>> decode_run_lengths(["2 2", ""], 2, 2).astype(int).tolist()
    [[[0, 1], [1, 0]], [[0, 0], [0, 0]]]
    >>> decode_run_lengths(["1 2"], 2, 2, row_by_row=True).astype(int).tolist()
    [[[1, 1], [0, 0]]]
    """
    painted = painted_runs(read_runs(codes, height * width), len(codes), height * width)
    if row_by_row:
        return painted.reshape(len(codes), height, width)
    return painted.reshape(len(codes), width, height).transpose(0, 2, 1)


def encode_run_lengths(masks: BoolArray, *, row_by_row: bool = False) -> list[str]:
    """The codes of masks of shape (masks, height, width).

    >>> encode_run_lengths(np.array([[[0, 1], [1, 0]], [[0, 0], [0, 0]]], dtype=bool))
    ['2 2', '']
    >>> encode_run_lengths(np.array([[[0, 1], [1, 0]]], dtype=bool), row_by_row=True)
    ['2 2']
    """
    count, height, width = masks.shape
    pixels = height * width
    framed = np.zeros((count, pixels + 2), dtype=np.int8)
    framed[:, 1:-1] = (masks if row_by_row else masks.transpose(0, 2, 1)).reshape(count, pixels)
    change = np.diff(framed, axis=1)
    mask, start = np.nonzero(change == 1)
    length = np.nonzero(change == -1)[1] - start
    numbers = np.column_stack([start + 1, length]).ravel().tolist()
    ends = 2 * np.cumsum(np.bincount(mask, minlength=count))
    return [" ".join(map(str, numbers[a:b])) for a, b in zip([0, *ends[:-1]], ends, strict=True)] if count else []


def read_runs(codes: Sequence[str], pixels: Pixels | None = None, *, cut_off: bool = False) -> Runs:
    """The runs of all codes. Raises ValueError that names the first code which is malformed.

    `cut_off`: runs may go past the last pixel and are cut off there; of those that begin behind it only the order
    is looked at.

    >>> read_runs(["1 3 10 5", "7 1"], 20).starts.tolist()
    [0, 9, 6]
    >>> read_runs(["1 3 10 5", "17 1"], 12, cut_off=True).lengths.tolist()
    [3, 3]
    """
    numbers, counts = whole_numbers(codes)
    for fault in _run_faults(numbers, counts, pixels, cut_off=cut_off):
        raise ValueError(f"code {int(np.argmax(fault.masks))} ({fault.example}): {fault.kind}")
    masks = np.repeat(np.arange(len(counts)), counts // 2)
    runs = Runs(masks, numbers[0::2] - 1, numbers[1::2])
    return _cut(runs, _of_runs(pixels, masks)) if cut_off and pixels is not None else runs


def _cut(runs: Runs, ends: IntArray) -> Runs:
    inside = runs.starts < ends
    lengths = np.minimum(runs.lengths, ends - runs.starts)
    return Runs(runs.masks[inside], runs.starts[inside], lengths[inside])


def _of_runs(pixels: Pixels, masks: IntArray) -> IntArray:
    """How many pixels the mask of each run has, shape (runs,)."""
    return pixels[masks] if isinstance(pixels, np.ndarray) else np.full(len(masks), pixels)


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


def code_faults(codes: Sequence[str], pixels: Pixels | None = None, *, cut_off: bool = False) -> list[RunFault]:
    """Everything that is wrong with codes of masks with `pixels` pixels (None: without end), each kind once.

    `cut_off` as for `read_runs`.

    >>> [(fault.kind, fault.example) for fault in code_faults(["1 3", "1.5 3", "7", "1 2 3"], 10)]
    [('not whole numbers', '1.5 3'), ('odd count', '1 number')]
    """
    found: dict[str, RunFault] = {}
    for block in _blocks(len(codes)):
        for kind, masks, example in _faults(codes[block], _of_block(pixels, block), cut_off):
            fault = found.setdefault(kind, RunFault(kind, np.zeros(len(codes), dtype=bool), example))
            fault.masks[block] = masks
    return list(found.values())


def _faults(codes: Sequence[str], pixels: Pixels | None, cut_off: bool) -> Iterator[RunFault]:
    strange = not_whole_numbers(codes)
    if strange.any():
        yield RunFault("not whole numbers", strange, codes[int(np.argmax(strange))][:20])
        codes = ["" if wrong else code for code, wrong in zip(codes, strange, strict=True)]
    yield from _run_faults(*whole_numbers(codes), pixels, cut_off=cut_off)


def _run_faults(numbers: IntArray, counts: IntArray, pixels: Pixels | None, *, cut_off: bool) -> Iterator[RunFault]:
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
    ends = np.full(len(masks), 2 * _FAR) if pixels is None else _of_runs(pixels, masks)
    seen = (starts <= ends) | np.array(not cut_off)
    faulty = {
        "below 1": (starts < 1) | (lengths < 1),
        "past the end": (starts + lengths - 1 > ends) & np.array(not cut_off),
        "not ascending": follows & ((starts < previous) | ((starts == previous) & seen)),
        "overlap": follows & seen & (starts > previous) & (starts < previous + previous_length),
    }
    for kind, wrong in faulty.items():
        if wrong.any():
            first = int(np.argmax(wrong))
            found = np.bincount(masks[wrong], minlength=len(counts)) > 0
            yield RunFault(kind, found, f"{starts[first]} {lengths[first]}")
