"""Customers who keep buying a few favourites of one department, and now and then what is popular."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path

import numpy as np
import pandas as pd

from mlebench.preparation.files import write_csv
from mlebench.preparation.synthetic import hex_ids, jpeg_bytes

FIRST_DAY = date(2018, 9, 18)
WEEKS = 104
LAST_DAYS = 8  # those that the preparation holds out
BUYS_A_WEEK = 0.15  # pieces a customer
DEPARTMENTS = ["Ladieswear", "Baby/Children", "Menswear", "Sport", "Divided"]
PRODUCTS = [
    (253, "Vest top", "Garment Upper body", 1002, "Jersey Basic"),
    (272, "Trousers", "Garment Lower body", 1009, "Trousers"),
    (306, "Bra", "Underwear", 1017, "Under-, Nightwear"),
    (265, "Dress", "Garment Full body", 1013, "Dresses Ladies"),
]
COLOURS = [
    (9, "Black", 4, "Dark", 5, "Black"),
    (10, "White", 3, "Light", 9, "White"),
    (73, "Dark Blue", 4, "Dark", 2, "Blue"),
]
RGB = np.array([[30, 30, 30], [235, 235, 235], [25, 35, 110]], dtype=np.uint8)


def make_raw(raw: Path, rng: np.random.Generator, size: int) -> None:
    articles = _articles(rng, max(60, size // 2))
    customers = _customers(rng, 2 * size)
    buyers = rng.permutation(len(customers))[:size]  # who buys in the last days

    write_csv(articles, raw / "articles.csv")
    write_csv(customers, raw / "customers.csv")
    first_twelve = " ".join(articles["article_id"].iloc[:12])
    write_csv(customers[["customer_id"]].assign(prediction=first_twelve), raw / "sample_submission.csv")
    _write_images(articles, raw / "images")
    _write_transactions(raw / "transactions_train.csv", rng, articles, customers["customer_id"], buyers)


def _articles(rng: np.random.Generator, count: int) -> pd.DataFrame:
    product_code = np.sort(rng.choice(np.arange(108_775, 959_462), count, replace=False))
    product = rng.integers(0, len(PRODUCTS), count)
    colour = rng.integers(0, len(COLOURS), count)
    department = rng.integers(0, len(DEPARTMENTS), count)
    type_no, type_name, group_name, garment_no, garment = zip(*PRODUCTS, strict=True)
    code, colour_name, value_id, value, master_id, master = zip(*COLOURS, strict=True)
    name = pd.Series([f'Model {number}, "slim"' if number % 7 == 0 else f"Model {number}" for number in range(count)])
    kind = np.take(type_name, product)
    text = pd.Series([f"{what} in soft jersey, with narrow details." for what in kind])
    return pd.DataFrame(
        {
            "article_id": [f"{c:07d}{v:03d}" for c, v in zip(product_code, rng.integers(1, 60, count), strict=True)],
            "product_code": product_code,
            "prod_name": name,
            "product_type_no": np.take(type_no, product),
            "product_type_name": kind,
            "product_group_name": np.take(group_name, product),
            "graphical_appearance_no": 1010016,
            "graphical_appearance_name": "Solid",
            "colour_group_code": np.take(code, colour),
            "colour_group_name": np.take(colour_name, colour),
            "perceived_colour_value_id": np.take(value_id, colour),
            "perceived_colour_value_name": np.take(value, colour),
            "perceived_colour_master_id": np.take(master_id, colour),
            "perceived_colour_master_name": np.take(master, colour),
            "department_no": 1000 + department,
            "department_name": np.take(DEPARTMENTS, department),
            "index_code": np.take(list("AGFSD"), department),
            "index_name": np.take(DEPARTMENTS, department),
            "index_group_no": 1 + department,
            "index_group_name": np.take(DEPARTMENTS, department),
            "section_no": 10 + department,
            "section_name": np.take(DEPARTMENTS, department),
            "garment_group_no": np.take(garment_no, product),
            "garment_group_name": np.take(garment, product),
            "detail_desc": text.where(rng.random(count) > 0.05),
        }
    )


def _customers(rng: np.random.Generator, count: int) -> pd.DataFrame:
    reads_news = rng.random(count) < 0.35
    age = pd.Series(rng.integers(16, 90, count), dtype="Int64")
    return pd.DataFrame(
        {
            "customer_id": sorted(hex_ids(rng, count, 64)),
            "FN": np.where(reads_news, 1.0, np.nan),
            "Active": np.where(reads_news & (rng.random(count) < 0.95), 1.0, np.nan),
            "club_member_status": rng.choice(
                ["ACTIVE", "PRE-CREATE", "LEFT CLUB", ""], count, p=[0.92, 0.06, 0.01, 0.01]
            ),
            "fashion_news_frequency": np.where(
                reads_news, "Regularly", rng.choice(["NONE", ""], count, p=[0.98, 0.02])
            ),
            "age": age.where(rng.random(count) > 0.01),
            "postal_code": np.take(hex_ids(rng, max(1, count // 3), 64), rng.integers(0, max(1, count // 3), count)),
        }
    )


def _write_images(articles: pd.DataFrame, folder: Path) -> None:
    """A small photo of every article but each sixth, in the article's colour."""
    colour = articles["colour_group_code"].map({code[0]: place for place, code in enumerate(COLOURS)})
    for place, (article_id, shade) in enumerate(zip(articles["article_id"], colour, strict=True)):
        if place % 6 == 0:
            continue
        photo = np.broadcast_to(RGB[shade], (24, 16, 3)).copy()
        photo[: 4 + place % 16] = 255
        (folder / article_id[:3]).mkdir(parents=True, exist_ok=True)
        (folder / article_id[:3] / f"{article_id}.jpg").write_bytes(jpeg_bytes(photo))


