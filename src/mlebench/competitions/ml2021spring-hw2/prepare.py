"""Hold out random frames, the same share of all as in the original test.

In v2 the frames that are held out are those of whole utterances, and all keep their order.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from mlebench.errors import PreparationError
from mlebench.preparation.files import hold_out_groups, random_order, write_csv

FOLDER = Path("timit_11/timit_11")
COEFFICIENTS = 39  # of one frame; a row holds eleven frames
BLOCK = 16_384  # rows that are read or written at a time
RUNS, SHORTEST_RUN = 100, 100


def prepare(raw: Path, public: Path, private: Path) -> None:
    features, labels, share = _read(raw)
    order, count = random_order(len(labels), share)
    _write(features, labels, order[count:], order[:count], public, private)


def prepare_v2(raw: Path, public: Path, private: Path) -> None:
    features, labels, share = _read(raw)
    train, test = hold_out_groups(pd.DataFrame({"run": _runs(features)}), "run", share)
    _write(features, labels, train.index.to_numpy(), test.index.to_numpy(), public, private)


def _read(raw: Path) -> tuple[np.ndarray, np.ndarray, float]:
    """The features, left on disk, the labels, and the share of the frames that makes the test."""
    features = _load(raw / FOLDER / "train_11.npy")
    labels = np.array(_load(raw / FOLDER / "train_label_11.npy"))
    unlabelled = len(_load(raw / FOLDER / "test_11.npy"))
    if len(features) != len(labels):
        raise PreparationError(f"train_11.npy has {len(features):,} rows, train_label_11.npy {len(labels):,}")
    return features, labels, unlabelled / max(1, len(labels) + unlabelled)


def _load(file: Path) -> np.ndarray:
    try:
        return np.load(file, mmap_mode="r")
    except (OSError, ValueError) as error:
        raise PreparationError(f"{file} can't be read: {error}") from error


def _runs(features: np.ndarray) -> np.ndarray:
    """The number of the run that each row belongs to: runs begin with an utterance and are of about equal length."""
    rows = len(features)
    first = np.arange(rows)  # of its utterance
    for start in range(0, rows - 1, BLOCK):
        block = features[start : start + BLOCK + 1]
        follows = (block[1:, :-COEFFICIENTS] == block[:-1, COEFFICIENTS:]).all(axis=1)
        first[start + 1 : start + 1 + len(follows)][follows] = 0
    runs = min(RUNS, max(2, rows // SHORTEST_RUN))
    return np.maximum.accumulate(first) * runs // rows


def _write(
    features: np.ndarray, labels: np.ndarray, train: np.ndarray, test: np.ndarray, public: Path, private: Path
) -> None:
    """Write all files; `train` and `test` are row numbers."""
    folder = public / FOLDER
    folder.mkdir(parents=True)
    _save_rows(folder / "train_11.npy", features, train)
    _save_rows(folder / "train_label_11.npy", labels, train)
    _save_rows(folder / "test_11.npy", features, test)
    answers = pd.DataFrame({"Id": np.arange(len(test)), "ClassId": labels[test]})
    write_csv(answers, private / "answers.csv")
    write_csv(answers.assign(ClassId=0), public / "sampleSubmission.csv")


def _save_rows(file: Path, array: np.ndarray, rows: np.ndarray) -> None:
    """What `np.save(file, array[rows])` writes, with a block of rows in memory at a time."""
    shape = (len(rows), *array.shape[1:])
    with file.open("wb") as output:
        header = {"descr": np.lib.format.dtype_to_descr(array.dtype), "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(output, header)
        for start in range(0, len(rows), BLOCK):
            output.write(array[rows[start : start + BLOCK]].tobytes())
