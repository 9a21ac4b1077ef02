"""Brain waves that repeat every second, each pattern in a shape of its own, and the spectrograms of them.

As a second is repeated exactly, a recording of real length packs into some kilobytes.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from mlebench.preparation.files import write_csv

PATTERNS = ["Seizure", "LPD", "GPD", "LRDA", "GRDA", "Other"]
VOTES = ["seizure_vote", "lpd_vote", "gpd_vote", "lrda_vote", "grda_vote", "other_vote"]
ELECTRODES = ["Fp1", "F3", "C3", "P3", "F7", "T3", "T5", "O1", "Fz", "Cz", "Pz"]
ELECTRODES += ["Fp2", "F4", "C4", "P4", "F8", "T4", "T6", "O2", "EKG"]
LEFT, BRAIN = slice(0, 8), slice(0, 19)
REGIONS = ["LL", "RL", "LP", "RP"]
RATE = 200  # rows a second
FREQUENCIES = np.linspace(0.59, 19.92, 100).round(2)
SHARES = [0.2, 0.14, 0.16, 0.15, 0.17, 0.18]

Columns = dict[str, np.ndarray]


def make_raw(raw: Path, rng: np.random.Generator, size: int) -> None:
    segments = _segments(rng, size)

    write_csv(segments, raw / "train.csv")
    test = segments.iloc[:1][["spectrogram_id", "eeg_id", "patient_id"]] + 1
    write_csv(test, raw / "test.csv")
    write_csv(test[["eeg_id"]].assign(**dict.fromkeys(VOTES, 1 / 6)), raw / "sample_submission.csv")
    _write_recordings(raw, segments, rng)
    _write(raw / "test_eegs" / f"{test['eeg_id'].iloc[0]}.parquet", _eeg(rng, 5, 50))
    _write(raw / "test_spectrograms" / f"{test['spectrogram_id'].iloc[0]}.parquet", _spectrogram(rng, 5, 600))
    (raw / "example_figures").mkdir()
    for number in (1, 2):
        (raw / "example_figures" / f"Sample{number:02d}.pdf").write_text(f"%PDF-1.4\n% sample {number}\n")


def _segments(rng: np.random.Generator, rows: int) -> pd.DataFrame:
    """The table of segments: patients have spectrograms, these EEGs, these overlapping segments."""
    numbers = iter(rng.permutation(np.arange(1_000_003, 4_290_000_000, 4_051))[: 8 * rows + 8].tolist())
    table: list[dict[str, object]] = []
    while len(table) < rows:
        patient, usual = next(numbers) % 65_000, int(rng.choice(6, p=SHARES))
        for _ in range(rng.integers(1, 5)):
            spectrogram = {"spectrogram_id": next(numbers), "patient_id": patient}
            place = 0
            for _ in range(rng.integers(1, 3)):
                pattern = usual if rng.random() < 0.7 else int(rng.choice(6, p=SHARES))
                eeg = {**spectrogram, "eeg_id": next(numbers)}
                for segment in range(rng.integers(1, 6)):
                    table.append({**eeg, **_segment(rng, pattern, segment, place), "label_id": next(numbers)})
                    place += 1
    return pd.DataFrame(table[:rows])[
        [
            "eeg_id",
            "eeg_sub_id",
            "eeg_label_offset_seconds",
            "spectrogram_id",
            "spectrogram_sub_id",
            "spectrogram_label_offset_seconds",
            "label_id",
            "patient_id",
            "expert_consensus",
            *VOTES,
        ]
    ]


def _segment(rng: np.random.Generator, pattern: int, segment: int, place: int) -> dict[str, object]:
    """Number, offset and votes; later segments of an EEG look less and less like its pattern."""
    chances = np.full(6, 0.04 + 0.02 * segment)
    chances[pattern] += 1 - chances.sum()
    votes = rng.multinomial(rng.choice([1, 3, 3, 5, 14, 20]), chances)
    return {
        "eeg_sub_id": segment,
        "eeg_label_offset_seconds": 4.0 * segment,
        "spectrogram_sub_id": place,
        "spectrogram_label_offset_seconds": 4.0 * place,
        "expert_consensus": PATTERNS[int(votes.argmax())],
        **dict(zip(VOTES, votes.tolist(), strict=True)),
    }


def _write_recordings(raw: Path, segments: pd.DataFrame, rng: np.random.Generator) -> None:
    """Recordings long enough for the last of their segments: 50 seconds of EEG, 600 of spectrogram."""
    for make, folder, key, offset, length in (
        (_eeg, "train_eegs", "eeg_id", "eeg_label_offset_seconds", 50),
        (_spectrogram, "train_spectrograms", "spectrogram_id", "spectrogram_label_offset_seconds", 600),
    ):
        for number, rows in segments.groupby(key, sort=False):
            pattern = int(rows[VOTES].sum().to_numpy().argmax())
            recording = make(rng, pattern, length + int(rows[offset].max()))
            _write(raw / folder / f"{number}.parquet", recording)


def _eeg(rng: np.random.Generator, pattern: int, seconds: int) -> Columns:
    """Microvolts of 20 electrodes; the left ones alone swing if the pattern is lateralised."""
    time = np.arange(RATE) / RATE
    noise = rng.normal(0, 4, (RATE, len(ELECTRODES)))
    wave = {
        0: 80 * np.sin(2 * np.pi * 5 * time),
        1: 120 * np.exp(-(((time - 0.5) / 0.04) ** 2)),
        2: 120 * np.exp(-(((time - 0.5) / 0.04) ** 2)),
        3: 60 * np.sin(2 * np.pi * 2 * time),
        4: 60 * np.sin(2 * np.pi * 2 * time),
        5: 10 * np.sin(2 * np.pi * 9 * time),
    }[pattern]
    noise[:, LEFT if pattern in (1, 3) else BRAIN] += wave[:, None] * rng.uniform(0.8, 1.2)
    noise[:, -1] += 500 * np.exp(-(((time - 0.3) / 0.02) ** 2))  # the heart
    values = np.tile(noise.round(2).astype(np.float32), (seconds, 1))
    return {name: values[:, column] for column, name in enumerate(ELECTRODES)}


def _spectrogram(rng: np.random.Generator, pattern: int, seconds: int) -> Columns:
    """Power by region and frequency, every two seconds; most of it where the pattern's rhythm is."""
    peak, width = [(5, 1), (1, 3), (1, 3), (2, 0.7), (2, 0.7), (9, 4)][pattern]
    power = 1 / FREQUENCIES + 20 * np.exp(-(((FREQUENCIES - peak) / width) ** 2))
    left_only = pattern in (1, 3)
    columns: Columns = {"time": np.arange(1, seconds, 2)}
    steps = np.ones(len(columns["time"]))
    steps[::50] = rng.uniform(0.5, 2, len(steps[::50]))
    for region in REGIONS:
        factor = 0.1 if left_only and region.startswith("R") else 1.0
        level = (factor * power * rng.uniform(0.7, 1.4, len(power))).round(3)
        for frequency, value in zip(FREQUENCIES, level, strict=True):
            columns[f"{region}_{frequency}"] = (value * steps).astype(np.float32)
    return columns


def _write(path: Path, columns: Columns) -> None:
    """Write a Parquet file without what is larger than the few values of a column: statistics and a second schema."""
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(
        pa.table(columns), path, compression="zstd", use_dictionary=False, write_statistics=False, store_schema=False
    )
