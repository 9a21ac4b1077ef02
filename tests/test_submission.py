"""Validation: CSV as users write it, every kind of problem with rows and values, and hostile files."""

import io
import resource
import subprocess
import sys
import zipfile

import numpy as np
import pandas as pd
import pytest

from mlebench import file_guard
from mlebench.errors import CompetitionError
from mlebench.preparation.seven_zip import write_7z
from mlebench.submission import Column, Schema, validate

SCHEMA = Schema(id="id", columns=(Column("p", minimum=0, maximum=1),))


@pytest.fixture
def files(tmp_path):
    (tmp_path / "sample.csv").write_text("id,p\na,0\nb,0\nc,0\nd,0\n")

    def check(content, schema=SCHEMA, sample=None, extra_check=None):
        path = tmp_path / "submission.csv"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        if sample is not None:
            (tmp_path / "sample.csv").write_text(sample)
        return validate(path, schema, tmp_path / "sample.csv", extra_check)

    return check


GOOD = "id,p\na,0.1\nb,0.2\nc,1\nd,0\n"


@pytest.mark.parametrize(
    "content",
    [
        GOOD,
        GOOD.encode("utf-8-sig"),
        GOOD.replace("\n", "\r\n"),
        GOOD.rstrip("\n"),
        'id,p\n"a","0.1"\n"b","0.2"\n"c","1"\n"d","0"\n',
        ",id,p\n0,a,0.1\n1,b,0.2\n2,c,1\n3,d,0\n",
        "p,extra,id\n0.1,x,a\n0.2,y,b\n1,,c\n0,z,d\n",
        "id,p\n0,a,0.1\n1,b,0.2\n2,c,1\n3,d,0\n",  # an index without a name: pandas takes it away
        "id,p\nd,0\nc,1\nb,2e-1\na,+.1\n",
    ],
    ids=["plain", "BOM", "CRLF", "no last newline", "quoted", "index", "extra column", "bare index", "other order"],
)
def test_files_as_users_write_them_are_valid(files, content):
    result = files(content)
    assert result.valid, result.message()
    assert result.table is not None
    assert sorted(result.table["p"]) == [0, 0.1, 0.2, 1]
    assert result.message() == "Submission is valid."


@pytest.mark.parametrize(
    ("content", "kind", "rows", "values"),
    [
        ("", "empty file", (), ()),
        ("id,p\n", "no rows", (), ()),
        ("id,q\na,1\n", "missing column", (), ()),
        ("id,p\na,0\nb,0\nc,0\n", "missing id", (), ("'d'",)),
        (GOOD + "a,0.5\n", "repeated id", (5,), ("'a'",)),
        (GOOD + "x,0.5\n", "unknown id", (5,), ("'x'",)),
        (GOOD + ",0.5\n", "unknown id", (5,), ("nan",)),
        (GOOD.replace("0.2", ""), "missing value", (2,), ("nan",)),
        (GOOD.replace("0.2", "many"), "not a number", (2,), ("'many'",)),
        (GOOD.replace("0.2", "-inf"), "not finite", (2,), ("-inf",)),
        (GOOD.replace("0.2", "1.2"), "out of range", (2,), ("1.2",)),
        (GOOD.replace("0.2", "0,2"), "not a table", (), ()),
        (b"id,p\na,\xff\xfe\n", "not text", (), ()),
        (b"\x89PNG\r\n\x1a\n\x00\x00", "not text", (), ()),
    ],
)
def test_problems_name_kind_rows_and_values(files, content, kind, rows, values):
    result = files(content)
    found = {problem.kind: problem for problem in result.problems}
    assert kind in found, result.message()
    assert found[kind].rows == rows
    assert found[kind].values == values
    assert result.table is None


def test_problems_are_collected_and_counted(files):
    rows = "".join(f"{name},{value}\n" for name, value in zip("abbx", (2, "x", "", -1), strict=True))
    result = files("id,p\n" + rows)
    kinds = [problem.kind for problem in result.problems]
    assert kinds == ["unknown id", "repeated id", "missing id", "missing value", "not a number", "out of range"]
    assert result.problems[-1].count == 2
    assert "expected a finite number from 0 to 1" in result.message()


