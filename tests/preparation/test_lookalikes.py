"""Pictures that are the same but for scale and compression are found, and no others."""

import numpy as np
import pytest
from PIL import Image

from mlebench.errors import PreparationError
from mlebench.preparation import lookalikes as module
from mlebench.preparation.lookalikes import lookalikes


@pytest.fixture(params=[1, 3, 1000])
def block(request, monkeypatch):
    monkeypatch.setattr(module, "_BLOCK", request.param)


def _scene(seed, size=(96, 80)):
    coarse = np.random.default_rng(seed).integers(0, 256, (6, 6, 3)).astype(np.uint8)
    return Image.fromarray(coarse).resize(size, Image.Resampling.BICUBIC)


@pytest.mark.usefixtures("block")
def test_scale_compression_and_kind_of_file_do_not_matter(tmp_path):
    scenes = [_scene(seed) for seed in range(5)]
    files = {
        "a.png": scenes[0],
        "b.jpg": scenes[1],
        "c.jpg": scenes[0].resize((300, 250), Image.Resampling.BICUBIC),
        "d.png": scenes[2].convert("L"),
        "e.png": scenes[0].convert("L"),
        "f.jpg": scenes[3],
        "g.jpg": scenes[1].resize((48, 40)),
        "h.png": scenes[4],
    }
    for name, picture in files.items():
        picture.save(tmp_path / name, **({"quality": 60} if name.endswith("jpg") else {}))
    assert lookalikes([tmp_path / name for name in files]).tolist() == [0, 1, 0, 3, 0, 5, 1, 7]


@pytest.mark.usefixtures("block")
def test_chains_are_one_group(tmp_path):
    levels = [100, 200, 103, 106, 50, 109]
    for place, level in enumerate(levels):
        Image.fromarray(np.full((20, 20), level, np.uint8)).save(tmp_path / f"{place}.png")
    assert lookalikes([tmp_path / f"{place}.png" for place in range(6)]).tolist() == [0, 1, 0, 0, 4, 0]


def test_no_pictures():
    assert lookalikes([]).tolist() == []


def test_a_file_that_is_no_picture_is_named(tmp_path):
    (tmp_path / "a.jpg").write_bytes(b"no picture")
    with pytest.raises(PreparationError, match=r"a\.jpg"):
        lookalikes([tmp_path / "a.jpg"])
