"""Hold out a random tenth of the sentences.

In v2 words such as NA are texts like any other, and the training part has no sentence of the test.
"""

from __future__ import annotations

from pathlib import Path

from mlebench.preparation.spoken_tokens import divide, read_tokens, without_sentences_of, write_tokens


def prepare(raw: Path, public: Path, private: Path) -> None:
    tokens = read_tokens(raw, "ru_train", verbatim=False)
    train, test = divide(tokens)
    write_tokens(tokens, train, test, public, private, prefix="ru", compress=False)


def prepare_v2(raw: Path, public: Path, private: Path) -> None:
    tokens = read_tokens(raw, "ru_train", verbatim=True)
    train, test = divide(tokens)
    train = without_sentences_of(train, test, tokens)
    write_tokens(tokens, train, test, public, private, prefix="ru", compress=True)
