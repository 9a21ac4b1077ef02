"""Killed at random moments of download, extraction and preparation: nothing is lost, nothing half-made is believed."""

import random
import signal
import time
import zipfile
from collections import Counter
from contextlib import suppress
from subprocess import DEVNULL

import numpy as np
import psutil
import pytest

from mlebench.preparation.verification import verify

# Rows, and megabytes beside the files that are needed.
COMPETITIONS = {
    "dog-breed-identification": (2000, 24),  # thousands of small files
    "dogs-vs-cats-redux-kernels-edition": (1500, 6),  # archives in the archive, had as single files
    "new-york-city-taxi-fare-prediction": (100_000, 2),  # a large table
}
STAGES = ("download", "extraction", "preparation")
LONGEST = {"download": 1.2, "extraction": 0.15, "preparation": 0.4}  # seconds after its beginning until the kill
HALF_MADE = ("*.part", "*.part.json", ".preparing-*", ".fetching*", ".finishing*")
WAYS = ("everything", "parent", "Ctrl-C")
PACE = 0.006  # 11 MB/s for each download
ON_THE_WAY = 1 << 20  # bytes that two downloads have in the buffers of both ends when they are killed


@pytest.fixture(scope="module")
def archives(tmp_path_factory):
    from kaggle_stand_in import zip_of_twin

    folder = tmp_path_factory.mktemp("archives")
    made = {}
    for name, (rows, more) in COMPETITIONS.items():
        made[name] = zip_of_twin(name, folder, rows)
        with zipfile.ZipFile(made[name], "a") as opened:
            opened.writestr("of-no-use.bin", np.random.default_rng(rows).bytes(more * 1_000_000))
    return made


@pytest.mark.parametrize("kills", [6, pytest.param(20, marks=pytest.mark.slow)])
def test_killed(kaggle, user, archives, kills, record_property):
    for name, archive in archives.items():
        kaggle.add(name, archive)
    expected = prepared_undisturbed(user, archives)
    usual = kaggle.traffic().served
    kaggle.pace = PACE
    trial = Trial(kaggle, user, archives, expected, random.Random(kills))
    while trial.kills < kills:
        trial.kill_once()
    trial.end()

    whole = trial.rounds * usual
    twice = kaggle.traffic().served - usual - whole
    figures = (
        f"{trial.kills} kills ({told(trial.ways)}) that hit {told(trial.hits)}; in {trial.rounds} rounds of "
        f"{usual:,} bytes {twice:,} were sent twice, {twice // kills:,} for each kill"
    )
    print(figures)
    record_property("figures", figures)
    assert min(trial.hits[stage] for stage in STAGES) >= kills // 3
    assert min(trial.ways[way] for way in WAYS) >= kills // 3
    assert twice <= kills * ON_THE_WAY


def prepared_undisturbed(user, archives):
    """The manifest's files of each competition."""
    user.prepare(archives, "--jobs", "2")
    expected = {name: user.dataset(name).manifest()["files"] for name in archives}
    user.number += 1
    return expected


