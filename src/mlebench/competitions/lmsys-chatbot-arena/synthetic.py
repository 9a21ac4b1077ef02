"""Battles that the better model wins more often, and the longer answer, too."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd

from mlebench.preparation.files import write_csv

MODELS = ["gpt-4-1106-preview", "claude-2.1", "gpt-3.5-turbo-0613", "llama-2-70b-chat", "vicuna-13b", "dolly-v2-12b"]
STRENGTHS = np.array([2.0, 1.2, 0.6, 0.0, -0.6, -1.6])
WORDS = ["the", "model", "answer;", "list", "explain,", "because", 'say "so"', "naïve", "你好", "😀", "code\nprint(1)"]
GOOD, BAD = ["Certainly!", "step", "therefore", "example:"], ["idk", "sorry,", "I cannot", "banana"]
OUTCOMES = ["winner_model_a", "winner_model_b", "winner_tie"]


def make_raw(raw: Path, rng: np.random.Generator, size: int) -> None:
    battles = [_battle(rng) for _ in range(size + 3)]
    for place in range(1, size, 25):  # the same prompt twice, and now and then the same battle
        again = dict(battles[place - 1]) if place % 2 else {"prompt": battles[place - 1]["prompt"]}
        battles[place] |= again
    table = pd.DataFrame(battles)
    table.insert(0, "id", np.sort(rng.choice(np.arange(30_000, 4_294_000_000, 7_113), len(table), replace=False)))
    train, test = table.iloc[:size], table.iloc[size:]

    write_csv(train, raw / "train.csv")
    write_csv(test[["id", "prompt", "response_a", "response_b"]], raw / "test.csv")
    thirds = dict.fromkeys(OUTCOMES, 0.333333333333333)
    write_csv(test[["id"]].assign(**thirds), raw / "sample_submission.csv")


def _battle(rng: np.random.Generator) -> dict[str, object]:
    models = rng.choice(len(MODELS), 2, replace=False)
    turns = int(rng.choice([1, 2, 3], p=[0.85, 0.1, 0.05]))
    lengths = rng.integers(2, 25, 2)
    answers = [
        [_answer(rng, float(STRENGTHS[model]), int(length)) for _ in range(turns)]
        for model, length in zip(models, lengths, strict=True)
    ]
    lead = STRENGTHS[models[0]] - STRENGTHS[models[1]] + 0.05 * (lengths[0] - lengths[1])
    weights = np.exp([lead, -lead, 0.0])
    outcome = rng.choice(3, p=weights / weights.sum())
    if rng.random() < 0.01:
        answers[0][-1] = None
    return {
        "model_a": MODELS[models[0]],
        "model_b": MODELS[models[1]],
        "prompt": _listed([" ".join(rng.choice(WORDS, rng.integers(2, 12))) for _ in range(turns)], rng),
        "response_a": _listed(answers[0], rng),
        "response_b": _listed(answers[1], rng),
        **{name: int(place == outcome) for place, name in enumerate(OUTCOMES)},
    }


def _answer(rng: np.random.Generator, strength: float, length: int) -> str | None:
    """Stronger models use more of the good words and fewer of the bad ones."""
    telling = rng.random(length) < 0.3
    good = rng.random(length) < 1 / (1 + np.exp(-1.5 * strength))
    words = np.where(telling, np.where(good, rng.choice(GOOD, length), rng.choice(BAD, length)), "")
    return " ".join(word or str(rng.choice(WORDS)) for word in words)


def _listed(turns: list[str | None] | list[str], rng: np.random.Generator) -> str:
    """A JSON list as text; other than ASCII characters escaped in half of the cases, and some half characters."""
    text = json.dumps(turns, separators=(",", ":"), ensure_ascii=bool(rng.random() < 0.5))
    return text.replace("\\ude00", "") if rng.random() < 0.1 else text
