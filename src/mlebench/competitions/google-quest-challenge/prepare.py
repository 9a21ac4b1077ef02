"""Hold out a random tenth of the pairs of question and answer, at least one of them about spelling."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from mlebench.errors import PreparationError
from mlebench.preparation.files import hold_out_groups, random_order, read_csv, require_unique, write_csv

TARGETS = [
    "question_asker_intent_understanding",
    "question_body_critical",
    "question_conversational",
    "question_expect_short_answer",
    "question_fact_seeking",
    "question_has_commonly_accepted_answer",
    "question_interestingness_others",
    "question_interestingness_self",
    "question_multi_intent",
    "question_not_really_a_question",
    "question_opinion_seeking",
    "question_type_choice",
    "question_type_compare",
    "question_type_consequence",
    "question_type_definition",
    "question_type_entity",
    "question_type_instructions",
    "question_type_procedure",
    "question_type_reason_explanation",
    "question_type_spelling",
    "question_well_written",
    "answer_helpful",
    "answer_level_of_information",
    "answer_plausible",
    "answer_relevance",
    "answer_satisfaction",
    "answer_type_instructions",
    "answer_type_procedure",
    "answer_type_reason_explanation",
    "answer_well_written",
]
RARE = "question_type_spelling"
SEEDS = 1000  # that are tried for a division in which all targets vary


def prepare(raw: Path, public: Path, private: Path) -> None:
    pairs = _read_pairs(raw)
    train, test = _divide(pairs[RARE].to_numpy())
    _write(pairs.iloc[train], pairs.iloc[test], public, private)


def prepare_v2(raw: Path, public: Path, private: Path) -> None:
    """Hold out a random tenth of the questions with all their answers, so that all targets vary among them."""
    pairs = _read_pairs(raw)
    divisions = (hold_out_groups(pairs, "url", 0.1, seed) for seed in range(SEEDS))
    train, test = next((division for division in divisions if not _constant(division[1])), (pairs, pairs[:0]))
    _write(train, test, public, private)


def _read_pairs(raw: Path) -> pd.DataFrame:
    pairs = read_csv(raw / "train.csv")
    require_unique(pairs["qa_id"])
    return pairs


def _divide(rare: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of the training and of the test rows, exchanged in one place if `rare` is the same in the whole test."""
    order, test_rows = random_order(len(rare), 0.1)
    test, train = order[:test_rows], order[test_rows:]
    if len(np.unique(rare[test])) == 1:
        others = np.flatnonzero(rare[train] != 0)
        if len(others) == 0:
            raise PreparationError(f"{RARE} is 0 in all training rows")
        test[0], train[others[0]] = train[others[0]], test[0]
    return train, test


def _constant(test: pd.DataFrame) -> list[str]:
    """The targets that do not vary in the test, which leaves their correlation undefined."""
    return [name for name in TARGETS if test[name].nunique() < 2]


def _write(train: pd.DataFrame, test: pd.DataFrame, public: Path, private: Path) -> None:
    if constant := _constant(test):
        raise PreparationError(f"the data are too few for a test in which {', '.join(constant)} vary")
    write_csv(train, public / "train.csv")
    write_csv(test.drop(columns=TARGETS), public / "test.csv")
    ramp = dict.fromkeys(TARGETS, np.linspace(0, 1, len(test)))  # no column may be constant
    write_csv(test[["qa_id"]].assign(**ramp), public / "sample_submission.csv")
    write_csv(test[["qa_id", *TARGETS]], private / "test.csv")
