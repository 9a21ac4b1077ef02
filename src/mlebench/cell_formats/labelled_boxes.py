"""Groups of one word and some numbers, such as "class confidence x_min y_min x_max y_max", any number in a cell."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from mlebench.cells import Context, Fault, as_text


class Groups(NamedTuple):
    """All groups of many texts, text by text."""

    texts: npt.NDArray[np.int64]  # which text, from 0; shape (groups,)
    words: npt.NDArray[np.object_]  # shape (groups,)
    numbers: npt.NDArray[np.float64]  # shape (groups, fields - 1)


def read_groups(texts: Sequence[str], fields: int, word: int, *, any_blanks: bool = False) -> Groups:
    """All groups of `fields` tokens, the one at the place `word` a word, the others numbers.

    Tokens are separated by single blanks, or with `any_blanks` by any white space; the empty text has no group.
    Raises ValueError for an incomplete group or something else in place of a number.

    >>> read_groups(["a 1 2 b 3 4", ""], 3, 0).words.tolist()
    ['a', 'b']
    >>> read_groups(["1 2 a"], 3, 2).numbers.tolist()
    [[1.0, 2.0]]
    """
    counts = np.fromiter((_count(text, any_blanks) for text in texts), dtype=np.int64, count=len(texts))
    if (counts % fields).any():
        raise ValueError(f"text {int(np.argmax(counts % fields > 0))} has no multiple of {fields} parts")
    tokens = _tokens(" ".join(text for text in texts if text), any_blanks)
    words = np.array(tokens[word::fields], dtype=object)
    del tokens[word::fields]
    numbers = np.fromiter(map(float, tokens), dtype=np.float64, count=len(tokens)).reshape(-1, fields - 1)
    return Groups(np.repeat(np.arange(len(texts)), counts // fields), words, numbers)


def numbered(groups: Groups, words: pd.Index) -> npt.NDArray[np.float64]:
    """Each group as numbers: its text, the place of its word in `words` (-1: not there), then its own numbers.

    >>> numbered(read_groups(["a 1 2 b 3 4", "c 5 6"], 3, 0), pd.Index(["b", "a"], dtype=object)).tolist()
    [[0.0, 1.0, 1.0, 2.0], [0.0, 0.0, 3.0, 4.0], [1.0, -1.0, 5.0, 6.0]]
    """
    places = words.get_indexer(pd.Index(groups.words, dtype=object))
    return np.column_stack([groups.texts.astype(float), places.astype(float), groups.numbers])


def _count(text: str, any_blanks: bool) -> int:
    if any_blanks:
        return len(text.split())
    return text.count(" ") + 1 if text else 0


def _tokens(text: str, any_blanks: bool) -> list[str]:
    if any_blanks:
        return text.split()
    return text.split(" ") if text else []


def check_labelled_boxes(values: pd.Series, context: Context) -> Iterator[Fault]:
    """Groups of `options.fields`, of which the one named `options.word` is a word, the others finite numbers.

    `options.classes` lists the words there are; with `options.unknown_classes` true others pass, whatever their
    numbers. `options.positive` names fields whose numbers are above 0. `options.finite` false lets NaN and
    infinities pass. `options.any_blanks` true: tokens may be separated by any white space. A missing cell has no
    group, unless `options.missing` is false.
    """
    options = context.column.options
    fields, word = list(options["fields"]), list(options["fields"]).index(options["word"])
    any_blanks = bool(options.get("any_blanks", False))
    blanks = "blanks" if any_blanks else "single blanks"
    expected = f'groups of {len(fields)}, "{" ".join(fields)}", separated by {blanks}'
    missing = values.isna().to_numpy(dtype=bool)
    if missing.any() and not options.get("missing", True):
        yield Fault("missing value", "is missing", missing, expected)
    texts = as_text(values).to_list()
    try:
        groups = read_groups(texts, len(fields), word, any_blanks=any_blanks)
    except ValueError:
        readable = np.ones(len(texts), dtype=bool)
        for kind, message, wrong in _unreadable(texts, len(fields), word, any_blanks):
            yield Fault(kind, message, wrong, expected)
            readable &= ~wrong
        texts = [text if is_readable else "" for text, is_readable in zip(texts, readable, strict=True)]
        groups = read_groups(texts, len(fields), word, any_blanks=any_blanks)
    yield from _faulty_groups(groups, options, [name for name in fields if name != options["word"]], len(texts))


def _faulty_groups(groups: Groups, options: Mapping[str, Any], numbers: list[str], rows: int) -> Iterator[Fault]:
    def fault(kind: str, message: str, wrong: np.ndarray, expected: str) -> Iterator[Fault]:
        if wrong.any():
            yield Fault(kind, message, np.bincount(groups.texts[wrong], minlength=rows) > 0, expected)

    known = np.ones(len(groups.words), dtype=bool)
    if "classes" in options:
        known = pd.Series(groups.words, dtype=object).isin(options["classes"]).to_numpy(dtype=bool)
        if not options.get("unknown_classes", False):
            shown = groups.words[np.argmin(known)] if len(known) else ""
            listed = ", ".join(options["classes"])
            yield from fault("unknown class", f"names an unknown class ({shown!r:.40})", ~known, f"one of {listed}")
    if options.get("finite", True):
        infinite = known & ~np.isfinite(groups.numbers).all(axis=1)
        yield from fault("not finite", "holds NaN or an infinite number", infinite, "finite numbers")
    for name in options.get("positive", ()):
        negative = known & (groups.numbers[:, numbers.index(name)] <= 0)
        yield from fault("out of range", f"has a {name} of 0 or less", negative, f"{name} above 0")


def _unreadable(
    texts: list[str], fields: int, word: int, any_blanks: bool
) -> Iterator[tuple[str, str, npt.NDArray[np.bool_]]]:
    """What keeps `read_groups` from reading the texts: kind, message, rows."""
    parts = [_tokens(text, any_blanks) for text in texts]
    blank = np.array(["" in each for each in parts])
    odd = ~blank & np.array([len(each) % fields != 0 for each in parts])
    strange = ~blank & ~odd & np.array([not _reads(text, fields, word, any_blanks) for text in texts])
    faults = {
        "blanks": ("has doubled, leading or trailing blanks", blank),
        "count": (f"has {len(parts[int(np.argmax(odd))])} parts in the first such row", odd),
        "not a number": ("holds something that is not a number", strange),
    }
    for kind, (message, wrong) in faults.items():
        if wrong.any():
            yield kind, message, wrong


def _reads(text: str, fields: int, word: int, any_blanks: bool) -> bool:
    try:
        read_groups([text], fields, word, any_blanks=any_blanks)
    except ValueError:
        return False
    return True
