"""Lists of labels: words parted by blanks, "c# asp.net linq"."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
import pandas as pd

from mlebench.cells import Context, Fault, as_text


def check_label_list(values: pd.Series, context: Context) -> Iterator[Fault]:
    """Words parted by blanks; by default any words, any number of them, or none.

    - `options.empty = false`: no cell may be missing or hold nothing
    - `options.all_empty = false`: at least one cell holds a word
    - `options.numbers = false`: no cell may be one that was read as a number or a boolean, which happens if each
      cell of the column is a number or missing
    - `options.forbidden`: a regular expression that may be found in no cell
    - `options.most`: how many words a cell may hold
    - `options.expected`: what the cells should hold, for the messages
    """
    options = context.column.options
    expected = options.get("expected", "labels parted by blanks")
    missing = values.isna().to_numpy(dtype=bool) | (values == "").to_numpy(dtype=bool, na_value=False)
    if missing.any() and not options.get("empty", True):
        yield Fault("missing value", "is missing", missing, expected)
    is_text = np.fromiter((isinstance(cell, str) for cell in values), dtype=bool, count=len(values))
    numbers = ~is_text & ~missing
    if numbers.any() and not options.get("numbers", True):
        yield Fault("not a label", "was read as a number", numbers, expected)
    texts = as_text(values).to_list()
    if not options.get("all_empty", True) and not any(map(str.strip, texts)):
        yield Fault("no labels", "is empty throughout", np.ones(len(values), dtype=bool), expected)
    yield from _wrong_texts(texts, options, expected)


def _wrong_texts(texts: list[str], options: dict[str, object], expected: str) -> Iterator[Fault]:
    if "forbidden" in options:
        find = re.compile(str(options["forbidden"])).search
        found = np.fromiter((find(text) is not None for text in texts), dtype=bool, count=len(texts))
        if found.any():
            yield Fault("not a label", "holds something that is no label", found, expected)
    if "most" in options:
        most = int(str(options["most"]))
        counts = np.fromiter((len(text.split()) for text in texts), dtype=int, count=len(texts))
        if (counts > most).any():
            yield Fault("too many labels", f"holds more than {most} labels", counts > most, expected)
