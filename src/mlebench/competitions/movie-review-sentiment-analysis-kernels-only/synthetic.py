"""Sentences of plain and telling words, cut in halves again and again; a grade is the mean of a phrase's words."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from mlebench.preparation.synthetic import write_zip

PLAIN = ["the", "film", "story", "and", "of", "about", "its", "director", "``", "''", ",", "-lrb-", "-rrb-", "naïve"]
TELLING = {
    "awful": -2.0,
    "tedious": -1.3,
    "flat": -1.0,
    "uneven": -0.7,
    "plain": 0.0,
    "pleasant": 1.0,
    "fine": 0.8,
    "moving": 1.4,
    "wonderful": 2.0,
}
WORDS = [*PLAIN, *TELLING]
FEELING = np.array([*[0.0] * len(PLAIN), *TELLING.values()])
ODD = ["None", "null", "NA", "nan", "n/a", " ", "", "True", "3.50", 'a 7" nail of a film', 'it \'s , well , ""fine""']


def make_raw(raw: Path, rng: np.random.Generator, size: int) -> None:
    labelled, sentences = _phrases(rng, size)
    further, _ = _phrases(rng, max(3, size // 3))
    train = _numbered(rng, labelled, first_phrase=1, first_sentence=1)
    test = _numbered(rng, further, first_phrase=size + 1, first_sentence=sentences + 1)

    header = "PhraseId\tSentenceId\tPhrase"
    lines = [f"{header}\tSentiment", *("\t".join(row) for row in train)]
    write_zip(raw / "train.tsv.zip", {"train.tsv": "\n".join(lines) + "\n"})
    lines = [header, *("\t".join(row[:3]) for row in test)]
    write_zip(raw / "test.tsv.zip", {"test.tsv": "\n".join(lines) + "\n"})
    sample = ["PhraseId,Sentiment", *(f"{row[0]},2" for row in test)]
    (raw / "sampleSubmission.csv").write_text("\n".join(sample) + "\n", encoding="utf-8")


def _phrases(rng: np.random.Generator, count: int) -> tuple[list[tuple[int, str, float]], int]:
    """`count` different phrases as (number of the sentence, text, feeling), and the number of sentences."""
    phrases: list[tuple[int, str, float]] = []
    known: set[str] = set()
    sentence = 0
    odd = iter(ODD if count > 4 * len(ODD) else [])
    while len(phrases) < count:
        words = rng.choice(len(WORDS), rng.integers(3, 16))
        parts = _parts(words, rng)
        texts = [(" ".join(WORDS[word] for word in part), float(FEELING[part].sum())) for part in parts]
        if (text := next(odd, None)) is not None:
            texts.append((text, 0.0))
        for text, feeling in texts:
            if text not in known:
                known.add(text)
                phrases.append((sentence, text, feeling))
        sentence += 1
    return phrases[:count], sentence


def _parts(words: np.ndarray, rng: np.random.Generator) -> list[np.ndarray]:
    """The words, and the parts of both halves, down to single words."""
    if len(words) == 1:
        return [words]
    cut = int(rng.integers(1, len(words)))
    return [words, *_parts(words[:cut], rng), *_parts(words[cut:], rng)]


def _numbered(
    rng: np.random.Generator, phrases: list[tuple[int, str, float]], first_phrase: int, first_sentence: int
) -> list[tuple[str, str, str, str]]:
    return [
        (str(first_phrase + place), str(first_sentence + sentence), text, _grade(feeling + rng.normal(0, 0.3)))
        for place, (sentence, text, feeling) in enumerate(phrases)
    ]


def _grade(feeling: float) -> str:
    return str(int(np.searchsorted([-1.9, -0.7, 0.7, 1.9], feeling)))
