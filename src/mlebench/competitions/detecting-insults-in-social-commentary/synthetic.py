"""Comments of everyday words, some of which insult; short ones repeat each other as people do."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from mlebench.preparation.files import write_csv

FILLERS = [
    *("news", "video", "article", "game", "music", "school", "please", "great", "thanks", "we", "this", "should"),
    *("price", "team", "weather", "vote", "think", "was", "what, then,", "a fool's errand", "I", "city", "<br/>"),
    *(r"caf\xe9", r"\u2019s", r"\n\n", r"\xa0", "http://x.example/a,b?c=1", "damn", 'he said "no"'),
]
INSULTS = ["idiot", "moron", "loser", "you liar", "go away, troll", "shut up", "pathetic"]
COMMON = [("you are an idiot", 1), ("You moron!", 1), ("nice article", 0), ("so true.", 0)]


def make_raw(raw: Path, rng: np.random.Generator, size: int) -> None:
    further = max(4, size * 2 // 3)
    comments = _comments(rng, size + further)
    train, test = comments.iloc[:size].copy(), comments.iloc[size:].copy()
    usage = np.where(rng.random(further) < 0.5, "PublicTest", "PrivateTest")
    _repeat_common_ones(train, test)

    write_csv(train, raw / "train.csv")
    write_csv(test.assign(Usage=usage), raw / "test_with_solutions.csv")
    later = _comments(rng, further)
    later.insert(0, "id", np.arange(1, further + 1))
    write_csv(later.drop(columns="Insult"), raw / "test.csv")
    write_csv(later.assign(Insult=0), raw / "sample_submission_null.csv")


def _comments(rng: np.random.Generator, rows: int) -> pd.DataFrame:
    insult = rng.random(rows) < 0.27
    dates = pd.Timestamp("2012-01-01") + pd.to_timedelta(rng.integers(0, 200 * 86_400, rows), unit="s")
    known = rng.random(rows) >= 0.18
    return pd.DataFrame(
        {
            "Insult": insult.astype(np.int64),
            "Date": np.where(known, dates.strftime("%Y%m%d%H%M%SZ"), ""),
            "Comment": [_comment(rng, number, bool(label)) for number, label in enumerate(insult)],
        }
    )


def _comment(rng: np.random.Generator, number: int, insult: bool) -> str:
    """The text in quotes of its own; the number keeps all texts apart."""
    words = rng.choice(FILLERS, int(rng.integers(2, 25))).tolist()
    if insult != (rng.random() < 0.05):
        words.insert(int(rng.integers(len(words))), str(rng.choice(INSULTS)))
    return f'"{" ".join(words)} w{number}"'


def _repeat_common_ones(train: pd.DataFrame, test: pd.DataFrame) -> None:
    """Put short comments into both parts, twice into the test, and in another spelling into the training part."""
    for place, (text, label) in enumerate(COMMON):
        for table, row, comment in (
            (test, 2 * place, text),
            (test, 2 * place + 1, text),
            (train, place, f"{text.upper()} !"),
        ):
            if row < len(table):
                table.loc[table.index[row], ["Insult", "Comment"]] = [label, f'"{comment}"']
