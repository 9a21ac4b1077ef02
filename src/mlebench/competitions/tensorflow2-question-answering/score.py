"""Predicted spans beside all valid ones: accuracy in v1, which calls it micro F1, and F1 in v2."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from mlebench.cells import as_text
from mlebench.errors import Problem
from mlebench.submission import row_problem

WORDS = ("YES", "NO")


def score(submission: pd.DataFrame, answers: pd.DataFrame) -> float:
    """Share of rows with a valid answer, or rightly without any."""
    is_answered, is_right, has_answer = _outcomes(submission, answers)
    return float(np.where(is_answered, is_right, ~has_answer).mean())


def score_v2(submission: pd.DataFrame, answers: pd.DataFrame) -> float:
    """F1 over all rows: 2 TP / (2 TP + FP + FN); rows rightly left empty do not count. 1 if none of them counts."""
    is_answered, is_right, has_answer = _outcomes(submission, answers)
    right = int(is_right.sum())
    wrong = int((is_answered & ~is_right).sum())
    missed = int((~is_answered & has_answer).sum())
    return 2 * right / (2 * right + wrong + missed) if right + wrong + missed else 1.0


def _outcomes(submission: pd.DataFrame, answers: pd.DataFrame) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Whether each row is answered, whether the answer is valid, and whether there is a valid one; all (rows,)."""
    predictions = _normal(submission["PredictionString"])
    valid = set(zip(answers["example_id"], answers["answer"], strict=True))
    is_right = np.array([pair in valid for pair in zip(submission["example_id"], predictions, strict=True)])
    return (predictions != "").to_numpy(), is_right, submission["example_id"].isin(answers["example_id"]).to_numpy()


def check_submission(table: pd.DataFrame, _public: Path) -> Iterator[Problem]:
    """Spans are two whole numbers with a colon between them."""
    wrong = _normal(table["PredictionString"]).isna()
    if wrong.any():
        message = "PredictionString is neither a span, YES, NO nor empty"
        yield row_problem("not a span", message, wrong, table["PredictionString"], '"start:end", YES, NO or nothing')


def _normal(predictions: pd.Series) -> pd.Series:
    """Predictions in the form of the answers, missing where they have no form."""
    return as_text(predictions).map(_normal_text).astype(object)


def _normal_text(prediction: str) -> str | None:
    text = prediction.strip()
    if text == "" or text in WORDS:
        return text
    start, _, end = text.partition(":")
    try:
        return f"{int(start)}:{int(end)}"
    except ValueError:  # no numbers, another colon, or none
        return None


def read_answers(path: Path) -> pd.DataFrame:
    """A row for each valid answer, columns `example_id` (with _short or _long) and `answer`; there may be none.

    Only the annotations are parsed: the documents make up nearly all of the file.
    """
    rows: list[tuple[str, str]] = []
    with path.open("rb") as lines:
        for line in lines:
            example_id, (annotation,) = _value(line, "example_id"), _value(line, "annotations")
            rows += [(f"{example_id}_{kind}", answer) for kind, answer in _valid_answers(annotation)]
    return pd.DataFrame(rows, columns=["example_id", "answer"])


def _value(line: bytes, key: str) -> Any:
    """The value of a key of a line of JSON. Within texts quotes are escaped, so the key stands nowhere else."""
    _, name, rest = line.rpartition(f'"{key}":'.encode())
    if not name:
        raise KeyError(key)
    return json.JSONDecoder().raw_decode(rest.decode("utf-8").lstrip())[0]


def _valid_answers(annotation: dict[str, Any]) -> Iterator[tuple[str, str]]:
    if annotation["long_answer"]["start_token"] != -1:
        yield "long", _span(annotation["long_answer"])
    for answer in annotation["short_answers"]:
        yield "short", _span(answer)
    if annotation["yes_no_answer"] != "NONE":
        yield "short", annotation["yes_no_answer"]


def _span(answer: dict[str, int]) -> str:
    return f"{answer['start_token']}:{answer['end_token']}"
