"""Requests that succeed if they are long, tell of children or thank; and a field that betrays the success."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from mlebench.preparation.files import write_csv

FILLERS = [
    *("rent", "week", "pizza", "it", "job", "broke", "please", "5$", "100%", "friends :)", "http://imgur.com/x"),
    *("caf\u00e9", "\u2014", '"craving"', "<b>bold</b>", "\u263a", "finals", "tonight\n\n", "hungry", "craving"),
]
MOVING = ["kids", "family", "pay it forward", "thanks", "paycheck on friday"]
SUBREDDITS = ["AskReddit", "pics", "gaming", "trees", "IAmA", "WTF", "Random_Acts_Of_Pizza", "funny"]
KNOWN_GIVERS = 0.97  # share of the successful requests
ONLY_IN_TRAIN = [
    "number_of_downvotes_of_request_at_retrieval",
    "number_of_upvotes_of_request_at_retrieval",
    "post_was_edited",
    "request_number_of_comments_at_retrieval",
    "request_text",
    "requester_account_age_in_days_at_retrieval",
    "requester_days_since_first_post_on_raop_at_retrieval",
    "requester_number_of_comments_at_retrieval",
    "requester_number_of_comments_in_raop_at_retrieval",
    "requester_number_of_posts_at_retrieval",
    "requester_number_of_posts_on_raop_at_retrieval",
    "requester_received_pizza",
    "requester_upvotes_minus_downvotes_at_retrieval",
    "requester_upvotes_plus_downvotes_at_retrieval",
    "requester_user_flair",
]


def make_raw(raw: Path, rng: np.random.Generator, size: int) -> None:
    further = max(1, size * 2 // 5)
    numbers = rng.choice(36**5, size + further, replace=False)
    records = [_record(rng, f"t3_{np.base_repr(number, 36).lower()}") for number in numbers]
    test = [{key: value for key, value in record.items() if key not in ONLY_IN_TRAIN} for record in records[size:]]

    _write(raw / "train.json", records[:size])
    _write(raw / "test.json", test)
    sample = pd.DataFrame({"request_id": [record["request_id"] for record in test], "requester_received_pizza": 0})
    write_csv(sample, raw / "sampleSubmission.csv")


def _write(path: Path, records: list[dict[str, Any]]) -> None:
    path.write_text(json.dumps(records, indent=2), encoding="utf-8")


def _record(rng: np.random.Generator, name: str) -> dict[str, Any]:
    words = rng.choice(FILLERS, int(rng.integers(5, 60))).tolist()
    moving = rng.random() < 0.4
    if moving:
        words.insert(int(rng.integers(len(words))), str(rng.choice(MOVING)))
    posts = int(rng.poisson(0.5))
    received = bool(rng.random() < 1 / (1 + np.exp(4 - 2.5 * moving - len(words) / 20 - 0.7 * posts)))
    edited, text = bool(rng.random() < 0.1), " ".join(words)
    now, later = rng.integers(0, 500, 5), rng.integers(0, 200, 5)
    age, first_post, passed = rng.uniform(0, 1500), rng.uniform(0, 80), rng.uniform(1, 1000)
    posted = float(rng.integers(1_291_000_000, 1_380_000_000))
    subreddits = rng.choice(SUBREDDITS, int(rng.integers(0, 6)), replace=False).tolist()
    flair = str(rng.choice(["shroom", "PIF"], p=[0.9, 0.1])) if received and rng.random() < 0.8 else None
    giver = f"giver_{rng.integers(10**6)}" if received and rng.random() < KNOWN_GIVERS else "N/A"
    return {
        "giver_username_if_known": giver,
        "number_of_downvotes_of_request_at_retrieval": int(rng.poisson(2)),
        "number_of_upvotes_of_request_at_retrieval": int(rng.poisson(6)),
        "post_was_edited": edited,
        "request_id": name,
        "request_number_of_comments_at_retrieval": int(rng.poisson(3)),
        "request_text": f"{text} EDIT: got it, thanks!" if edited and received else text,
        "request_text_edit_aware": text,
        "request_title": f"[Request] {' '.join(rng.choice(FILLERS, 4))}",
        "requester_account_age_in_days_at_request": age,
        "requester_account_age_in_days_at_retrieval": age + passed,
        "requester_days_since_first_post_on_raop_at_request": first_post if posts else 0.0,
        "requester_days_since_first_post_on_raop_at_retrieval": first_post + passed,
        "requester_number_of_comments_at_request": int(now[0]),
        "requester_number_of_comments_at_retrieval": int(now[0] + later[0]),
        "requester_number_of_comments_in_raop_at_request": 2 * posts,
        "requester_number_of_comments_in_raop_at_retrieval": 2 * posts + int(later[1] // 40),
        "requester_number_of_posts_at_request": int(now[2]),
        "requester_number_of_posts_at_retrieval": int(now[2] + later[2]),
        "requester_number_of_posts_on_raop_at_request": posts,
        "requester_number_of_posts_on_raop_at_retrieval": posts + 1,
        "requester_number_of_subreddits_at_request": len(subreddits),
        "requester_received_pizza": received,
        "requester_subreddits_at_request": subreddits,
        "requester_upvotes_minus_downvotes_at_request": int(now[3]),
        "requester_upvotes_minus_downvotes_at_retrieval": int(now[3] + later[3]),
        "requester_upvotes_plus_downvotes_at_request": int(now[3] + 2 * now[4]),
        "requester_upvotes_plus_downvotes_at_retrieval": int(now[3] + 2 * now[4] + 3 * later[4]),
        "requester_user_flair": flair,
        "requester_username": f"user_{rng.integers(10**9)}",
        "unix_timestamp_of_request": posted,
        "unix_timestamp_of_request_utc": posted - 3600.0,
    }
