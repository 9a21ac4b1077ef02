"""Single files instead of the zip: when, how they arrive, and what happens if they don't."""

import hashlib
import io
import os
import signal
import subprocess
import sys
import time
import zipfile
from dataclasses import replace

import numpy as np
import pytest

from kaggle_stand_in import Fault, zip_of_twin
from mlebench import catalog
from mlebench.competition import load_competition
from mlebench.dataset import Dataset
from mlebench.errors import CompetitionError
from mlebench.preparation.engine import prepare
from mlebench.preparation.kaggle import single_files
from mlebench.preparation.kaggle.client import RemoteFile
from mlebench.preparation.kaggle.errors import KaggleError, NotJoinable, RulesNotAccepted
from mlebench.preparation.kaggle.patience import Patience
from mlebench.preparation.kaggle.single_files import choose
from mlebench.preparation.kaggle.source import Kaggle
from mlebench.preparation.progress import shown_on
from mlebench.preparation.sources import Synthetic

ID = "spaceship-titanic"
NEEDED = ("train.csv", "tables/zwölf Fälle & mehr.csv", "labels/")
CONTENTS = {
    "train.csv": np.random.default_rng(1).bytes(200_000),
    "tables/zwölf Fälle & mehr.csv": b"id,x\n1,2\n" * 1000,
    "labels/a.txt": b"a\n",
    "labels/deeper/b.zip": b"",  # filled in below: a raw file that is a zip itself
    "test.csv": np.random.default_rng(2).bytes(500_000),
    "images/1.png": b"\x89PNG",
}


def packed(contents):
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as opened:
        for name, data in contents.items():
            opened.writestr(name, data)
    return content.getvalue()


CONTENTS["labels/deeper/b.zip"] = packed({"b.txt": b"bbb"})
USED = [name for name in CONTENTS if name not in ("test.csv", "images/1.png")]


@pytest.fixture
def account(kaggle, monkeypatch):
    for name, value in kaggle.environment.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def held(kaggle, account):
    return kaggle.add(ID, packed(CONTENTS))


@pytest.fixture
def competition():
    return replace(catalog.get(ID), raw_files=NEEDED)


@pytest.fixture
def home(tmp_path):
    return tmp_path / "data" / ID


@pytest.fixture
def source(home):
    return Kaggle(home.parent, Patience(tries=3, first_pause=0.01))


@pytest.fixture
def raw(tmp_path):
    folder = tmp_path / "raw"
    folder.mkdir()
    return folder


def contents_of(folder):
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def visible(folder):
    return sorted(path.name for path in folder.iterdir() if path.name[0] != ".")


@pytest.mark.parametrize(
    "zipped", [False, True, frozenset({"train.csv", "labels/a.txt"})], ids=["plain", "zip", "mixed"]
)
def test_only_what_is_needed_comes(kaggle, held, source, competition, raw, home, zipped):
    held.zips_files = zipped
    source.fetch(competition, raw)
    assert contents_of(raw) == {name: CONTENTS[name] for name in USED}
    assert kaggle.served < 300_000
    assert kaggle.calls("DownloadDataFiles") == []
    assert visible(home) == [f"{ID}.files", f"{ID}.files.json"]


def test_raw_files_that_are_zips_stay_zips(held, source, competition, raw):
    source.fetch(competition, raw)
    assert zipfile.ZipFile(raw / "labels" / "deeper" / "b.zip").namelist() == ["b.txt"]


def test_what_is_told_of_them(held, source, competition):
    source.obtain(competition)
    facts = source.describe()
    assert facts["source"] == "kaggle"
    assert "zip" not in facts
    assert sorted(facts["single_files"]) == sorted(USED)
    train = facts["single_files"]["train.csv"]
    assert (train["md5"], train["size"]) == (hashlib.md5(CONTENTS["train.csv"]).hexdigest(), 200_000)
    assert train["modified"].endswith("+00:00")


def test_what_is_there_needs_neither_network_nor_account(kaggle, held, source, competition, home, raw, monkeypatch):
    assert source.bytes_here(competition) is None
    source.obtain(competition)
    assert source.bytes_here(competition) == sum(len(CONTENTS[name]) for name in USED)
    asked = len(kaggle.requests)
    monkeypatch.delenv("KAGGLE_API_TOKEN")
    again = Kaggle(home.parent)
    again.fetch(competition, raw)
    assert contents_of(raw) == {name: CONTENTS[name] for name in USED}
    assert again.origin(competition) == source.origin(competition)
    assert again.describe() == source.describe()
    assert len(kaggle.requests) == asked


def test_fetching_goes_on_in_a_folder_that_has_some(held, source, competition, raw):
    source.fetch(competition, raw)
    (raw / "train.csv").unlink()
    (raw / "train.csv").write_bytes(b"half")
    source.fetch(competition, raw)
    assert contents_of(raw) == {name: CONTENTS[name] for name in USED}