def _write_transactions(
    path: Path, rng: np.random.Generator, articles: pd.DataFrame, customer_ids: pd.Series, buyers: np.ndarray
) -> None:
    """Purchases week by week, then those of the last days."""
    favourites = _favourites(rng, articles["department_no"].to_numpy(), len(customer_ids))
    prices = np.round(np.exp(rng.normal(7, 0.7, len(articles)))) / 59_000
    prices[0] = 0.00001694915254237  # written without exponent, read and written again with one
    for week in range(WEEKS + 1):
        if week < WEEKS:
            customer = np.flatnonzero(rng.random(len(customer_ids)) < BUYS_A_WEEK)
        else:
            customer = np.repeat(np.sort(buyers), rng.poisson(1.5, len(buyers)) + 1)
        day = np.sort(rng.integers(0, 7 if week < WEEKS else LAST_DAYS, len(customer)))
        if week == WEEKS:
            day[-1] = LAST_DAYS - 1
        customer = rng.permutation(customer)
        popular = (len(articles) * rng.random(len(customer)) ** 3).astype(int)
        favourite = favourites[customer, rng.integers(0, favourites.shape[1], len(customer))]
        article = np.where(rng.random(len(customer)) < 0.75, favourite, popular)
        days = [str(FIRST_DAY + timedelta(days=7 * week + number)) for number in range(LAST_DAYS)]
        purchases = pd.DataFrame(
            {
                "t_dat": np.take(days, day),
                "customer_id": customer_ids.to_numpy()[customer],
                "article_id": articles["article_id"].to_numpy()[article],
                "price": prices[article],
                "sales_channel_id": rng.integers(1, 3, len(customer)),
            }
        )
        write_csv(purchases, path, mode="w" if week == 0 else "a", header=week == 0, float_format="%.16f")


def _favourites(rng: np.random.Generator, department: np.ndarray, customers: int) -> np.ndarray:
    """Four articles of one department for each customer, shape (customers, 4)."""
    by_department = np.argsort(department, kind="stable")
    counts = np.unique(department, return_counts=True)[1]
    own = rng.integers(0, len(counts), customers)
    start = (np.cumsum(counts) - counts)[own]
    return by_department[start[:, None] + (rng.random((customers, 4)) * counts[own, None]).astype(int)]
