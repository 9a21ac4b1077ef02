"""What prepare and grade files written for v1 import: inputs for metrics, masks, ids in TFRecord files.

Run-length codes are those of most Kaggle competitions: blank-separated pairs "start length"; pixels are numbered
from 1, down the first column, then down the second, and so on. The empty code is the empty mask.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from mlebench.errors import InvalidSubmission

Mask = npt.NDArray[np.uint8]


def df_to_one_hot(df: pd.DataFrame, id_column: str, class_column: str, classes: Sequence[str]) -> pd.DataFrame:
    """A column of zeros and ones for each of `classes`, after the id.

    Raises InvalidSubmission if a class is not among `classes`.
    """
    positions = pd.Index(classes).get_indexer(pd.Index(df[class_column]))
    if (positions < 0).any():
        raise InvalidSubmission(f"{class_column} holds the unknown class {df[class_column].iloc[positions.argmin()]!r}")
    one_hot = pd.DataFrame(np.eye(len(classes), dtype=int)[positions], columns=list(classes))
    one_hot.insert(0, id_column, df[id_column].to_numpy())
    return one_hot


def one_hot_dfs_to_log_loss_inputs(
    submission_one_hot: pd.DataFrame, answers_one_hot: pd.DataFrame, id_column: str = "id", apply_softmax: bool = True
) -> dict[str, np.ndarray]:
    """`y_true` and `y_pred` of shape (rows, classes), rows sorted by id, columns as in the answers.

    Predictions of a row go through a softmax unless it is switched off or they are probabilities already: between
    0 and 1 with the sum 1. Raises InvalidSubmission if columns or ids differ.
    """
    _require_columns(submission_one_hot, list(answers_one_hot.columns))
    submission, answers = _paired(submission_one_hot, answers_one_hot, id_column)
    classes = [column for column in answers.columns if column != id_column]
    y_pred = submission[classes].to_numpy(float)
    if apply_softmax and not _are_probabilities(y_pred):
        y_pred = np.exp(y_pred - y_pred.max(axis=1, keepdims=True))
        y_pred /= y_pred.sum(axis=1, keepdims=True)
    return {"y_true": answers[classes].to_numpy(), "y_pred": y_pred}


def prepare_for_accuracy_metric(
    submission: pd.DataFrame, answers: pd.DataFrame, target_column: str, id_column: str
) -> dict[str, np.ndarray]:
    """`y_true` and `y_pred` of shape (rows,), sorted by id. Raises InvalidSubmission if columns or ids differ."""
    y_true, y_pred = _targets(submission, answers, target_column, id_column)
    return {"y_true": y_true, "y_pred": y_pred}


def prepare_for_auroc_metric(
    submission: pd.DataFrame, answers: pd.DataFrame, id_col: str, target_col: str
) -> dict[str, np.ndarray]:
    """`y_true` and `y_score` of shape (rows,), sorted by id.

    Raises InvalidSubmission if columns or ids differ, or a prediction is no number between 0 and 1.
    """
    y_true, scores = _targets(submission, answers, target_col, id_col)
    y_score = pd.to_numeric(pd.Series(scores), errors="coerce").to_numpy(float)
    if not ((y_score >= 0) & (y_score <= 1)).all():
        raise InvalidSubmission(f"{target_col} must hold numbers between 0 and 1")
    return {"y_true": y_true, "y_score": y_score}


def rle_decode(rle: str | float, height: int | tuple[int, int], width: int | None = None) -> Mask:
    """The mask of a run-length code: zeros and ones, shape (height, width); a missing code is an empty mask.

    The size is given as two numbers or as a pair. Raises ValueError if the code is malformed or leaves the picture.

    >>> rle_decode("2 2", 2, 2).tolist()
    [[0, 1], [1, 0]]
    """
    rows, columns = _size(height, width)
    pixels = rows * columns
    numbers = np.array(rle.split() if isinstance(rle, str) else [], dtype=np.int64)
    if len(numbers) % 2:
        raise ValueError("a run-length code has an even number of entries")
    starts, lengths = numbers[::2] - 1, numbers[1::2]
    if (starts < 0).any() or (lengths < 1).any() or (starts + lengths > pixels).any():
        raise ValueError(f"the run-length code leaves a picture of {rows} x {columns} pixels")
    change = np.zeros(pixels + 1, dtype=np.int64)
    np.add.at(change, starts, 1)
    np.add.at(change, starts + lengths, -1)
    return (np.cumsum(change[:-1]) > 0).astype(np.uint8).reshape((rows, columns), order="F")


def rle_encode(mask: npt.ArrayLike) -> str:
    """The run-length code of a mask, shape (height, width); what is not 0 belongs to it.

    >>> rle_encode([[0, 1], [1, 0]])
    '2 2'
    """
    marked = np.asarray(mask).ravel(order="F") != 0
    edges = np.flatnonzero(np.diff(np.concatenate([[False], marked, [False]])))
    starts, ends = edges[::2], edges[1::2]
    return " ".join(map(str, np.column_stack([starts + 1, ends - starts]).ravel()))


def rles_to_masks(rles: Iterable[str | float], height: int | tuple[int, int], width: int | None = None) -> list[Mask]:
    """The mask of each code, all of one size, as `rle_decode` has it."""
    return [rle_decode(rle, height, width) for rle in rles]


def get_ids_from_tf_records(tf_record: Path, feature: str = "image_name") -> list[str]:
    """The texts of `feature` in a TFRecord file of `tf.train.Example`, in the file's order.

    Raises ValueError if the file is cut short or an example lacks the feature.
    """
    wanted = feature.encode()
    return [_text_of(example, wanted) for example in _records(Path(tf_record).read_bytes())]


# --- pairing


def _targets(
    submission: pd.DataFrame, answers: pd.DataFrame, target: str, id_column: str
) -> tuple[np.ndarray, np.ndarray]:
    _require_columns(submission, [id_column, target])
    paired, truth = _paired(submission, answers, id_column)
    return truth[target].to_numpy(), paired[target].to_numpy()


def _require_columns(submission: pd.DataFrame, columns: Sequence[str]) -> None:
    if missing := [column for column in columns if column not in submission.columns]:
        raise InvalidSubmission(f"the submission lacks {', '.join(map(str, missing[:8]))}")


def _paired(submission: pd.DataFrame, answers: pd.DataFrame, id_column: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Both sorted by id. Raises InvalidSubmission unless they hold the same ids."""
    first, second = (frame.sort_values(id_column, kind="stable") for frame in (submission, answers))
    if len(first) != len(second):
        raise InvalidSubmission(f"the submission has {len(first):,} rows, {len(second):,} are wanted")
    if not np.array_equal(first[id_column].to_numpy(object), second[id_column].to_numpy(object)):
        raise InvalidSubmission(f"{id_column} does not hold the ids of the answers")
    return first, second