def test_only_a_few_rows_are_shown(files):
    sample = "id,p\n" + "".join(f"i{n},0\n" for n in range(1000))
    result = files("id,p\n" + "".join(f"i{n},7\n" for n in range(1000)), sample=sample)
    (problem,) = result.problems
    assert (problem.count, problem.rows) == (1000, (1, 2, 3, 4, 5))
    assert len(result.message()) < 500


def column_schema(kind, **settings):
    return Schema(id="id", columns=(Column("p", kind, **settings),))


@pytest.mark.parametrize(
    ("schema", "values", "kind"),
    [
        (column_schema("boolean"), ["True", "False", "True", "False"], None),
        (column_schema("boolean"), [1, 0, 1, 0], None),
        (column_schema("boolean"), [1.0, 0.0, 1.0, 0.0], None),
        (column_schema("boolean"), [1, 0, 2, 0], "not a boolean"),
        (column_schema("boolean"), ["yes", "no", "yes", "no"], "not a boolean"),
        (column_schema("boolean"), ["True", "", "True", "True"], "missing value"),
        (column_schema("integer"), [1, 2, 3, -9], None),
        (column_schema("integer"), ["1.0", "2.0", "3.0", "4.0"], None),
        (column_schema("integer"), [1, 2, 3, 0.5], "not whole"),
        (column_schema("integer", allowed=(0, 1)), [0, 1, 2, 0], "not allowed"),
        (column_schema("integer", minimum=0, maximum=4), [0, 1, 5, 0], "out of range"),
        (column_schema("number"), [1e308, -1e308, 0, 5e-324], None),
        (column_schema("text"), ["x", "", "null", "1"], None),
        (column_schema("text", options={"empty": False}), ["x", "", "y", "1"], "missing value"),
        (column_schema("text", allowed=("cat", "dog")), ["cat", "dog", "cow", "cat"], "not allowed"),
        (column_schema("anything"), ["", "x", 1, "inf"], None),
    ],
)
def test_types_of_columns(files, schema, values, kind):
    content = pd.DataFrame({"id": list("abcd"), "p": values}).to_csv(index=False)
    kinds = [problem.kind for problem in files(content, schema).problems]
    assert kinds == ([] if kind is None else [kind])


def test_integer_ids(files):
    schema = Schema(id="id", id_type="integer", columns=(Column("p"),))
    sample = "id,p\n1,0\n2,0\n"
    assert files("id,p\n2.0,0\n01,5\n", schema, sample).valid
    assert [p.kind for p in files("id,p\n1,0\n2.5,0\n", schema, sample).problems] == ["malformed id"]
    assert [p.kind for p in files("id,p\n1,0\nx,0\n", schema, sample).problems] == ["malformed id"]


def test_integer_ids_that_no_float_holds(files):
    schema = Schema(id="id", id_type="integer", columns=(Column("p"),))
    sample = "id,p\n1000834164244036115,0\n1002653297254493116,0\n"
    assert files(sample, schema, sample).valid
    for last in ("1002653297254493116.0", "1e25", "-1e25"):
        found = files(f"id,p\n1000834164244036115,0\n{last},0\n", schema, sample)
        assert [p.kind for p in found.problems] == ["unknown id", "missing id"]


def test_text_ids_keep_their_zeros(files):
    result = files("id,p\n007,0\n1e5,0\n", sample="id,p\n007,0\n1e5,0\n")
    assert result.valid
    assert [p.kind for p in files("id,p\n7,0\n100000,0\n").problems] == ["unknown id", "missing id"]


