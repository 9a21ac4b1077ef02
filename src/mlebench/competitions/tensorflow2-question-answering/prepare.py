"""Hold out a random tenth of each thousand samples.

Samples pass through memory a thousand at a time.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pandas as pd

from mlebench.errors import PreparationError
from mlebench.preparation import progress
from mlebench.preparation.files import random_order, write_csv

BLOCK = 1000  # lines
QUESTION = ["example_id", "question_text", "document_text", "long_answer_candidates"]

Sample = dict[str, Any]  # a line of JSON


def prepare(raw: Path, public: Path, private: Path) -> None:
    gold: list[tuple[str, str]] = []
    with (
        (public / "simplified-nq-train.jsonl").open("wb") as train,
        (public / "simplified-nq-test.jsonl").open("wb") as questions,
        (private / "test.jsonl").open("wb") as test,
    ):
        for samples in _blocks(raw / "simplified-nq-train.jsonl"):
            order, count = random_order(len(samples), 0.1)
            held_out = [samples[place] for place in order[:count]]
            train.writelines(_line(samples[place]) for place in order[count:])
            test.writelines(map(_line, held_out))
            questions.writelines(_line({name: sample[name] for name in QUESTION}) for sample in held_out)
            gold += [row for sample in held_out for row in _gold_rows(sample)]
    answers = pd.DataFrame(gold, columns=["example_id", "PredictionString"])

    write_csv(answers.assign(PredictionString=""), public / "sample_submission.csv")
    write_csv(answers, private / "gold_submission.csv")


def _blocks(path: Path) -> Iterator[list[Sample]]:
    with path.open("rb") as lines, progress.step(f"dividing {path.name}", path.stat().st_size, "B") as done:
        while block := list(islice(lines, BLOCK)):
            yield [_sample(line) for line in block]
            done(sum(map(len, block)))


def _sample(line: bytes) -> Sample:
    sample = json.loads(line)
    if not isinstance(sample["example_id"], int):
        raise PreparationError(f"the example_id {sample['example_id']!r} is no whole number")
    if len(sample["annotations"]) != 1:
        raise PreparationError(f"sample {sample['example_id']} has {len(sample['annotations'])} annotations, not one")
    return {**sample, "example_id": str(sample["example_id"])}


def _line(sample: Sample) -> bytes:
    """A line of JSON as pandas writes it: no blanks, ASCII only, slashes escaped, but the character 7F as it is."""
    text = json.dumps(sample, separators=(",", ":")).replace("/", "\\/")
    if "\\u007f" in text:  # maybe behind another backslash, as part of a text
        text = re.sub(r"\\(\\|u007f)", lambda escape: "\x7f" if escape[1] == "u007f" else escape[0], text)
    return text.encode("ascii") + b"\n"


def _gold_rows(sample: Sample) -> Iterator[tuple[str, str]]:
    """Id and answer of the short row, which comes first, and of the long one."""
    annotation = sample["annotations"][0]
    short = annotation["yes_no_answer"]
    if short == "NONE":
        short = _span(annotation["short_answers"][0]) if annotation["short_answers"] else ""
    long = "" if annotation["long_answer"]["start_token"] == -1 else _span(annotation["long_answer"])
    yield f"{sample['example_id']}_short", short
    yield f"{sample['example_id']}_long", long


def _span(answer: dict[str, int]) -> str:
    return f"{answer['start_token']}:{answer['end_token']}"
