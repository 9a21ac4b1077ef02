"""Ids of the sample that are columns of the training table, joined: taken apart again where there is no test table."""

from __future__ import annotations

import re

import pandas as pd

HEAD = 200
SEPARATORS = ("_", "-")
MOST_PARTS = 8


def columns_of(train: pd.DataFrame, id_column: str) -> tuple[str, list[str]] | None:
    """The separator and the columns whose cells, joined, are the ids; None if they are not so composed."""
    head = train.head(HEAD).astype("string")
    others = [str(column) for column in train.columns if column != id_column]
    for separator in SEPARATORS:
        found: list[str] = []
        rest = head[id_column]
        while len(found) < MOST_PARTS:
            fitting = [c for c in others if c not in found and starts(rest, head[c], separator).all()]
            if not fitting:
                break
            column = max(fitting, key=lambda c: head[c].str.len().mean())
            found.append(column)
            rest = rest.where(rest == head[column], rest.str.slice(0)).copy()
            lengths = head[column].str.len()
            rest = pd.Series(
                [text[length + len(separator) :] for text, length in zip(rest, lengths, strict=True)], head.index
            )
            if (rest == "").all():
                return (separator, found) if len(found) > 1 else None
    return None


def starts(rest: pd.Series, cells: pd.Series, separator: str) -> pd.Series:
    """Whether what remains of the ids is, or begins with, the cell and a separator."""
    pairs = zip(rest, cells, strict=True)
    return pd.Series([isinstance(c, str) and c != "" and (r == c or r.startswith(c + separator)) for r, c in pairs])


def taken_apart(ids: pd.Series, train: pd.DataFrame, separator: str, columns: list[str]) -> pd.DataFrame | None:
    """The columns of other ids of the same form; None if an id doesn't have it."""
    head = train.head(HEAD)
    mark = re.escape(separator)
    patterns = []
    for column in columns:
        inner = int(head[column].astype("string").str.count(mark).max())
        patterns.append(rf"({mark.join([f'[^{mark}]*'] * (inner + 1))})")
    parts = ids.str.extract(f"^{mark.join(patterns)}$")
    if parts.isna().any(axis=None):
        return None
    parts.columns = pd.Index(columns)
    for column in columns:
        if pd.api.types.is_numeric_dtype(head[column]):
            parts[column] = pd.to_numeric(parts[column], errors="coerce")
    return parts
