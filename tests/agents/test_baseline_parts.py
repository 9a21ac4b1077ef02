"""Parts of the agent `baseline` that can be wrong on their own."""

import json
import tarfile
import zipfile
from io import BytesIO
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlebench.agents.baseline.solver import (
    arrays,
    clock,
    composed_ids,
    documents,
    imputation,
    joining,
    lookups,
    metric,
    naming,
    rewriting,
    run_lengths,
    spans,
    tables,
    targets,
    thresholds,
    tracks,
    unpacking,
    writing,
)
from mlebench.agents.baseline.solver.files import Files, _blocks
from mlebench.preparation.seven_zip import write_7z


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
    cell = run_lengths.encoded(mask, by_columns, first)
    assert (run_lengths.decoded(cell, shape, by_columns, first) == mask).all()


def test_masks_code_by_hand():
    mask = np.array([[True, False], [True, True]])
    assert run_lengths.encoded(mask, True, 1) == "1 2 4 1"
    assert run_lengths.encoded(mask, False, 1) == "1 1 3 2"


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
    for name in (
        "train/images/1.png",
        "test/images/1.png",
        "train/masks/1.png",
        "train/7/geometry.xyz",
        "c1/c1_d2/s_3_9.png",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    files = Files(tmp_path)
    assert files.of_ids(["1", "2"], {".png"}, "train") == [tmp_path / "train/images/1.png", None]
    assert files.of_ids(["1"], {".png"}, "test") == [tmp_path / "test/images/1.png"]
    assert files.of_ids(["7"], {".xyz"}, "train") == [tmp_path / "train/7/geometry.xyz"]
    assert files.of_ids(["c1_d2_s_3", "c1_d2_s_4"], {".png"}, "train") == [tmp_path / "c1/c1_d2/s_3_9.png", None]
    assert files.of_ids(["images"], {".png"}, "test") == [tmp_path / "test/images/1.png"]


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


# --- laying out


def test_archives_and_documents_are_laid_out(tmp_path):
    data, folder = tmp_path / "data", tmp_path / "out"
    data.mkdir()
    rows = [{"id": number, "tags": ["a", "b"], "mean": number / 2} for number in range(3)]
    images = {"images": [{"id": 7, "file_name": "x/7.png"}], "annotations": [{"id": 1, "image_id": 7, "kind": 3}] * 2}
    (data / "list.json").write_text(json.dumps(rows))
    (data / "lines.jsonl").write_text("\n".join(json.dumps(row) for row in rows))
    with zipfile.ZipFile(data / "more.zip", "w") as archive:
        archive.writestr("in/meta.json", json.dumps(images | {"images": images["images"] * 2}))
        archive.writestr("damaged.json", "{")
    with tarfile.open(data / "pictures.tar.gz", "w") as archive:  # not compressed, whatever the name says
        archive.add(data / "list.json", "folder/1.png")
    (data / "broken.zip").write_bytes(b"no archive")
    unpacking.lay_out(data, folder, clock.Clock(60))
    assert pd.read_csv(folder / "list.csv").to_dict("list") == {
        "id": [0, 1, 2],
        "tags": ['["a", "b"]'] * 3,
        "mean": [0, 0.5, 1],
    }
    assert len(pd.read_csv(folder / "lines.csv")) == 3
    assert (
        pd.read_csv(folder / "more/in/meta.csv")[["id", "file_name", "kind"]].to_numpy().tolist()
        == [[7, "x/7.png", 3]] * 2
    )
    assert (folder / "pictures/folder/1.png").is_file()


def test_members_of_archives_that_stand_beside_them_are_left_out(tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data/a.jpg").write_bytes(b"picture")
    with zipfile.ZipFile(tmp_path / "data/all.zip", "w") as archive:
        archive.writestr("a.jpg", b"picture")
        archive.writestr("b.jpg", b"other")
    unpacking.lay_out(tmp_path / "data", tmp_path / "out", clock.Clock(60))
    assert [path.name for path in (tmp_path / "out").rglob("*.jpg")] == ["b.jpg"]


def test_archives_of_the_7z_format(tmp_path):
    write_7z(tmp_path / "a.7z", [("x/train.csv", BytesIO(b"id\n1\n")), ("b.txt", BytesIO(b"text"))])
    unpacking.lay_out(tmp_path, tmp_path / "out", clock.Clock(60))
    assert (tmp_path / "out/a/x/train.csv").read_bytes() == b"id\n1\n"
    assert (tmp_path / "out/a/b.txt").read_bytes() == b"text"


def test_bson_documents_by_hand(tmp_path):
    picture = b"\xff\xd8picture"
    inner = b"\x05picture\0" + len(picture).to_bytes(4, "little") + b"\0" + picture
    inner = (len(inner) + 5).to_bytes(4, "little") + inner + b"\0"
    listed = b"\x030\0" + inner
    listed = (len(listed) + 5).to_bytes(4, "little") + listed + b"\0"
    body = b"\x10_id\0\x07\0\0\0" + b"\x04imgs\0" + listed + b"\x02name\0\x03\0\0\0ab\0"
    (tmp_path / "t.bson").write_bytes((len(body) + 5).to_bytes(4, "little") + body + b"\0")
    assert list(documents.bson_rows(tmp_path / "t.bson", tmp_path / "t")) == [{"_id": 7, "name": "ab"}]
    assert (tmp_path / "t/7.jpg").read_bytes() == picture


# --- which rows belong together


@pytest.mark.parametrize(
    ("table", "ids", "column"),
    [
        ({"id": ["a", "b", "c"], "x": ["1", "2", "3"]}, ("id",), "x"),
        ({"image": ["c", "a", "b"], "x": ["3", "1", "2"]}, ("id",), "x"),
        ({"no": ["a", "b", "c"], "x": ["1", "2", "3"], "day": ["7", "8", "9"]}, ("id",), "x"),
    ],
)
def test_test_tables_are_found_by_name_and_by_value(tmp_path, table, ids, column):
    path = tmp_path / "test.csv"
    pd.DataFrame(table).to_csv(path, index=False)
    sample = pd.DataFrame({"id": ["b", "c", "a"], "answer": ["0", "0", "0"]})
    found = joining.find_test(sample, {path: pd.DataFrame(table)})
    assert found is not None
    assert found.ids == ids
    assert found.beside(sample, pd.DataFrame(table))[column].tolist() == ["2", "3", "1"]


def test_ids_joined_from_columns(tmp_path):
    path = tmp_path / "test.csv"
    table = pd.DataFrame({"sentence": ["0", "0", "1"], "token": ["0", "1", "0"], "text": ["a", "b", "c"]})
    table.to_csv(path, index=False)
    sample = pd.DataFrame({"id": ["1_0", "0_1", "0_0"], "answer": ["", "", ""]})
    found = joining.find_test(sample, {path: table})
    assert found is not None
    assert found.joined == ("sentence", "token")
    assert found.beside(sample, table)["text"].tolist() == ["c", "b", "a"]


def test_repeated_ids_are_put_beside_each_other_in_order():
    table = pd.DataFrame({"id": ["a", "a", "b"], "x": [1, 2, 3]})
    found = joining.TestTable(Path("test.csv"), ("id",), {})
    assert found.beside(pd.DataFrame({"id": ["a", "a", "b"]}), table)["x"].tolist() == [1, 2, 3]


def test_composed_ids_are_taken_apart():
    train = pd.DataFrame({"id": ["g_1_7_a", "h_2_8_b"], "play": ["g_1", "h_2"], "step": [7, 8], "who": ["a", "b"]})
    found = composed_ids.columns_of(train, "id")
    assert found == ("_", ["play", "step", "who"])
    parts = composed_ids.taken_apart(pd.Series(["k_9_5_z"]), train, *found)
    assert parts.to_dict("list") == {"play": ["k_9"], "step": [5], "who": ["z"]}
    assert composed_ids.columns_of(train.assign(step=0), "id") is None


def test_lookups_are_joined_by_numbered_names(tmp_path):
    places = pd.DataFrame({"play": ["p", "p"], "who": ["a", "b"], "x": [0.0, 3.0], "y": [0.0, 4.0]})
    places.to_csv(tmp_path / "places.csv", index=False)
    rows = pd.DataFrame({"play": ["p", "p"], "who_1": ["a", "a"], "who_2": ["b", "nobody"]})
    train, test = lookups.enrich(rows, rows, {tmp_path / "places.csv": places})
    assert train["places distance"].tolist()[0] == 5.0
    assert np.isnan(test["places distance"].iloc[1])


# --- answers


@pytest.mark.parametrize(
    "form", ["train/{kind}.{number}.jpg", "train/{kind}/{number}.png", "train/{number}_{kind}.wav"]
)
def test_answers_in_the_names_of_files(tmp_path, form):
    names = {form.format(kind=kind, number=number): kind for number in range(8) for kind in ("oak", "elm")}
    for name in [*names, "test/1.jpg", "test/1.png", "test/1.wav"]:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    found = naming.labelled_files(Files(tmp_path), {"1"})
    assert found is not None
    assert {Path(path).relative_to(tmp_path).as_posix(): kind for path, kind in found.to_numpy()} == names


def test_which_class_a_probability_is_meant_for():
    lines = "- `p`: the chance that a message is hidden\n- `plain/`: untouched\n- `x/`, `y/`: with a message\n"
    assert naming.positives(["plain", "x", "y"], "p", lines) == {"x", "y"}
    assert naming.positives(["cat", "dog"], "p", "- `p`: probability of a cat\n") == {"cat"}
    assert naming.positives(["0", "1"], "p", "") == {"1"}
    assert naming.positives(["a", "b"], "p", "") == {"b"}


def test_lists_of_labels_are_told_from_texts():
    tags = pd.Series([" ".join(sorted({f"t{n % 7}", f"t{n % 11}", f"t{n % 13}"})) for n in range(200)])
    assert targets.separator_of(tags) == " "
    assert targets.separator_of(tags.str.replace(" ", ",")) == ","
    assert targets.separator_of(pd.Series([f"word{n} other{n}" for n in range(200)])) is None
    assert targets.separator_of(pd.Series(["Sugar beet", "Fat hen"] * 50)) is None


def test_few_examples_pull_towards_even_shares():
    shares = np.array([[1.0, 0.0]])
    assert writing.pulled(shares, 12, 2).tolist() == [[0.75, 0.25]]
    assert np.allclose(writing.pulled(shares, 10**6, 2), shares, atol=1e-4)


def test_rewriting_takes_the_most_frequent_answer_then_words():
    found = rewriting.rewrite(["10", "10", "10", "a b"], ["ten", "ten", "one zero", "A B"], ["10", "b a", "new"])
    assert found == ["ten", "B A", "new"]


def test_a_missing_word_is_put_in_where_it_is_likely():
    pairs = imputation.Pairs(iter([["the", "old", "bridge", "fell"]] * 5))
    assert imputation.filled(pairs, ["the", "bridge", "fell"], 0.5) == ["the", "old", "bridge", "fell"]
    assert imputation.filled(pairs, ["no", "such", "words"], 0.5) == ["no", "such", "words"]


@pytest.mark.parametrize(
    ("place", "expected"), [((6378137, 0, 0), (0, 0)), ((0, 6378137, 0), (0, 90)), ((0, 0, 6356752.3), (90, 0))]
)
def test_degrees_of_earth_centred_coordinates(place, expected):
    assert np.allclose(
        tracks.degrees(*(np.array([float(axis)]) for axis in place)), np.array(expected)[:, None], atol=1e-6
    )


def test_the_threshold_with_the_best_dice_is_taken():
    shares, truth = np.array([[0.9, 0.45], [0.35, 0.1]]), np.array([[True, True], [False, False]])
    assert thresholds.choose([shares], [truth], "the Dice coefficient") == (0.4, 0.0)


def test_statistics_of_measurements_have_one_length():
    rng = np.random.default_rng(0)
    lengths = {len(arrays.of_columns(rng.normal(size=(count, 3)))) for count in (2, 5, 1000)}
    assert len(lengths) == 1
    gap = rng.normal(size=(50, 3))
    gap[:, 1] = np.nan
    assert len(arrays.of_columns(gap)) in lengths
