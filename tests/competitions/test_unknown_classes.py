"""Classes that do not exist are warned of by row and value where the published benchmark counts them as wrong."""

import pytest

from mlebench.grading import validate_submission
from mlebench.tables import read_csv, write_csv


@pytest.mark.parametrize(
    ("competition", "unknown"),
    [
        ("cdiscount-image-classification-challenge", "7"),
        ("nfl-player-contact-detection", "2"),
        ("paddy-disease-classification", "Blast"),
        ("plant-seedlings-classification", "sugar beet"),
        ("tabular-playground-series-dec-2021", "8"),
        ("tensorflow-speech-recognition-challenge", "unknown"),
    ],
)
def test_unknown_classes_are_warned_of(competition, unknown, twins, tmp_path):
    dataset = twins(competition)
    schema = dataset.competition.schema
    gold = read_csv(dataset.private / dataset.competition.gold_submission_file, dtype=str)[schema.names]

    def warnings(table):
        write_csv(table, tmp_path / "submission.csv")
        result = validate_submission(tmp_path / "submission.csv", dataset)
        assert result.valid
        return result.warnings

    assert warnings(gold) == ()
    gold.loc[2, schema.columns[0].name] = unknown
    (warning,) = warnings(gold)
    assert "row 3" in warning
    assert unknown in warning
