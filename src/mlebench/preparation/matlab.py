"""MAT files of version 5, read and written by SciPy."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mlebench.errors import PreparationError

_DESCRIPTION = b"MATLAB 5.0 MAT-file".ljust(116)  # the first bytes of a file, where SciPy puts the time, too


def empty_field(content: bytes, variable: str, field: str) -> bytes:
    """The MAT file `content` with the field `field` of the structure `variable` emptied: an array of 1 x 0 items.

    Raises PreparationError if the file is damaged, of version 7.3 or with functions, or there is no such field.
    """
    try:
        variables = _read(content)
        structure = variables.get(variable)
        if structure is None or field not in (structure.dtype.names or ()):
            raise PreparationError(f"a MAT file has no field {field} in a structure {variable}")
        values = structure[field]
        for place in np.ndindex(values.shape):
            values[place] = np.empty((1, 0), values[place].dtype)
        return mat_bytes(variables)
    except PreparationError:
        raise
    except Exception as error:  # what SciPy raises for damage is of any kind
        raise PreparationError(f"a MAT file is damaged or of a kind that can't be written: {error!r}") from error


def mat_bytes(variables: Mapping[str, Any]) -> bytes:
    """A compressed MAT file of `variables`; a mapping is a structure. The bytes do not depend on the clock."""
    from scipy.io import savemat

    buffer = io.BytesIO()
    savemat(buffer, dict(variables), do_compression=True, long_field_names=True)
    return _DESCRIPTION + buffer.getvalue()[len(_DESCRIPTION) :]


def structures(items: Sequence[Mapping[str, Any]], fields: Sequence[str]) -> np.ndarray:
    """A row of structures with the same fields, shape (1, items), as `mat_bytes` takes it for a value."""
    row = np.empty((1, len(items)), dtype=[(field, object) for field in fields])
    for place, item in enumerate(items):
        row[0, place] = tuple(item[field] for field in fields)
    return row


def _read(content: bytes) -> dict[str, np.ndarray]:
    """The variables by name, in the types that Matlab would give them, whatever they are packed as."""
    from scipy.io import loadmat

    variables = loadmat(io.BytesIO(content), mat_dtype=True)
    return {name: value for name, value in variables.items() if not name.startswith("__")}
