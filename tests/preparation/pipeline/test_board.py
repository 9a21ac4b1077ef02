"""What is told of preparations under way: steps, speeds, the time left."""

import pytest

from mlebench.preparation.pipeline.board import Board
from mlebench.preparation.progress import shown_on, step

MB = 1_000_000


class Clock:
    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def board(clock):
    return Board(clock)


def download(board, clock, name, megabytes, per_second, already=0, end=True):
    board.enter(name, "downloading")
    display = board.display(name)
    handle = display.start(f"{name}: downloading from Kaggle", megabytes * MB, "B")
    display.advance(handle, already * MB)  # the first report, of what is there
    done = already
    while done < megabytes:
        clock.now += 1
        display.advance(handle, per_second * MB)
        done += per_second
    if end:
        board.enter(name, "downloaded")


def prepare(board, clock, name, seconds):
    board.enter(name, "preparing")
    clock.now += seconds
    board.enter(name, "done")


def test_a_row_is_the_innermost_step(board):
    board.expect("dogs", 5 * MB, False)
    assert board.rows() == []
    board.enter("dogs", "preparing")
    assert [(row.name, row.text) for row in board.rows()] == [("dogs", "preparing")]
    with shown_on(board.display("dogs")):
        with step("dogs: preparing", 1), step("placing files", 300, "files") as done:
            done(20)
            (row,) = board.rows()
            assert (row.text, row.done, row.total, row.unit) == ("placing files", 20, 300, "files")
        with step("unpacking dogs.zip", 100, "B"):
            assert board.rows()[0].text == "unpacking"
    board.enter("dogs", "done")
    assert board.rows() == []


def test_steps_that_belong_to_no_competition_are_rows_of_their_own(board):
    with shown_on(board.display()), step("verifying", 3), step("hashing", 9):
        assert [(row.name, row.text) for row in board.rows()] == [("", "verifying"), ("", "hashing")]


def test_the_speed_is_that_of_the_last_seconds(board, clock):
    board.expect("dogs", 5000 * MB, True)
    download(board, clock, "dogs", 500, 50, end=False)
    assert board.rows()[0].speed == pytest.approx(50 * MB, rel=0.11)
    clock.now += 100
    assert board.rows()[0].speed is None
    assert board.totals().speed is None


def test_what_was_there_before_is_no_speed(board, clock):
    board.expect("dogs", 9000 * MB, True)
    download(board, clock, "dogs", 9000, 50, already=8500, end=False)
    assert board.rows()[0].speed == pytest.approx(50 * MB, rel=0.11)
    assert board.totals().bytes_done == 9000 * MB


def test_totals_are_unknown_while_a_size_is(board, clock):
    board.expect("dogs", 500 * MB, True)
    board.expect("cats", None, True)
    assert board.totals().bytes_total is None
    download(board, clock, "cats", 100, 50)
    assert board.totals().bytes_total == 600 * MB
    assert board.totals().bytes_done == 100 * MB


def test_nothing_is_said_of_the_time_left_before_it_is_known(board, clock):
    for name, size in (("small", 600), ("dogs", 1000), ("large", 10_000)):
        board.expect(name, size * MB, True)
    assert board.totals().seconds_left is None
    download(board, clock, "small", 600, 50)
    assert board.totals().seconds_left is None  # no preparation was measured
    prepare(board, clock, "small", 6)
    download(board, clock, "dogs", 1000, 50)
    prepare(board, clock, "dogs", 10)
    # 10,000 MB at 50 MB/s; then its preparation: 6 s, and a byte takes what it took beyond the 6 s of "small".
    assert board.totals().seconds_left == pytest.approx(200 + 6 + 4 / 1600 * 10_000, rel=0.05)


def test_too_little_tells_nothing(board, clock):
    board.expect("tiny", MB, False)
    board.expect("large", 900_000 * MB, False)
    prepare(board, clock, "tiny", 2)
    assert board.totals().seconds_left is None


def test_preparations_may_be_what_takes_long(board, clock):
    board.expect_jobs(2)
    for name in "abcd":
        board.expect(name, 1000 * MB, False)
    prepare(board, clock, "a", 100)
    prepare(board, clock, "b", 300)
    # The shortest took 100 s, each byte 0.1 s a MB on top: two more of 200 s, two at a time.
    assert board.totals().seconds_left == pytest.approx(200)
    board.enter("c", "preparing")
    clock.now += 100
    assert board.totals().seconds_left == pytest.approx(150)


def test_what_fails_leaves_the_sum(board, clock):
    board.expect("dogs", 500 * MB, True)
    board.expect("cats", 100 * MB, True)
    board.enter("dogs", "done")
    totals = board.totals()
    assert (totals.done, totals.competitions, totals.bytes_total) == (1, 2, 100 * MB)
