"""Of the answers only the tags are read: titles and bodies are most of the file."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from mlebench.tables import read_csv


def read_answers(path: Path) -> pd.DataFrame:
    """Number and tags of each question; a list of tags that is a word such as nan is a missing one."""
    return read_csv(path, usecols=["Id", "Tags"])


def read_answers_v2(path: Path) -> pd.DataFrame:
    """Number and tags of each question, as they stand there."""
    return read_csv(path, usecols=["Id", "Tags"], keep_default_na=False)
