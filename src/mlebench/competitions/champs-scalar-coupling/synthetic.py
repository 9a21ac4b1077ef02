"""Small chain molecules whose couplings depend on the kind of pair, the bonds between and the distance."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from mlebench.preparation.files import write_csv

PAIRS_OF_A_MOLECULE = 30  # about as many
HYDROGENS = {"C": 2, "N": 1, "O": 0, "F": 0}  # that an atom of the chain carries
# What couples: mean of the constant, and how it changes with the distance in ångström.
KINDS = {
    "1JHC": (94.0, -60.0),
    "1JHN": (47.0, -40.0),
    "2JHC": (-0.3, 3.0),
    "2JHH": (-10.3, 5.0),
    "2JHN": (3.1, 2.0),
    "3JHC": (3.7, -2.5),
    "3JHH": (4.8, -3.0),
    "3JHN": (1.0, -1.0),
}
TENSOR = ["XX", "YX", "ZX", "XY", "YY", "ZY", "XZ", "YZ", "ZZ"]
TERMS = ["fc", "sd", "pso", "dso"]


def make_raw(raw: Path, rng: np.random.Generator, size: int) -> None:
    train_count = max(20, size // PAIRS_OF_A_MOLECULE)
    count = train_count + train_count // 2
    names = [f"dsgdb9nsd_{number:06d}" for number in np.sort(rng.choice(np.arange(1, 133_886), count, replace=False))]
    atoms, pairs = _molecules(rng, names)
    train_names = set(rng.permutation(names)[:train_count])
    is_train = pairs["molecule_name"].isin(train_names)
    train, test = pairs[is_train].reset_index(drop=True), pairs[~is_train].reset_index(drop=True)
    columns = ["id", "molecule_name", "atom_index_0", "atom_index_1", "type"]
    train["id"], test["id"] = train.index, test.index + len(train)

    write_csv(train[[*columns, "scalar_coupling_constant"]], raw / "train.csv")
    write_csv(test[columns], raw / "test.csv")
    write_csv(test[["id"]].assign(scalar_coupling_constant=0), raw / "sample_submission.csv")
    write_csv(train[[*columns[1:], *TERMS]], raw / "scalar_coupling_contributions.csv")
    structure = ["molecule_name", "atom_index", "atom", "x", "y", "z"]
    write_csv(atoms[structure], raw / "structures.csv")
    _write_xyz(raw / "structures", atoms)
    _write_properties(raw, rng, atoms[atoms["molecule_name"].isin(train_names)])


def _write_properties(raw: Path, rng: np.random.Generator, atoms: pd.DataFrame) -> None:
    """What is known of training molecules only: of each molecule and of each atom."""
    molecules = atoms[["molecule_name"]].drop_duplicates()
    dipoles = rng.normal(0, 1.5, (len(molecules), 3)).round(4)
    energies = -atoms.groupby("molecule_name", sort=False).size().to_numpy() * 20 + rng.normal(0, 5, len(molecules))
    each = atoms[["molecule_name", "atom_index"]]
    tensors = rng.normal(0, 60, (len(atoms), 9)).round(4)
    charges = atoms["charge"].round(6)

    write_csv(molecules.assign(**dict(zip("XYZ", dipoles.T, strict=True))), raw / "dipole_moments.csv")
    write_csv(molecules.assign(potential_energy=energies.round(5)), raw / "potential_energy.csv")
    write_csv(each.assign(**dict(zip(TENSOR, tensors.T, strict=True))), raw / "magnetic_shielding_tensors.csv")
    write_csv(each.assign(mulliken_charge=charges), raw / "mulliken_charges.csv")


def _write_xyz(folder: Path, atoms: pd.DataFrame) -> None:
    folder.mkdir(parents=True)
    lines = atoms["atom"] + " " + atoms["x"].map(str) + " " + atoms["y"].map(str) + " " + atoms["z"].map(str)
    for name, of_one in lines.groupby(atoms["molecule_name"]):
        text = "\n".join([str(len(of_one)), "", *of_one, ""])
        (folder / f"{name}.xyz").write_text(text, encoding="utf-8")


def _molecules(rng: np.random.Generator, names: list[str]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The atoms of all molecules, and the pairs that couple."""
    molecules = [_molecule(rng) for _ in names]
    lengths = [len(elements) for elements, _, _ in molecules]
    atoms = pd.DataFrame(
        {
            "molecule_name": np.repeat(names, lengths),
            "atom_index": np.concatenate([np.arange(length) for length in lengths]),
            "atom": np.concatenate([elements for elements, _, _ in molecules]),
        }
    )
    atoms[["x", "y", "z"]] = np.concatenate([places for _, places, _ in molecules]).round(10)
    atoms["charge"] = atoms["atom"].map({"H": 0.13, "C": -0.2, "N": -0.4, "O": -0.4, "F": -0.3}).astype(float)
    atoms["charge"] += rng.normal(0, 0.05, len(atoms))
    tables = [_pairs(*molecule).assign(molecule_name=name) for name, molecule in zip(names, molecules, strict=True)]
    return atoms, _with_constants(rng, pd.concat(tables, ignore_index=True))


