"""Hold out a random fifth of the labelled recordings, and drop those whose labels were never published."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from mlebench.errors import PreparationError
from mlebench.preparation.files import link_files, read_csv, require_unique, unpack, write_csv

SPECIES = 19
FEATURES = ("histogram_of_segments.txt", "segment_features.txt", "segment_rectangles.txt")


def prepare(raw: Path, public: Path, private: Path) -> None:
    _prepare(raw, public, private, dict.fromkeys(FEATURES, "rec_id,[histogram of segment features]"))


def prepare_v2(raw: Path, public: Path, private: Path) -> None:
    """The same, but each table of features keeps its own header."""
    folder = _given(raw) / "supplemental_data"
    headers = {}
    for name in FEATURES:
        with (folder / name).open(encoding="utf-8") as file:
            headers[name] = file.readline().rstrip("\n")
    _prepare(raw, public, private, headers)


def _given(raw: Path) -> Path:
    return unpack(raw, "mlsp_contest_dataset.zip") / "mlsp_contest_dataset"


def _prepare(raw: Path, public: Path, private: Path, headers: dict[str, str]) -> None:
    """`headers`: the first line of each table of features; the published preparation gave all that of the first."""
    given = _given(raw)
    essential, supplemental = Path("essential_data"), Path("supplemental_data")
    folds = _divide(read_csv(given / essential / "CVfolds_2.txt"))
    filenames = _renumbered(read_csv(given / essential / "rec_id2filename.txt"), folds)
    _require_all(filenames["rec_id"], folds, "rec_id2filename.txt")
    labels = _renumbered(_lines(given / essential / "rec_labels_test_hidden.txt"), folds)
    _require_all(labels["rec_id"], folds, "rec_labels_test_hidden.txt")
    hidden = labels["rec_id"].map(folds.set_index("new_id")["fold"]).eq(1)
    answers = _answers(labels[hidden])

    write_csv(folds[["new_id", "fold"]].set_axis(["rec_id", "fold"], axis=1), public / essential / "CVfolds_2.txt")
    write_csv(filenames, public / essential / "rec_id2filename.txt")
    public_labels = labels.assign(rest=labels["rest"].mask(hidden, ",?"))
    _write_lines(public_labels, "rec_id,[labels]", public / essential / "rec_labels_test_hidden.txt")
    for name, header in headers.items():
        lines = _renumbered(_lines(given / supplemental / name), folds)
        lines["rest"] = lines["rest"].mask(lines["rest"] == "", ",")
        _write_lines(lines, header, public / supplemental / name)
    write_csv(answers.sort_values("Id").assign(Probability=0), public / "sample_submission.csv")
    write_csv(answers, private / "answers.csv")
    files = _recordings_files(given, filenames["filename"])
    files += [
        essential / "species_list.txt",
        supplemental / "segment_clusters.bmp",
        supplemental / "segment_mosaic.bmp",
    ]
    link_files((given / file, public / file) for file in files)


def _divide(folds: pd.DataFrame) -> pd.DataFrame:
    """The labelled recordings, their numbers from 0 as `new_id`, and the new `fold`: 0 training, 1 test."""
    labelled = folds[folds["fold"] == 0].reset_index(drop=True)
    require_unique(labelled["rec_id"])
    test = labelled.sample(frac=0.2, random_state=0).index
    if test.empty:
        raise PreparationError(f"{len(labelled)} labelled recordings are too few to hold out a fifth of them")
    return labelled.assign(new_id=labelled.index, fold=labelled.index.isin(test).astype(np.int64))


def _lines(path: Path) -> pd.DataFrame:
    """The lines below the header as `rec_id`, the number before the first comma, and `rest`, the comma included."""
    lines = pd.Series(path.read_text(encoding="utf-8").split("\n")[1:], dtype=object)
    parts = lines[lines.str.strip() != ""].str.extract(r"^\s*(\d+)\s*(,.*)?$")
    if parts[0].isna().any():
        raise PreparationError(f"{path.name}: a line does not begin with the number of a recording")
    return pd.DataFrame({"rec_id": parts[0].astype(np.int64), "rest": parts[1].fillna("")})


def _renumbered(table: pd.DataFrame, folds: pd.DataFrame) -> pd.DataFrame:
    """The rows of labelled recordings, in their order, with the new numbers."""
    known = table[table["rec_id"].isin(folds["rec_id"])]
    return known.assign(rec_id=known["rec_id"].map(folds.set_index("rec_id")["new_id"]))


def _require_all(numbers: pd.Series, folds: pd.DataFrame, file: str) -> None:
    require_unique(numbers)
    if len(numbers) != len(folds):
        raise PreparationError(f"{file} has {len(numbers)} of the {len(folds)} labelled recordings of CVfolds_2.txt")


def _answers(labels: pd.DataFrame) -> pd.DataFrame:
    """A row for each pair of a recording and a species; Probability is 1 if the species is heard."""
    heard = labels.set_index("rec_id")["rest"].str.split(",").explode()
    heard = pd.to_numeric(heard[heard != ""], errors="coerce")
    if not heard.isin(range(SPECIES)).all():
        raise PreparationError(f"rec_labels_test_hidden.txt: a label is no number from 0 to {SPECIES - 1}")
    pairs = labels["rec_id"].to_numpy()[:, None] * 100 + np.arange(SPECIES)
    present = np.isin(pairs, heard.index.to_numpy() * 100 + heard.to_numpy())
    return pd.DataFrame({"Id": pairs.ravel(), "Probability": present.ravel().astype(np.int64)})


def _recordings_files(given: Path, names: pd.Series) -> list[Path]:
    """Sound and pictures of each recording; only a few have an example of a segmentation by hand."""
    pictures = ("filtered_spectrograms", "spectrograms", "supervised_segmentation")
    files = [Path("essential_data", "src_wavs", f"{name}.wav") for name in names]
    files += [Path("supplemental_data", folder, f"{name}.bmp") for folder in pictures for name in names]
    examples = [Path("supplemental_data", "segmentation_examples", f"{name}.bmp") for name in names]
    return files + [file for file in examples if (given / file).is_file()]


def _write_lines(lines: pd.DataFrame, header: str, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    numbered = lines["rec_id"].map(str) + lines["rest"]
    path.write_text("\n".join([header, *numbered, ""]), encoding="utf-8")
