import struct
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from mlebench import catalog
from mlebench.competitions import utils
from mlebench.errors import InvalidSubmission

MASKS = arrays(np.uint8, array_shapes(min_dims=2, max_dims=2, max_side=6), elements=st.integers(0, 1))


def test_the_catalogue_does_not_take_the_helpers_for_competitions():
    assert all((competition.folder / "competition.toml").is_file() for competition in catalog.competitions().values())


# --- masks


@given(MASKS)
def test_masks_survive_encoding(mask):
    assert (utils.rle_decode(utils.rle_encode(mask), *mask.shape) == mask).all()
    assert (utils.rle_decode(utils.rle_encode(mask), mask.shape) == mask).all()


@given(MASKS)
def test_the_code_is_as_defined(mask):
    marked = {int(row + column * mask.shape[0]) + 1 for row, column in np.argwhere(mask)}
    numbers = [int(number) for number in utils.rle_encode(mask).split()]
    runs = list(zip(numbers[::2], numbers[1::2], strict=True))
    assert {pixel for start, length in runs for pixel in range(start, start + length)} == marked
    assert all(start + length < after for (start, length), (after, _) in pairwise(runs))


def test_runs_may_overlap_and_stand_in_any_order():
    assert utils.rle_decode("3 2 1 3", 2, 2).tolist() == [[1, 1], [1, 1]]


@pytest.mark.parametrize("empty", ["", float("nan")])
def test_the_empty_mask(empty):
    assert utils.rle_decode(empty, 2, 3).tolist() == [[0, 0, 0], [0, 0, 0]]


@pytest.mark.parametrize("code", ["1", "0 1", "1 0", "4 2", "a b", "1 -1"])
def test_malformed_codes_are_refused(code):
    with pytest.raises(ValueError):
        utils.rle_decode(code, 2, 2)


def test_many_masks():
    masks = utils.rles_to_masks(["1 1", ""], 1, 2)
    assert [mask.tolist() for mask in masks] == [[[1, 0]], [[0, 0]]]


# --- inputs of metrics


def test_one_hot():
    table = pd.DataFrame({"id": [7, 8], "breed": ["b", "a"]})
    one_hot = utils.df_to_one_hot(table, "id", "breed", classes=["a", "b", "c"])
    assert one_hot.to_dict("list") == {"id": [7, 8], "a": [0, 1], "b": [1, 0], "c": [0, 0]}
    with pytest.raises(InvalidSubmission, match="'a'"):
        utils.df_to_one_hot(table, "id", "breed", classes=["b"])


ANSWERS = pd.DataFrame({"id": ["x", "y"], "a": [1, 0], "b": [0, 1]})


def test_log_loss_inputs_are_paired_by_id_and_column():
    submission = pd.DataFrame({"b": [0.9, 0.2], "id": ["y", "x"], "a": [0.1, 0.8]})
    inputs = utils.one_hot_dfs_to_log_loss_inputs(submission, ANSWERS, id_column="id")
    assert inputs["y_true"].tolist() == [[1, 0], [0, 1]]
    assert inputs["y_pred"].tolist() == [[0.8, 0.2], [0.1, 0.9]]


def test_log_loss_inputs_of_scores_go_through_a_softmax():
    submission = ANSWERS.assign(a=[np.log(3.0), 1000.0], b=[0.0, 1000.0])
    inputs = utils.one_hot_dfs_to_log_loss_inputs(submission, ANSWERS, "id")
    np.testing.assert_allclose(inputs["y_pred"], [[0.75, 0.25], [0.5, 0.5]])
    raw = utils.one_hot_dfs_to_log_loss_inputs(submission, ANSWERS, "id", apply_softmax=False)
    assert raw["y_pred"].tolist() == [[np.log(3.0), 0.0], [1000.0, 1000.0]]


@pytest.mark.parametrize(
    "submission",
    [ANSWERS[["id", "a"]], ANSWERS.head(1), ANSWERS.assign(id=["x", "z"]), ANSWERS.assign(id=["x", "x"])],
)
def test_other_rows_or_columns_are_refused(submission):
    with pytest.raises(InvalidSubmission):
        utils.one_hot_dfs_to_log_loss_inputs(submission, ANSWERS, "id")


def test_accuracy_inputs():
    submission = ANSWERS.iloc[::-1].assign(a=["later", "earlier"])
    inputs = utils.prepare_for_accuracy_metric(submission, ANSWERS, target_column="a", id_column="id")
    assert {name: values.tolist() for name, values in inputs.items()} == {
        "y_true": [1, 0],
        "y_pred": ["earlier", "later"],
    }


def test_auroc_inputs():
    submission = ANSWERS.iloc[::-1].assign(a=[0.1, 0.9])
    inputs = utils.prepare_for_auroc_metric(submission, ANSWERS, id_col="id", target_col="a")
    assert {name: values.tolist() for name, values in inputs.items()} == {"y_true": [1, 0], "y_score": [0.9, 0.1]}
    for wrong in ([0.1, 1.1], [0.1, np.nan], ["x", 0.1]):
        with pytest.raises(InvalidSubmission, match="between 0 and 1"):
            utils.prepare_for_auroc_metric(submission.assign(a=wrong), ANSWERS, id_col="id", target_col="a")


# --- TFRecord


def field(number, content):
    assert len(content) < 128
    return bytes([number << 3 | 2, len(content)]) + content


def example(**features):
    entries = b"".join(field(1, field(1, name.encode()) + field(2, value)) for name, value in features.items())
    return field(1, entries)


def framed(content):
    return struct.pack("<Q", len(content)) + b"CRC!" + content + b"CRC!"


def text(value):
    return field(1, field(1, value))


def integer(value):
    return field(3, bytes([1 << 3 | 0, value]))  # a varint beside the texts


def test_ids_are_read_from_tf_records(tmp_path):
    records = [example(target=integer(3), image_name=text(name), image=text(b"\xff\xd8")) for name in (b"b", b"a")]
    path = tmp_path / "train00-2.tfrec"
    path.write_bytes(b"".join(map(framed, records)))
    assert utils.get_ids_from_tf_records(path) == ["b", "a"]
    with pytest.raises(ValueError, match="no text 'name'"):
        utils.get_ids_from_tf_records(path, feature="name")
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(ValueError, match="cut short"):
        utils.get_ids_from_tf_records(path)
