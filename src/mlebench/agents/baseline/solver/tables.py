"""Numbers from the columns of a table: parts of composed cells, dates, places, groups and row statistics."""

from __future__ import annotations

import json
import math
import re
import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from . import arrays
from .learn import Block

MANY_VALUES = 24  # categories with more are known by their frequency and the target's mean
GROUP_STATISTICS = 12
LARGE_GROUP = 200
LEAST_LIKENESS = 0.2  # of the members of a group, for the group to mean something
FEWEST_PAIRS = 30
WORDS_OF_A_TEXT = 4
MOST_TEXTS = 4
SAMPLE_ROWS = 5_000
SEPARATORS = ("/", "_", "-", ":", "|", ";", ",", " ")
DATE = re.compile(r"^\s*(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{4})")
NUMBERS = re.compile(r"^\[\s*-?\d[-+\d.eE, \s]*\]$")  # a list of numbers as JSON
EARTH_KM = 6371.0


@dataclass
class Table:
    """Features under construction, over training and test rows together."""

    rows: int
    numbers: dict[str, np.ndarray] = field(default_factory=dict)
    codes: dict[str, np.ndarray] = field(default_factory=dict)  # few values; -1 is missing
    keys: dict[str, np.ndarray] = field(default_factory=dict)  # many values; -1 is missing
    texts: dict[str, list[str]] = field(default_factory=dict)
    of_groups: set[str] = field(default_factory=set)  # numbers and codes taken from other rows of a group


def build(train: pd.DataFrame, test: pd.DataFrame, id_column: str | None) -> Table:
    """Features of the columns that both tables have; an id only if it is composed of parts."""
    both = pd.concat([train[test.columns], test], ignore_index=True)
    table = Table(len(both))
    for name in both.columns:
        add_column(table, str(name), both[name], is_id=name == id_column)
    add_places(table)
    add_likeness(table)
    add_row_statistics(table, both)
    add_groups(table)
    return table


def blocks(table: Table, train_rows: int) -> list[Block]:
    """The rows' own features as one matrix, and, if there are groups, a second one with what groups tell.

    Which is better differs: what groups tell may be noise.
    """
    own = Table(
        table.rows,
        {name: values for name, values in table.numbers.items() if name not in table.of_groups},
        {name: values for name, values in table.codes.items() if name not in table.of_groups},
    )
    found = [_block("table", own, train_rows)] if own.numbers or own.codes else []
    if table.keys or table.of_groups:
        found.append(_block("table with groups", table, train_rows))
    return found


def _block(name: str, table: Table, train_rows: int) -> Block:
    columns = [*table.numbers.values(), *(np.where(codes < 0, np.nan, codes) for codes in table.codes.values())]
    matrix = np.column_stack(columns).astype(float) if columns else np.zeros((table.rows, 1))
    matrix = np.where(np.isfinite(matrix), matrix, np.nan)
    categories = tuple(range(len(table.numbers), len(columns)))
    if not table.keys:
        return Block(name, matrix[:train_rows], matrix[train_rows:], categories)
    keys = np.column_stack(list(table.keys.values()))
    return Block(name, matrix[:train_rows], matrix[train_rows:], categories, keys[:train_rows], keys[train_rows:])


# --- columns


