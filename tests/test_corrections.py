"""What edition v2 corrects, seen on the twins of both editions."""

import math

import pandas as pd
import pytest

from mlebench.errors import InvalidSubmission
from mlebench.grading import score_submission, validate_submission
from mlebench.preparation.pictures import picture_hashes
from mlebench.tables import read_csv, write_csv


@pytest.fixture
def both(twins):
    return lambda name: (twins(name, "v1"), twins(name, "v2"))


@pytest.fixture
def score(tmp_path):
    def of_table(table, dataset):
        write_csv(table, tmp_path / "submission.csv")
        return score_submission(tmp_path / "submission.csv", dataset)

    return of_table


def gold(dataset, **options):
    names = dataset.competition.schema.names
    return read_csv(dataset.private / dataset.competition.gold_submission_file, **options)[names]


def test_stanford_pairs_rows_by_id(both, score, tmp_path):
    first, second = both("stanford-covid-vaccine")
    table = gold(first).sample(frac=1, random_state=0)
    assert score(table, first) > 0.1
    warnings = validate_submission(tmp_path / "submission.csv", first).warnings
    assert any("wrong rows will be scored" in warning for warning in warnings)
    assert score(table, second) == 0
    assert validate_submission(tmp_path / "submission.csv", second).warnings == ()


def test_nomad_pairs_rows_by_id(both, score):
    first, second = both("nomad2018-predict-transparent-conductors")
    table = gold(first).iloc[::-1]
    with pytest.raises(InvalidSubmission, match="another place"):
        score(table, first)
    assert score(table, second) == 0


def test_h_and_m_does_not_mind_leading_zeros(both, score):
    first, second = both("h-and-m-personalized-fashion-recommendations")
    for dataset, digits in ((first, 9), (second, 10)):
        table = gold(dataset, dtype=str).assign(prediction=lambda t: t["prediction"].str.split().str[0])
        bare = table.assign(prediction=table["prediction"].str.lstrip("0") + " 1")
        filled = table.assign(prediction=table["prediction"].str.zfill(10) + " 1")
        assert (score(bare, dataset) == score(filled, dataset)) == (digits == 10)
        assert score(bare, dataset) > 0.3
    single = table.assign(prediction=table["prediction"].where(table.index > 0, ""))
    assert score(single, second) > 0.3
    assert len(read_csv(second.public / "transactions_train.csv", dtype=str)["article_id"].iloc[0]) == 10


def test_h_and_m_tests_seven_days(both):
    first, second = both("h-and-m-personalized-fashion-recommendations")
    last = [read_csv(dataset.public / "transactions_train.csv")["t_dat"].max() for dataset in (first, second)]
    assert last[0] < last[1]


def test_tweets_may_be_words_for_nothing(both, score):
    first, second = both("tweet-sentiment-extraction")
    for dataset, expected in ((first, False), (second, True)):
        table = gold(dataset, dtype=str, keep_default_na=False)
        wordless = table.assign(selected_text="null")
        assert (validate_words(wordless, dataset, score) == "null") == expected


def validate_words(table, dataset, score):
    """What a cell that says null is read as."""
    score(table, dataset)
    path = dataset.prepared / "wordless.csv"
    write_csv(table, path)
    try:
        found = dataset.competition.validate(path, dataset.public_sample).table
    finally:
        path.unlink()
    return found["selected_text"].iloc[0]


def test_aptos_keeps_copies_together(both):
    first, second = both("aptos2019-blindness-detection")
    shared = []
    for dataset in (first, second):
        train, test = (
            set(picture_hashes(sorted((dataset.public / folder).iterdir())))
            for folder in ("train_images", "test_images")
        )
        shared.append(len(train & test))
    assert shared[0] > 0
    assert shared[1] == 0


def test_birds_tables_keep_their_headers(both):
    name = "essential_data/rec_labels_test_hidden.txt"
    first, second = both("mlsp-2013-birds")
    assert (first.public / name).read_bytes() == (second.public / name).read_bytes()
    for file in ("segment_features.txt", "segment_rectangles.txt"):
        lines = [(d.public / "supplemental_data" / file).read_text().split("\n") for d in (first, second)]
        assert lines[0][0] == "rec_id,[histogram of segment features]"
        assert lines[1][0] != lines[0][0]
        assert lines[1][1:] == lines[0][1:]


