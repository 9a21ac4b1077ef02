"""Short recordings in which each species whistles at its own pitch, and what a baseline would find in them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from mlebench.preparation.synthetic import image_bytes, wav_bytes, write_zip

SPECIES = 19
RATE, SAMPLES = 16_000, 8_000  # half a second
WINDOW = 128  # samples in a column of a spectrogram
BANDS, FRAMES = WINDOW // 2, SAMPLES // WINDOW
PITCHES = 700 + 360 * np.arange(SPECIES)  # Hz
CLUSTERS = 100  # of segments: five a species, the last five are noise
FEATURES = 38
EXAMPLES = 20  # recordings that were segmented by hand

ESSENTIAL = "mlsp_contest_dataset/essential_data"
SUPPLEMENTAL = "mlsp_contest_dataset/supplemental_data"


@dataclass(frozen=True)
class Recording:
    """A sound and the syllables in it, each a row (species, first sample, last sample)."""

    samples: np.ndarray
    syllables: np.ndarray


def make_raw(raw: Path, rng: np.random.Generator, size: int) -> None:
    count = 2 * size  # as many again have hidden labels
    folds = rng.permutation(np.arange(count) % 2)
    heard = [_species(rng) for _ in range(count)]
    recordings = [_record(rng, species) for species in heard]
    names = _names(rng, count)

    members = {"mlsp_contest_dataset/README.txt": "Synthetic recordings.\n", **_essential(folds, heard, names)}
    members |= _supplemental(rng, recordings)
    by_hand = set(np.flatnonzero(folds == 0)[:EXAMPLES].tolist())
    for number, (name, recording) in enumerate(zip(names, recordings, strict=True)):
        members |= _files(rng, name, recording, by_hand=number in by_hand)
    write_zip(raw / "mlsp_contest_dataset.zip", members)
    pairs = np.flatnonzero(folds)[:, None] * 100 + np.arange(SPECIES)
    lines = ["Id,Probability", *(f"{pair},0" for pair in pairs.ravel())]
    (raw / "sample_submission.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")


def _species(rng: np.random.Generator) -> np.ndarray:
    """Who sings in one recording: nobody in three of ten, else one to four species."""
    count = 0 if rng.random() < 0.3 else rng.integers(1, 5)
    return np.sort(rng.choice(SPECIES, count, replace=False))


def _names(rng: np.random.Generator, count: int) -> list[str]:
    """Place, day, time and number, as in PC1_20090606_050012_0010."""
    days = pd.Timestamp("2009-05-01") + pd.to_timedelta(rng.integers(0, 400, count), unit="D")
    places, hours = rng.integers(1, 19, count), rng.integers(4, 9, count)
    return [
        f"PC{place}_{day:%Y%m%d}_{hour:02d}0000_{number:04d}"
        for number, (place, day, hour) in enumerate(zip(places, days, hours, strict=True))
    ]


def _record(rng: np.random.Generator, heard: np.ndarray) -> Recording:
    samples = rng.normal(0, rng.uniform(0.01, 0.04), SAMPLES)
    syllables = []
    for species in np.repeat(heard, rng.integers(1, 4, len(heard))):
        length = int(rng.integers(900, 2400))
        first = int(rng.integers(0, SAMPLES - length))
        pitch = PITCHES[species] + rng.normal(0, 40)
        tone = np.sin(2 * np.pi * pitch / RATE * np.arange(length)) * np.hanning(length)
        samples[first : first + length] += rng.uniform(0.1, 0.25) * tone
        syllables.append((species, first, first + length))
    return Recording(samples, np.array(syllables, dtype=int).reshape(-1, 3))


def _essential(folds: np.ndarray, heard: list[np.ndarray], names: list[str]) -> dict[str, str]:
    labels = [
        ",".join([str(number), *(["?"] if fold else map(str, species))])
        for number, (fold, species) in enumerate(zip(folds, heard, strict=True))
    ]
    tables = {
        "CVfolds_2": ["rec_id,fold", *(f"{number},{fold}" for number, fold in enumerate(folds))],
        "rec_id2filename": ["rec_id,filename", *(f"{number},{name}" for number, name in enumerate(names))],
        "rec_labels_test_hidden": ["rec_id,[labels]", *labels],
        "species_list": ["class_id,code,species", *(f"{s},SYN{s:02d},Whistler of {PITCHES[s]} Hz" for s in range(19))],
    }
    return {f"{ESSENTIAL}/{name}.txt": "\n".join(lines) + "\n" for name, lines in tables.items()}


def _supplemental(rng: np.random.Generator, recordings: list[Recording]) -> dict[str, str | bytes]:
    """What the baseline found: a box, a cluster and features for each segment, a histogram for each recording."""
    histograms = ["rec_id,[hist of segment features]"]
    features = ["rec_id,segment_id,[feature vector]"]
    rectangles = ["rec_id,segment_id,x1,x2,y1,y2"]
    for number, recording in enumerate(recordings):
        species = recording.syllables[:, 0]
        found = np.where(rng.random(len(species)) < 0.9, species, SPECIES)  # some are taken for noise
        clusters = found * 5 + rng.integers(0, 5, len(found))
        shares = np.bincount(clusters, minlength=CLUSTERS) / max(1, len(clusters))
        histograms.append(_line(number, shares))
        values = np.sin(np.outer(1 + clusters, np.arange(1, FEATURES + 1))) + rng.normal(0, 0.2, (len(found), FEATURES))
        features += [_line(number, [segment, *row]) for segment, row in enumerate(values)]
        rectangles += [_line(number, [segment, *box]) for segment, box in enumerate(_boxes(recording))]
    tables = {"histogram_of_segments": histograms, "segment_features": features, "segment_rectangles": rectangles}
    overviews = {name: rng.integers(0, 256, (24, 48, 3), dtype=np.uint8) for name in ("clusters", "mosaic")}
    return {f"{SUPPLEMENTAL}/{name}.txt": "\n".join(lines) + "\n" for name, lines in tables.items()} | {
        f"{SUPPLEMENTAL}/segment_{name}.bmp": image_bytes(pixels, "BMP") for name, pixels in overviews.items()
    }


def _line(number: int, values: object) -> str:
    return ",".join([str(number), *(f"{value:.6g}" for value in np.asarray(values, dtype=float))])


def _boxes(recording: Recording) -> np.ndarray:
    """First and last column, top and bottom row of each syllable in the spectrogram; shape (syllables, 4)."""
    species, first, last = recording.syllables.T
    row = BANDS - 1 - np.round(PITCHES[species] / (RATE / 2) * BANDS).astype(int)
    return np.stack([first // WINDOW, np.minimum(last // WINDOW, FRAMES - 1), row - 2, row + 2], axis=1)


def _files(rng: np.random.Generator, name: str, recording: Recording, *, by_hand: bool) -> dict[str, bytes]:
    """The sound and the pictures of one recording."""
    spectrogram = _spectrogram(recording.samples)
    filtered = np.clip(spectrogram - np.median(spectrogram, axis=1, keepdims=True), 0, 255)
    outlined = np.repeat(spectrogram[:, :, None], 3, axis=2)
    mask = np.full(outlined.shape, 255.0)
    mask[:, rng.integers(0, FRAMES)] = (0, 0, 255)  # a drop of rain
    for left, right, top, bottom in _boxes(recording):
        outlined[[top, bottom], left : right + 1] = (255, 0, 0)
        outlined[top : bottom + 1, [left, right]] = (255, 0, 0)
        mask[top : bottom + 1, left : right + 1] = (255, 0, 0)
    pictures = {"spectrograms": spectrogram, "filtered_spectrograms": filtered, "supervised_segmentation": outlined}
    if by_hand:
        pictures["segmentation_examples"] = mask
    return {f"{ESSENTIAL}/src_wavs/{name}.wav": wav_bytes(recording.samples, RATE)} | {
        f"{SUPPLEMENTAL}/{folder}/{name}.bmp": image_bytes(pixels.astype(np.uint8), "BMP")
        for folder, pixels in pictures.items()
    }


def _spectrogram(samples: np.ndarray) -> np.ndarray:
    """Loudness from 0 to 255, time to the right, frequency upwards; shape (BANDS, FRAMES)."""
    frames = samples[: FRAMES * WINDOW].reshape(FRAMES, WINDOW) * np.hanning(WINDOW)
    loudness = np.log1p(20 * np.abs(np.fft.rfft(frames, axis=1)[:, :BANDS])) / np.log(200)
    return np.flipud(np.clip(255 * loudness, 0, 255).T)
