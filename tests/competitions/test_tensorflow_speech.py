"""Whose clips are tested, and with which labels."""

import wave

import numpy as np
import pandas as pd
import pytest

from mlebench.preparation.files import unpack

ID = "tensorflow-speech-recognition-challenge"
COMMANDS = {"yes", "no", "up", "down", "left", "right", "on", "off", "stop", "go"}


@pytest.fixture
def prepared(twins, tmp_path):
    """Speaker and word of every raw clip by its content; and a function that prepares an edition from the same raw."""
    competition = twins(ID, "v1").competition
    raw = tmp_path / "raw"
    competition.make_raw(raw, np.random.default_rng(3), 300)
    folder = unpack(raw, "train.7z") / "train" / "audio"
    origin = {path.read_bytes(): (path.name.split("_nohash_")[0], path.parent.name) for path in folder.rglob("*.wav")}

    def prepare(edition):
        public, private = tmp_path / edition / "public", tmp_path / edition / "private"
        public.mkdir(parents=True)
        competition.in_edition(edition).prepare(raw, public, private)
        answers = pd.read_csv(private / "test.csv").set_index("fname")["label"]
        tested = {path.name: path.read_bytes() for path in (public / "test" / "audio").iterdir()}
        assert set(tested) == set(answers.index)
        shown = {path.name.split("_nohash_")[0] for path in (public / "train" / "audio").glob("[!_]*/*.wav")}
        return public, answers, tested, shown

    return folder, origin, prepare


def test_v1_tests_any_clip_under_the_name_of_its_folder(prepared):
    _, origin, prepare = prepared
    _, answers, tested, shown = prepare("v1")
    assert {name: origin[content][1] for name, content in tested.items()} == answers.to_dict()
    assert shown & {origin[content][0] for content in tested.values()}


def test_v2_tests_other_speakers_under_twelve_labels(prepared):
    _, origin, prepare = prepared
    _, answers, tested, shown = prepare("v2")
    words = {name: origin[content] for name, content in tested.items() if content in origin}
    assert not shown & {speaker for speaker, _ in words.values()}
    expected = {name: word if word in COMMANDS else "unknown" for name, (_, word) in words.items()}
    assert answers[list(words)].to_dict() == expected
    assert set(answers.drop(list(words))) == {"silence"}
    frequent = answers.value_counts()
    assert frequent["unknown"] == frequent["silence"] == answers.isin(COMMANDS).sum() // 10


def test_v2_cuts_silence_from_what_is_not_shown_of_the_noises(prepared):
    folder, _, prepare = prepared
    public, answers, _, _ = prepare("v2")
    for path in (folder / "_background_noise_").glob("*.wav"):
        whole, shown = _samples(path), _samples(public / "train" / "audio" / "_background_noise_" / path.name)
        assert shown == whole[: len(whole) * 2 // 3 // 2 * 2]
    hidden = b"".join(
        _samples(path)[-len(_samples(path)) // 3 - 2 :] for path in (folder / "_background_noise_").iterdir()
    )
    for name in answers.index[answers == "silence"]:
        samples = _samples(public / "test" / "audio" / name)
        assert len(samples) == 2 * 16_000
        assert samples in hidden


def _samples(path):
    if path.suffix != ".wav":
        return b""
    with wave.open(str(path)) as sound:
        return sound.readframes(sound.getnframes())