def add_column(table: Table, name: str, values: pd.Series, is_id: bool) -> None:
    """Add what the cells of one column tell, by what they look like."""
    if pd.api.types.is_bool_dtype(values) or pd.api.types.is_numeric_dtype(values):
        if not is_id:
            add_number(table, name, values.to_numpy(float, na_value=np.nan))
        return
    texts = values.dropna().astype("string")
    seen = texts.iloc[:: max(1, len(texts) // SAMPLE_ROWS)]
    if not len(seen):
        return
    as_numbers = pd.to_numeric(seen, errors="coerce")
    if seen.str.match(NUMBERS).all():
        add_vectors(table, name, values)
    elif set(seen.str.lower()) <= {"true", "false"}:
        add_number(table, name, values.astype("string").str.lower().map({"true": 1.0, "false": 0.0}).to_numpy(float))
    elif as_numbers.notna().mean() > 0.98:
        if not is_id:
            add_number(table, name, pd.to_numeric(values, errors="coerce").to_numpy(float))
    elif seen.str.match(DATE).mean() > 0.95:
        add_date(table, name, values)
    elif not is_id and seen.str.count(r"\s+").mean() >= WORDS_OF_A_TEXT - 1:
        add_text(table, name, values)
    elif (separator := separator_of(seen)) is not None:
        add_parts(table, name, values, separator)
    elif not is_id:
        add_category(table, name, values)
        if seen.str.count(r"\s+").mean() >= 1 and seen.nunique() > MANY_VALUES:
            add_text(table, name, values)


def add_number(table: Table, name: str, values: np.ndarray) -> None:
    """A column of numbers, unless it is constant."""
    known = values[np.isfinite(values)]
    if len(known) and known.min() < known.max():
        table.numbers[name] = values


def add_date(table: Table, name: str, values: pd.Series) -> None:
    """Calendar and clock parts of a date, and the days since the first."""
    dates = parsed_dates(values)
    for part in ("year", "month", "day", "dayofweek", "hour", "minute"):
        add_number(table, f"{name}.{part}", getattr(dates.dt, part).to_numpy(float, na_value=np.nan))
    days = (dates - dates.min()).dt.total_seconds().to_numpy(float, na_value=np.nan) / 86_400
    add_number(table, f"{name}.days", days)
    hours = dates.dt.dayofweek * 24 + dates.dt.hour
    add_number(table, f"{name}.hour of week", hours.to_numpy(float, na_value=np.nan))


def add_vectors(table: Table, name: str, values: pd.Series) -> None:
    """Lists of numbers: what is typical of them; those of one square length as pictures."""
    vectors = [np.array(json.loads(cell), dtype=float) if isinstance(cell, str) else np.zeros(0) for cell in values]
    side = math.isqrt(max(len(vector) for vector in vectors))
    square = side >= 4 and all(len(vector) in (0, side * side) for vector in vectors)
    rows = [of_vector(vector, side if square else 0) for vector in vectors]
    width = max(len(row) for row in rows)
    for place in range(width):
        add_number(table, f"{name}.{place}", np.array([row[place] if place < len(row) else np.nan for row in rows]))


def of_vector(vector: np.ndarray, side: int) -> np.ndarray:
    """Numbers about a list of numbers, which is a picture of `side` rows unless that is 0."""
    if not len(vector):
        return np.zeros(0)
    told = arrays.statistics(vector) if len(vector) > 1 else vector
    return np.concatenate([told, arrays.of_planes(vector.reshape(1, side, side))]) if side else told


def parsed_dates(values: pd.Series) -> pd.Series:
    """Dates in UTC, missing where they can't be read. One format for all is tried first: it is much faster."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        dates = pd.to_datetime(values, errors="coerce", utc=True)
        if dates.notna().sum() < 0.9 * values.notna().sum():
            dates = pd.to_datetime(values, errors="coerce", utc=True, format="mixed")
    return dates


def add_text(table: Table, name: str, values: pd.Series) -> None:
    """A column of sentences: kept for the text models; its lengths are features."""
    texts = values.astype("string").fillna("")
    table.texts[name] = texts.tolist()
    add_number(table, f"{name}.characters", texts.str.len().to_numpy(float))
    add_number(table, f"{name}.words", texts.str.count(r"\S+").to_numpy(float))


def separator_of(seen: pd.Series) -> str | None:
    """The separator that parts nearly all cells into the same number of parts, if the cells vary enough."""
    if seen.nunique() <= MANY_VALUES:
        return None
    for separator in SEPARATORS:
        counts = seen.str.count(re.escape(separator))
        usual = int(counts.mode().iloc[0])
        if 1 <= usual <= 5 and (counts == usual).mean() > 0.95:
            return separator
    return None


def add_parts(table: Table, name: str, values: pd.Series, separator: str) -> None:
    """The parts of composed cells, as numbers or categories each; parts of numbers that repeat are keys as well."""
    parts = values.astype("string").str.split(separator, expand=True, regex=False)
    for place in parts.columns[:6]:
        part, part_name = parts[place], f"{name}.{place}"
        as_numbers = pd.to_numeric(part, errors="coerce")
        if as_numbers.notna().sum() > 0.95 * part.notna().sum():
            add_number(table, part_name, as_numbers.to_numpy(float, na_value=np.nan))
            if repeats(part):
                table.keys[part_name] = codes_of(part)
        else:
            add_category(table, part_name, part)
    if repeats(values):
        table.keys[name] = codes_of(values)


def add_category(table: Table, name: str, values: pd.Series) -> None:
    """A column of names: codes if there are few, else a key."""
    codes = codes_of(values)
    distinct = codes.max() + 1
    if distinct < 2:
        return
    if distinct <= MANY_VALUES:
        table.codes[name] = codes
    elif repeats(values):
        table.keys[name] = codes


def codes_of(values: pd.Series) -> np.ndarray:
    """Numbers for the distinct values; -1 for a missing one."""
    return pd.factorize(values.astype("string"))[0]


def repeats(values: pd.Series) -> bool:
    """Whether values occur often enough to say something about others with the same value."""
    return MANY_VALUES < values.nunique() < 0.8 * values.notna().sum()


# --- several columns


def add_places(table: Table) -> None:
    """Distances between each two places given by latitude and longitude."""
    latitudes = {name: name for name in table.numbers if re.search(r"lat(itude)?$|^lat", name, re.IGNORECASE)}
    places = []
    for name in latitudes:
        partner = re.sub(r"lat(itude)?", lambda found: "lon" + ("gitude" if found.group(1) else ""), name, flags=re.I)
        if partner in table.numbers:
            places.append((name, partner))
    for first, (lat_1, lon_1) in enumerate(places):
        for lat_2, lon_2 in places[first + 1 :]:
            from_, to = f"{lat_1} to {lat_2}", (table.numbers[lat_2], table.numbers[lon_2])
            start = (table.numbers[lat_1], table.numbers[lon_1])
            north, east = to[0] - start[0], (to[1] - start[1]) * np.cos(np.radians(start[0]))
            table.numbers[f"{from_}.km"] = great_circle_km(*start, *to)
            table.numbers[f"{from_}.north"], table.numbers[f"{from_}.east"] = north, east
            table.numbers[f"{from_}.blocks"] = np.abs(north) + np.abs(east)
            table.numbers[f"{from_}.bearing"] = np.arctan2(north, east)


def add_likeness(table: Table) -> None:
    """How alike the texts of each two columns are, by words and by runs of characters."""
    from sklearn.feature_extraction.text import HashingVectorizer

    names = list(table.texts)[:MOST_TEXTS]
    for analyzer, lengths in (("word", (1, 1)), ("char_wb", (2, 4))):
        counts = HashingVectorizer(analyzer=analyzer, ngram_range=lengths, token_pattern=r"(?u)\w+", n_features=2**20)
        matrices: list[Any] = [counts.transform(table.texts[name]) for name in names]
        for first, one in enumerate(matrices):
            for second in range(first + 1, len(matrices)):
                alike = np.asarray(one.multiply(matrices[second]).sum(axis=1)).ravel()
                add_number(table, f"{names[first]} like {names[second]} by {analyzer}", alike)


def great_circle_km(lat_1: np.ndarray, lon_1: np.ndarray, lat_2: np.ndarray, lon_2: np.ndarray) -> np.ndarray:
    """Distance on the globe between places in degrees; all of shape (rows,)."""
    a_1, o_1, a_2, o_2 = (np.radians(part) for part in (lat_1, lon_1, lat_2, lon_2))
    h = np.sin((a_2 - a_1) / 2) ** 2 + np.cos(a_1) * np.cos(a_2) * np.sin((o_2 - o_1) / 2) ** 2
    return 2 * EARTH_KM * np.arcsin(np.sqrt(np.clip(h, 0, 1)))


def add_row_statistics(table: Table, both: pd.DataFrame) -> None:
    """How many cells of a row are missing; sum and count over amounts, the columns with many zeros and long tails."""
    add_number(table, "cells missing", both.isna().sum(axis=1).to_numpy(float))
    amounts = [values for values in table.numbers.values() if is_amount(values)]
    if 3 <= len(amounts) <= 40:
        matrix = np.column_stack(amounts)
        total = np.nansum(matrix, axis=1)
        add_number(table, "sum of amounts", total)
        add_number(table, "amounts above 0", (matrix > 0).sum(axis=1).astype(float))
        add_number(table, "largest share of amounts", np.nanmax(np.nan_to_num(matrix), axis=1) / np.maximum(total, 1))


def is_amount(values: np.ndarray) -> bool:
    """Whether a column looks like amounts of money or counts: never negative, many zeros, a long tail."""
    known = values[np.isfinite(values)]
    zeros = (known == 0).mean()
    return known.min() >= 0 and 0.2 < zeros < 0.98 and known.max() > 10 * max(known.mean(), 1e-9)


def add_groups(table: Table) -> None:
    """For each key: the size of the group and what the others of the group are like, if they are alike at all.

    A key whose groups have nothing in common (first names, say) is dropped.
    """
    spread = {name: values for name, values in table.numbers.items() if len(np.unique(values[:SAMPLE_ROWS])) > 2}
    few = dict(table.codes)
    for key, codes in list(table.keys.items()):
        groups = pd.Series(codes).where(codes >= 0)
        size = groups.map(groups.value_counts()).to_numpy(float)
        own = key.rsplit(".", 1)[0]
        others = {name: mean_of_others(groups, values) for name, values in spread.items() if not name.startswith(own)}
        alike = {name: likeness(spread[name], values) for name, values in others.items()}
        named = {name: codes for name, codes in few.items() if not name.startswith(own)}
        same = max((share_of_same(groups, codes) for codes in named.values()), default=0.0)
        if max([*alike.values(), same]) < LEAST_LIKENESS:
            del table.keys[key]
            continue
        table.numbers[f"size of {key}"] = size
        if np.nanmean(size) > LARGE_GROUP:
            continue
        for name in sorted(alike, key=alike.__getitem__, reverse=True)[:GROUP_STATISTICS]:
            if alike[name] > LEAST_LIKENESS / 2:
                table.numbers[f"{name} in {key}"] = others[name]
                table.of_groups.add(f"{name} in {key}")
        for name, own_codes in named.items():
            if share_of_same(groups, own_codes) > LEAST_LIKENESS:
                table.codes[f"{name} in {key}"] = usual_code(groups, own_codes)
                table.of_groups.add(f"{name} in {key}")


def likeness(own: np.ndarray, others: np.ndarray) -> float:
    """The correlation of ranks between a row's value and the mean of its group's others."""
    both = np.isfinite(own) & np.isfinite(others)
    if both.sum() < FEWEST_PAIRS:
        return 0.0
    ranks = pd.Series(own[both]).rank(), pd.Series(others[both]).rank()
    return float(np.nan_to_num(abs(ranks[0].corr(ranks[1]))))


def share_of_same(groups: pd.Series, codes: np.ndarray) -> float:
    """How much more often than by chance a row has the code of the row before it in its group; 1 is always."""
    known = codes >= 0
    table = pd.DataFrame({"group": groups[known], "code": codes[known]}).dropna()
    before = table.groupby("group")["code"].shift()
    pairs = before.notna()
    if pairs.sum() < FEWEST_PAIRS:
        return 0.0
    chance = (table["code"].value_counts(normalize=True) ** 2).sum()
    return float(((before == table["code"])[pairs].mean() - chance) / max(1e-9, 1 - chance))


def usual_code(groups: pd.Series, codes: np.ndarray) -> np.ndarray:
    """The most frequent code of each row's group; -1 where there is none."""
    known = pd.DataFrame({"group": groups, "code": codes})[codes >= 0].dropna()
    counts = known.groupby(["group", "code"]).size().reset_index(name="count").sort_values("count", kind="stable")
    usual = counts.drop_duplicates("group", keep="last").set_index("group")["code"]
    return groups.map(usual).fillna(-1).to_numpy(int)


def mean_of_others(groups: pd.Series, values: np.ndarray) -> np.ndarray:
    """The mean of `values` over the other rows of the same group; NaN where there are none."""
    column = pd.Series(values)
    grouped = column.groupby(groups)
    total, count = grouped.transform("sum").to_numpy(float), grouped.transform("count").to_numpy(float)
    own, there = np.nan_to_num(values), np.isfinite(values)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(count - there > 0, (total - own) / (count - there), np.nan)
