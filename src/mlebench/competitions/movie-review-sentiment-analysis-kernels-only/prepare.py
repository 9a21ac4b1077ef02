"""Hold out a random three tenths of the phrases."""

from __future__ import annotations

import csv
import tempfile
from pathlib import Path

import pandas as pd

from mlebench.preparation.files import hold_out, hold_out_groups, read_csv, require_unique, unpack, write_csv, zip_files


def prepare(raw: Path, public: Path, private: Path) -> None:
    # Read as CSV, as the published preparation does, though the file knows no quoting and no missing values.
    train, test = hold_out(_read_phrases(raw), 0.3)
    _write(train, test, public, private)


def prepare_v2(raw: Path, public: Path, private: Path) -> None:
    """Hold out a random three tenths of the sentences with all their phrases."""
    phrases = _read_phrases(raw, quoting=csv.QUOTE_NONE, keep_default_na=False)
    train, test = hold_out_groups(phrases.sample(frac=1, random_state=0), "SentenceId", 0.3)
    _write(train, test, public, private)


def _read_phrases(raw: Path, **options: object) -> pd.DataFrame:
    phrases = read_csv(unpack(raw, "train.tsv.zip") / "train.tsv", sep="\t", **options)
    require_unique(phrases["PhraseId"])
    return phrases


def _write(train: pd.DataFrame, test: pd.DataFrame, public: Path, private: Path) -> None:
    _write_zipped(train, public / "train.tsv.zip")
    _write_zipped(test.drop(columns="Sentiment"), public / "test.tsv.zip")
    write_csv(test[["PhraseId"]].assign(Sentiment=2), public / "sampleSubmission.csv")
    write_csv(test, private / "answers.csv")


def _write_zipped(table: pd.DataFrame, archive: Path) -> None:
    """A tab-separated table as the single member of a zip."""
    with tempfile.TemporaryDirectory(dir=archive.parent) as folder:
        file = Path(folder, archive.stem)
        write_csv(table, file, sep="\t")
        zip_files([(file, file.name)], archive)
