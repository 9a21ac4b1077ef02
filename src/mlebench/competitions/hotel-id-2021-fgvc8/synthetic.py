"""Small rooms with a disc of the colour of their hotel, photographed in visits of a few minutes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from mlebench.preparation.files import write_csv
from mlebench.preparation.synthetic import discs, hex_ids, jpeg_bytes

CHAINS = [0, 4, 22, 87, 90]
LISTED_TWICE = "ce27d36c9147cc19.jpg"
ALONE = 0.05  # share of photographs that are the only one of their hotel


def make_raw(raw: Path, rng: np.random.Generator, size: int) -> None:
    table = _photographs(rng, size)
    twice = table.iloc[[0, 0]].assign(image=LISTED_TWICE)
    tested = hex_ids(rng, 3, 16)

    write_csv(pd.concat([table.iloc[: size // 2], twice, table.iloc[size // 2 :]]), raw / "train.csv")
    sample = pd.DataFrame({"image": [f"{name}.jpg" for name in tested], "hotel_id": "36363 53586 18807 64314 60181"})
    write_csv(sample, raw / "sample_submission.csv")
    for row in pd.concat([table, twice.head(1)]).itertuples():
        folder = raw / "train_images" / str(row.chain)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / str(row.image)).write_bytes(jpeg_bytes(discs(rng, [int(str(row.hotel_id))])))
    (raw / "test_images").mkdir()
    for name in tested:
        (raw / "test_images" / f"{name}.jpg").write_bytes(jpeg_bytes(discs(rng, [1])))


def _photographs(rng: np.random.Generator, size: int) -> pd.DataFrame:
    """Visits of one to four photographs within some minutes; most hotels had several."""
    hotels = rng.choice(np.arange(1, 70_000), max(4, size // 12) + size, replace=False)
    shared, own = hotels[: max(4, size // 12)], hotels[max(4, size // 12) :]
    visit = np.cumsum(rng.random(size) < 0.5)
    hotel = np.where(rng.random(size) < ALONE, own, rng.choice(shared, int(visit[-1]) + 1)[visit])
    start = pd.Timestamp("2015-01-01") + pd.to_timedelta(rng.integers(0, 5 * 365 * 86_400, visit[-1] + 1), unit="s")
    times = pd.Series(start[visit]) + pd.to_timedelta(rng.integers(0, 600, size), unit="s")
    return pd.DataFrame(
        {
            "image": [f"{name}.jpg" for name in hex_ids(rng, size, 16)],
            "chain": np.array(CHAINS)[hotel % len(CHAINS)],
            "hotel_id": hotel,
            "timestamp": times.dt.strftime("%Y-%m-%d %H:%M:%S"),
        }
    )