def _are_probabilities(predictions: np.ndarray) -> bool:
    in_range = ((predictions >= 0) & (predictions <= 1)).all()
    return bool(in_range and np.allclose(predictions.sum(axis=1), 1, atol=1e-6))


def _size(height: int | tuple[int, int], width: int | None) -> tuple[int, int]:
    if isinstance(height, tuple):
        return height
    if width is None:
        raise ValueError("a mask needs a height and a width")
    return height, width


# --- TFRecord: frames of length (8 bytes), checksum (4), content, checksum (4); the content is protobuf


def _records(content: bytes) -> Iterator[bytes]:
    position = 0
    while position < len(content):
        start = position + 12
        end = start + int.from_bytes(content[position : position + 8], "little")
        if end + 4 > len(content):
            raise ValueError("the TFRecord file is cut short")
        yield content[start:end]
        position = end + 4


def _text_of(example: bytes, wanted: bytes) -> str:
    """Example { features = 1 { feature map = 1 { key = 1, value = 2 { bytes_list = 1 { value = 1 } } } } }."""
    for features in _submessages(example, 1):
        for entry in _submessages(features, 1):
            if next(_submessages(entry, 1), b"") == wanted:
                for texts in _submessages(next(_submessages(entry, 2), b""), 1):
                    for text in _submessages(texts, 1):
                        return text.decode()
    raise ValueError(f"an example has no text {wanted.decode()!r}")


def _submessages(message: bytes, wanted: int) -> Iterator[bytes]:
    """The length-delimited fields number `wanted` of a protobuf message."""
    position = 0
    while position < len(message):
        key, position = _varint(message, position)
        if key & 7 == 2:
            length, position = _varint(message, position)
            if key >> 3 == wanted:
                yield message[position : position + length]
            position += length
        elif key & 7 == 0:
            _, position = _varint(message, position)
        else:
            position += {1: 8, 5: 4}[key & 7]


def _varint(message: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = message[position]
        position += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, position
