"""Pictures of every kind are turned to grey levels, and what else the archives hold is passed on."""

import zipfile
from io import BytesIO

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from mlebench import catalog
from mlebench.preparation.engine import run_prepare

ID = "denoising-dirty-documents"
PIXELS = np.random.default_rng(0).integers(0, 256, (4, 5, 3), dtype=np.uint8)
PALETTE = (PIXELS[:, :, 0] % 2)[:, :, None] * np.array([180, 70, 10], dtype=np.uint8)  # two colours
WEIGHTS = np.array([19595, 38470, 7471])  # of red, green and blue
PICTURES = {
    "grey": Image.fromarray(PIXELS[:, :, 0]),
    "colour": Image.fromarray(PIXELS),
    "palette": Image.fromarray(PALETTE).quantize(2),
    "black and white": Image.fromarray(PIXELS[:, :, 0] > 100),
}
LEVELS = {
    "grey": PIXELS[:, :, 0],
    "colour": (PIXELS.astype(int) @ WEIGHTS + 32768) // 65536,
    "palette": (PALETTE.astype(int) @ WEIGHTS + 32768) // 65536,
    "black and white": 255 * (PIXELS[:, :, 0] > 100),
}


def _png(picture):
    file = BytesIO()
    picture.save(file, "PNG")
    return file.getvalue()


@pytest.fixture(params=PICTURES)
def kind(request):
    return request.param


@pytest.fixture
def prepared(kind, tmp_path):
    """Folders of public and private files; all clean pictures are of one kind, and both archives have a note."""
    raw, public, private = (tmp_path / name for name in ("raw", "public", "private"))
    for folder in (raw, public, private):
        folder.mkdir()
    for archive, picture in (("train", PICTURES["grey"]), ("train_cleaned", PICTURES[kind])):
        with zipfile.ZipFile(raw / f"{archive}.zip", "w") as file:
            file.writestr("note.txt", archive)
            for number in range(10):
                file.writestr(f"{archive}/{number}.png", _png(picture))
    run_prepare(catalog.get(ID), raw, public, private)
    return public, private


def test_levels_of_grey(kind, prepared):
    answers = pd.read_csv(prepared[1] / "answers.csv")
    first = answers[answers["id"].str.startswith(answers["id"].iloc[0].split("_")[0] + "_")]
    assert first["value"].tolist() == (LEVELS[kind] / 255.0).ravel().tolist()
    assert first["id"].str.split("_").str[1:].str.join(" ").tolist()[:6] == ["1 1", "1 2", "1 3", "1 4", "1 5", "2 1"]


def test_further_members_are_passed_on(prepared):
    assert (prepared[0] / "note.txt").read_text() == "train_cleaned"
    assert len(list((prepared[0] / "test").iterdir())) == 2
