"""Answers that stand in no table but in the names of files: in their folder's, or in their own."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from .files import IMAGES, NOT_INPUT, SOUNDS, Files

MEDIA = IMAGES | SOUNDS | {".npy"}
MOST_CLASSES = 5_000
FEWEST_EACH = 1.5  # files of a class, on average


def labelled_files(files: Files, test_names: set[str]) -> pd.DataFrame | None:
    """A table of the training files with the columns `path` and `class`; None if names don't tell classes.

    `test_names` are stems and names of the files that are to be judged.
    """
    media = [path for path in files.paths if path.suffix.lower() in MEDIA]
    held = Counter(path.parent for path in media)
    named = Counter(path.parent for path in media if path.stem in test_names or path.name in test_names)
    tests = {folder for folder, count in named.items() if count > 0.5 * held[folder]}
    media = [path for path in media if path.parent not in tests and not is_test(files, path)]
    media = [path for path in media if not NOT_INPUT.search(path.parent.name)]
    if len(media) < 10:
        return None
    for naming in (by_folder, by_first_word, by_last_word):
        classes = naming(media)
        if classes is not None:
            return pd.DataFrame({"path": [str(path) for path in media], "class": classes})
    return None


def is_test(files: Files, path: Path) -> bool:
    """Whether a file stands in a folder that is named for the test."""
    return "test" in "/".join(files.relative(path).parts[:-1]).lower()


def usable(classes: Sequence[str]) -> bool:
    """Whether there are several classes, and several files of each."""
    counts = Counter(classes)
    return 2 <= len(counts) <= MOST_CLASSES and len(classes) / len(counts) >= FEWEST_EACH


def by_folder(paths: Sequence[Path]) -> list[str] | None:
    """The folder's name, if all the files stand in folders side by side."""
    if len({path.parent.parent for path in paths}) != 1:
        return None
    classes = [path.parent.name for path in paths]
    return classes if usable(classes) else None


def by_first_word(paths: Sequence[Path]) -> list[str] | None:
    """The word with which a name begins, if a number follows: `cat.0.jpg`."""
    found = [re.match(r"([A-Za-z]{2,})[._-]?\d", path.name) for path in paths]
    classes = [match.group(1) for match in found if match]
    return classes if len(classes) == len(paths) and usable(classes) else None


def by_last_word(paths: Sequence[Path]) -> list[str] | None:
    """What stands behind the last underscore of a name, if it is one of a few: `clip_17_1.aif`."""
    classes = [path.stem.rsplit("_", 1)[-1] for path in paths]
    few = len(set(classes)) <= max(2, len(classes) // 10)
    return classes if few and all("_" in path.stem for path in paths) and usable(classes) else None


def positives(classes: Sequence[str], target: str, description: str) -> set[str]:
    """Which classes a probability in the column `target` is meant for.

    The class 1; else those that the description of the column names, or that are described by the same words; else
    the last by name.
    """
    names = sorted(set(classes))
    if "1" in names:
        return {"1"}
    meaning = " ".join(re.findall(rf"^[-*] *`{re.escape(target)}`:?(.*)$", description, re.MULTILINE))
    named = {name for name in names if re.search(rf"\b{re.escape(name)}\b", meaning, re.IGNORECASE)}
    if named and len(named) < len(names):
        return named
    shared = {name: len(long_words(meaning) & long_words(lines_with(name, description))) for name in names}
    best = {name for name in names if shared[name] > min(shared.values())}
    return best or {names[-1]}


def lines_with(name: str, description: str) -> str:
    """The lines of a list that begin by naming a class."""
    lines = re.findall(r"^[-*] .*$", description, re.MULTILINE)
    return " ".join(line for line in lines if re.search(rf"`[^`]*\b{re.escape(name)}\b[^`]*`", line))


def long_words(text: str) -> set[str]:
    """The words of five letters or more."""
    return set(re.findall(r"[a-z]{5,}", text.lower()))
