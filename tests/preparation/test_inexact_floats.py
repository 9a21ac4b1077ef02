"""Floats as the default reader of pandas had them before release 3.1: against that reader where it is there."""

import io

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlebench.preparation.inexact_floats import _NUMBER, inexact_floats, read_csv_inexactly
from mlebench.tables import PANDAS_IS_EXACT

DIGITS = st.text("0123456789", min_size=1, max_size=25)
NUMBERS = st.builds(
    lambda sign, whole, fraction, exponent: f"{sign}{whole}.{fraction}{exponent}",
    st.sampled_from(["", "-", "+"]),
    DIGITS,
    st.one_of(st.just(""), DIGITS),
    st.one_of(st.just(""), st.integers(-40, 40).map(lambda power: f"e{power}")),
)


def _floats(texts):
    return inexact_floats(pd.Series(texts, dtype=object).str.extract(_NUMBER).fillna(""))


@pytest.mark.skipif(PANDAS_IS_EXACT, reason="needs a pandas before 3.1, whose reader it is")
@given(st.lists(NUMBERS, min_size=1))
def test_equals_the_reader_of_its_time(texts):
    expected = pd.read_csv(io.StringIO("\n".join(["number", *texts]))).number
    assert _floats(texts).tolist() == expected.tolist()


@given(st.lists(NUMBERS, min_size=1))
def test_differs_from_the_exact_value_by_a_few_units_in_the_last_place(texts):
    assert _floats(texts) == pytest.approx([float(text) for text in texts], rel=1e-15, abs=0)


@given(st.lists(st.decimals(-(10**7), 10**7, places=8).map(str), min_size=1))
def test_fifteen_digits_are_exact(texts):
    assert _floats(texts).tolist() == [float(text) for text in texts]


def test_known_faults():
    texts = ["37.3102299743582932", "37.3105289819052928", "37.3106046501142643", "9.0586578937440272e-303", "1e-640"]
    faulty = [37.310229974358286, 37.310528981905286, 37.31060465011426, 9.058657893744029e-303, 0.0]
    assert _floats(texts).tolist() == faulty


def test_a_table(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("name,count,size\na,1,37.3102299743582932\nb,2,\nc,3,inf\nd,4,0.5\n")
    table = read_csv_inexactly(path)
    assert table["size"].tolist() == pytest.approx([37.310229974358286, np.nan, np.inf, 0.5], rel=0, abs=0, nan_ok=True)
    assert table.drop(columns="size").equals(pd.DataFrame({"name": list("abcd"), "count": [1, 2, 3, 4]}))
