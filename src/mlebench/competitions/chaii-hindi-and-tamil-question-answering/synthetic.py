"""Articles on invented places in Hindi or Tamil; what is asked for stands behind a fixed phrase of the article."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from mlebench.preparation.files import write_csv
from mlebench.preparation.synthetic import hex_ids

SYLLABLES = {
    "hindi": ["रा", "मा", "पु", "नि", "की", "ला", "सो", "दे"],
    "tamil": ["கா", "ரு", "மு", "தி", "லை", "பா", "னை", "வே"],
}
# The question, and the phrase that leads to its answer.
TOPICS = {
    "hindi": [
        ("{place} की स्थापना कब हुई?", "इसकी स्थापना का वर्ष"),
        ("{place} की राजधानी क्या है?", "राजधानी का नाम"),
        ("{place} की जनसंख्या कितनी है?", "कुल जनसंख्या"),
    ],
    "tamil": [
        ("{place} எப்போது நிறுவப்பட்டது?", "நிறுவப்பட்ட ஆண்டு"),
        ("{place} தலைநகரம் எது?", "தலைநகரத்தின் பெயர்"),
        ("{place} மக்கள் தொகை எவ்வளவு?", "மொத்த மக்கள் தொகை"),
    ],
}
FILLERS = {
    "hindi": ["यह एक सुंदर स्थान है।", 'यहाँ की नदी "बड़ी" है,\nऔर गहरी।', "लोग खेती करते हैं।"],
    "tamil": ["இது ஒரு அழகான இடம்.", 'இங்கே ஆறு "பெரியது",\nஆழமானது.', "மக்கள் விவசாயம் செய்கிறார்கள்."],
}
ODD_ANSWERS = ["None", "NA", "1947"]


def make_raw(raw: Path, rng: np.random.Generator, size: int) -> None:
    questions = _questions(rng, size + 5)
    train, test = questions.iloc[:size].copy(), questions.iloc[size:]
    if size > 30:
        # The published division leaves them in the training part.
        for row, text in zip(np.random.RandomState(0).permutation(size)[-3:], ODD_ANSWERS, strict=True):
            train.loc[row, ["answer_text", "answer_start"]] = [text, len(train["context"][row]) + 1]
            train.loc[row, "context"] = f"{train['context'][row]} {text}"

    write_csv(train, raw / "train.csv")
    write_csv(test.drop(columns=["answer_text", "answer_start"]), raw / "test.csv")
    write_csv(test[["id"]].assign(PredictionString=""), raw / "sample_submission.csv")


def _questions(rng: np.random.Generator, count: int) -> pd.DataFrame:
    """About three questions for two articles."""
    rows: list[tuple[str, str, str, int, str]] = []
    while len(rows) < count:
        language = "hindi" if rng.random() < 0.67 else "tamil"
        place, topics, context, answers = _article(rng, language)
        for topic in topics[: 1 + (rng.random() < 0.5)]:
            question = TOPICS[language][topic][0].format(place=place)
            rows.append((context, question, answers[topic], context.find(answers[topic]), language))
    table = pd.DataFrame(rows[:count], columns=["context", "question", "answer_text", "answer_start", "language"])
    table.insert(0, "id", hex_ids(rng, count, 9))
    return table


def _article(rng: np.random.Generator, language: str) -> tuple[str, list[int], str, list[str]]:
    """A place, the order of its topics, the article, and the answer on each topic."""
    place, capital = _name(rng, language), f"{_name(rng, language)} {_name(rng, language)}"
    answers = [str(rng.integers(1100, 2000)), capital, f"{rng.integers(1, 100)},{rng.integers(100, 1000)}"]
    topics = rng.permutation(3).tolist()
    filler = FILLERS[language]
    facts = [f"{TOPICS[language][topic][1]} {answers[topic]} ({filler[rng.integers(3)]})" for topic in topics]
    return place, topics, "\n".join([f"{place}: {filler[rng.integers(3)]}", *facts, filler[rng.integers(3)]]), answers


def _name(rng: np.random.Generator, language: str) -> str:
    return "".join(rng.choice(SYLLABLES[language], 3))
