"""Molecules whose size and charge decide, with much noise, which enzymes act on them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from mlebench.preparation.files import write_csv

# Mean and spread of each descriptor, roughly; the columns stand in the order of the real table.
DESCRIPTORS = {
    "BertzCT": (515, 540),
    "Chi1": (9.1, 6.8),
    "Chi1n": (5.9, 4.6),
    "Chi1v": (6.7, 5.2),
    "Chi2n": (4.4, 3.9),
    "Chi2v": (5.3, 4.1),
    "Chi3v": (3.4, 2.8),
    "Chi4n": (1.8, 1.7),
    "EState_VSA1": (29, 31),
    "EState_VSA2": (10, 14),
    "ExactMolWt": (293, 190),
    "FpDensityMorgan1": (1.3, 0.2),
    "FpDensityMorgan2": (2.0, 0.3),
    "FpDensityMorgan3": (2.6, 0.4),
    "HallKierAlpha": (-0.9, 0.8),
    "HeavyAtomMolWt": (276, 181),
    "Kappa3": (5.1, 4.4),
    "MaxAbsEStateIndex": (10.6, 1.6),
    "MinEStateIndex": (-2.4, 2.2),
    "NumHeteroatoms": (8, 5),
    "PEOE_VSA10": (10, 12),
    "PEOE_VSA14": (15, 25),
    "PEOE_VSA6": (12, 21),
    "PEOE_VSA7": (28, 31),
    "PEOE_VSA8": (19, 21),
    "SMR_VSA10": (21, 13),
    "SMR_VSA5": (18, 25),
    "SlogP_VSA3": (12, 13),
    "VSA_EState9": (49, 31),
    "fr_COO": (0.5, 0.9),
    "fr_COO2": (0.5, 0.9),
}
COUNTS = ["NumHeteroatoms", "fr_COO", "fr_COO2"]
MAY_BE_NEGATIVE = ["HallKierAlpha", "MinEStateIndex"]
SHARES = [0.67, 0.80, 0.31, 0.28, 0.14, 0.16]  # of positive EC1 … EC6


def make_raw(raw: Path, rng: np.random.Generator, size: int) -> None:
    molecules = _molecules(rng, size + max(1, size // 2))
    train, test = molecules.iloc[:size], molecules.iloc[size:].loc[:, :"fr_COO2"]

    write_csv(train, raw / "train.csv")
    write_csv(test, raw / "test.csv")
    write_csv(test[["id"]].assign(EC1=0.5, EC2=0.5), raw / "sample_submission.csv")


def _molecules(rng: np.random.Generator, rows: int) -> pd.DataFrame:
    means, spreads = np.array(list(DESCRIPTORS.values())).T
    hidden = rng.normal(size=(rows, 3))  # size, charge, shape of the molecule
    loadings = rng.normal(0, 0.6, (3, len(means)))
    standard = hidden @ loadings + rng.normal(0, 0.6, (rows, len(means)))
    table = pd.DataFrame(means + spreads * standard, columns=list(DESCRIPTORS))
    positive = table.columns.difference(MAY_BE_NEGATIVE)
    table[positive] = table[positive].clip(lower=0)  # many exact zeros, as in the real table
    table = table.round(9)
    table[COUNTS] = table[COUNTS].round().astype(np.int64)
    table.insert(0, "id", np.arange(rows))
    effects = rng.normal(0, 0.9, (3, len(SHARES)))
    scores = hidden @ effects + rng.logistic(size=(rows, len(SHARES)))
    for number, share in enumerate(SHARES):
        table[f"EC{number + 1}"] = (scores[:, number] > np.quantile(scores[:, number], 1 - share)).astype(np.int64)
    return table
