"""Groups are divided whole."""

import pandas as pd
import pytest

from mlebench.errors import PreparationError
from mlebench.preparation.files import hold_out, hold_out_groups, random_order_of_groups

TABLE = pd.DataFrame({"row": range(60), "group": [f"g{n * n % 20}" for n in range(60)]})


@pytest.mark.parametrize("size", [0.1, 0.5, 2])
def test_no_group_is_on_both_sides_and_rows_keep_their_order(size):
    train, test = hold_out_groups(TABLE, "group", size)
    assert not set(train["group"]) & set(test["group"])
    assert sorted([*train["row"], *test["row"]]) == list(range(60))
    assert train["row"].is_monotonic_increasing
    assert test["row"].is_monotonic_increasing


def test_the_share_is_one_of_groups_rounded_up():
    groups = TABLE["group"].nunique()
    assert hold_out_groups(TABLE, "group", 0.1)[1]["group"].nunique() == -(-groups // 10)
    assert hold_out_groups(TABLE, "group", 3)[1]["group"].nunique() == 3


def test_another_seed_holds_out_other_groups():
    first, second = (set(hold_out_groups(TABLE, "group", 0.3, seed)[1]["group"]) for seed in (0, 1))
    assert first != second


@pytest.mark.parametrize("groups", [["a", "a"], ["a", None, "b"]], ids=["one group", "no group"])
def test_what_cannot_be_divided_is_refused(groups):
    with pytest.raises(PreparationError):
        hold_out_groups(pd.DataFrame({"group": groups}), "group", 0.5)


@pytest.mark.parametrize("size", [0.1, 0.5, 2])
def test_order_of_groups_is_that_of_their_tables_divided_and_joined(size):
    tables = [rows for _, rows in TABLE.groupby("group")]
    train, test = hold_out(pd.Series(range(len(tables))), size)
    expected = pd.concat([tables[number] for number in [*test, *train]])
    order, tested = random_order_of_groups(TABLE["group"], size)
    assert order.tolist() == expected["row"].tolist()
    assert tested == sum(len(tables[number]) for number in test)


def test_rows_without_a_group_are_named():
    with pytest.raises(PreparationError, match="1 rows have no molecule"):
        random_order_of_groups(pd.Series(["a", None, "b"], name="molecule"), 0.5)
