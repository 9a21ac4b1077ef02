"""Hold out all pairs of atoms of a random tenth of the molecules."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from mlebench.errors import PreparationError
from mlebench.preparation.files import link_files, random_order_of_groups, read_csv
from mlebench.preparation.parts import append_csv, read_parts, write_by_key
from mlebench.preparation.shuffling import divided, read_in_order

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
    """Write the pairs of atoms, molecule by molecule; the names of the training and of the test molecules."""
    source = raw / "train.csv"
    molecules = read_csv(source, usecols=["molecule_name"])["molecule_name"]
    order, tested = random_order_of_groups(molecules, 0.1)

    for test, train in divided(read_in_order(source, order, scratch=private), tested):
        append_csv(train, public / "train.csv")
        append_csv(test.drop(columns=TARGET), public / "test.csv")
        append_csv(test[["id"]].assign(**{TARGET: 0}), public / "sample_submission.csv")
        append_csv(test, private / "answers.csv")
    return pd.Index(molecules.iloc[order[tested:]].unique()), pd.Index(molecules.iloc[order[:tested]].unique())


def _write_rows_of(molecules: pd.Index, source: Path, public: Path) -> None:
    """Write the rows of `source` that belong to `molecules`, each of which must have some."""
    sides = {public / source.name: molecules}
    found = write_by_key("molecule_name", sides, read_parts(source), lambda: read_csv(source))
    if found != len(molecules):
        raise PreparationError(f"{source.name} describes {found:,} of the {len(molecules):,} molecules that it should")


def _link_structures(molecules: pd.Index, raw: Path, public: Path) -> None:
    files = [f"{name}.xyz" for name in molecules]
    link_files(((raw / "structures" / file, public / "structures" / file) for file in files), "placing the structures")
