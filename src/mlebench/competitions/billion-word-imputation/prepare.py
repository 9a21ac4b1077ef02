"""Hold out a random hundredth of the sentences, and take a random word out of each.

The text is never in memory as a whole: lines pass in blocks from one archive to the other.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import IO

import numpy as np

from mlebench.errors import PreparationError
from mlebench.preparation import progress
from mlebench.preparation.archives import reading_member, writing_member, zip_files

LINES = 30_301_028  # of the whole corpus; what might come after is left out, as in the published preparation
SHARE = 0.01
TEXT = "train_v2.txt"
HEADER = '"id","sentence"\n'
_BLOCK = 16 << 20  # bytes
_AHEAD = 512  # lines that are drawn for at once


def prepare(raw: Path, public: Path, private: Path) -> None:
    answers, questions = private / "test.csv", private / "sample_submission.csv"
    with (
        reading_member(raw / f"{TEXT}.zip", TEXT) as source,
        writing_member(public / f"{TEXT}.zip", TEXT) as train,
        answers.open("w", encoding="utf-8", newline="") as full,
        questions.open("w", encoding="utf-8", newline="") as cut,
    ):
        full.write(HEADER)
        cut.write(HEADER)
        count = 0
        for words, place, sentence in _hold_out(_Lines(source, train)):
            full.write(f'{count},"{sentence}"\n')
            cut.write(f'{count},"{" ".join([*words[:place], *words[place + 1 :]])}"\n')
            count += 1
    if count == 0:
        raise PreparationError(f"{TEXT} is too short: none of its sentences was held out")
    zip_files([(questions, "test_v2.txt")], public / "test_v2.txt.zip")


class _Lines:
    """The lines of `source` by their rising numbers, all copied to `target` but those that are dropped."""

    def __init__(self, source: IO[bytes], target: IO[bytes]) -> None:
        self._blocks, self._target = _whole_lines(source), target
        self._block, self._ends, self._first, self._copied = b"", np.empty(0, dtype=np.int64), 0, 0
        self._start = self._end = 0

    def find(self, number: int) -> bool:
        """Go to the line `number`, not below the last one; False at the end of the text, when all is copied."""
        while number >= self._first + len(self._ends):
            self._target.write(self._block[self._copied :])
            self._first += len(self._ends)
            self._block = next(self._blocks, b"")
            self._ends, self._copied = np.flatnonzero(np.frombuffer(self._block, dtype=np.uint8) == ord("\n")) + 1, 0
            if not self._block:
                return False
            if not self._block.endswith(b"\n"):  # the last line of the text
                self._ends = np.append(self._ends, len(self._block))
        place = number - self._first
        self._start, self._end = int(self._ends[place - 1]) if place else 0, int(self._ends[place])
        return True

    def text(self) -> str:
        """The line that was found."""
        return self._block[self._start : self._end].decode("utf-8")

    def drop(self) -> None:
        """Leave the line that was found out of the copy."""
        self._target.write(self._block[self._copied : self._start])
        self._copied = self._end


def _whole_lines(source: IO[bytes]) -> Iterator[bytes]:
    """The first LINES lines in blocks that end with a newline; CR LF and CR end lines, too, and become LF."""
    rest, left = b"", LINES
    with progress.step("dividing the sentences", LINES) as done:
        while block := source.read(_BLOCK):
            while block.endswith(b"\r") and (following := source.read(1)):  # it may be the LF that belongs to it
                block += following
            block = rest + block.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
            end = block.rfind(b"\n") + 1
            block, rest = block[:end], block[end:]
            lines = block.count(b"\n")
            if lines > left:
                block, rest = b"\n".join(block.split(b"\n", left)[:left]) + b"\n", b""
            if lines:
                yield block
            done(min(lines, left))
            left -= lines
            if left <= 0:
                return
        if rest:
            yield rest


def _hold_out(lines: _Lines) -> Iterator[tuple[list[str], int, str]]:
    """Of each sentence that goes to the test: its words, the place of the one to take out, the sentence as CSV.

    The published preparation draws a uniform number for each line, blank ones included, and a place after each line
    that is taken, all from one stream. Here many lines are drawn for at once; after a line that is taken the
    stream is turned back to it.
    """
    random = np.random.RandomState(0)
    first = 0  # no number was drawn yet for this line and those behind it
    while lines.find(first):
        before = random.get_state()
        for ahead in np.flatnonzero(random.random_sample(_AHEAD) <= SHARE).tolist():
            if not lines.find(first + ahead):
                return
            sentence = lines.text().strip().replace('"', '""')
            words = sentence.split()
            if len(words) > 2:
                lines.drop()
                random.set_state(before)
                random.random_sample(ahead + 1)
                yield words, int(random.randint(1, len(words) - 1)), sentence
                first += ahead + 1
                break
        else:
            first += _AHEAD