def test_exact_columns_and_order(files):
    exact = Schema(id="id", columns=(Column("p"),), extra_columns=False, id_first=True, fixed_order=True)
    kinds = lambda content: [problem.kind for problem in files(content, exact).problems]  # noqa: E731
    assert kinds(GOOD) == []
    assert kinds(",id,p\n0,a,1\n1,b,1\n2,c,1\n3,d,1\n") == ["extra column", "column order"]
    assert kinds("p,id\n1,a\n1,b\n1,c\n1,d\n") == ["column order"]
    assert kinds("id,p\nb,1\na,1\nc,1\nd,1\n") == ["row order"]
    assert kinds("id,p,p\na,1,1\nb,1,1\nc,1,1\nd,1,1\n") == ["extra column"]


def test_rows_that_must_add_up(files):
    schema = Schema(id="id", columns=(Column("p"), Column("q")), row_sum=1)
    sample = "id,p,q\na,0,1\nb,0,1\n"
    assert files("id,p,q\na,0.5,0.5\nb,0.3,0.70001\n", schema, sample).valid
    (problem,) = files("id,p,q\na,0.5,0.5\nb,0.3,0.8\n", schema, sample).problems
    assert (problem.kind, problem.rows, problem.values) == ("row sum", (2,), ("1.1",))


def test_what_a_schema_cannot_say(files):
    def no_halves(table, public):
        from mlebench.submission import row_problem

        if (table["p"] == 0.5).any():
            yield row_problem("half", "p is a half", table["p"] == 0.5, table["p"])

    assert files(GOOD, extra_check=no_halves).valid
    assert [p.kind for p in files(GOOD.replace("0.2", "0.5"), extra_check=no_halves).problems] == ["half"]


def test_columns_in_a_fixed_order(files):
    schema = Schema(id="id", columns=(Column("p"), Column("q")), fixed_columns=True)
    good = "id,p,q\na,1,2\nb,1,2\nc,1,2\nd,1,2\n"
    assert files(good, schema, sample=good).valid
    assert files(good.replace("id,p,q", "id,p,q,r").replace("2\n", "2,3\n"), schema).valid
    (problem,) = files(good.replace("id,p,q", "id,q,p"), schema).problems
    assert problem.kind == "column order"
    assert "'q' stands in the place of 'p'" in problem.message


def test_missing_and_repeated_ids_where_they_are_allowed(files):
    schema = Schema(id="id", columns=(Column("p"),), ids_may_be_missing=True, ids_may_repeat=True)
    result = files("id,p\na,1\na,2\n", schema)
    assert result.valid
    assert "3 of the 4" not in result.message()
    assert "Warning: " in result.message()


def test_ids_that_repeat_in_the_sample_submission(files):
    schema = Schema(id="id", columns=(Column("p"),), ids_may_repeat=True)
    sample = "id,p\na,0\na,0\nb,0\n"
    assert files("id,p\nb,1\na,2\na,3\n", schema, sample).valid
    kinds = [problem.kind for problem in files("id,p\na,2\nc,3\n", schema, sample).problems]
    assert kinds == ["unknown id", "missing id"]


def test_a_broken_sample_submission_is_our_fault(files):
    with pytest.raises(CompetitionError, match="sample submission"):
        files(GOOD, sample="nothing,here\n1,2\n")


def test_the_sample_submission_may_be_zipped(tmp_path):
    (tmp_path / "submission.csv").write_text(GOOD)
    with zipfile.ZipFile(tmp_path / "sample.csv.zip", "w") as archive:
        archive.writestr("sample.csv", "id,p\na,0\nb,0\nc,0\ne,0\n")
    result = validate(tmp_path / "submission.csv", SCHEMA, tmp_path / "sample.csv.zip")
    assert [problem.kind for problem in result.problems] == ["unknown id", "missing id"]


def test_the_sample_submission_may_be_packed_as_7z(tmp_path):
    (tmp_path / "submission.csv").write_text(GOOD)
    write_7z(tmp_path / "sample.csv.7z", [("sample.csv", io.BytesIO(b"id,p\na,0\nb,0\nc,0\ne,0\n"))])
    result = validate(tmp_path / "submission.csv", SCHEMA, tmp_path / "sample.csv.7z")
    assert [problem.kind for problem in result.problems] == ["unknown id", "missing id"]