@pytest.mark.parametrize(
    ("name", "group", "files"),
    [
        ("lmsys-chatbot-arena", "prompt", ("train.csv", "test.csv")),
        ("movie-review-sentiment-analysis-kernels-only", "SentenceId", ("train.tsv.zip", "test.tsv.zip")),
        ("hms-harmful-brain-activity-classification", "patient_id", ("train.csv", "test.csv")),
    ],
)
def test_groups_of_rows_stay_together(both, name, group, files):
    shared = []
    for dataset in both(name):
        separator = "\t" if ".tsv" in files[0] else ","
        train, test = (set(read_csv(dataset.public / file, sep=separator)[group]) for file in files)
        shared.append(len(train & test))
    assert shared[0] > 0
    assert shared[1] == 0


def test_brain_activity_pairs_rows_by_segment(both, score):
    first, second = both("hms-harmful-brain-activity-classification")
    for dataset, is_zero in ((first, False), (second, True)):
        assert (score(gold(dataset).sample(frac=1, random_state=0), dataset) == 0) == is_zero


def test_brain_activity_clips_whole_numbers(both, score):
    for dataset, is_finite in zip(both("hms-harmful-brain-activity-classification"), (False, True), strict=True):
        key, *patterns = dataset.competition.schema.names
        certain = gold(dataset)[[key]].assign(**dict.fromkeys(patterns, 0)).assign(other_vote=1)
        assert math.isfinite(score(certain, dataset)) == is_finite


def test_brain_activity_tells_where_segments_are(both):
    first, second = both("hms-harmful-brain-activity-classification")
    offsets = {"eeg_label_offset_seconds", "spectrogram_label_offset_seconds"}
    assert offsets.isdisjoint(read_csv(first.public / "test.csv").columns)
    assert offsets < set(read_csv(second.public / "test.csv").columns)


def test_spines_are_mostly_for_training(both):
    for dataset, share in zip(both("rsna-2022-cervical-spine-fracture-detection"), (0.1, 0.9), strict=True):
        train, test = read_csv(dataset.public / "train.csv"), read_csv(dataset.public / "test.csv")
        studies = test["StudyInstanceUID"].nunique()
        assert len(train) / (len(train) + studies) == pytest.approx(share)
        assert len(list((dataset.public / "train_images").iterdir())) == len(train)
        assert len(list((dataset.public / "test_images").iterdir())) == studies


def test_phrases_that_spell_a_gap_keep_their_words(both):
    found = []
    for dataset in both("movie-review-sentiment-analysis-kernels-only"):
        files = [dataset.public / f"{part}.tsv.zip" for part in ("train", "test")]
        phrases = pd.concat([read_csv(file, sep="\t", keep_default_na=False)["Phrase"] for file in files])
        found.append(int(phrases.isin(["null", "None", "NA", "nan", "n/a"]).sum()))
    assert found == [0, 5]


def test_salt_does_not_take_an_empty_prediction_for_a_full_one(both, score):
    first, second = both("tgs-salt-identification-challenge")
    table = gold(first, dtype=str)
    full = table["rle_mask"] == "1 10201"
    assert full.any()
    emptied = table.assign(rle_mask=table["rle_mask"].mask(full, ""))
    assert score(emptied, first) == 1
    assert score(emptied, second) == pytest.approx(1 - full.mean(), abs=1e-5)
    ids = {*read_csv(second.public / "train.csv")["id"], *table["id"]}
    assert set(read_csv(second.public / "depths.csv")["id"]) == ids > set(read_csv(first.public / "depths.csv")["id"])


def test_chest_radiographs_take_corners_for_corners(both, score):
    first, second = both("vinbigdata-chest-xray-abnormalities-detection")
    table = gold(first, dtype=str)
    assert score(table, first) < score(table, second) == 1
    shifted = table["PredictionString"].str.replace(r"(\S+ \S+) (\S+) (\S+) (\S+) (\S+)", _moved, regex=True)
    moved = table.assign(PredictionString=shifted)
    assert score(moved, second) < score(moved, first) - 0.2
    for boxes in ("15 1 0 0 1 1", "3.5 1 0 0 1 1", "3 1 9 0 1 1"):
        garbage = table.assign(PredictionString=table["PredictionString"] + " " + boxes)
        assert score(garbage, first) > 0.5
        with pytest.raises(InvalidSubmission, match=r"unknown class|second corner"):
            score(garbage, second)
    with pytest.raises(InvalidSubmission, match="stands there already"):
        score(pd.concat([table, table]), second)


