"""Parts of the agent `baseline` that can be wrong on their own."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlebench.agents.baseline.solver import clock, masks, metric, spans, tables
from mlebench.agents.baseline.solver.files import Files, _blocks


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Quadratic weighted kappa between prediction and truth", "kappa"),
        ("Multi-class logarithmic loss", "log loss"),
        ("the mean column-wise root mean squared logarithmic error (RMSLE)", "rmsle"),
        ("area under the ROC curve", "auc"),
        ("RMSE, to be minimised", "rmse"),
        ("Accuracy, to be maximised", "accuracy"),
        ("something of our own", None),
    ],
)
def test_metric_is_inferred_from_its_section(text, name):
    description = f"# T\n\nA good model has accuracy.\n\n## Metric\n\n{text}\n\n## Files\n\n- `auc.csv`\n"
    assert metric.infer(description) == (name or "auc")
    assert metric.infer(f"## Metric\n\n{text}\n") == name


@pytest.mark.parametrize(("limit", "seconds"), [(86_400, 480), (600, 480), (300, 240), (120, 60), (60, 30), (1, 1)])
def test_working_time(limit, seconds):
    assert clock.working_seconds(limit, 480) == seconds
    assert min(seconds, 0.9 * limit) <= clock.last_second(limit, seconds) < limit


@given(st.tuples(st.integers(1, 12), st.integers(1, 12)), st.booleans(), st.integers(0, 1), st.integers(0, 2**32 - 1))
def test_masks_survive_their_code(shape, by_columns, first, seed):
    mask = np.random.default_rng(seed).random(shape) < 0.5
    cell = masks.encoded(mask, by_columns, first)
    assert (masks.decoded(cell, shape, by_columns, first) == mask).all()


def test_masks_code_by_hand():
    mask = np.array([[True, False], [True, True]])
    assert masks.encoded(mask, True, 1) == "1 2 4 1"
    assert masks.encoded(mask, False, 1) == "1 1 3 2"


@given(st.lists(st.floats(0, 1), min_size=1, max_size=9), st.floats(0, 1))
def test_the_best_stretch_is_the_best_of_all(shares, cut):
    words = list(spans.WORD.finditer(" ".join("w" * (1 + place) for place in range(len(shares)))))
    start, end = spans.stretch(words, np.array(shares), cut)
    chosen = sum(share - cut for word, share in zip(words, shares, strict=True) if start <= word.start() < end)
    every = [sum(s - cut for s in shares[a:b]) for a in range(len(shares)) for b in range(a + 1, len(shares) + 1)]
    assert chosen == pytest.approx(max(every), abs=1e-9)


def test_composed_cells_are_taken_apart():
    values = pd.DataFrame({"cabin": [f"{'ABC'[n % 3]}/{n // 2}/{'PS'[n % 2]}" for n in range(100)]})
    table = tables.build(values[:60], values[60:], None)
    assert set(table.codes) >= {"cabin.0", "cabin.2"}
    assert table.numbers["cabin.1"].tolist() == [n // 2 for n in range(100)]


def test_the_mean_of_others_leaves_out_oneself():
    groups = pd.Series([0, 0, 0, 1, 1, np.nan])
    others = tables.mean_of_others(groups, np.array([1.0, 2.0, 6.0, 5.0, np.nan, 9.0]))
    assert np.array_equal(others, [4.0, 3.5, 1.5, np.nan, 5.0, np.nan], equal_nan=True)


def test_great_circle():
    paris, london = (48.8566, 2.3522), (51.5074, -0.1278)
    kilometres = tables.great_circle_km(*(np.array([part]) for part in (*paris, *london)))
    assert kilometres[0] == pytest.approx(343.5, abs=1)


def test_files_of_ids_keep_to_their_side(tmp_path):
    for name in ("train/images/1.png", "test/images/1.png", "train/masks/1.png", "train/7/geometry.xyz"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    files = Files(tmp_path)
    assert files.of_ids(["1", "2"], {".png"}, "train") == [tmp_path / "train/images/1.png", None]
    assert files.of_ids(["1"], {".png"}, "test") == [tmp_path / "test/images/1.png"]
    assert files.of_ids(["7"], {".xyz"}, "train") == [tmp_path / "train/7/geometry.xyz"]


def test_blocks_of_a_large_table_are_whole_lines(tmp_path):
    path = tmp_path / "large.csv"
    lines = [f"{number},{number * number}" for number in range(50_000)]
    path.write_text("a,b\n" + "\n".join(lines) + "\n")
    found = _blocks(path, 100_000).decode().splitlines()
    assert found[0] == "a,b"
    assert set(found[1:]) <= set(lines)
    assert len(set(found)) == len(found)
    numbers = [int(line.split(",")[0]) for line in found[1:]]
    assert min(numbers) == 0
    assert max(numbers) > 49_000
