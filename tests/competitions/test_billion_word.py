"""The missing word: the archive that passes in blocks is divided as if line by line, a number drawn for each."""

import io
import zipfile

import numpy as np
import pytest

from mlebench import catalog
from mlebench.errors import PreparationError

COMPETITION = catalog.get("billion-word-imputation")
CODE = COMPETITION._module("prepare.py")
LINES = [
    "The bank closed on Monday .",
    "",
    "  ",
    "Yes .",
    'He said " no " , twice .',
    "a b c",
    "Blanks \u00a0 and \u2003 odd  ones\t. ",
    "one\u2028two\x0bthree\x1cfour\x85five",
    "café 東京 😀 .",
]
ENDS = ["\n", "\n", "\n", "\r\n", "\r", "\n\r"]


def line_by_line(text, limit):
    """The published preparation."""
    random = np.random.RandomState(0)
    train, full, cut = [], ['"id","sentence"\n'], ['"id","sentence"\n']
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    for number, line in enumerate(io.StringIO(lines, newline="\n")):
        if number == limit:
            break
        if random.uniform() <= CODE.SHARE and len(line.split()) > 2:
            sentence = line.strip().replace('"', '""')
            words = sentence.split()
            place = random.randint(1, len(words) - 1)
            full.append(f'{len(full) - 1},"{sentence}"\n')
            cut.append(f'{len(cut) - 1},"{" ".join(words[:place] + words[place + 1 :])}"\n')
        else:
            train.append(line)
    return "".join(train), "".join(full), "".join(cut)


def prepare(folder, text):
    raw, public, private = (folder / name for name in ("raw", "public", "private"))
    for each in (raw, public, private):
        each.mkdir()
    with zipfile.ZipFile(raw / "train_v2.txt.zip", "w") as archive:
        archive.writestr("train_v2.txt", text.encode())
    COMPETITION.prepare(raw=raw, public=public, private=private)
    with zipfile.ZipFile(public / "train_v2.txt.zip") as archive:
        train = archive.read("train_v2.txt").decode()
    with zipfile.ZipFile(public / "test_v2.txt.zip") as archive:
        test = archive.read("test_v2.txt").decode()
    full, cut = ((private / name).read_bytes().decode() for name in ("test.csv", "sample_submission.csv"))
    assert test == cut
    return train, full, cut


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("share", [0.02, 0.5])
def test_as_if_line_by_line(tmp_path, monkeypatch, seed, share):
    rng = np.random.default_rng(seed)
    text = "".join(str(rng.choice(LINES)) + str(rng.choice(ENDS)) for _ in range(1500)) + "The last one ."
    text += "\n" * int(rng.integers(2))
    limit = [10_000, 700, 1][seed % 3] if share == 0.02 and seed else 10_000
    monkeypatch.setattr(CODE, "SHARE", share)
    monkeypatch.setattr(CODE, "LINES", limit)
    monkeypatch.setattr(CODE, "_BLOCK", [64, 1000, 1 << 20][seed % 3])
    monkeypatch.setattr(CODE, "_AHEAD", [3, 512][seed % 2])
    expected = line_by_line(text, limit)
    if expected[1].count("\n") == 1:
        with pytest.raises(PreparationError, match="too short"):
            prepare(tmp_path, text)
    else:
        assert prepare(tmp_path, text) == expected


@pytest.mark.parametrize("text", ["", "\n" * 1000])
def test_too_few_sentences(tmp_path, text):
    with pytest.raises(PreparationError, match="too short"):
        prepare(tmp_path, text)


def test_an_archive_without_the_text(tmp_path):
    with zipfile.ZipFile(tmp_path / "train_v2.txt.zip", "w") as archive:
        archive.writestr("other.txt", "x")
    with pytest.raises(PreparationError, match=r"holds no train_v2\.txt"):
        COMPETITION.prepare(raw=tmp_path, public=tmp_path, private=tmp_path)
