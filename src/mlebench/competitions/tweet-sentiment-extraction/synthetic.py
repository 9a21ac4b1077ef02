"""Messages of stock phrases, of which one carries the mood."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from mlebench.preparation.files import write_csv
from mlebench.preparation.synthetic import hex_ids

PHRASES = {
    "positive": ["so happy!!", "love it", "thank you", "great fun", "Happy Mother`s Day", "awesome :)", "Yay, finally"],
    "negative": ["sooo sad", "i miss you", "hate this, really", "worst day", "my head hurts", "ugh!", "**** rain"],
}
FILLERS = [
    "is what it is",
    "at work, again",
    'watching "Lost" tonight',
    "I`m going home",
    "the weather, today",
    "http://twitpic.com/67ezh",
    "@friend_1 just saw your post",
    "in 2 hrs",
    "café über naïve ♥",
    "what a line",
    "& then, nothing",
    "_Sammy",
    "lolï¿½",
    "oh no,\nreally",
]


def make_raw(raw: Path, rng: np.random.Generator, size: int) -> None:
    messages = _messages(rng, size + max(1, size // 8))
    train, test = messages.iloc[:size].copy(), messages.iloc[size:]
    if size > 20:
        # The real data have an empty text too; like there, the division leaves it in the training part.
        for row, text in zip(np.random.RandomState(0).permutation(size)[-3:], ["", "null", "123"], strict=True):
            train.loc[row, ["text", "selected_text", "sentiment"]] = [text, text, "neutral"]

    write_csv(train, raw / "train.csv")
    write_csv(test[["textID", "text", "sentiment"]], raw / "test.csv")
    write_csv(test[["textID"]].assign(selected_text=""), raw / "sample_submission.csv")


def _messages(rng: np.random.Generator, rows: int) -> pd.DataFrame:
    moods = rng.choice(["neutral", "positive", "negative"], rows, p=[0.4, 0.31, 0.29])
    phrases = rng.integers(0, 7, rows)
    before, after = rng.integers(0, 3, (2, rows))
    fillers = rng.integers(0, len(FILLERS), (rows, 4))
    blanks = np.where(rng.random(rows) < 0.1, rng.integers(1, 5, rows), 0)
    misplaced = rng.random(rows) < 0.08  # spans that start and end in the middle of a word
    parts = [
        _message(
            mood, phrase, [FILLERS[index] for index in chosen[:first]], [FILLERS[index] for index in chosen[2:last]]
        )
        for mood, phrase, chosen, first, last in zip(moods, phrases, fillers, before, after + 2, strict=True)
    ]
    table = pd.DataFrame(parts, columns=["text", "start", "end"])
    table["text"] = [" " * count + text for count, text in zip(blanks, table["text"], strict=True)]
    starts, ends = table["start"] + blanks + misplaced, table["end"] + blanks + misplaced
    spans = [text[start:end] for text, start, end in zip(table["text"], starts, ends, strict=True)]
    return pd.DataFrame(
        {"textID": hex_ids(rng, rows, 10), "text": table["text"], "selected_text": spans, "sentiment": moods}
    )


def _message(mood: str, phrase: int, before: list[str], after: list[str]) -> tuple[str, int, int]:
    """A text, and where the stretch that carries its mood starts and ends."""
    if mood == "neutral":
        text = " ".join([*before, *after]) or FILLERS[phrase]
        return text, 0, len(text)
    marked = PHRASES[mood][phrase]
    text = " ".join([*before, marked, *after])
    start = len(" ".join([*before, ""]))
    return text, start, start + len(marked)
