"""Articles of stock sentences; a paragraph that begins with what is asked for holds the answer behind "is"."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

TOPICS = ["height", "capital", "founder", "anthem", "river", "mayor", "language", "area"]
NAMES = ["Ulm", "naïve O'Neil", "東京 Tower", "Rock \\ Roll", "AC / DC", "`` Quoted ''", "Café 😀", "Nord\u2028see"]
FILLERS = [
    "the",
    "of",
    "a",
    "in",
    "was",
    "called",
    "people",
    "many",
    "year",
    "&amp;",
    "50%",
    "then",
    "old",
    "about",
    "its",
]
NOTHING = {"start_token": -1, "candidate_index": -1, "end_token": -1}


def make_raw(raw: Path, rng: np.random.Generator, size: int) -> None:
    with (raw / "simplified-nq-train.jsonl").open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(_line(sample) for sample in _samples(rng, size))
    with (raw / "simplified-nq-test.jsonl").open("w", encoding="utf-8", newline="\n") as file:
        for sample in _samples(rng, 3):
            del sample["annotations"], sample["document_url"]
            file.write(_line({**sample, "example_id": str(sample["example_id"])}))
    (raw / "sample_submission.csv").write_text("example_id,PredictionString\n", encoding="utf-8")


def _line(sample: dict[str, Any]) -> str:
    return json.dumps(sample, ensure_ascii=False) + "\n"


def _samples(rng: np.random.Generator, count: int) -> Iterator[dict[str, Any]]:
    ids: set[int] = set()
    while len(ids) < count:
        example_id = int(rng.integers(-(2**63), 2**63))
        if example_id not in ids:
            ids.add(example_id)
            yield {**_sample(rng, number=len(ids)), "example_id": example_id}


def _sample(rng: np.random.Generator, number: int) -> dict[str, Any]:
    """An article on four topics, and a question on one of these, or on another that has no answer."""
    topics = rng.permutation(len(TOPICS))
    name = NAMES[rng.integers(len(NAMES))]
    tokens, candidates = [*f"{name} - Encyclopaedia <H1> {name} </H1>".split(" ")], []
    annotation = {"yes_no_answer": "NONE", "long_answer": dict(NOTHING), "short_answers": []}
    asked = topics[0] if rng.random() < 0.6 else topics[5]
    is_yes_no = rng.random() < 0.1
    for index, topic in enumerate(rng.permutation(topics[:4])):
        start = len(tokens)
        answer = rng.choice(FILLERS, rng.integers(1, 4)).tolist()
        tokens += ["<P>", "Its", TOPICS[topic], "is", *answer, ".", *rng.choice(FILLERS, 8).tolist(), "</P>"]
        candidates.append({"start_token": start, "top_level": True, "end_token": len(tokens)})
        if topic == asked:
            annotation["long_answer"] = {"start_token": start, "candidate_index": index, "end_token": len(tokens)}
            if is_yes_no:
                annotation["yes_no_answer"] = "YES" if len(answer) > 1 else "NO"
            elif rng.random() < 0.8:
                spans = [{"start_token": start + 4, "end_token": start + 4 + len(answer)}]
                annotation["short_answers"] = spans * int(rng.integers(1, 3))
    question = f"is the {TOPICS[asked]} of {name} long" if is_yes_no else f"what is the {TOPICS[asked]} of {name}"
    return {
        "document_text": " ".join(tokens),
        "long_answer_candidates": candidates,
        "question_text": question.lower(),
        "annotations": [{**annotation, "annotation_id": int(rng.integers(0, 2**64, dtype=np.uint64))}],
        "document_url": f"https://en.example.org//w/index.php?title=Page_{number}&amp;oldid={number}",
    }
