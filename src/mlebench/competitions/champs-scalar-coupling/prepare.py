"""Hold out all pairs of atoms of a random tenth of the molecules."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from mlebench.errors import PreparationError
from mlebench.preparation.files import link_files, random_order, read_csv, write_csv, write_rows

TARGET = "scalar_coupling_constant"
PROPERTIES = (  # known of training molecules only
    "dipole_moments",
    "magnetic_shielding_tensors",
    "mulliken_charges",
    "potential_energy",
    "scalar_coupling_contributions",
)


def prepare(raw: Path, public: Path, private: Path) -> None:
    train_molecules, _ = _write_pairs(raw, public, private)

    for name in ("structures", *PROPERTIES):
        _write_rows_of(train_molecules, raw / f"{name}.csv", public)
    _link_structures(train_molecules, raw, public)


def prepare_v2(raw: Path, public: Path, private: Path) -> None:
    """The same, but with the structures of the test molecules as well."""
    train_molecules, test_molecules = _write_pairs(raw, public, private)
    all_molecules = train_molecules.append(test_molecules)

    _write_rows_of(all_molecules, raw / "structures.csv", public)
    for name in PROPERTIES:
        _write_rows_of(train_molecules, raw / f"{name}.csv", public)
    _link_structures(all_molecules, raw, public)


def _write_pairs(raw: Path, public: Path, private: Path) -> tuple[pd.Index, pd.Index]:
    """Write the pairs of atoms; the names of the training and of the test molecules."""
    pairs = read_csv(raw / "train.csv")
    train_molecules, test_molecules, train, test = _divide(pairs)

    write_rows(pairs, train, public / "train.csv")
    test_pairs = pairs.take(test)
    write_csv(test_pairs.drop(columns=TARGET), public / "test.csv")
    write_csv(test_pairs[["id"]].assign(**{TARGET: 0}), public / "sample_submission.csv")
    write_csv(test_pairs, private / "answers.csv")
    return train_molecules, test_molecules


def _divide(pairs: pd.DataFrame) -> tuple[pd.Index, pd.Index, np.ndarray, np.ndarray]:
    """The names of training and test molecules in shuffled order, and the row numbers of either, molecule by molecule.

    The molecules are drawn from the sorted list of their names; the rows of one keep their order.
    """
    molecule, names = pd.factorize(pairs["molecule_name"], sort=True)
    order, count = random_order(len(names), 0.1)
    place = np.empty(len(names), dtype=np.int64)
    place[order] = np.arange(len(names))
    rows = np.argsort(place[molecule], kind="stable")
    test_rows = int(np.count_nonzero(place[molecule] < count))
    return names[order[count:]], names[order[:count]], rows[test_rows:], rows[:test_rows]


def _write_rows_of(molecules: pd.Index, source: Path, public: Path) -> None:
    """Write the rows of `source` that belong to `molecules`, each of which must have some."""
    table = read_csv(source)
    kept = table["molecule_name"].isin(molecules)
    found = table.loc[kept, "molecule_name"].nunique()
    if found != len(molecules):
        raise PreparationError(f"{source.name} describes {found:,} of the {len(molecules):,} molecules that it should")
    write_rows(table, np.flatnonzero(kept), public / source.name)


def _link_structures(molecules: pd.Index, raw: Path, public: Path) -> None:
    files = [f"{name}.xyz" for name in molecules]
    link_files(((raw / "structures" / file, public / "structures" / file) for file in files), "placing the structures")
