"""News in stock sentences: each subject has its own verb, and each verb its own preposition."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from mlebench.preparation.archives import writing_member
from mlebench.preparation.synthetic import write_zip

SUBJECTS = ["minister", "company", "team", "police", "bank", "café", "union", "U.S. army", "president 's wife", "board"]
VERBS = ["spoke", "invested", "lost", "agreed", "reported", "closed", "waited", "marched", "arrived", "voted"]
LINKS = ["about", "in", "to", "with", "on", "after", "for", "through", "from", "against"]
OBJECTS = [
    "the deal",
    "a £ 5m plan",
    "the naïve-bayes law",
    "its rival",
    "the old bridge",
    '" reform "',
    "( the ) budget",
]
WHEN = ["on Monday", "last week", "in 2011", "yesterday", "early today", "before the vote"]
ODD = [
    "",
    "   ",
    "Yes .",
    "No",
    "\u2028",
    "He  said  \u00a0 so , twice .",
    " Leading blank .",
    "NA NA NA NA",
    "1 2 3 4",
]
_PART = 100_000  # lines made at once


def make_raw(raw: Path, rng: np.random.Generator, size: int) -> None:
    with writing_member(raw / "train_v2.txt.zip", "train_v2.txt") as text:
        for start in range(0, size, _PART):
            lines = [f"{line}\n" for line in _lines(rng, min(_PART, size - start))]
            text.write("".join(lines).encode())
    unlabelled = "".join(f'{place},"The ."\n' for place in range(size // 100 + 1))
    write_zip(raw / "test_v2.txt.zip", {"test_v2.txt": '"id","sentence"\n' + unlabelled})


def _lines(rng: np.random.Generator, count: int) -> Iterator[str]:
    subjects, objects, times = (rng.integers(0, len(words), count) for words in (SUBJECTS, OBJECTS, WHEN))
    forms, odd = rng.integers(0, 3, count), rng.random(count) < 0.02
    which = rng.integers(0, len(ODD), count)
    for subject, thing, time, form, is_odd, oddity in zip(subjects, objects, times, forms, odd, which, strict=True):
        if is_odd:
            yield ODD[oddity]
            continue
        core = f"{SUBJECTS[subject]} {VERBS[subject]} {LINKS[subject]} {OBJECTS[thing]}"
        yield [f"The {core} {WHEN[time]} .", f"The {core} , officials said .", f"{WHEN[time]} , the {core} ."][form]
