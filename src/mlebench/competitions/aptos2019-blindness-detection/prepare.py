"""Hold out a random tenth of the photographs."""

from __future__ import annotations

from pathlib import Path

from mlebench.preparation.files import hold_out, link_files, read_csv, require_unique, write_csv


def prepare(raw: Path, public: Path, private: Path) -> None:
    # Ids are hexadecimal and stay texts, even if all of them happen to look like numbers.
    photographs = read_csv(raw / "train.csv", dtype={"id_code": str})
    require_unique(photographs["id_code"])
    train, test = hold_out(photographs, 0.1)

    write_csv(train, public / "train.csv")
    write_csv(test.drop(columns="diagnosis"), public / "test.csv")
    write_csv(test.assign(diagnosis=0), public / "sample_submission.csv")
    write_csv(test, private / "test.csv")
    for part, folder in ((train, public / "train_images"), (test, public / "test_images")):
        names = part["id_code"] + ".png"
        link_files(((raw / "train_images" / name, folder / name) for name in names), f"placing {folder.name}")
