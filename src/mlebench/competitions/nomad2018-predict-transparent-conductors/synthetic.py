"""Random oxides whose stability and band gap depend on composition, symmetry and cell."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from mlebench.preparation.synthetic import write_zip

TARGETS = ["formation_energy_ev_natom", "bandgap_energy_ev"]
LATTICES = {  # space group: three lengths in ångström of a cell of 80 atoms, three angles in degrees
    12: (24.4, 6.4, 11.9, 90.0, 104.0, 90.0),
    33: (10.3, 17.6, 9.4, 90.0, 90.0, 90.0),
    167: (9.9, 9.9, 13.7, 91.0, 91.0, 90.0),
    194: (6.3, 6.3, 24.3, 90.0, 90.0, 120.0),
    206: (9.8, 9.8, 9.8, 90.0, 90.0, 90.0),
    227: (9.6, 5.6, 13.6, 90.9, 91.1, 30.5),
}


def make_raw(raw: Path, rng: np.random.Generator, size: int) -> None:
    train, test = _materials(rng, size), _materials(rng, max(1, size // 4))

    _write_table(raw, "train.csv", train)
    _write_table(raw, "test.csv", test.drop(columns=TARGETS))
    _write_table(
        raw, "sample_submission.csv", test[["id"]].assign(formation_energy_ev_natom=0.1779, bandgap_energy_ev=1.8892)
    )
    _write_geometries(raw, rng, "train", train)
    _write_geometries(raw, rng, "test", test)


def _write_table(raw: Path, name: str, table: pd.DataFrame) -> None:
    write_zip(raw / f"{name}.zip", {name: table.to_csv(index=False, lineterminator="\n")})


def _write_geometries(raw: Path, rng: np.random.Generator, part: str, materials: pd.DataFrame) -> None:
    members = {f"{part}/{row['id']:.0f}/geometry.xyz": _geometry(rng, row) for _, row in materials.iterrows()}
    write_zip(raw / f"{part}.zip", members)


def _materials(rng: np.random.Generator, rows: int) -> pd.DataFrame:
    groups = rng.choice(list(LATTICES), rows)
    atoms = rng.choice([10, 20, 30, 40, 60, 80], rows, p=[0.02, 0.04, 0.06, 0.25, 0.08, 0.55])
    metals = atoms * 2 // 5
    shares = rng.multinomial(metals, rng.dirichlet([0.9, 0.9, 0.9], rows)) / metals[:, None]
    al, ga, indium = shares.T
    swelling = 1 + 0.05 * ga + 0.12 * indium + rng.normal(0, 0.004, rows)
    lattice = np.array([LATTICES[group] for group in groups])
    lengths = lattice[:, :3] * (swelling * np.cbrt(atoms / 80))[:, None] * rng.normal(1, 0.002, (rows, 3))
    angles = lattice[:, 3:] + rng.normal(0, 0.01, (rows, 3))

    strain = np.where(np.isin(groups, [33, 194]), 0.11, 0.03)
    formation = strain + 0.6 * al * indium + 0.25 * ga * indium + 0.1 * al * ga + rng.normal(0, 0.015, rows)
    band_gap = 1.0 + 3.6 * al + 1.6 * ga + 0.3 * (groups == 33) - 0.5 * (groups == 227) + rng.normal(0, 0.12, rows)
    return pd.DataFrame(
        {
            "id": np.arange(1, rows + 1),
            "spacegroup": groups,
            "number_of_total_atoms": atoms.astype(float),
            **dict(zip(["percent_atom_al", "percent_atom_ga", "percent_atom_in"], shares.round(4).T, strict=True)),
            **{f"lattice_vector_{axis + 1}_ang": lengths[:, axis].round(4) for axis in range(3)},
            **{
                f"lattice_angle_{name}_degree": angles[:, axis].round(4)
                for axis, name in enumerate(["alpha", "beta", "gamma"])
            },
            "formation_energy_ev_natom": np.maximum(formation, 0).round(4),
            "bandgap_energy_ev": np.maximum(band_gap, 0.0001).round(4),
        }
    )


def _geometry(rng: np.random.Generator, row: pd.Series) -> str:
    """A cell of the row's size and composition; the atoms stand at random places."""
    vectors = _lattice_vectors(
        [row[f"lattice_vector_{axis}_ang"] for axis in (1, 2, 3)],
        [row[f"lattice_angle_{name}_degree"] for name in ("alpha", "beta", "gamma")],
    )
    atoms = round(row["number_of_total_atoms"])
    metals = atoms * 2 // 5
    counts = [round(row[f"percent_atom_{name}"] * metals) for name in ("al", "ga")]
    elements = np.repeat(["Al", "Ga", "In", "O"], [*counts, metals - sum(counts), atoms - metals])
    positions = rng.random((atoms, 3)) @ vectors
    rule = "#" + "=" * 55
    lines = [rule, "#Created using the Atomic Simulation Environment (ASE)", rule]
    lines += ["lattice_vector {:.16f} {:.16f} {:.16f} ".format(*vector) for vector in vectors]
    lines += [
        "atom {:.16f} {:.16f} {:.16f} {}".format(*position, element)
        for position, element in zip(positions, elements, strict=True)
    ]
    return "\n".join(lines) + "\n"


def _lattice_vectors(lengths: list[float], angles: list[float]) -> np.ndarray:
    """The cell's edges as rows, (3, 3): the first along x, the second in the plane of x and y."""
    cos_alpha, cos_beta, cos_gamma = np.cos(np.radians(angles))
    sin_gamma = np.sin(np.radians(angles[2]))
    third_y = (cos_alpha - cos_beta * cos_gamma) / sin_gamma
    third_z = np.sqrt(max(1 - cos_beta**2 - third_y**2, 1e-6))
    directions = np.array([[1, 0, 0], [cos_gamma, sin_gamma, 0], [cos_beta, third_y, third_z]])
    return directions * np.array(lengths)[:, None]
