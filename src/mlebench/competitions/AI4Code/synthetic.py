"""Short analyses whose prose names what the code below it does; some are copies of others with changes."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd

from mlebench.preparation.files import write_csv
from mlebench.preparation.synthetic import hex_ids

STEPS = ["load", "clean", "describe", "plot", "merge", "encode", "split", "train", "predict", "export"]
THINGS = ["sales", "weather", "prices", "patients", "tweets", "images", "ratings", "flights", "houses", "games"]
PROSE = [
    "## {step} the {thing}",
    "Now we {step} the {thing}.\n\nSee *above*.",
    "Let us {step} our {thing} → 你好",
    "# {step}",
    "Some remarks before we go on.",
]
CODE = ["{thing} = {step}({thing})", 'print("{step}")\n{thing}.{step}()', "{step}_{thing} = {thing}.{step}(axis=1)"]
MOST_CELLS = 12


def make_raw(raw: Path, rng: np.random.Generator, size: int) -> None:
    ids = hex_ids(rng, size, 14)
    cells = hex_ids(rng, size * MOST_CELLS, 8)
    orders = []
    (raw / "train").mkdir()
    for number, notebook in enumerate(ids):
        own_cells = cells[number * MOST_CELLS : (number + 1) * MOST_CELLS]
        order, content = _notebook(rng, own_cells)
        orders.append(" ".join(order))
        (raw / "train" / f"{notebook}.json").write_text(json.dumps(content), encoding="utf-8")

    write_csv(pd.DataFrame({"id": ids, "cell_order": orders}), raw / "train_orders.csv")
    write_csv(_ancestors(rng, ids), raw / "train_ancestors.csv")
    _write_example(raw)


def _notebook(rng: np.random.Generator, cells: list[str]) -> tuple[list[str], dict[str, dict[str, str]]]:
    """The right order of up to `len(cells)` cells, and the file: code in order, then shuffled prose."""
    thing = rng.choice(THINGS)
    code, prose, order = {}, {}, []
    unused = iter(cells)
    for step in np.sort(rng.permutation(len(STEPS))[: rng.integers(1, len(cells) // 2 + 1)]):
        words = {"step": STEPS[step], "thing": thing}
        if not prose or rng.random() < 0.6:
            order.append(next(unused))
            prose[order[-1]] = str(rng.choice(PROSE)).format(**words)
        order.append(next(unused))
        code[order[-1]] = str(rng.choice(CODE)).format(**words)
    given = [*code, *rng.permutation(list(prose)).tolist()]
    source = {**code, **prose}
    return order, {
        "cell_type": {cell: "code" if cell in code else "markdown" for cell in given},
        "source": {cell: source[cell] for cell in given},
    }


def _ancestors(rng: np.random.Generator, ids: list[str]) -> pd.DataFrame:
    """Families of one to three neighbours, each a copy of the one before; some parents are not in the data."""
    starts = rng.random(len(ids)) < 0.7
    starts[0] = True
    starts[2:] |= ~starts[1:-1] & ~starts[:-2]
    family = np.cumsum(starts) - 1
    names = hex_ids(rng, len(ids), 8)
    outside = np.where(rng.random(len(ids)) < 0.1, hex_ids(rng, len(ids), 14), "")
    parent = np.where(starts, outside, np.roll(ids, 1))
    return pd.DataFrame({"id": ids, "ancestor_id": np.take(names, family), "parent_id": parent})


def _write_example(raw: Path) -> None:
    """The example of a test that comes with the data, which nothing is prepared from."""
    content = {
        "cell_type": {"aaaaaaaa": "code", "bbbbbbbb": "markdown"},
        "source": {"aaaaaaaa": "1", "bbbbbbbb": "One"},
    }
    (raw / "test").mkdir()
    (raw / "test" / "0009d135ece78d.json").write_text(json.dumps(content), encoding="utf-8")
    write_csv(
        pd.DataFrame({"id": ["0009d135ece78d"], "cell_order": ["aaaaaaaa bbbbbbbb"]}), raw / "sample_submission.csv"
    )
