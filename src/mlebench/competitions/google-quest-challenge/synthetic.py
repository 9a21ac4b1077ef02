"""Questions with several answers; the more words of a kind a text has, the higher the rating for that kind."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from mlebench.preparation.files import write_csv

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
QUESTION_TARGETS = [name for name in TARGETS if name.startswith("question")]
CATEGORIES = ["TECHNOLOGY", "STACKOVERFLOW", "CULTURE", "SCIENCE", "LIFE_ARTS"]
SITES = ["stackoverflow.com", "photo.stackexchange.com", "english.stackexchange.com", "math.stackexchange.com"]
FILLERS = [
    *("the", "a", "it's", "printf;", "router", "$\\alpha$", "<code>", "100%", "&lt;", "Linux", "na\u00efve", "C++"),
    *('"x"', "\u03bb", "\u2192", "tab\tin", "line\nbreak", "end,"),
]
LEAST = 60  # examples, so that all targets vary among a tenth of them
MARKS = [f"{name.split('_')[-1]}{number}" for number, name in enumerate(TARGETS)]  # a word for each target


def make_raw(raw: Path, rng: np.random.Generator, size: int) -> None:
    size = max(size, LEAST)
    further = max(2, size // 12)
    pairs = _pairs(rng, size + further)
    train, test = pairs.iloc[:size], pairs.iloc[size:]

    write_csv(train, raw / "train.csv")
    write_csv(test.drop(columns=TARGETS), raw / "test.csv")
    write_csv(test[["qa_id"]].assign(**dict.fromkeys(TARGETS, 0.00308)), raw / "sample_submission.csv")


def _pairs(rng: np.random.Generator, rows: int) -> pd.DataFrame:
    """Each question has about two answers; its own ratings differ a little between them."""
    questions = _questions(rng, max(1, rows // 2))
    asked = questions.iloc[rng.integers(0, len(questions), rows)].reset_index(drop=True)
    shares, answers = _texts(rng, rows, MARKS[len(QUESTION_TARGETS) :], 60)
    ratings = np.hstack([asked[QUESTION_TARGETS].to_numpy(), shares])
    again = rng.random(ratings.shape) < 0.1
    ratings = np.where(again, ratings + rng.normal(0, 0.2, ratings.shape), ratings)
    users = rng.integers(1, 10**5, rows)
    pairs = asked.drop(columns=QUESTION_TARGETS)
    pairs.insert(5, "answer", answers)
    pairs.insert(6, "answer_user_name", [f"user{user}" for user in users])
    pairs.insert(7, "answer_user_page", [f"https://{h}/users/{u}" for h, u in zip(pairs["host"], users, strict=True)])
    pairs["qa_id"] = np.cumsum(rng.integers(1, 4, rows))
    rated = pd.DataFrame(_scaled(rng, ratings), columns=TARGETS)
    rare = (rng.random(rows) < 0.02) | (np.arange(rows) < 2)
    rated["question_type_spelling"] = np.where(rare, 0.666666666666667, 0.0)
    return pd.concat([pairs, rated], axis=1)


def _questions(rng: np.random.Generator, rows: int) -> pd.DataFrame:
    shares, bodies = _texts(rng, rows, MARKS[: len(QUESTION_TARGETS)], 80)
    users, hosts = rng.integers(1, 10**5, rows), rng.choice(SITES, rows)
    facts = {
        "qa_id": 0,
        "question_title": [" ".join(rng.choice(FILLERS, 5)) for _ in range(rows)],
        "question_body": bodies,
        "question_user_name": [f"user{user}" for user in users],
        "question_user_page": [f"https://{host}/users/{user}" for host, user in zip(hosts, users, strict=True)],
        "url": [f"http://{host}/questions/{40_000 + row}/q" for row, host in enumerate(hosts)],
        "category": rng.choice(CATEGORIES, rows),
        "host": hosts,
    }
    return pd.concat([pd.DataFrame(facts), pd.DataFrame(shares, columns=QUESTION_TARGETS)], axis=1)


def _texts(rng: np.random.Generator, rows: int, marks: list[str], length: int) -> tuple[np.ndarray, list[str]]:
    """Ratings from 0 to 1, shape (rows, marks), and texts that hold a word of `marks` the more often for its rating."""
    shares = rng.beta(0.7, 0.7, (rows, len(marks)))
    counts = rng.poisson(3 * shares)
    texts = []
    for row in counts:
        words = [*np.repeat(marks, row), *rng.choice(FILLERS, max(1, length - row.sum()))]
        texts.append(" ".join(rng.permutation(words)))
    return shares, texts


def _scaled(rng: np.random.Generator, ratings: np.ndarray) -> np.ndarray:
    """Means of a few raters: thirds, halves or ninths, with 15 digits."""
    raters = rng.choice([2, 3, 9], (len(ratings), 1))
    return (np.rint(np.clip(ratings, 0, 1) * raters) / raters).round(15)
