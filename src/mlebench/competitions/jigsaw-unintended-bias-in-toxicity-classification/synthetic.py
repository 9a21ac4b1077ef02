"""Comments of which some mention a group, some abuse somebody, and some do both."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from mlebench.preparation.files import write_csv

IDENTITIES = [
    *("asian", "atheist", "bisexual", "black", "buddhist", "christian", "female", "heterosexual", "hindu"),
    *("homosexual_gay_or_lesbian", "intellectual_or_learning_disability", "jewish", "latino", "male", "muslim"),
    *("other_disability", "other_gender", "other_race_or_ethnicity", "other_religion", "other_sexual_orientation"),
    *("physical_disability", "psychiatric_or_mental_illness", "transgender", "white"),
]
SUBTYPES = ["severe_toxicity", "obscene", "identity_attack", "insult", "threat"]
REACTIONS = ["funny", "wow", "sad", "likes", "disagree"]
FILLERS = ["schools", "should", "vote", "this", "taxes", "people", "think", "and", "why", "the", '"quoted"', "law,"]
ABUSE = ["idiot", "stupid", "garbage", "moron", "pathetic"]
COMMON = [("thank you", 0.0), ("what an idiot", 0.9)]  # texts that occur again and again


def make_raw(raw: Path, rng: np.random.Generator, size: int) -> None:
    further = max(2 * len(IDENTITIES) + 1, size // 2)
    train = _comments(rng, size, first_id=59_848)
    test = _comments(rng, 2 * further, first_id=7_000_000).rename(columns={"target": "toxicity"})
    test = test.iloc[rng.permutation(2 * further)]

    write_csv(train, raw / "train.csv")
    write_csv(test.iloc[:further], raw / "test_public_expanded.csv")
    write_csv(_with_all_cases(test.iloc[further:].reset_index(drop=True)), raw / "test_private_expanded.csv")
    write_csv(test[["id", "comment_text"]], raw / "test.csv")
    write_csv(test[["id"]].assign(prediction=0.0), raw / "sample_submission.csv")


def _comments(rng: np.random.Generator, rows: int, first_id: int) -> pd.DataFrame:
    """In the order of the training table's columns; identities are known for some comments only."""
    toxic = rng.random(rows) < 0.2
    known = rng.random(rows) < 0.5
    mentioned = rng.random((rows, len(IDENTITIES))) < 0.07
    texts = [_text(rng, bool(label), np.flatnonzero(row)) for label, row in zip(toxic, mentioned, strict=True)]
    shares = np.where(toxic, rng.integers(5, 11, rows), rng.integers(0, 5, rows)) / 10
    identities = np.where(mentioned, rng.integers(5, 11, mentioned.shape), rng.integers(0, 3, mentioned.shape)) / 10
    dates = pd.Timestamp("2015-09-29") + pd.to_timedelta(rng.integers(0, 770 * 86_400, rows), unit="s")
    table = pd.DataFrame({"id": np.arange(first_id, first_id + rows), "target": shares, "comment_text": texts})
    for name in SUBTYPES:
        table[name] = np.round(shares * rng.random(rows), 6)
    for number, name in enumerate(IDENTITIES):
        table[name] = np.where(known, identities[:, number], np.nan)
    table["created_date"] = [f"{date:%Y-%m-%d %H:%M:%S}.123456+00" for date in dates]
    table["publication_id"] = rng.integers(2, 120, rows)
    table["parent_id"] = np.where(rng.random(rows) < 0.5, rng.integers(10**5, 6 * 10**6, rows), np.nan)
    table["article_id"] = rng.integers(2000, 400_000, rows)
    table["rating"] = np.where(rng.random(rows) < 0.9, "approved", "rejected")
    for name in REACTIONS:
        table[name] = rng.poisson(1, rows)
    table["sexual_explicit"] = np.round(shares * rng.random(rows) / 2, 6)
    table["identity_annotator_count"] = np.where(known, rng.integers(4, 12, rows), 0)
    table["toxicity_annotator_count"] = rng.integers(3, 80, rows)
    for row, (text, share) in enumerate(COMMON):
        table.loc[row, ["target", "comment_text"]] = [share, text]
    return table


def _text(rng: np.random.Generator, toxic: bool, mentioned: np.ndarray) -> str:
    words = rng.choice(FILLERS, int(rng.integers(3, 25))).tolist()
    words += [IDENTITIES[number].partition("_")[0] for number in mentioned]
    if toxic != (rng.random() < 0.05):
        words.insert(int(rng.integers(len(words))), str(rng.choice(ABUSE)))
    return " ".join(words)


def _with_all_cases(test: pd.DataFrame) -> pd.DataFrame:
    """Each group is mentioned in a toxic comment and in one that is not, and one is a word that means missing."""
    for number, name in enumerate(IDENTITIES):
        for row, share in ((2 * number, 0.8), (2 * number + 1, 0.1)):
            test.loc[row, [*IDENTITIES, "toxicity"]] = [*[0.0] * len(IDENTITIES), share]
            test.loc[row, name] = 1.0
            test.loc[row, "comment_text"] = f"{name.partition('_')[0]} people {ABUSE[0] if share > 0.5 else 'vote'}"
    test.loc[len(test) - 1, "comment_text"] = "nan"
    return test
