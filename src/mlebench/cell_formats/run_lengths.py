"""Run-length masks: "start length" pairs as `mlebench.metrics.segmentation` reads them."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from mlebench.cells import Context, Fault, as_text
from mlebench.errors import Problem
from mlebench.metrics.segmentation import IntArray, code_faults
from mlebench.submission import row_problem

MESSAGES = {
    "not whole numbers": "holds something else than whole numbers",
    "odd count": "has a start without a length",
    "below 1": "has a start or a length below 1",
    "past the end": "has a run that goes past the last pixel",
    "not ascending": "has runs whose starts do not ascend",
    "overlap": "has runs that overlap",
}


def check_run_lengths(values: pd.Series, context: Context) -> Iterator[Fault]:
    """Pairs of whole numbers, starts ascending, no overlap, all within the pixels 1 to `options.pixels`.

    Without `options.pixels` a mask has no end. A missing or blank cell is an empty mask. `options.empty_code`, say
    "-", stands for one as well; missing and blank cells are faults then, unless `options.missing` is true. Without
    a code, `options.missing = false` makes missing cells faults, blank ones stay empty masks.
    """
    options = context.column.options
    pixels, empty_code = options.get("pixels"), options.get("empty_code", "")
    within = "" if pixels is None else f" within pixels 1 to {pixels:,}"
    nothing = f', or "{empty_code}" for an empty mask' if empty_code else ""
    expected = f'pairs "start length"{within}, starts ascending{nothing}'
    texts = as_text(values)
    missing = values.isna().to_numpy(dtype=bool)
    may_be_missing = options.get("missing", not empty_code)
    if missing.any() and not may_be_missing:
        yield Fault("missing value", "is missing", missing, expected)
    if empty_code:
        blank = ~missing & (texts.str.strip() == "").to_numpy(dtype=bool)
        if blank.any() and not may_be_missing:
            yield Fault("blanks", "holds nothing but blanks", blank, expected)
        texts = texts.where(texts != empty_code, "")
    for fault in code_faults(texts.to_list(), pixels):
        message = f"{MESSAGES[fault.kind]} ({fault.example} in the first such row)"
        yield Fault(fault.kind, message, fault.masks, expected)


def faulty_masks(codes: pd.Series, pixels: int | IntArray, *, cut_off: bool = False) -> Iterator[Problem]:
    """A problem for each kind of fault in the codes of pictures with `pixels` pixels, one number or one a row.

    For a competition's `check_submission` where the schema can't tell the number of pixels. `cut_off`: runs may
    go past the last pixel, as for `mlebench.metrics.segmentation.read_runs`.
    """
    for fault in code_faults(as_text(codes).to_list(), pixels, cut_off=cut_off):
        message = f"{codes.name} {MESSAGES[fault.kind]} ({fault.example} in the first such row)"
        expected = 'pairs "start length" within the picture of that row, starts ascending'
        yield row_problem(fault.kind, message, fault.masks, codes, expected)
