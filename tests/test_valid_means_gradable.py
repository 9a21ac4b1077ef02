"""What validation accepts the grader scores, and validation needs no labels, for every competition.

The sample and the gold submission of each twin are damaged at random, as files and cell by cell.
"""

import csv
import io
import math

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mlebench import catalog
from mlebench.errors import InvalidSubmission
from mlebench.grading import score_submission, validate_submission

WORDS = [
    *("", "NA", "null", "nan", "None", "inf", "-inf", "1e400", "1e-400", "1e308", "-1e308", "1e5", "0.5", "1e", "x"),
    *("0", "1", "-1", "-0.0", "+1", "2.0", "007", "0x10", "1_000", "1,000", "0,5", "True", "FALSE", " True", "yes"),
    *("9223372036854775808", "-9223372036854775809", "18446744073709551616", "9" * 400, "1" + "0" * 25, "3e18", "1e19"),
    *(" 1", "1 ", "\t1", "1\n", " ", "  ", "\n", '"', '1"2', "'", ";", "ä", "😀", "١", "\ufeff", "\u00a0", "\u2028"),
    *("1 3", "1 3 5", "1  3", " 1 3", "1.0 3", "1 3 2 2", "5 2 1 2", "10201 1", "10201 2", "1 10201", "-1 3", "0 1"),
    *("706016001 0706016001", "1" * 11, "0 " * 30, "14 1 0 0 1 1", "14 nan 0 0 1 1", "14 1 0 0 1", "14.9 -1 9 9 1 1"),
    *("1e300 1e300 -1e300 -1e300 1e300 1e300", "0 1e308 1e308 1e308 1e308 1e308", "14\t1 0 0 1 1", "14 1 0 0 1 1\n"),
]
PADDINGS = [" ", "  ", "\t", "\n", '"', "-", "+", ".0", "e0", "0", "_", "\u00a0"]


class File:
    """A submission as cells, with the place at which the next change happens."""

    def __init__(self, text):
        self.header, *self.rows = csv.reader(io.StringIO(text))

    def go_to(self, place):
        self.row = place % max(len(self.rows), 1)
        self.column = place // 1000 % max(len(self.header), 1)
        self.here = [row for row in self.rows[self.row : self.row + 1] if self.column < len(row)]
        self.there = [row for row in self.rows if self.column < len(row)]

    def change(self, rows, new):
        for row in rows:
            row[self.column] = new(row[self.column])

    def text(self, line_end, quoting):
        target = io.StringIO()
        csv.writer(target, lineterminator=line_end, quoting=quoting).writerows([self.header, *self.rows])
        return target.getvalue()


def insert_column(file, name, cells):
    file.header.insert(file.column, name)
    for row, cell in zip(file.rows, cells, strict=True):
        row.insert(file.column, cell)


def drop_column(file):
    for row in [file.header, *file.there]:
        del row[file.column]


def move_column(file):
    for row in [file.header, *file.there]:
        row.append(row.pop(file.column))


