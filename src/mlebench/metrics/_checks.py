"""What metrics demand of their input."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd

FloatArray = npt.NDArray[np.float64]


def require_same_shape(y_true: np.ndarray, y_pred: np.ndarray) -> None:
    """Raise ValueError unless both arrays have the same shape and at least one row."""
    if y_true.shape != y_pred.shape:
        raise ValueError(f"y_true has shape {y_true.shape}, y_pred {y_pred.shape}")
    if len(y_true) == 0:
        raise ValueError("there are no rows to score")


def require_finite(**arrays: np.ndarray) -> None:
    """Raise ValueError that names the first array which holds NaN or an infinity."""
    for name, array in arrays.items():
        if not np.isfinite(array).all():
            raise ValueError(f"{name} holds NaN or infinite values")


def cell_texts(cells: np.ndarray) -> list[str]:
    """Cells (rows,) as text: numbers as Python prints them, missing ones as "nan"."""
    return list(map(str, np.where(pd.isna(cells), "nan", cells.astype(object))))
