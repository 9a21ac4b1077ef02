"""Hairpin molecules whose free bases, above all adenines, react and break."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TypedDict

import numpy as np
import pandas as pd

from mlebench.preparation.files import write_csv
from mlebench.preparation.synthetic import hex_ids

TARGETS = ["reactivity", "deg_Mg_pH10", "deg_pH10", "deg_Mg_50C", "deg_50C"]
ERRORS = ["reactivity_error", "deg_error_Mg_pH10", "deg_error_pH10", "deg_error_Mg_50C", "deg_error_50C"]
BASES = "AGUC"
RATES = np.array(
    [[0.9, 0.8, 0.35, 0.3], [0.6, 0.9, 0.5, 0.5], [0.7, 0.9, 0.5, 0.6], [0.6, 0.8, 0.5, 0.4], [0.7, 0.7, 0.5, 0.5]]
)
PAIRS = {"A": "U", "G": "C", "U": "A", "C": "G"}


class Molecule(TypedDict):
    """What is known of a molecule without measuring it."""

    index: int
    id: str
    sequence: str
    structure: str
    predicted_loop_type: str
    seq_length: int
    seq_scored: int


def make_raw(raw: Path, rng: np.random.Generator, size: int) -> None:
    further = max(2, size // 4)
    ids = [f"id_{text}" for text in hex_ids(rng, size + further, 9)]
    train = [_molecule(rng, index, ids[index], 107, 68) for index in range(size)]
    # The original test holds longer molecules too.
    sizes = [(107, 68) if rng.random() < 0.5 else (130, 91) for _ in range(further)]
    test = [_molecule(rng, index, ids[size + index], *lengths) for index, lengths in enumerate(sizes)]

    _write_lines(raw / "train.json", (_measured(rng, molecule) for molecule in train))
    _write_lines(raw / "test.json", test)
    positions = [f"{molecule['id']}_{position}" for molecule in test for position in range(molecule["seq_length"])]
    write_csv(
        pd.DataFrame({"id_seqpos": positions}).assign(**dict.fromkeys(TARGETS, 0.0)), raw / "sample_submission.csv"
    )


def _write_lines(path: Path, rows: Iterator[dict[str, object]] | list[Molecule]) -> None:
    with path.open("w", encoding="utf-8") as file:
        for row in rows:
            file.write(json.dumps(row, separators=(",", ":")) + "\n")


def _molecule(rng: np.random.Generator, index: int, name: str, length: int, scored: int) -> Molecule:
    """Hairpins between free stretches; both ends are free."""
    sequence = list("GGAAA" + "".join(np.array(list(BASES))[rng.integers(0, 4, length - 5)]))
    structure, loops = ["."] * length, ["E"] * length
    start = int(rng.integers(5, 15))
    while True:
        stem, loop = int(rng.integers(3, 6)), int(rng.integers(3, 6))
        end = start + 2 * stem + loop
        if end > length - 5:
            break
        structure[start:end] = "(" * stem + "." * loop + ")" * stem
        loops[start:end] = "S" * stem + "H" * loop + "S" * stem
        for step in range(stem):
            sequence[end - 1 - step] = PAIRS[sequence[start + step]]
        gap = int(rng.integers(2, 10))
        loops[end : end + gap] = "X" * min(gap, length - end)
        start = end + gap
    return Molecule(
        index=index,
        id=name,
        sequence="".join(sequence),
        structure="".join(structure),
        predicted_loop_type="".join(loops),
        seq_length=length,
        seq_scored=scored,
    )


def _measured(rng: np.random.Generator, molecule: Molecule) -> dict[str, object]:
    """The molecule with its measurements; noisy ones do not pass the filter and may be negative."""
    count = molecule["seq_scored"]
    base = np.array([BASES.index(letter) for letter in molecule["sequence"][:count]])
    free = np.array([sign == "." for sign in molecule["structure"][:count]])
    passed = rng.random() < 0.66
    noise = 0.12 if passed else 0.6
    means = RATES[:, base] * np.where(free, 1.0, 0.2)
    means[:, 0] += 0.4
    values = (means * rng.gamma(6, 1 / 6, means.shape) + rng.normal(0, noise, means.shape)).round(4)
    errors = (noise * rng.gamma(4, 0.25, means.shape)).round(4)
    known = dict(molecule)
    lengths = {name: known.pop(name) for name in ("seq_length", "seq_scored")}
    return {
        **known,
        "signal_to_noise": round(float(rng.gamma(6, 1) + 1 if passed else rng.random()), 3),
        "SN_filter": 1.0 if passed else 0.0,
        **lengths,
        **{name: row.tolist() for name, row in zip(ERRORS, errors, strict=True)},
        **{name: row.tolist() for name, row in zip(TARGETS, values, strict=True)},
    }
