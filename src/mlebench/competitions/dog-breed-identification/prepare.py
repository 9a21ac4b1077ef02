"""Hold out a random tenth of the photographs."""

from __future__ import annotations

from pathlib import Path

from mlebench.competition import load_competition
from mlebench.preparation.files import hold_out, link_files, one_hot, read_csv, require_unique, write_csv


def prepare(raw: Path, public: Path, private: Path) -> None:
    # Ids are hexadecimal and stay texts, even if all of them happen to look like numbers.
    photographs = read_csv(raw / "labels.csv", dtype={"id": str})
    require_unique(photographs["id"])
    breeds = [column.name for column in load_competition(Path(__file__).parent).schema.columns]
    train, test = hold_out(photographs, 0.1)
    answers = one_hot(test["breed"], breeds)
    answers.insert(0, "id", test["id"])

    write_csv(train, public / "labels.csv")
    write_csv(answers.assign(**dict.fromkeys(breeds, 1 / len(breeds))), public / "sample_submission.csv")
    write_csv(answers, private / "test.csv")
    for part, folder in ((train, public / "train"), (test, public / "test")):
        names = part["id"] + ".jpg"
        link_files(((raw / "train" / name, folder / name) for name in names), f"placing {folder.name}")
