"""Words as two tones in a row, higher or lower by speaker; noises of several colours."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from mlebench.preparation.files import write_csv
from mlebench.preparation.seven_zip import write_7z
from mlebench.preparation.synthetic import hex_ids, wav_bytes

RATE = 16_000
SAMPLES = 6_400  # of a clip; real ones are of a second
WORDS = [
    *("yes", "no", "up", "down", "left", "right", "on", "off", "stop", "go"),
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"),
    *("bed", "bird", "cat", "dog", "happy", "house", "marvin", "sheila", "tree", "wow"),
]
NOISES = ["doing_the_dishes", "dude_miaowing", "exercise_bike", "pink_noise", "running_tap", "white_noise"]
NOISE_SECONDS = 4
TONES = 250 * 1.25 ** np.arange(8)  # hertz


def make_raw(raw: Path, rng: np.random.Generator, size: int) -> None:
    clips = _clips(rng, size)
    names = [f"{word}/{speaker}_nohash_{repeat}.wav" for word, speaker, repeat in clips.itertuples(index=False)]
    pitches = dict(zip(clips["speaker"].unique(), rng.uniform(0.93, 1.07, clips["speaker"].nunique()), strict=True))
    speech = (
        (f"train/audio/{name}", _word(rng, WORDS.index(word), pitches[speaker]))
        for name, word, speaker in zip(names, clips["word"], clips["speaker"], strict=True)
    )
    noises = ((f"train/audio/_background_noise_/{name}.wav", _noise(rng, each)) for each, name in enumerate(NOISES))
    texts = {
        "train/LICENSE": "free to use\n",
        "train/README.md": "# Short commands\n",
        "train/audio/_background_noise_/README.md": "# Noises\n",
        "train/testing_list.txt": "\n".join(names[: size // 10]) + "\n",
        "train/validation_list.txt": "\n".join(names[size // 10 : size // 5]) + "\n",
    }
    unlabelled = [f"clip_{name}.wav" for name in hex_ids(rng, max(3, size // 40), 9)]
    tests = ((f"test/audio/{name}", _word(rng, int(rng.integers(len(WORDS))), 1.0)) for name in unlabelled)

    write_7z(raw / "train.7z", _opened([*speech, *noises, *((name, text.encode()) for name, text in texts.items())]))
    write_7z(raw / "test.7z", _opened(tests))
    write_csv(pd.DataFrame({"fname": unlabelled, "label": "silence"}), raw / "sample_submission.csv")
    (raw / "link_to_gcp_credits_form.txt").write_text("https://example.org/form\n")


def _clips(rng: np.random.Generator, size: int) -> pd.DataFrame:
    """Columns word, speaker, repeat: speakers say a word once or several times."""
    speakers = np.array(hex_ids(rng, max(12, size // 30), 8))
    clips = pd.DataFrame({"word": rng.choice(WORDS, size), "speaker": rng.choice(speakers, size)})
    return clips.assign(repeat=clips.groupby(["word", "speaker"]).cumcount())


def _opened(members: Iterator[tuple[str, bytes]] | list[tuple[str, bytes]]) -> Iterator[tuple[str, io.BytesIO]]:
    return ((name, io.BytesIO(content)) for name, content in members)


def _word(rng: np.random.Generator, word: int, pitch: float) -> bytes:
    """One tone and then another, which together tell the word; a few clips are shorter than the rest."""
    length = SAMPLES if rng.random() < 0.95 else int(SAMPLES * rng.uniform(0.6, 1))
    tones = np.where(np.arange(length) < length // 2, TONES[word % 8], TONES[word // 8 * 2])
    wave = 0.4 * np.sin(2 * np.pi * pitch * np.cumsum(tones) / RATE + rng.uniform(0, 6))
    return wav_bytes(wave + rng.normal(0, 0.05, length), RATE)


def _noise(rng: np.random.Generator, kind: int) -> bytes:
    """Noise that is the smoother the higher `kind`."""
    samples = rng.normal(0, 0.2, NOISE_SECONDS * RATE)
    return wav_bytes(np.convolve(samples, np.ones(kind + 1) / (kind + 1), mode="same"), RATE)