class Trial:
    """Rounds of preparing all competitions, each in a data directory of its own, with kills in between."""

    def __init__(self, kaggle, user, archives, expected, choose):
        self._kaggle, self._user, self._archives = kaggle, user, archives
        self._expected, self._choose = expected, choose
        self.kills, self.rounds = 0, 1
        self.hits, self.ways = Counter(), Counter()

    def kill_once(self):
        """Start the program and kill it at a random moment of the stage whose turn it is, if that comes."""
        stage, way = STAGES[self.kills % 3], WAYS[(self.kills + self.kills // 3) % 3]
        process = self._start()
        self._wait_for(stage, process)
        time.sleep(self._choose.uniform(0, LONGEST[stage]))
        hit = self._wait_for(stage, process)
        if process.poll() is not None:
            self._ended(process)
            return
        kill(process, way)
        self.kills += 1
        self.ways[way] += 1
        self.hits.update(hit)
        self._nothing_half_made_is_believed()
        self._goes_on_where_it_stopped()

    def _wait_for(self, stage, process):
        """Until a competition is in this stage, or the process is over; returns all stages that are under way."""
        while stage not in (found := self._under_way()) and process.poll() is None:
            time.sleep(0.002)
        return found

    def _start(self):
        chosen = [part for name in self._archives for part in ("-c", name)]
        self._left = {name: self._downloads(name) | self._workshops(name) for name in self._archives}
        self._parts = self._bytes_there()
        self._requests = len(self._kaggle.requests)
        return self._user.start(
            "prepare", *chosen, "--jobs", "2", "--data-dir", self._user.data_dir, stdout=DEVNULL, stderr=DEVNULL
        )

    def _ended(self, process):
        """It was faster: all is there, and the next round begins."""
        assert process.returncode == 0
        self._all_is_right()
        self._user.number += 1
        self.rounds += 1

    def end(self):
        """Let it end at last."""
        self._kaggle.pace = 0
        assert self._start().wait(300) == 0
        self._all_is_right()

    def _all_is_right(self):
        for name in self._archives:
            assert self._user.dataset(name).is_prepared
        self._nothing_half_made_is_believed()
        for name in self._archives:
            home = self._user.dataset(name).home
            assert [path for pattern in HALF_MADE for path in home.rglob(pattern)] == []

    def _under_way(self):
        """The stages that competitions are in; what an earlier process left is none."""
        found = set()
        for name in self._archives:
            if self._downloads(name) - self._left[name]:
                found.add("download")
            elif self._workshops(name) - self._left[name]:
                found.add(stage_of_raw_files(self._home(name)))
        return found

    def _home(self, name):
        return self._user.data_dir / name

    def _downloads(self, name):
        """What is being downloaded, each with its size."""
        parts = [*self._home(name).glob("*.part"), *(self._home(name) / f"{name}.files").glob("*.part")]
        return {(path, size_of(path)) for path in parts}

    def _workshops(self, name):
        """The folders in which preparations work: each has another."""
        return {*self._home(name).glob(".preparing-*")}

    def _nothing_half_made_is_believed(self):
        """What looks prepared is all there and right."""
        for name in self._archives:
            dataset = self._user.dataset(name)
            if dataset.is_prepared:
                assert dataset.manifest()["files"] == self._expected[name]
                # A twin has never the published md5; what the manifest says is what counts.
                assert [wrong for wrong in verify(dataset) if not wrong.expected.startswith("md5")] == []

    def _bytes_there(self):
        """Of each archive that is not whole."""
        return {name: size_of(self._home(name) / f"{name}.zip.part") for name in self._archives}

    def _goes_on_where_it_stopped(self):
        """The first bytes that this process asked for followed those that the one before left."""
        for name, size in self._parts.items():
            asked = [
                request
                for request in self._kaggle.requests[self._requests :]
                if request.path.startswith("/storage") and request.competition == name
            ]
            if size and asked:
                assert size in {request.start for request in asked[:2]}


def stage_of_raw_files(home):
    """They are being written until the note of their origin says that they are whole; then the rest is made of them."""
    with suppress(OSError):
        return "preparation" if '"whole"' in (home / ".fetching.json").read_text() else "extraction"
    return "other"


def size_of(path):
    with suppress(OSError):
        return path.stat().st_size
    return 0


def kill(process, way):
    """End the program; what it has started ends, too."""
    parent = psutil.Process(process.pid)
    everything = [parent, *parent.children(recursive=True)]
    if way == "Ctrl-C":
        process.send_signal(signal.SIGINT)
        assert process.wait(60) in (130, 0)  # 0: it had just ended
    else:
        for each in everything if way == "everything" else [parent]:
            with suppress(psutil.NoSuchProcess):
                each.kill()
        process.wait(60)
    _, alive = psutil.wait_procs([each for each in everything if each.pid != process.pid], timeout=60)
    assert alive == []


def told(counts):
    return ", ".join(f"{count} {name}" for name, count in counts.items())
