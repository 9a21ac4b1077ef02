"""Hold out a random tenth of the clips.

In v2 these are the clips of a tenth of the speakers, and their labels are the twelve that the task asks for.
"""

from __future__ import annotations

import wave
from pathlib import Path

import numpy as np
import pandas as pd

from mlebench.errors import PreparationError
from mlebench.preparation.files import hold_out, hold_out_groups, link_files, unpack, write_csv

NOISE = "_background_noise_"
COMMANDS = ["yes", "no", "up", "down", "left", "right", "on", "off", "stop", "go"]
SHARE = 0.1
SECOND = 16_000  # samples


def prepare(raw: Path, public: Path, private: Path) -> None:
    train, test = hold_out(_clips(raw), SHARE)
    _link_training_clips(train, public)
    names = _write_tables(test["label"], public, private)
    _link_test_clips(test["path"], names, public)


def prepare_v2(raw: Path, public: Path, private: Path) -> None:
    clips = _clips(raw)
    noise, words = clips[clips["label"] == NOISE], clips[clips["label"] != NOISE]
    train, test = hold_out_groups(words.assign(speaker=words["path"].map(_speaker)), "speaker", SHARE)
    commands, others = test[test["label"].isin(COMMANDS)], test[~test["label"].isin(COMMANDS)]
    of_each = max(1, len(commands) // len(COMMANDS))
    unknown = others.sample(min(of_each, len(others)), random_state=0).assign(label="unknown")
    test = pd.concat([commands, unknown, _silences(noise["path"].tolist(), of_each)])
    test = test.sample(frac=1, random_state=0)  # the order must not tell the labels

    _link_training_clips(train, public)
    for recording in noise["path"]:
        _cut(recording, public / "train" / "audio" / NOISE / recording.name, 0, _held_out_from(_length(recording)))
    names = _write_tables(test["label"], public, private)
    is_cut = test["start"].notna()
    _link_test_clips(test.loc[~is_cut, "path"], names[~is_cut.to_numpy()], public)
    for recording, start, name in zip(
        test["path"][is_cut], test["start"][is_cut], names[is_cut.to_numpy()], strict=True
    ):
        _cut(recording, public / "test" / "audio" / name, int(start), int(start) + SECOND)


def _clips(raw: Path) -> pd.DataFrame:
    """`path` and `label` of every sound below train/audio, ordered by label and name."""
    folder = unpack(raw, "train.7z") / "train" / "audio"
    paths = sorted(folder.rglob("*.wav"), key=lambda path: f"{path.parent.name}_{path.name}")
    return pd.DataFrame({"path": paths, "label": [path.parent.name for path in paths]}, dtype=object)


def _speaker(path: Path) -> str:
    return path.name.partition("_nohash_")[0]


def _link_training_clips(clips: pd.DataFrame, public: Path) -> None:
    pairs = zip(clips["path"], clips["label"], strict=True)
    audio = public / "train" / "audio"
    link_files(((path, audio / label / path.name) for path, label in pairs), "placing training clips")


def _link_test_clips(paths: pd.Series, names: np.ndarray, public: Path) -> None:
    audio = public / "test" / "audio"
    link_files(((path, audio / name) for path, name in zip(paths, names, strict=True)), "placing test clips")


def _write_tables(labels: pd.Series, public: Path, private: Path) -> np.ndarray:
    """Write answers and sample submission; the names of the test clips, which are numbered."""
    names = [f"clip_{number:08d}.wav" for number in range(len(labels))]
    answers = pd.DataFrame({"fname": names, "label": labels.array})
    write_csv(answers, private / "test.csv")
    write_csv(answers.assign(label="silence"), public / "sample_submission.csv")
    return np.array(names, dtype=object)


def _silences(recordings: list[Path], count: int) -> pd.DataFrame:
    """Where to cut `count` clips from the parts of the recordings that are held out: `path`, `label`, `start`."""
    places = []
    for number, recording in enumerate(recordings):
        length = _length(recording)
        clips = len(range(number, count, len(recordings)))  # about as many from each
        starts = np.linspace(_held_out_from(length), max(_held_out_from(length), length - SECOND), clips)
        places += [(recording, "silence", int(start)) for start in starts]
    return pd.DataFrame(places, columns=["path", "label", "start"])


def _held_out_from(length: int) -> int:
    """Where the held-out last third of a recording begins."""
    return length * 2 // 3


def _length(recording: Path) -> int:
    """In samples."""
    with _opened(recording) as sound:
        return sound.getnframes()


def _cut(recording: Path, target: Path, start: int, end: int) -> None:
    """Write the samples from `start` to `end`, or to the end of the recording."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with _opened(recording) as sound, wave.open(str(target), "wb") as part:
        part.setparams(sound.getparams())
        sound.setpos(start)
        part.writeframes(sound.readframes(end - start))


def _opened(recording: Path) -> wave.Wave_read:
    try:
        return wave.open(str(recording), "rb")
    except (wave.Error, EOFError) as error:
        raise PreparationError(f"{recording.name} is no WAV file: {error}") from error
