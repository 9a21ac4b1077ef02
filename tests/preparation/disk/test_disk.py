"""What data take on disk: against the program du, with links, in both editions."""

import os
import subprocess

import pytest

from mlebench import catalog
from mlebench.dataset import Dataset
from mlebench.errors import UsageError
from mlebench.preparation.disk import KINDS, freed_in_turn, kind_of, usage
from mlebench.preparation.engine import prepare
from mlebench.preparation.sources import Synthetic

PICTURES = "plant-pathology-2020-fgvc7"
TITANIC = "spaceship-titanic"
BOTH_EDITIONS = "siim-isic-melanoma-classification"


def du(path):
    """Blocks below a folder, without its own."""
    words = subprocess.run(["du", "-s", "-B1", path], capture_output=True, text=True, check=True).stdout.split()
    return int(words[0]) - path.stat().st_blocks * 512


def the_use(data_dir, competition_id):
    (use,) = usage(data_dir, [competition_id]).competitions
    return use


def random_file(path, size=50_000):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(os.urandom(size))
    return path


def test_linked_files_count_once(tmp_path):
    prepare(Dataset(catalog.get(PICTURES), tmp_path), Synthetic(rows=60), keep="raw")
    use = the_use(tmp_path, PICTURES)
    assert set(use.kinds) == {"prepared", "raw"}
    assert use.total == du(tmp_path / PICTURES)
    pictures = list((tmp_path / PICTURES / "prepared" / "public" / "images").iterdir())
    linked = [picture for picture in pictures if picture.stat().st_nlink > 1]
    assert len(linked) > 20
    assert use.saved == sum(picture.stat().st_blocks * 512 for picture in linked)


def test_both_editions_share_files(tmp_path):
    competition = catalog.get(BOTH_EDITIONS)
    for edition in ("v1", "v2"):
        prepare(Dataset(competition.in_edition(edition), tmp_path), Synthetic(rows=80))
    use = the_use(tmp_path, BOTH_EDITIONS)
    assert set(use.kinds) == {"prepared", "prepared-v2"}
    assert use.total == du(tmp_path / BOTH_EDITIONS)
    assert use.kinds["prepared-v2"] < use.kinds["prepared"]
    assert use.saved > 0


def test_each_kind_is_told_apart(tmp_path):
    home = tmp_path / TITANIC
    places = {
        "prepared": ["prepared/public/train.csv"],
        "prepared-v2": ["prepared-v2/public/train.csv"],
        "raw": ["raw/train.csv", "raw.json"],
        "zip": [f"{TITANIC}.zip", f"{TITANIC}.zip.json", f".{TITANIC}.zip.md5.json", f"{TITANIC}.files/train.csv.zip"],
        "partial": [
            f"{TITANIC}.zip.part",
            f"{TITANIC}.zip.part.json",
            ".fetching/train.csv",
            f"{TITANIC}.files/a.part",
        ],
        "work": [
            ".preparing-abc/prepared/public/x",
            ".finishing.json",
            ".lock",
            f".{TITANIC}.zip.lock",
            ".raw.json.xy",
        ],
        "pages": ["pages/description.md", "notebooks/a.ipynb", "leaderboard.csv", "leaderboard.json"],
        "other": ["notes.txt"],
    }
    assert list(places) == list(KINDS)
    expected = {}
    for kind, paths in places.items():
        expected[kind] = sum(random_file(home / path).stat().st_blocks * 512 for path in paths)
    folders = sum(path.stat().st_blocks * 512 for path in home.rglob("*") if path.is_dir())
    found = the_use(tmp_path, TITANIC)
    assert sum(found.kinds.values()) == sum(expected.values()) + folders == du(home)
    for kind, size in expected.items():
        assert size <= found.kinds[kind] <= size + folders, kind
    assert found.files == sum(map(len, places.values()))


def test_what_is_behind_symbolic_links_is_elsewhere(tmp_path):
    elsewhere = random_file(tmp_path / "elsewhere" / "big", 1_000_000)
    raw = tmp_path / "data" / TITANIC / "raw"
    raw.mkdir(parents=True)
    (raw / "big").symlink_to(elsewhere)
    assert the_use(tmp_path / "data", TITANIC).total < 20_000


def test_the_largest_comes_first_and_strangers_folders_do_not_count(tmp_path):
    random_file(tmp_path / "small" / "prepared" / "a", 10)
    random_file(tmp_path / "large" / "large.zip", 100_000)
    random_file(tmp_path / "holiday" / "pictures" / "a.jpg")
    random_file(tmp_path / "note.txt")
    found = usage(tmp_path)
    assert [use.competition for use in found.competitions] == ["large", "small"]
    assert found.total == sum(use.total for use in found.competitions)
    assert found.kinds["zip"] == found.competitions[0].total
    assert found.free > 0
    with pytest.raises(UsageError, match="nothing of holiday"):
        usage(tmp_path, ["holiday"])
    with pytest.raises(UsageError, match="no data directory"):
        usage(tmp_path / "nowhere")


def test_blocks_are_free_with_the_last_name(tmp_path):
    file = random_file(tmp_path / "one" / "a")
    os.link(file, tmp_path / "one" / "b")
    blocks, folder = file.stat().st_blocks * 512, (tmp_path / "one").stat().st_blocks * 512
    assert freed_in_turn([[tmp_path / "one"]]) == [blocks + folder]
    os.link(file, tmp_path / "c")
    assert freed_in_turn([[tmp_path / "one"], [tmp_path / "c"]]) == [folder, blocks]
    assert freed_in_turn([[tmp_path / "c", tmp_path / "missing"]]) == [0]


def test_names():
    assert kind_of("AI4Code.tar.gz", "AI4Code") == "zip"
    assert kind_of("other.zip", "AI4Code") == "other"
    assert kind_of(".preparing-", "AI4Code") == "work"