def any_other(file):
    return file.there[file.row // 2 % len(file.there)][file.column] if file.there else ""


CHANGES = {
    "cell replaced": lambda file, word, _: file.change(file.here, lambda _: word),
    "cell padded": lambda file, _, pad: file.change(file.here, lambda cell: cell + pad),
    "cell led": lambda file, _, pad: file.change(file.here, lambda cell: pad + cell),
    "cell continued": lambda file, word, _: file.change(file.here, lambda cell: f"{cell} {word}"),
    "cell cut": lambda file, _w, _p: file.change(file.here, lambda cell: cell[: len(cell) // 2]),
    "cell of another row": lambda file, _w, _p: file.change(file.here, lambda _: any_other(file)),
    "column replaced": lambda file, word, _: file.change(file.there, lambda _: word),
    "column padded": lambda file, _, pad: file.change(file.there, lambda cell: cell + pad),
    "column led": lambda file, _, pad: file.change(file.there, lambda cell: pad + cell),
    "column of one cell": lambda file, _w, _p: file.change(file.there, lambda _: any_other(file)),
    "half a column replaced": lambda file, word, _: file.change(file.there[::2], lambda _: word),
    "column dropped": lambda file, _w, _p: drop_column(file) if file.header else None,
    "column moved": lambda file, _w, _p: move_column(file) if file.header else None,
    "column renamed": lambda file, word, _: file.header.__setitem__(slice(file.column, file.column + 1), [word]),
    "column doubled": lambda file, word, _: insert_column(file, file.header[-1], [word] * len(file.rows)),
    "column added": lambda file, word, _: insert_column(file, "further", [word] * len(file.rows)),
    "index": lambda file, _w, _p: insert_column(file, "", map(str, range(len(file.rows)))),
    "bare index": lambda file, _w, _p: [row.insert(0, str(place)) for place, row in enumerate(file.rows)],
    "row dropped": lambda file, _w, _p: file.rows.__delitem__(slice(file.row, file.row + 1)),
    "row doubled": lambda file, _w, _p: file.rows.extend(list(row) for row in file.rows[file.row : file.row + 1]),
    "rows turned round": lambda file, _w, _p: file.rows.reverse(),
    "rows exchanged": lambda file, _w, _p: file.rows.append(file.rows.pop(file.row)) if file.rows else None,
    "only a few rows": lambda file, _w, _p: file.rows.__delitem__(slice(file.row, None)),
    "row too long": lambda file, word, _: [row.append(word) for row in file.rows[file.row : file.row + 1]],
    "row too short": lambda file, _w, _p: [row.pop() for row in file.rows[file.row : file.row + 1] if row],
    "blank line": lambda file, _w, _p: file.rows.insert(file.row, []),
}

DAMAGE = st.fixed_dictionaries(
    {
        "gold": st.booleans(),
        "changes": st.lists(
            st.tuples(
                st.sampled_from(sorted(CHANGES)),
                st.integers(0, 999_999),
                st.sampled_from(WORDS),
                st.sampled_from(PADDINGS),
            ),
            max_size=3,
        ),
        "start": st.sampled_from(["", "", "", "\ufeff", "\n", " \n", "#\n"]),
        "line end": st.sampled_from(["\n", "\n", "\r\n", "\r"]),
        "quoting": st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONE]),
        "end": st.sampled_from(["", "", "cut", "\n\n", '"', ",,,", "\x1a"]),
    }
)


def damaged(text, damage):
    file = File(text)
    for name, place, word, padding in damage["changes"]:
        file.go_to(place)
        CHANGES[name](file, word, padding)
    try:
        text = file.text(damage["line end"], damage["quoting"])
    except csv.Error:  # not every cell can be written without quotes
        text = file.text(damage["line end"], csv.QUOTE_MINIMAL)
    text = text.rstrip("\r\n") if damage["end"] == "cut" else text + damage["end"]
    return damage["start"] + text


COMPETITIONS = [pytest.param(c, id=f"{c.id}-{c.edition}") for c in catalog.in_all_editions()]


@pytest.mark.parametrize("competition", COMPETITIONS)
def test_valid_means_gradable(competition, twins, tmp_path_factory):
    dataset = twins(competition.id, competition.edition)
    path = tmp_path_factory.mktemp("damaged") / "submission.csv"
    hidden = dataset.private.with_name("hidden")
    sample = dataset.sample_submission.read_text(encoding="utf-8")
    gold = (dataset.private / competition.gold_submission_file).read_text(encoding="utf-8")

    @settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
    @given(DAMAGE)
    def holds(damage):
        path.write_text(damaged(gold if damage["gold"] else sample, damage), encoding="utf-8", newline="")
        dataset.private.rename(hidden)
        try:
            validation = validate_submission(path, dataset)
        finally:
            hidden.rename(dataset.private)
        assert_problems_are_told(validation.problems, competition.schema)
        assert_gradable_or_the_same_problems(validation, path, dataset)

    holds()


def assert_problems_are_told(problems, schema):
    for problem in problems:
        assert problem.kind
        assert problem.message
        about_cells = any(problem.message.startswith(f"{name} ") for name in schema.names)
        assert not about_cells or (problem.rows and problem.values), problem


def assert_gradable_or_the_same_problems(validation, path, dataset):
    """A valid file has a score, unless that shows only beside the answers; labels change no problem."""
    try:
        score = score_submission(path, dataset)
    except InvalidSubmission as error:
        if validation.valid:
            needs_answers = {"undefined score"}
            if dataset.competition.schema.ids_may_be_missing:
                needs_answers.add("missing id")
            assert {problem.kind for problem in error.problems} <= needs_answers, error
        else:
            assert error.problems == validation.problems
    else:
        assert validation.valid
        assert not math.isnan(score)
