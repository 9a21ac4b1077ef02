"""Items for each customer: what he or she bought lately, then what all bought lately."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from .tables import DATE
from .task import Task

CHUNK_ROWS = 2_000_000
DAYS_KEPT = 70
HELD_OUT_DAYS = 7
OWN_DAYS = (3.0, 10.0, 30.0)
ALL_DAYS = (3, 7, 21, 60)


@dataclass(frozen=True)
class Purchases:
    """Where purchases are listed, and under which names."""

    path: Path
    customer: str
    item: str
    date: str


def applies(task: Task) -> bool:
    """Whether the answers are lists of items, and a table lists items of the same customers with dates."""
    return len(task.targets) == 1 and find(task) is not None


def find(task: Task) -> Purchases | None:
    """The table of purchases; None if there is none."""
    lists = [str(cell).split() for cell in task.sample[task.targets[0]].head(1000)]
    wanted = {bare(token) for items in lists for token in items}
    if not wanted or max(len(items) for items in lists) < 2:
        return None
    for path, head in task.tables.items():
        if task.id not in head.columns or task.targets[0] in head.columns:
            continue
        dates = [str(column) for column in head.columns if head[column].str.match(DATE).mean() > 0.95]
        items = [str(column) for column in head.columns if column != task.id and looks_alike(head[column], wanted)]
        if dates and items:
            return Purchases(path, task.id, items[0], dates[0])
    return None


def bare(token: str) -> str:
    """An item without leading zeros."""
    return token.lstrip("0")


def looks_alike(column: pd.Series, wanted: set[str]) -> bool:
    """Whether some cells are wanted items, or most are numbers of the same length."""
    values = {bare(value) for value in column}
    lengths = {len(token) for token in wanted}
    alike = all(v.isdigit() for v in values) and max(lengths) > 4
    return bool(values & wanted) or (alike and sum(len(v) in lengths for v in values) > 0.9 * len(values))


def run(task: Task) -> list[pd.DataFrame]:
    """Choose how fast purchases are forgotten by predicting the last week, then predict the next."""
    found = find(task)
    assert found is not None
    table = recent(found)
    count = max(len(cell.split()) for cell in task.sample[task.targets[0]])
    last = table["day"].max()
    before, held_out = table[table["day"] <= last - HELD_OUT_DAYS], table[table["day"] > last - HELD_OUT_DAYS]
    truth = held_out.groupby("customer")["item"].agg(set)
    truth = truth.sample(min(len(truth), 20_000), random_state=task.seed)
    scores = {}
    for own in OWN_DAYS:
        for everyone in ALL_DAYS:
            lists = recommend(before, truth.index, own, everyone, count)
            precisions = [average_precision(t, p, count) for t, p in zip(truth, lists, strict=True)]
            scores[own, everyone] = float(np.mean(precisions)) if precisions else 0.0
    (own, everyone), score = max(scores.items(), key=lambda item: item[1])
    print(f"  forgotten after {own} and {everyone} days: {score:.5f}", flush=True)
    customers = pd.Index(task.sample[task.id])
    lists = recommend(table, customers, own, everyone, count)
    return [pd.DataFrame({task.targets[0]: [" ".join(items) for items in lists]})]


def recent(found: Purchases) -> pd.DataFrame:
    """The purchases of the last weeks: customer, item (as the table writes it), day (a number)."""
    kept: list[pd.DataFrame] = []
    names = {found.customer: "customer", found.item: "item", found.date: "date"}
    for chunk in pd.read_csv(found.path, usecols=list(names), dtype=str, keep_default_na=False, chunksize=CHUNK_ROWS):
        part = chunk.rename(columns=names)
        dates = pd.factorize(part["date"])
        days = pd.to_datetime(pd.Series(dates[1])).to_numpy("datetime64[D]").astype(int)
        part = part.assign(day=days[dates[0]]).drop(columns="date")
        newest = max([int(part["day"].max()), *(int(table["day"].max()) for table in kept)])
        kept = [table[table["day"] > newest - DAYS_KEPT] for table in [*kept, part]]
    return pd.concat(kept, ignore_index=True)


def recommend(table: pd.DataFrame, customers: pd.Index, own: float, everyone: int, count: int) -> list[list[str]]:
    """For each customer the own items by their faded number, then the items that most bought lately."""
    age = table["day"].max() - table["day"]
    lately = table["item"][age < everyone].value_counts()
    popular = list(lately.index[: 2 * count])
    rank = pd.Series(np.linspace(1, 0, len(lately)), index=lately.index)
    mine = table[table["customer"].isin(customers)]
    weight = np.exp(-(table["day"].max() - mine["day"]) / own)
    scores = weight.groupby([mine["customer"], mine["item"]]).sum().rename("score").reset_index()
    scores["tie"] = scores["item"].map(rank).fillna(0)
    scores = scores.sort_values(["score", "tie"], ascending=False)
    lists = scores.groupby("customer")["item"].agg(list).to_dict()
    return [list(dict.fromkeys([*lists.get(customer, [])[:count], *popular]))[:count] for customer in customers]


def average_precision(truth: set[str], items: list[str], count: int) -> float:
    """Average precision of a list without repetitions."""
    hits, total = 0, 0.0
    for place, item in enumerate(items, start=1):
        if item in truth:
            hits += 1
            total += hits / place
    return total / min(len(truth), count)
