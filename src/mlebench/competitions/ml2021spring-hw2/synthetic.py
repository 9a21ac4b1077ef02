"""Speech as coefficients: every phoneme has its own, lasts some frames, and speakers differ a little."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from mlebench.preparation.files import write_csv

CLASSES, COEFFICIENTS, NEIGHBOURS = 39, 39, 5


def make_raw(raw: Path, rng: np.random.Generator, size: int) -> None:
    folder = raw / "timit_11" / "timit_11"
    folder.mkdir(parents=True)
    voices = rng.normal(0, 2, (CLASSES, COEFFICIENTS))
    features, labels = _speech(rng, size, voices)
    unlabelled, _ = _speech(rng, max(1, round(size * 0.367)), voices)

    np.save(folder / "train_11.npy", features)
    np.save(folder / "train_label_11.npy", labels.astype("<U2"))
    np.save(folder / "test_11.npy", unlabelled)
    write_csv(pd.DataFrame({"Id": range(len(unlabelled)), "Class": 0}), raw / "sampleSubmission.csv")


def _speech(rng: np.random.Generator, frames: int, voices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Windows of eleven frames, float32, and the class of each one's middle; utterance after utterance."""
    windows, classes = [], []
    left = frames
    while left > 0:
        length = min(left, int(rng.integers(40, 81)))
        labels = _phonemes(rng, length)
        speaker = rng.normal(0, 0.5, COEFFICIENTS)
        sound = (voices[labels] + speaker + rng.normal(0, 1.5, (length, COEFFICIENTS))).astype(np.float32)
        # At both ends the outermost frame stands for those that are missing.
        places = np.clip(np.arange(length)[:, None] + np.arange(-NEIGHBOURS, NEIGHBOURS + 1), 0, length - 1)
        windows.append(sound[places].reshape(length, -1))
        classes.append(labels)
        left -= length
    return np.concatenate(windows), np.concatenate(classes)


def _phonemes(rng: np.random.Generator, length: int) -> np.ndarray:
    """The class of each frame: phonemes of 8 to 24 frames, the first classes more often than the last."""
    count = length // 8 + 1
    kinds = (CLASSES * rng.random(count) ** 3).astype(int)
    return np.repeat(kinds, rng.integers(8, 25, count))[:length]