def test_discarding_leaves_what_was_placed(held, source, competition, raw, home):
    source.obtain(competition)
    there = sum(map(len, contents_of(home / f"{ID}.files").values()))
    assert there > sum(len(CONTENTS[name]) for name in USED)
    assert source.discard(competition) == there
    source.fetch(competition, raw)
    assert source.discard(competition) < there  # the files placed in `raw` have not gone
    assert visible(home) == []
    assert contents_of(raw) == {name: CONTENTS[name] for name in USED}
    assert source.discard(competition) == 0


def test_a_file_that_was_changed_comes_anew(kaggle, held, source, competition, raw, home):
    source.obtain(competition)
    before = kaggle.served
    (home / f"{ID}.files" / "labels" / "a.txt").write_bytes(b"of somebody else\n")
    Kaggle(home.parent).fetch(competition, raw)
    assert (raw / "labels" / "a.txt").read_bytes() == CONTENTS["labels/a.txt"]
    assert kaggle.served == before + len(CONTENTS["labels/a.txt"])


def test_more_is_needed_than_before(kaggle, held, source, competition, raw, home):
    source.obtain(replace(competition, raw_files=("labels/",)))
    before = kaggle.served
    Kaggle(home.parent).fetch(competition, raw)
    assert contents_of(raw) == {name: CONTENTS[name] for name in USED}
    assert kaggle.served == before + 200_000 + len(CONTENTS["tables/zwölf Fälle & mehr.csv"])


def test_a_zip_that_is_there_is_taken(kaggle, source, competition, raw, home):
    home.mkdir(parents=True)
    (home / f"{ID}.zip").write_bytes(packed(CONTENTS))
    source.fetch(competition, raw)
    assert contents_of(raw) == CONTENTS
    assert source.describe()["zip"]["size"] == len(packed(CONTENTS))
    assert kaggle.requests == []


def test_a_zip_that_has_begun_to_come_is_finished(kaggle, held, source, competition, raw):
    kaggle.fail("storage", Fault.cut(100_000), *[Fault.answer(404)] * 4)
    with pytest.raises(KaggleError):
        source.obtain(replace(competition, raw_files=()))
    kaggle.recover()
    source.fetch(competition, raw)
    assert contents_of(raw) == CONTENTS
    assert kaggle.served == len(held.archive)


def test_the_whole_zip_if_that_saves_less_than_half(kaggle, held, source, competition, raw, home):
    source.fetch(replace(competition, raw_files=("train.csv", "test.csv")), raw)
    assert contents_of(raw) == CONTENTS
    assert visible(home) == [f"{ID}.zip", f"{ID}.zip.json"]


def test_nothing_is_listed_where_everything_is_needed(kaggle, held, source, competition, raw):
    source.fetch(replace(competition, raw_files=()), raw)
    assert kaggle.calls("ListDataFiles") == []


@pytest.mark.parametrize(
    "fault", [Fault.answer(404, "Not found"), Fault.answer(400, "Bad"), Fault.answer(403, "Forbidden")], ids=str
)
@pytest.mark.parametrize("method", ["ListDataFiles", "DownloadDataFile"])
def test_the_zip_comes_where_single_files_do_not(kaggle, held, source, competition, raw, home, fault, method):
    kaggle.fail(method, fault)
    source.fetch(competition, raw)
    assert contents_of(raw) == CONTENTS
    assert "zip" in source.describe()
    source.discard(competition)
    assert visible(home) == []


def test_the_zip_comes_where_a_file_is_damaged_again_and_again(kaggle, held, source, competition, raw):
    kaggle.fail("storage", *[Fault(wrong_byte=True)] * 4)
    source.fetch(competition, raw)
    assert contents_of(raw) == CONTENTS
    assert "zip" in source.describe()


def test_rules_are_asked_for_once(kaggle, held, source, competition, home):
    held.has_entered = False
    with pytest.raises(RulesNotAccepted):
        source.obtain(competition)
    assert kaggle.calls("DownloadDataFiles") == []


def test_a_closed_competition(kaggle, held, source, competition):
    held.is_closed = True
    with pytest.raises(NotJoinable):
        source.obtain(competition)


def test_a_server_that_is_down_is_told_and_what_came_is_kept(kaggle, held, source, competition, raw):
    kaggle.fail("storage", Fault.cut(150_000), Fault.cut(0), *[Fault.answer(503)] * 9)
    with pytest.raises(KaggleError, match="goes on where it stopped"):
        source.obtain(competition)
    kaggle.recover()
    source.fetch(competition, raw)
    assert contents_of(raw) == {name: CONTENTS[name] for name in USED}
    assert kaggle.traffic().twice == 0
    assert kaggle.calls("DownloadDataFiles") == []


def test_progress_is_one_step_in_bytes(kaggle, held, source, competition, display):
    held.zips_files = True
    with shown_on(display):
        source.obtain(competition)
    step = [n for n, (text, _) in enumerate(display.steps, 1) if text == f"{ID}: downloading from Kaggle"]
    total = sum(len(CONTENTS[name]) for name in USED)
    assert [display.steps[n - 1][1] for n in step] == [total]
    assert display.done[step[0]] == total


