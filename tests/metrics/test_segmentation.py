"""Run-length codes and the metric of them, beside painted masks."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.metrics import fbeta_score

from mlebench.metrics import segmentation
from mlebench.metrics.segmentation import (
    decode_run_lengths,
    encode_run_lengths,
    global_dice_score,
    mean_dice_score,
    mean_f_beta_score,
    mean_precision_score,
)

mask_stacks = hnp.arrays(
    bool,
    st.tuples(st.integers(1, 5), st.integers(1, 6), st.integers(1, 6)),
    elements=st.booleans(),
    fill=st.booleans(),  # whole masks of one value are common
)


def paint(code, height, width):
    """One mask, pixel by pixel."""
    mask = np.zeros((height, width), dtype=bool)
    numbers = [int(word) for word in code.split()]
    for start, length in zip(numbers[0::2], numbers[1::2], strict=True):
        for pixel in range(start - 1, start - 1 + length):
            mask[pixel % height, pixel // height] = True
    return mask


def precision(true, predicted, empty_prediction_is_full):
    """The metric of one image, by its definition."""
    if not true.any():
        return float(not predicted.any())
    if not predicted.any():
        predicted = np.full_like(true, empty_prediction_is_full)
    iou = (true & predicted).sum() / (true | predicted).sum()
    return np.mean([iou > threshold for threshold in np.arange(0.5, 1.0, 0.05)])


@given(mask_stacks)
def test_decoding_is_the_inverse_of_encoding(masks):
    codes = encode_run_lengths(masks)
    _, height, width = masks.shape
    np.testing.assert_array_equal(decode_run_lengths(codes, height, width), masks)
    np.testing.assert_array_equal([paint(code, height, width) for code in codes], masks)


@given(mask_stacks)
def test_pixels_may_be_numbered_row_by_row(masks):
    codes = encode_run_lengths(masks, row_by_row=True)
    _, height, width = masks.shape
    assert codes == encode_run_lengths(masks.transpose(0, 2, 1))
    np.testing.assert_array_equal(decode_run_lengths(codes, height, width, row_by_row=True), masks)


def codes_of(masks):
    return np.array(encode_run_lengths(masks), dtype=object)


def other_masks(masks, data):
    return data.draw(st.one_of(hnp.arrays(bool, masks.shape), st.just(masks), st.just(np.zeros_like(masks))))


@given(mask_stacks, st.data())
def test_dice_is_that_of_the_definition(masks, data):
    other = other_masks(masks, data)
    size = masks.sum(axis=(1, 2)) + other.sum(axis=(1, 2))
    shared = (masks & other).sum(axis=(1, 2))
    expected = [2 * both / total if total else 1.0 for both, total in zip(shared, size, strict=True)]
    assert mean_dice_score(codes_of(masks), codes_of(other)) == pytest.approx(np.mean(expected))
    together = global_dice_score(codes_of(masks), codes_of(other), pixels=masks[0].size)
    assert together == pytest.approx(2 * shared.sum() / size.sum() if size.sum() else np.nan, nan_ok=True)


@given(mask_stacks, st.data(), st.sampled_from([0.5, 1.0, 2.0]))
def test_f_beta_is_that_of_scikit_learn(masks, data, beta):
    other = other_masks(masks, data)
    pairs = zip(masks, other, strict=True)
    expected = [fbeta_score(a.ravel(), b.ravel(), beta=beta, zero_division=0) for a, b in pairs]
    assert mean_f_beta_score(codes_of(masks), codes_of(other), beta=beta) == pytest.approx(np.mean(expected))


def test_nothing_at_all_has_the_dice_that_is_asked_for():
    nothing = np.array(["-", "-"])
    assert np.isnan(global_dice_score(nothing, nothing, empty_code="-"))
    assert global_dice_score(nothing, nothing, empty_code="-", of_nothing=1.0) == 1
    assert global_dice_score(np.array(["1 2", "-"]), nothing, empty_code="-") == 0


@pytest.mark.parametrize("code", ["1 3 5 9", "1 3 5 5 11 2", "1 3 5 6 7 1", "1 3 5 5 9 1 9 4"])
def test_runs_may_be_cut_off_at_the_last_pixel(code):
    whole = np.array(["1 3 5 2"])
    ends = np.array([6])
    assert mean_f_beta_score(whole, np.array([code]), beta=0.5, pixels=ends, cut_off=True) == 1
    with pytest.raises(ValueError, match="past the end"):
        mean_f_beta_score(whole, np.array([code]), beta=0.5, pixels=ends)


@pytest.mark.parametrize("code", ["5 9 1 3", "1 3 9 1 8 1", "1 3 2 9", "1 3 1 3", "0 9", "9 0", "7"])
def test_what_is_cut_off_has_to_be_well_formed_otherwise(code):
    with pytest.raises(ValueError, match="code 0"):
        mean_f_beta_score(np.array(["1 3"]), np.array([code]), beta=0.5, pixels=6, cut_off=True)


def test_pictures_may_have_their_own_sizes(monkeypatch):
    codes, ends = ["1 4", "", "5 2", "1 9"], np.array([4, 1, 5, 9])
    (fault,) = segmentation.code_faults(codes, ends)
    assert fault.masks.tolist() == [False, False, True, False]
    monkeypatch.setattr(segmentation, "BLOCK", 1)
    (fault,) = segmentation.code_faults(codes, ends)
    assert fault.masks.tolist() == [False, False, True, False]
    assert mean_dice_score(np.array(codes), np.array(codes), pixels=np.array([4, 1, 6, 9])) == 1


@given(mask_stacks, st.data())
def test_mean_precision_is_that_of_the_definition(masks, data):
    other = data.draw(st.one_of(hnp.arrays(bool, masks.shape), st.just(masks), st.just(np.zeros_like(masks))))
    full = data.draw(st.booleans())
    score = mean_precision_score(
        np.array(encode_run_lengths(masks), dtype=object),
        np.array(encode_run_lengths(other), dtype=object),
        pixels=masks[0].size,
        empty_prediction_is_full=full,
    )
    assert score == pytest.approx(np.mean([precision(a, b, full) for a, b in zip(masks, other, strict=True)]))


@pytest.mark.parametrize("count", range(101))
def test_a_threshold_must_be_exceeded_in_doubles(count):
    found = mean_precision_score(np.array(["1 100"]), np.array([f"1 {count}" if count else ""]), pixels=100)
    assert found == np.mean([count / 100 > threshold for threshold in np.arange(0.5, 1.0, 0.05)])


def test_touching_runs_and_every_kind_of_blank_are_fine():
    codes = ["1 2 3 2", "1 4", " 1  4\n", "1\t4", "+1 04"]
    assert (decode_run_lengths(codes, 3, 2).sum(axis=(1, 2)) == 4).all()


def test_missing_values_are_empty_masks():
    nothing = np.array([np.nan, None, ""], dtype=object)
    assert mean_precision_score(nothing, np.full(3, np.nan), pixels=4) == 1
    assert mean_precision_score(nothing, np.array(["", "1 1", "1 4"], dtype=object), pixels=4) == pytest.approx(1 / 3)


def test_an_empty_prediction_of_a_full_mask():
    full, empty = np.array(["1 9"]), np.array([""])
    assert mean_precision_score(full, empty, pixels=9) == 0
    assert mean_precision_score(full, empty, pixels=9, empty_prediction_is_full=True) == 1


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("7", "odd count"),
        ("1 3 10", "odd count"),
        ("0 3", "below 1"),
        ("5 0", "below 1"),
        ("5 -1", "below 1"),
        ("9 2", "past the end"),
        ("11 1", "past the end"),
        ("1 99999999999999999999999", "past the end"),
        ("5 1 2 1", "not ascending"),
        ("5 1 5 1", "not ascending"),
        ("2 3 4 1", "overlap"),
    ],
)
def test_malformed_codes_are_refused_by_kind(code, kind):
    codes = ["", "1 9", code, "3 1"]
    assert kind in [fault.kind for fault in segmentation.code_faults(codes, 9)]
    with pytest.raises(ValueError, match="code 2"):
        decode_run_lengths(codes, 3, 3)


@pytest.mark.parametrize(
    "code", ["none", "1.5 3", "1 2x", "1-2 3", "-", "+ 1", "1,2", "１ ２", "1\xa02", "1_0 2", "\x00"]
)
def test_other_than_whole_numbers_are_refused(code):
    with pytest.raises(ValueError, match="text 1"):
        decode_run_lengths(["1 1", code], 3, 3)


@given(st.lists(st.text(alphabet="0123456789+- .\tx٣\n", max_size=12), max_size=6))
def test_numbers_are_those_of_int(texts):
    def blank_separated(text):
        return all(word.isascii() for word in text.split())

    try:
        expected = [[int(word) for word in text.split()] for text in texts if blank_separated(text)]
    except ValueError:
        expected = None
    if expected is None or len(expected) < len(texts):
        assert segmentation.not_whole_numbers(texts).any()
        with pytest.raises(ValueError, match="whole numbers"):
            segmentation.whole_numbers(texts)
    else:
        numbers, counts = segmentation.whole_numbers(texts)
        limit = 1 << 40
        assert numbers.tolist() == [min(max(number, -limit), limit) for row in expected for number in row]
        assert counts.tolist() == [len(row) for row in expected]


def test_blocks_make_no_difference(monkeypatch):
    codes = np.array(["1 4", "", "2 3 8 2", "9 1", "1 9"] * 3, dtype=object)
    faulty = ["1 3", "0 1", "7", "x", "9 1", "1 2 2 3", "y"] * 2
    expected = mean_precision_score(codes, codes[::-1], pixels=9), segmentation.code_faults(faulty, 9)
    monkeypatch.setattr(segmentation, "BLOCK", 4)
    assert mean_precision_score(codes, codes[::-1], pixels=9) == expected[0]
    found = segmentation.code_faults(faulty, 9)
    assert {(fault.kind, fault.example, tuple(fault.masks)) for fault in found} == {
        (fault.kind, fault.example, tuple(fault.masks)) for fault in expected[1]
    }


def test_no_codes_at_all():
    assert decode_run_lengths([], 3, 3).shape == (0, 3, 3)
    assert encode_run_lengths(np.zeros((0, 3, 3), dtype=bool)) == []
    with pytest.raises(ValueError, match="no rows"):
        mean_precision_score(np.array([]), np.array([]), pixels=9)


def test_other_lengths_are_refused():
    with pytest.raises(ValueError, match="shape"):
        mean_precision_score(np.array(["1 1"]), np.array(["1 1", ""]), pixels=9)
