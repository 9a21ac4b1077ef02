"""Hold out a random fifth of each species, one specimen where there are two to four, none where there is one."""

from __future__ import annotations

import json
from pathlib import Path

from mlebench.preparation.files import write_csv
from mlebench.preparation.herbarium import divide_specimens

FOLDER = "nybg2020"


def prepare(raw: Path, public: Path, private: Path) -> None:
    source = raw / FOLDER / "train"
    metadata = json.loads((source / "metadata.json").read_text(encoding="latin-1"))  # not in UTF-8
    answers = divide_specimens(metadata, source, public / FOLDER / "train", public / FOLDER / "test")

    write_csv(answers.assign(Predicted=0), public / "sample_submission.csv")
    write_csv(answers, private / "answers.csv")
