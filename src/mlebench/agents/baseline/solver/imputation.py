"""A word that is missing somewhere in each sentence, by counts of neighbouring words in complete sentences."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pandas as pd

from .task import Task

MOST_BYTES = 200 << 20
MOST_WORDS = 2_000_000  # kinds of pairs to remember
TRIED = 300  # sentences on which thresholds are tried
SURE = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.1)


def applies(task: Task) -> bool:
    """Whether the sample consists of sentences, and a text has complete ones, one a line."""
    cells = task.sample[task.targets[0]] if len(task.targets) == 1 else pd.Series([""])
    words = cells.head(100).str.split().explode()
    sentences = cells.str.count(" ").mean() >= 3 and cells.nunique() > 0.5 * len(cells)
    return bool(sentences and words.str.contains("[^\\W\\d]").mean() > 0.5) and corpus(task) is not None


def corpus(task: Task) -> Path | None:
    """The text of complete sentences: the largest that shares words with the sample."""
    texts = [path for path in task.files.paths if path.suffix.lower() == ".txt" and path != task.sample_path]
    return max(texts, key=lambda path: path.stat().st_size, default=None)


def lines(path: Path) -> Iterator[list[str]]:
    """The words of the first lines of a text."""
    read = 0
    with path.open(encoding="utf-8", errors="replace") as file:
        for line in file:
            read += len(line)
            if read > MOST_BYTES:
                return
            words = line.split()
            if len(words) > 2:
                yield words


class Pairs:
    """How often a word follows another, and which words stand between two."""

    def __init__(self, sentences: Iterator[list[str]]) -> None:
        self.following: Counter[tuple[str, str]] = Counter()
        self.between: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
        for words in sentences:
            self.following.update(pairwise(words))
            for before, word, after in zip(words, words[1:], words[2:], strict=False):
                self.between[before, after][word] += 1
            if len(self.between) > MOST_WORDS:
                break

    def best(self, words: list[str]) -> tuple[float, int, str]:
        """The gap and the word that fit best: how sure that is, the place, the word."""
        found = (0.0, 1, "")
        for place in range(1, len(words)):
            pair = words[place - 1], words[place]
            seen = self.between.get(pair)
            if seen:
                word, count = seen.most_common(1)[0]
                sure = count / (sum(seen.values()) + 3 * self.following[pair])
                found = max(found, (sure, place, word))
        return found


def run(task: Task) -> list[pd.DataFrame]:
    """Put a word in where that is likely enough to pay, as tried on complete sentences."""
    path, target = corpus(task), task.targets[0]
    assert path is not None
    every = lines(path)
    tried = [words for words, _ in zip(every, range(TRIED), strict=False)]
    pairs = Pairs(every)
    limit = min(SURE, key=lambda sure: cost(pairs, tried, sure))
    print(f"  {len(pairs.following)} pairs, words are put in where the share is {limit}", flush=True)
    return [pd.DataFrame({target: [" ".join(filled(pairs, text.split(), limit)) for text in task.sample[target]]})]


def filled(pairs: Pairs, words: list[str], limit: float) -> list[str]:
    """The sentence with the best word put in, if that is likely enough."""
    sure, place, word = pairs.best(words)
    return [*words[:place], word, *words[place:]] if sure >= limit else words


def cost(pairs: Pairs, sentences: list[list[str]], limit: float) -> float:
    """The mean number of wrong characters where a word was taken from each sentence."""
    total = 0
    for number, words in enumerate(sentences):
        taken = 1 + number * 7919 % (len(words) - 2)
        rest = [*words[:taken], *words[taken + 1 :]]
        found = filled(pairs, rest, limit)
        length = len(words[taken]) + 1
        if found != words:
            sure, _, word = pairs.best(rest)
            total += length + (len(word) + 1 if sure >= limit else 0)
    return total / max(1, len(sentences))