def _moved(match):
    """A box three pixels to the right and below."""
    head, *corners = match.groups()
    return " ".join([head, *(str(float(corner) + 3) for corner in corners)])


def test_hubmap_withholds_the_outlines_of_the_test(both):
    first, second = both("hubmap-kidney-segmentation")
    for dataset, expected in ((first, 3), (second, 0)):
        outlines = [path for path in (dataset.public / "test").glob("*.json") if "anatomical" not in path.name]
        assert len(outlines) == expected
        assert len(list((dataset.public / "test").glob("*-anatomical-structure.json"))) == 3


def test_hubmap_knows_pictures_without_glomeruli(both, score):
    for dataset, expected in zip(both("hubmap-kidney-segmentation"), (None, 1), strict=True):
        table = gold(dataset, dtype=str)
        empty = table.assign(predicted=table["predicted"].where(table.index > 0))
        if expected is None:
            with pytest.raises(InvalidSubmission, match="no glomeruli"):
                dataset.competition.score(empty, empty)
        else:
            assert dataset.competition.score(empty, empty) == expected


def test_contrails_may_be_absent_altogether(both, score):
    first, second = both("google-research-identify-contrails-reduce-global-warming")
    table = gold(first, dtype=str)
    empty = table.assign(encoded_pixels=table["encoded_pixels"].where(table["encoded_pixels"] != "-"))
    with pytest.raises(InvalidSubmission, match="is missing"):
        score(empty, first)
    assert score(empty, second) == 1
    grader = second.competition
    nothing = table.assign(encoded_pixels="-")
    assert math.isnan(first.competition.score(nothing, nothing))
    assert grader.score(nothing, nothing) == 1
    assert grader.score(nothing, table) == 0


def test_ink_does_not_go_past_the_picture(both, score):
    first, second = both("vesuvius-challenge-ink-detection")
    table = gold(first, dtype=str)
    longer = table.assign(Predicted=table["Predicted"] + " 9999999 1")
    assert score(longer, first) == 1
    with pytest.raises(InvalidSubmission, match="past the last pixel"):
        score(longer, second)
    assert score(table.assign(Predicted=""), second) == 0


def test_scans_are_paired_by_id_and_class(both, score):
    first, second = both("uw-madison-gi-tract-image-segmentation")
    table = gold(first, dtype=str)
    shuffled = table.sample(frac=1, random_state=0)
    with pytest.raises(InvalidSubmission, match="another place"):
        score(shuffled, first)
    assert score(shuffled, second) == 1
    spoilt = table.assign(predicted=table["predicted"].where(table.index % 5 > 0, "1 3"))
    assert score(spoilt, first) == score(spoilt.sample(frac=1, random_state=0), second) < 1
    with pytest.raises(InvalidSubmission, match="are missing"):
        score(table.iloc[:4], second)


def test_covid_does_not_reward_what_was_not_detected(both, score):
    first, second = both("siim-covid19-detection")
    sample = read_csv(first.sample_submission)
    assert score(sample, first) > score(sample, second) + 0.05
    nothing = sample.assign(PredictionString="")
    assert score(nothing, second) == 0
    assert score(nothing.assign(PredictionString=" "), first) > 0.1
    table = gold(first)
    strange = table.assign(PredictionString=table["PredictionString"] + " pneumothorax 1 0 0 1 1")
    assert score(strange, first) == 1
    with pytest.raises(InvalidSubmission, match="unknown class"):
        score(strange, second)


def test_drives_have_their_own_maps(both, score):
    first, second = both("3d-object-detection-for-autonomous-vehicles")
    for dataset in (first, second):
        own = [pd.read_json(dataset.public / f"{part}_data" / "log.json")["token"] for part in ("train", "test")]
        maps = [
            pd.read_json(dataset.public / f"{part}_data" / "map.json")["log_tokens"][0] for part in ("train", "test")
        ]
        assert set(maps[1]) == set(own[1])
        assert set(maps[0]) == set(own[0] if dataset is second else own[1])
    table = gold(first)
    strange = table.assign(PredictionString=table["PredictionString"] + " 1 0 0 0 1 1 1 0 tram")
    assert score(strange, first) == 1
    with pytest.raises(InvalidSubmission, match="unknown class"):
        score(strange, second)