@pytest.mark.parametrize("members", [None, [], ["sample.csv", "other.csv"]])
def test_a_broken_7z_is_our_fault(tmp_path, members):
    (tmp_path / "submission.csv").write_text(GOOD)
    (tmp_path / "sample.csv.7z").write_text("no 7z")
    if members is not None:
        write_7z(tmp_path / "sample.csv.7z", [(name, io.BytesIO(b"id,p\na,0\n")) for name in members])
    with pytest.raises(CompetitionError, match="sample submission"):
        validate(tmp_path / "submission.csv", SCHEMA, tmp_path / "sample.csv.7z")


@pytest.mark.parametrize("members", [None, [], ["sample.csv", "other.csv"]])
def test_a_broken_zip_is_our_fault(tmp_path, members):
    (tmp_path / "submission.csv").write_text(GOOD)
    (tmp_path / "sample.csv.zip").write_text("no zip")
    if members is not None:
        with zipfile.ZipFile(tmp_path / "sample.csv.zip", "w") as archive:
            for name in members:
                archive.writestr(name, "id,p\na,0\n")
    with pytest.raises(CompetitionError, match="sample submission"):
        validate(tmp_path / "submission.csv", SCHEMA, tmp_path / "sample.csv.zip")


def test_a_column_under_its_other_name(files):
    schema = Schema(id="id", columns=(Column("p", alias="q", minimum=0),), extra_columns=False)
    for content in (GOOD, GOOD.replace("id,p", "id,q")):
        result = files(content, schema)
        assert result.table is not None, result.message()
        assert result.table["p"].tolist() == [0.1, 0.2, 1, 0]
    both = files("id,p,q\na,0,0\nb,0,0\nc,0,0\nd,0,0\n", schema)
    assert [problem.kind for problem in both.problems] == ["repeated column"]
    neither = files(GOOD.replace("id,p", "id,r"), schema)
    assert "missing column" in [problem.kind for problem in neither.problems]


def test_numbers_that_may_be_missing(files):
    schema = Schema(id="id", columns=(Column("p", maximum=1, options={"empty": True}),))
    assert files(GOOD.replace("0.1", ""), schema).valid
    assert files("id,p\na,\nb,\nc,\nd,\n", schema).valid
    assert [p.kind for p in files(GOOD.replace("0.1", "x").replace("0.2", ""), schema).problems] == ["not a number"]
    assert [p.kind for p in files(GOOD.replace("0.1", "2").replace("0.2", ""), schema).problems] == ["out of range"]


def test_numbers_that_must_differ(files):
    schema = Schema(id="id", columns=(Column("p", options={"varies": True}),))
    assert files(GOOD, schema).valid
    (problem,) = files("id,p\na,.5\nb,0.5\nc,5e-1\nd,0.50\n", schema).problems
    assert (problem.kind, problem.count) == ("constant", 4)
    assert [p.kind for p in files("id,p\na,\nb,\nc,\nd,\n", schema).problems] == ["missing value"]


TEXTS = "id,p\na,{}\nb,{}\nc,{}\nd,{}\n"


def test_verbatim_cells_are_texts_as_they_stand(files):
    schema = Schema(id="id", columns=(Column("p", "verbatim"),))
    result = files(TEXTS.format("NA", "007", "", '"null"'), schema)
    assert result.table is not None
    assert result.table["p"].tolist() == ["NA", "007", "", "null"]
    never_empty = Schema(id="id", columns=(Column("p", "verbatim", options={"empty": False}),))
    (problem,) = files(TEXTS.format("NA", "x", "", " "), never_empty).problems
    assert (problem.kind, problem.rows) == ("missing value", (3,))


@pytest.mark.parametrize(
    ("cells", "kinds"),
    [
        (["1", "2", "3", "4"], ["not a text"]),
        (["1", "2.5", "", "4"], ["not a text"]),
        (["True", "true", "False", "False"], ["not a text"]),
        (["1", "2", "3", "x"], []),
        (["", "", "", ""], []),
    ],
)
def test_columns_of_nothing_but_numbers(files, cells, kinds):
    schema = Schema(id="id", columns=(Column("p", "text", options={"numbers": False}),))
    assert [problem.kind for problem in files(TEXTS.format(*cells), schema).problems] == kinds


