"""Hold out a random tenth of the materials, and number both parts anew from 1."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from mlebench.preparation.files import hold_out, link_files, read_csv, unpack, write_csv

TARGETS = ["formation_energy_ev_natom", "bandgap_energy_ev"]


def prepare(raw: Path, public: Path, private: Path) -> None:
    materials = read_csv(unpack(raw, "train.csv.zip") / "train.csv")
    geometries = unpack(raw, "train.zip") / "train"
    train, test = hold_out(materials, 0.1)

    _link_geometries(geometries, train["id"], public / "train")
    _link_geometries(geometries, test["id"], public / "test")
    train, test = _numbered_anew(train), _numbered_anew(test)

    write_csv(train, public / "train.csv")
    write_csv(test.drop(columns=TARGETS), public / "test.csv")
    write_csv(
        test[["id"]].assign(formation_energy_ev_natom=0.1779, bandgap_energy_ev=1.8892),
        public / "sample_submission.csv",
    )
    write_csv(test, private / "test.csv")


def _numbered_anew(materials: pd.DataFrame) -> pd.DataFrame:
    return materials.assign(id=range(1, len(materials) + 1))


def _link_geometries(source: Path, old_ids: pd.Series, target: Path) -> None:
    """Place each material's geometry under its new number."""
    link_files(
        (source / str(old) / "geometry.xyz", target / str(new) / "geometry.xyz")
        for new, old in enumerate(old_ids, start=1)
    )