def _molecule(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Elements (atoms,), places in ångström (atoms, 3), and for each atom the place in the chain it belongs to."""
    length = int(rng.integers(3, 7))
    chain = rng.choice(list(HYDROGENS), length, p=[0.65, 0.2, 0.12, 0.03])
    chain[0] = "C"
    carrier = np.repeat(
        np.arange(length), [HYDROGENS[element] + (end in (0, length - 1)) for end, element in enumerate(chain)]
    )
    backbone = np.stack([1.25 * np.arange(length), 0.4 * (-1.0) ** np.arange(length), np.zeros(length)], axis=1)
    backbone += rng.normal(0, 0.05, backbone.shape)
    directions = rng.normal(size=(len(carrier), 3)) * [0.3, 1, 1]
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    hydrogens = backbone[carrier] + directions * rng.normal(1.09, 0.03, (len(carrier), 1))
    elements = np.concatenate([chain, np.full(len(carrier), "H")])
    return elements, np.concatenate([backbone, hydrogens]), np.concatenate([np.arange(length), carrier])


def _pairs(elements: np.ndarray, places: np.ndarray, chain: np.ndarray) -> pd.DataFrame:
    """Hydrogens with C, N or H, at most three bonds away."""
    hydrogen = np.flatnonzero(elements == "H")
    first, second = (side.ravel() for side in np.meshgrid(hydrogen, np.arange(len(elements)), indexing="ij"))
    other = elements[second]
    bonds = np.abs(chain[first] - chain[second]) + 1 + (other == "H")
    wanted = np.isin(other, ["C", "N"]) | ((other == "H") & (second > first))
    wanted &= bonds <= 3
    first, second, other, bonds = (part[wanted] for part in (first, second, other, bonds))
    return pd.DataFrame(
        {
            "atom_index_0": first,
            "atom_index_1": second,
            "type": [f"{bond}JH{element}" for bond, element in zip(bonds, other, strict=True)],
            "distance": np.linalg.norm(places[first] - places[second], axis=1),
        }
    )


def _with_constants(rng: np.random.Generator, pairs: pd.DataFrame) -> pd.DataFrame:
    """The pairs with the four terms and their sum; the first outweighs the others by far."""
    mean, slope = np.array([KINDS[kind] for kind in pairs["type"]]).T
    usual = pairs.groupby("type")["distance"].transform("mean")
    noise = rng.normal(0, 0.02, len(pairs)) * np.abs(mean)
    pairs["fc"] = (mean + slope * (pairs["distance"] - usual) + noise).round(6)
    for term, scale in (("sd", 0.1), ("pso", 0.3), ("dso", 0.3)):
        pairs[term] = rng.normal(0, scale, len(pairs)).round(6)
    pairs["scalar_coupling_constant"] = pairs[TERMS].sum(axis=1).round(6)
    return pairs
