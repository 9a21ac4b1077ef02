"""Hold out a random tenth of the leaves; the pictures of both parts lie in one folder."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from mlebench.competition import load_competition
from mlebench.preparation.files import hold_out, link_files, one_hot, read_csv, require_unique, unpack, write_csv


def prepare(raw: Path, public: Path, private: Path) -> None:
    leaves = read_csv(unpack(raw, "train.csv.zip") / "train.csv")
    require_unique(leaves["id"])
    train, test = hold_out(leaves, 0.1)
    species = [column.name for column in load_competition(Path(__file__).parent).schema.columns]
    answers = one_hot(test["species"], species)
    answers.insert(0, "id", test["id"])

    write_csv(train, public / "train.csv")
    write_csv(test.drop(columns="species"), public / "test.csv")
    write_csv(answers.assign(**dict.fromkeys(species, 1 / len(species))), public / "sample_submission.csv")
    write_csv(answers, private / "test.csv")
    pictures = unpack(raw, "images.zip") / "images"
    names = [f"{leaf}.jpg" for leaf in pd.concat([train["id"], test["id"]])]
    link_files((pictures / name, public / "images" / name) for name in names)