@pytest.mark.parametrize(
    ("cells", "kinds"),
    [
        (["", "NA", "", ""], ["missing value"]),
        (["", "", "x", ""], []),
        (["x" * 6, "x" * 5, "é" * 5, "x" * 7], ["too long"]),
    ],
)
def test_texts_that_are_all_missing_or_too_long(files, cells, kinds):
    schema = Schema(id="id", columns=(Column("p", "text", options={"all_empty": False, "most_characters": 5}),))
    assert [problem.kind for problem in files(TEXTS.format(*cells), schema).problems] == kinds


def test_ten_million_rows(tmp_path):
    """Validated in a process whose memory is bounded."""
    rows = 10_000_000
    table = pd.DataFrame({"id": np.arange(rows), "p": np.zeros(rows, dtype=int)})
    table.to_csv(tmp_path / "sample.csv", index=False)
    assert (
        _validated_within(tmp_path, tmp_path / "sample.csv", gigabytes=4, id_type="integer") == "Submission is valid."
    )


@pytest.mark.parametrize(
    ("kind", "start", "filler", "times"),
    [
        ("line too long", b"id,p\na,", b"1", 300 << 20),
        ("line too long", b'id,p\na,"', b"1", 300 << 20),
        ("too many columns", b"id,p", b",x", 100_000),
        ("too many cells", b"id,p\n", b",", 5_000_000),
        ("row count", b"id,p\n", b"a,1\n", 3_000_000),
        ("not text", b"id,p\n", bytes(range(256)), 1 << 12),
        ("not a table", b"id,p\n", b",", 500_000),
    ],
)
def test_hostile_files_cost_little_memory(tmp_path, kind, start, filler, times):
    (tmp_path / "sample.csv").write_text("id,p\na,0\nb,0\n")
    (tmp_path / "submission.csv").write_bytes(start + filler * times + b"\na,1\n")
    assert kind == _validated_within(tmp_path, tmp_path / "submission.csv", gigabytes=2)


def test_a_gigabyte_is_refused_by_its_size(tmp_path):
    (tmp_path / "sample.csv").write_text("id,p\na,0\n")
    with (tmp_path / "submission.csv").open("wb") as file:
        file.write(b"id,p\na,")
        file.truncate(1 << 30)
    assert _validated_within(tmp_path, tmp_path / "submission.csv", gigabytes=2) == "too large"


def test_header_limits(tmp_path):
    path = tmp_path / "wide.csv"
    path.write_bytes(b"x" * (2 << 20))
    fault = file_guard.find_fault(path, max_bytes=1 << 30, max_fields=1 << 30)
    assert fault is not None
    assert fault.kind == "header too long"


def _validated_within(folder, path, gigabytes, id_type="text"):
    """The first problem's kind, or the message, from a process with bounded memory."""
    program = (
        "import sys, resource; from pathlib import Path; from mlebench.submission import *\n"
        f"resource.setrlimit(resource.RLIMIT_DATA, ({gigabytes} << 30,) * 2)\n"
        f"schema = Schema(id='id', id_type='{id_type}', columns=(Column('p', minimum=0, maximum=1),))\n"
        "result = validate(Path(sys.argv[1]), schema, Path(sys.argv[2]))\n"
        "print(result.problems[0].kind if result.problems else result.message())"
    )
    command = [sys.executable, "-c", program, str(path), str(folder / "sample.csv")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_bounding_memory_bounds_it():
    """The tests above can fail: a process with this limit can't take more."""
    program = f"import resource; resource.setrlimit(resource.RLIMIT_DATA, ({1 << 30},) * 2); bytearray(2 << 30)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert "MemoryError" in done.stderr
    assert resource.getrlimit(resource.RLIMIT_DATA)[0] != 1 << 30
