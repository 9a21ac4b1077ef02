"""Hold out a random tenth of the sentences.

In v2 words such as NA are texts like any other, and the training part has no sentence of the test.
"""

from __future__ import annotations

from pathlib import Path

from mlebench.preparation import spoken_tokens


def prepare(raw: Path, public: Path, private: Path) -> None:
    spoken_tokens.prepare_v1(raw, public, private, language="ru")


def prepare_v2(raw: Path, public: Path, private: Path) -> None:
    spoken_tokens.prepare_v2(raw, public, private, language="ru")
