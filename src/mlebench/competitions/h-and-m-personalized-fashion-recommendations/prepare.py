"""Hold out the purchases of the last eight days; of the last seven in edition v2."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pandas as pd

from mlebench.errors import PreparationError
from mlebench.preparation.files import link_files, link_folder, read_csv, write_csv

if TYPE_CHECKING:
    from pandas.io.parsers import TextFileReader

TYPES: dict[str, str | type] = {
    "t_dat": str,
    "customer_id": str,
    "article_id": "int64",
    "price": "float64",
    "sales_channel_id": "int64",
}
ROWS = 50_000  # read at a time, so that memory stays bounded


def prepare(raw: Path, public: Path, private: Path) -> None:
    _prepare(raw, public, private, days=8, types=TYPES)


def prepare_v2(raw: Path, public: Path, private: Path) -> None:
    """The same with the week of the original contest, and article ids as they are written, leading zeros kept."""
    _prepare(raw, public, private, days=7, types={**TYPES, "article_id": str})


def _prepare(raw: Path, public: Path, private: Path, days: int, types: dict[str, str | type]) -> None:
    transactions = raw / "transactions_train.csv"
    test_days = _last_days(transactions, days)
    held_out = []
    for number, purchases in enumerate(_read(transactions, types)):
        is_test = purchases["t_dat"].isin(test_days)
        mode = "a" if number else "w"
        write_csv(purchases[~is_test], public / "transactions_train.csv", mode=mode, header=number == 0)
        held_out.append(purchases[is_test])

    write_csv(_baskets(pd.concat(held_out)), private / "answers.csv")
    tables = ("sample_submission.csv", "articles.csv", "customers.csv")
    link_files((raw / name, public / name) for name in tables)
    link_folder(raw / "images", public / "images")


def _read(transactions: Path, types: dict[str, str | type]) -> Iterator[pd.DataFrame]:
    chunks = read_csv(transactions, usecols=list(types), dtype=types, chunksize=ROWS)
    with cast("TextFileReader", chunks) as opened:
        yield from opened


def _last_days(transactions: Path, count: int) -> list[str]:
    """The last `count` dates, as they are written, those without purchases counted."""
    texts: set[str] = set()
    for purchases in _read(transactions, {"t_dat": str}):
        texts.update(purchases["t_dat"].dropna().unique())
    days = {text: date.fromisoformat(text) for text in texts}
    if not days:
        raise PreparationError(f"{transactions.name} holds no purchases")
    last = [text for text, day in days.items() if day >= max(days.values()) - timedelta(days=count - 1)]
    if len(last) == len(days):
        raise PreparationError(f"{transactions.name} spans only {len(days)} dates; the last {count} days are the test")
    return last


def _baskets(purchases: pd.DataFrame) -> pd.DataFrame:
    """The articles that each customer bought, in the order of the file, repeats kept; customers sorted."""
    articles = purchases["article_id"].map(str)
    baskets = articles.groupby(purchases["customer_id"]).agg(" ".join)
    return baskets.rename("prediction").reset_index()