# --- the choice


def listed(**sizes):
    return [RemoteFile(name, size, None) for name, size in sizes.items()]


def test_less_than_half_is_chosen():
    assert [file.name for file in choose(listed(a=49, b=51), ["a"])] == ["a"]
    assert choose(listed(a=50, b=50), ["a"]) == []


def test_a_needed_file_that_is_not_listed_may_be_in_the_zip():
    assert choose(listed(a=1, b=99), ["a", "c"]) == []
    assert choose(listed(a=1, b=99), ["a", "c/"]) == []


@pytest.mark.parametrize("name", ["../a", "/etc/a", "a/../../b"])
def test_names_that_lead_outside_are_not_asked_for(name):
    assert choose([RemoteFile(name, 1, None), RemoteFile("b", 99, None)], [name]) == []


def test_a_file_where_anothers_record_would_be():
    files = [RemoteFile(name, 1, None) for name in ("a", "a.json", *map(str, range(9)))]
    assert choose(files, ["a", "a.json"]) == []
    assert len(choose(files, ["a"])) == 1


def test_sizes_that_are_not_told():
    assert choose(listed(a=0, b=0), ["a"]) == []


@pytest.mark.parametrize(("need", "requests"), [("0001.png", 2), ("folder/", 2), ("0399.png", 2)])
def test_long_lists_are_not_read_to_the_end(kaggle, account, source, competition, raw, monkeypatch, need, requests):
    """What is beyond can only make the zip larger, unless a folder goes on there or what is needed stands there."""
    monkeypatch.setattr(single_files, "MAX_LISTED", 200)
    names = ["folder/a.png", *(f"{n:04}.png" for n in range(400))]
    kaggle.add(ID, packed(dict.fromkeys(names, b"1234567890")))
    source.fetch(replace(competition, raw_files=(need,)), raw)
    assert len(kaggle.calls("ListDataFiles")) == requests
    assert len(contents_of(raw)) == (1 if need == "0001.png" else len(names))


@pytest.mark.parametrize("needs", ['"train.csv"', "[1]", '[""]'])
def test_raw_needs_are_names(tmp_path, needs):
    facts = (catalog.get(ID).folder / "competition.toml").read_text()
    (tmp_path / "competition.toml").write_text(facts.replace('needs = ["train.csv"]', f"needs = {needs}"))
    with pytest.raises(CompetitionError, match=r"raw\.needs is"):
        load_competition(tmp_path)


# --- the whole way


@pytest.mark.parametrize("edition", ["v1", "v2"])
@pytest.mark.parametrize(
    "competition_id", ["facebook-recruiting-iii-keyword-extraction", "text-normalization-challenge-russian-language"]
)
def test_prepared_as_from_everything(kaggle, account, tmp_path, competition_id, edition):
    competition = catalog.get(competition_id).in_edition(edition)
    kaggle.add(competition_id, zip_of_twin(competition_id, tmp_path / "packed", rows=60))
    ours, whole = (Dataset(competition, tmp_path / name) for name in ("ours", "whole"))
    prepare(ours, Kaggle(ours.data_dir))
    prepare(whole, Synthetic(60))
    assert ours.manifest()["files"] == whole.manifest()["files"]
    assert sorted(ours.manifest()["single_files"]) == sorted(competition.raw_files)
    assert kaggle.calls("DownloadDataFiles") == []


PROGRAM = """
import sys
from dataclasses import replace
from pathlib import Path
from mlebench import catalog
from mlebench.preparation.kaggle.source import Kaggle
competition = replace(catalog.get(sys.argv[2]), raw_files=tuple(sys.argv[3:]))
Kaggle(Path(sys.argv[1])).obtain(competition)
"""


@pytest.fixture
def start(kaggle, home):
    started = []

    def start():
        command = [sys.executable, "-c", PROGRAM, str(home.parent), ID, *NEEDED]
        started.append(subprocess.Popen(command, env={**os.environ, **kaggle.environment}))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.wait()


def test_killed_between_and_in_files(kaggle, held, home, start, source, competition, raw):
    kaggle.pace = 0.05
    folder = home / f"{ID}.files"
    sizes = []
    for place in (1, 70_000, 140_000, 200_100, 209_050):
        process = start()
        while sum(p.stat().st_size for p in folder.rglob("*") if p.suffix != ".json" and p.is_file()) < place:
            assert process.poll() is None
            time.sleep(0.002)
        process.send_signal(signal.SIGKILL)
        process.wait()
        sizes.append(kaggle.served)
    kaggle.pace = 0
    source.fetch(competition, raw)
    assert contents_of(raw) == {name: CONTENTS[name] for name in USED}
    assert sizes == sorted(sizes)
    assert kaggle.traffic().twice <= 5 * 65_536  # what was on the way


def test_two_processes_download_once(kaggle, held, start, source, competition, raw):
    kaggle.pace = 0.02
    processes = [start(), start()]
    assert [process.wait() for process in processes] == [0, 0]
    assert kaggle.served == sum(len(CONTENTS[name]) for name in USED)
