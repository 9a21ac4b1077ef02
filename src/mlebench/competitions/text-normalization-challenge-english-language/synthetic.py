"""Sentences of stock words, numbers, dates, measures and letters, with their spoken forms."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from mlebench.preparation.spoken_tokens import make_tokens, write_raw

ONES = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
ONES += ["thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"]
TENS = ["", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
WORDS = ["the", "river", "was", "built", "in", "and", "Müller", "giraffe", "of", "about", "O'Neil", "co-founder", "A"]
LOST = ["NA", "null", "None", "nan", "N/A"]  # read as missing cells by the published preparation
MONTHS = ["January", "May", "July", "October"]
UNITS = {"kg": "kilograms", "km": "kilometers", "lb": "pounds", "%": "percent"}
LETTERS = ["BBC", "U.S.", "PhD", "ISBN"]


def make_raw(raw: Path, rng: np.random.Generator, size: int) -> None:
    tokens = make_tokens(rng, size + size // 10 + 10, _token)
    is_train = np.arange(len(tokens)) < size
    write_raw(raw, tokens[is_train], tokens[~is_train], "en")


def _token(rng: np.random.Generator) -> tuple[str, str, str]:
    """Class, written and spoken form; most are plain words."""
    kind, number = rng.random(), int(rng.integers(1, 1000))
    if kind < 0.66:
        word = str(rng.choice(WORDS))
        return "PLAIN", word, word
    if kind < 0.68:
        word = str(rng.choice(LOST))
        return "PLAIN", word, word
    if kind < 0.76:
        mark = str(rng.choice([",", '"', "(", ";"]))
        return "PUNCT", mark, mark
    if kind < 0.84:
        return "CARDINAL", str(number), _spoken(number)
    if kind < 0.88:
        day, month, year = int(rng.integers(1, 29)), rng.choice(MONTHS), int(rng.integers(13, 20))
        return "DATE", f"{day} {month} {year}00", f"the {_spoken(day)} of {month} {_spoken(year)} hundred".lower()
    if kind < 0.92:
        unit = str(rng.choice(list(UNITS)))
        return "MEASURE", f"{number}{unit}", f"{_spoken(number)} {UNITS[unit]}"
    if kind < 0.95:
        return "MONEY", f"${number}", f"{_spoken(number)} dollars"
    if kind < 0.97:
        hour, minute = int(rng.integers(1, 13)), int(rng.integers(10, 60))
        return "TIME", f"{hour}:{minute}", f"{_spoken(hour)} {_spoken(minute)}"
    letters = str(rng.choice(LETTERS))
    return "LETTERS", letters, " ".join(letters.lower().replace(".", ""))


def _spoken(number: int) -> str:
    """A number below 1,000 in words."""
    if number >= 100:
        rest = f" {_spoken(number % 100)}" if number % 100 else ""
        return f"{ONES[number // 100]} hundred{rest}"
    if number >= 20:
        return TENS[number // 10] + (f" {ONES[number % 10]}" if number % 10 else "")
    return ONES[number]
