"""Hold out a random fifth of each species, one specimen where there are two to four, none where there is one."""

from __future__ import annotations

import json
from pathlib import Path

from mlebench.preparation.files import write_csv
from mlebench.preparation.herbarium import divide_specimens


def prepare(raw: Path, public: Path, private: Path) -> None:
    source = raw / "train"
    metadata = json.loads((source / "metadata.json").read_text(encoding="utf-8"))
    answers = divide_specimens(metadata, source, public / "train", public / "test")

    write_csv(answers.assign(Predicted=0), public / "sample_submission.csv")
    write_csv(answers, private / "answers.csv")
