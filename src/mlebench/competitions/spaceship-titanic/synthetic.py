"""Passengers whose fate depends on sleep, spending and deck."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from mlebench.preparation.files import write_csv

AMENITIES = ["RoomService", "FoodCourt", "ShoppingMall", "Spa", "VRDeck"]


def make_raw(raw: Path, rng: np.random.Generator, size: int) -> None:
    passengers = _passengers(rng, size + max(1, size // 2))
    train, test = passengers.iloc[:size], passengers.iloc[size:].drop(columns="Transported")

    write_csv(train, raw / "train.csv")
    write_csv(test, raw / "test.csv")
    write_csv(test[["PassengerId"]].assign(Transported=False), raw / "sample_submission.csv")


def _passengers(rng: np.random.Generator, rows: int) -> pd.DataFrame:
    group = np.cumsum(rng.random(rows) < 0.7) + 1
    member = pd.Series(group).groupby(group).cumcount() + 1
    asleep = rng.random(rows) < 0.35
    spent = np.where(asleep[:, None], 0.0, np.floor(rng.exponential(300, (rows, 5)) * (rng.random((rows, 5)) < 0.6)))
    deck = rng.choice(list("ABCDEFGT"), rows)
    side = rng.choice(list("PS"), rows)
    logit = 2.5 * asleep - 0.002 * (spent[:, 0] + spent[:, 3] + spent[:, 4]) + 0.001 * spent[:, 1]
    logit += np.where(np.isin(deck, ["B", "C"]), 1.0, -0.2) + np.where(side == "S", 0.3, -0.3) - 0.3
    passengers = pd.DataFrame(
        {
            "PassengerId": [f"{g:04d}_{m:02d}" for g, m in zip(group, member, strict=True)],
            "HomePlanet": rng.choice(["Earth", "Europa", "Mars"], rows, p=[0.54, 0.25, 0.21]),
            "CryoSleep": asleep,
            "Cabin": [f"{d}/{n}/{s}" for d, n, s in zip(deck, rng.integers(0, 1900, rows), side, strict=True)],
            "Destination": rng.choice(["TRAPPIST-1e", "55 Cancri e", "PSO J318.5-22"], rows, p=[0.7, 0.2, 0.1]),
            "Age": rng.integers(0, 80, rows).astype(float),
            "VIP": rng.random(rows) < 0.03,
            **dict(zip(AMENITIES, spent.T, strict=True)),
            "Name": [f"{f} {s}" for f, s in zip(_names(rng, rows), _names(rng, rows), strict=True)],
        }
    )
    for column in passengers.columns[1:]:
        gaps = rng.random(rows) < 0.022
        gaps[0] = True  # at least one, so that the type of the column is that of the real data
        passengers[column] = passengers[column].astype(object).where(~gaps)
    passengers["Transported"] = rng.random(rows) < 1 / (1 + np.exp(-2 * logit))
    return passengers


def _names(rng: np.random.Generator, count: int) -> list[str]:
    letters = np.array(list("aeiourstlnmk"))
    return ["".join(row).capitalize() for row in letters[rng.integers(0, len(letters), (count, 6))]]
