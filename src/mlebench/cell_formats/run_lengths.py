"""Run-length masks: "start length" pairs as `mlebench.metrics.segmentation` reads them."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from mlebench.cells import Context, Fault, as_text
from mlebench.metrics.segmentation import code_faults

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

    An empty cell is an empty mask. Without `options.pixels` a mask has no end.
    """
    pixels = context.column.options.get("pixels")
    within = "" if pixels is None else f" within pixels 1 to {pixels:,}"
    expected = f'pairs "start length"{within}, starts ascending'
    for fault in code_faults(as_text(values).to_list(), pixels):
        message = f"{MESSAGES[fault.kind]} ({fault.example} in the first such row)"
        yield Fault(fault.kind, message, fault.masks, expected)
