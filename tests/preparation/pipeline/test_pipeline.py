"""Many competitions at once, from the server that stands in for Kaggle, with true processes and signals."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

import psutil
import pytest

from mlebench import catalog
from mlebench.competition import load_competition
from mlebench.dataset import Dataset
from mlebench.errors import UsageError
from mlebench.preparation.disk.sizes import needs
from mlebench.preparation.pipeline import Task, prepare_many
from mlebench.preparation.pipeline.board import Board

TITANIC = "spaceship-titanic"
PATIENT = 60  # seconds after which what is waited for will not come


@pytest.fixture(scope="module")
def twin(tmp_path_factory):
    """A zip of the twin of `TITANIC`, which all competitions of these tests take."""
    from kaggle_stand_in import zip_of_twin

    return zip_of_twin(TITANIC, tmp_path_factory.mktemp("twin"))


@pytest.fixture(autouse=True)
def home(monkeypatch, tmp_path):
    """Nobody's account, remembered nowhere."""
    for name in ("KAGGLE_API_TOKEN", "KAGGLE_USERNAME", "KAGGLE_KEY", "KAGGLE_CONFIG_DIR", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def kaggle(monkeypatch):
    """The server, with an account there."""
    from kaggle_stand_in import StandIn

    with StandIn() as server:
        for name, value in server.environment.items():
            monkeypatch.setenv(name, value)
        yield server
    assert server.errors == []


@pytest.fixture
def own(tmp_path):
    """Makes a competition like `TITANIC` under another id, whose preparation first runs the lines given."""

    def make(name, *lines):
        folder = tmp_path / "own" / name
        shutil.copytree(catalog.get(TITANIC).folder, folder, ignore=shutil.ignore_patterns("__pycache__"))
        code = (folder / "prepare.py").read_text()
        (folder / "prepare.py").write_text(code + _FIRST.format(lines="\n    ".join(lines or ["pass"])))
        return Dataset(load_competition(folder), tmp_path / "data")

    return make


_FIRST = """
_usual = prepare


def prepare(raw, public, private):
    import os, signal, subprocess, time
    from pathlib import Path

    def wait_for(path):
        deadline = time.monotonic() + 60
        while not Path(path).exists():
            assert time.monotonic() < deadline, path
            time.sleep(0.02)

    {lines}
    _usual(raw, public, private)
"""


def states(results):
    return {result.competition: result.state for result in results}


def until(condition):
    """Wait until something is so."""
    deadline = time.monotonic() + PATIENT
    while not (found := condition()):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return found


# --- beside each other


def test_one_is_prepared_while_the_next_is_downloaded(own, kaggle, twin, tmp_path):
    """The second download is refused until the first preparation runs, and that waits for the second download."""
    from kaggle_stand_in import Fault

    running = tmp_path / "running"
    second = own("second")
    first = own("first", f"Path({str(running)!r}).touch()", f"wait_for({str(second.home / 'second.zip')!r})")
    kaggle.add("first", twin)
    kaggle.add("second", twin.read_bytes() + b"\0" * 100)  # a little larger: it comes second
    kaggle.fail("storage", *[Fault.answer(503, retry_after="1")] * 7, competition="second")
    kaggle._on_request = lambda _: kaggle.recover() if running.exists() else None
    results = prepare_many([Task(second, keep="zip"), Task(first)], jobs=1, download_jobs=1)
    assert states(results) == {"second": "prepared", "first": "prepared"}
    assert list(states(results)) == ["second", "first"]


def test_the_smallest_is_downloaded_first(own, kaggle, twin):
    datasets = [own(name) for name in ("large", "small", "medium")]
    for name, extra in (("large", 2000), ("small", 0), ("medium", 1000)):
        kaggle.add(name, twin.read_bytes() + b"\0" * extra)
    ended = []
    prepare_many([Task(dataset) for dataset in datasets], 1, 1, on_result=ended.append)
    whole = [r.competition for r in kaggle.calls("storage") if r.sent > 1]  # one byte asks for the size
    assert whole == ["small", "medium", "large"]
    assert [result.competition for result in ended] == whole


def test_failures_do_not_hurt_the_others(own, kaggle, twin):
    names = ("fine", "refused", "damaged", "missing", "faulty", "killed", "crashed")
    lines = {
        "faulty": ["1 / 0"],
        "killed": ["os.kill(os.getpid(), signal.SIGKILL)"],
        "crashed": ["import faulthandler; faulthandler._sigabrt()"],
    }
    datasets = [own(name, *lines.get(name, [])) for name in names]
    for name in names:
        kaggle.add(name, twin)
    kaggle.held["refused"].has_entered = False
    kaggle.held["damaged"].archive = b"no zip"
    del kaggle.held["missing"]
    plans = []
    results = prepare_many([Task(dataset) for dataset in datasets], jobs=2, on_plan=plans.append)
    assert states(results) == {name: "prepared" if name == "fine" else "failed" for name in names}
    problems = {result.competition: result.problems for result in results}
    assert problems["fine"] == ()
    assert "ZeroDivisionError" in problems["faulty"][0]
    assert problems["killed"][0].startswith("killed (memory?) while preparing")
    assert problems["crashed"][0].startswith("crashed (SIGABRT)")
    assert "zip" in problems["damaged"][0]
    assert results[1].page == "https://www.kaggle.com/competitions/refused/rules"
    assert [dataset.is_prepared for dataset in datasets] == [name == "fine" for name in names]
    assert plans[0].refused >= 1
    assert plans[0].to_do == 5


def test_what_is_there_is_left_alone_or_verified(own, kaggle, twin):
    dataset = own("first")
    kaggle.add("first", twin)
    assert states(prepare_many([Task(dataset)])) == {"first": "prepared"}
    asked = len(kaggle.requests)
    assert states(prepare_many([Task(dataset)])) == {"first": "already prepared"}
    (told,) = prepare_many([Task(dataset, verify=True)])
    assert (told.state, told.facts["files"]) == ("mismatch", 5)  # published checksums are not those of a twin
    (dataset.public / "train.csv").unlink()
    (told,) = prepare_many([Task(dataset, verify=True)])
    assert any("public/train.csv" in problem for problem in told.problems)
    assert len(kaggle.requests) == asked


def test_a_damaged_manifest_is_one_result(own):
    damaged, fine = own("damaged"), own("fine")
    damaged.prepared.mkdir(parents=True)
    damaged.manifest_path.write_text("{")
    results = prepare_many([Task(damaged, "synthetic"), Task(fine, "synthetic")])
    assert states(results) == {"damaged": "failed", "fine": "prepared"}
    assert "--force" in results[0].problems[0]


@pytest.mark.parametrize("several", [False, True])
def test_without_an_account_all_ends_at_once(own, several):
    tasks = [Task(own("first"))] + ([Task(own("second"))] if several else [])
    with pytest.raises(UsageError, match="no Kaggle credentials"):
        prepare_many(tasks)


@pytest.mark.parametrize("several", [False, True])
def test_with_wrong_credentials_all_ends_at_once(own, kaggle, several):
    kaggle.knows_credentials = False
    tasks = [Task(own("first"))] + ([Task(own("second"))] if several else [])
    with pytest.raises(UsageError, match="does not accept"):
        prepare_many(tasks)


def test_what_does_not_fit_on_the_disk_is_told(own, kaggle, twin):
    """Its own zip, put there by hand, is a file with a hole."""
    large, small = own("large"), own("small")
    kaggle.add("small", twin)
    large.home.mkdir(parents=True)
    with (large.home / "large.zip").open("wb") as file:
        file.truncate(shutil.disk_usage(large.home).total * 10)
    results = prepare_many([Task(large), Task(small)])
    assert states(results) == {"large": "failed", "small": "prepared"}
    assert re.match(r"needs [\d,.]+ GB more disk", results[0].problems[0])


def test_what_does_not_fit_beside_another_waits(own, tmp_path):
    """Two archives that are files with holes: for what one would unpack to there is room, for both there is not."""
    datasets = [own("first"), own("second")]
    usual = needs(datasets[0].competition)
    size = int(shutil.disk_usage(tmp_path).free * 0.7 / (usual.peak / usual.download - 1))
    (tmp_path / "zips").mkdir()
    for dataset in datasets:
        with (tmp_path / "zips" / f"{dataset.competition.id}.zip").open("wb") as file:
            file.truncate(size)
    board, beside = Board(), []

    def note(result):
        beside.append((board.totals().note, [row.name for row in board.rows()]))

    results = prepare_many([Task(dataset, str(tmp_path / "zips")) for dataset in datasets], 2, 2, note, board=board)
    assert all("more disk" not in result.problems[0] for result in results)
    assert beside[0][0].startswith("second waits for ")
    assert [rows for _, rows in beside] == [[], []]


def test_an_own_source_is_found_where_the_caller_finds_it(own, tmp_path, monkeypatch):
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "my_source.py").write_text(
        "from mlebench.preparation.sources import Synthetic\nclass Mine(Synthetic):\n    name = 'mine'\n"
    )
    monkeypatch.syspath_prepend(tmp_path / "code")
    (result,) = prepare_many([Task(own("first"), "my_source:Mine")])
    assert (result.state, result.facts["source"]) == ("prepared", "mine")


# --- ending early


class Program:
    """`mlebench prepare` as the leader of a group of processes."""

    def __init__(self, tmp_path, *arguments, **options):
        self.errors = tmp_path / "stderr"
        command = [sys.executable, "-m", "mlebench", "prepare", "--competitions", tmp_path / "own", *arguments]
        with self.errors.open("wb") as errors:
            self.process = subprocess.Popen(
                [*map(str, command), "--data-dir", str(tmp_path / "data")],
                **{"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": errors, **options},
                process_group=0,
            )

    def is_up_to(self, condition):
        assert self.process.poll() is None, self.errors.read_text()
        return condition()

    def end(self):
        """Exit code, and both streams."""
        stdout, _ = self.process.communicate(timeout=PATIENT)
        return self.process.returncode, stdout.decode(), self.errors.read_text()


@pytest.fixture
def busy(own, tmp_path):
    """A competition whose preparation starts a process and goes on for ever; and the ids of both, once they run."""
    pids = tmp_path / "pids"
    own(
        "busy",
        "child = subprocess.Popen(['sleep', '600'])",
        f"Path({str(pids)!r} + '.new').write_text(f'{{os.getpid()}} {{child.pid}}')",
        f"os.rename({str(pids)!r} + '.new', {str(pids)!r})",
        "time.sleep(600)",
    )

    def running():
        return [int(pid) for pid in pids.read_text().split()] if pids.exists() else []

    return running


def gone(pids):
    return not any(psutil.pid_exists(pid) and psutil.Process(pid).status() != "zombie" for pid in pids)


def test_nothing_is_left_of_a_killed_program(busy, tmp_path):
    program = Program(tmp_path, "-c", "busy", "--source", "synthetic")
    pids = until(lambda: program.is_up_to(busy))
    program.process.kill()
    program.end()
    until(lambda: gone(pids))


@pytest.mark.parametrize("how", ["Ctrl-C", "SIGTERM"])
def test_an_interrupted_preparation(busy, own, kaggle, twin, tmp_path, how):
    kaggle.add("busy", twin)
    done = own("done")
    program = Program(tmp_path, "-c", "busy", "-c", "done", "--source", "synthetic", "--jobs", "2", "--force")
    pids = until(lambda: program.is_up_to(busy))
    until(lambda: program.is_up_to(lambda: done.is_prepared))
    assert program.process.stdout.readline()
    if how == "Ctrl-C":
        os.killpg(program.process.pid, signal.SIGINT)
    else:
        program.process.terminate()
    code, _, stderr = program.end()
    assert code == 130
    assert gone(pids)
    assert "1 prepared, 1 stopped" in stderr
    again = stderr.rpartition("To go on: ")[2].strip()
    assert "-c busy" in again
    assert "--source synthetic" in again
    assert "-c done" not in again
    assert "--force" in again  # the others have been prepared anew
    assert "Traceback" not in stderr
    assert not list((tmp_path / "data" / "busy").glob(".preparing-*"))
    own_code = tmp_path / "own" / "busy" / "prepare.py"
    own_code.write_text((catalog.get(TITANIC).folder / "prepare.py").read_text())
    command = [sys.executable, "-m", "mlebench", *again.split()[1:]]
    assert "busy: prepared" in subprocess.run(command, capture_output=True, text=True, check=True).stdout


def wait_for_bytes(program, path, least):
    until(lambda: program.is_up_to(lambda: path.exists() and path.stat().st_size > least))


def test_an_interrupted_download_goes_on(own, kaggle, twin, tmp_path):
    from kaggle_stand_in import Fault

    dataset = own("first")
    content = twin.read_bytes()
    kaggle.add("first", content)
    kaggle.fail("storage", Fault.drip(1000, 0.1), Fault.drip(1000, 0.1))
    part = dataset.home / "first.zip.part"
    for least in (5000, 10_000):
        program = Program(tmp_path, "-c", "first")
        wait_for_bytes(program, part, least)
        os.killpg(program.process.pid, signal.SIGINT)
        code, _, stderr = program.end()
        assert (code, "To go on: mlebench prepare" in stderr) == (130, True)
        assert part.stat().st_size < len(content)
    program = Program(tmp_path, "-c", "first", "--json")
    code, stdout, stderr = program.end()
    assert (code, json.loads(stdout)[0]["state"]) == (0, "prepared"), stderr
    assert kaggle.traffic("first").twice <= 2 * 5000  # what was on the way, twice
    (expected,) = prepare_many([Task(Dataset(dataset.competition, tmp_path / "other"), str(twin))])
    assert expected.state == "prepared"
    other = Dataset(dataset.competition, tmp_path / "other")
    assert dataset.manifest()["files"] == other.manifest()["files"]


def test_a_second_signal_ends_at_once(own, tmp_path):
    """The preparation does not listen to the first."""
    running = tmp_path / "running"
    own(
        "deaf",
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)",
        f"Path({str(running)!r}).write_text(str(os.getpid()))",
        "time.sleep(600)",
    )
    program = Program(tmp_path, "-c", "deaf", "--source", "synthetic")
    until(lambda: program.is_up_to(lambda: running.exists() and running.read_text()))
    for _ in range(2):
        os.killpg(program.process.pid, signal.SIGINT)
        time.sleep(0.1)  # two at the same time are one
    assert program.end()[0] == 130
    assert gone([int(running.read_text())])


@pytest.mark.parametrize("stdin", ["<&-", "< <(echo n)"])
def test_nothing_is_read_from_standard_input(own, kaggle, twin, tmp_path, stdin):
    own("first")
    kaggle.add("first", twin)
    kaggle.add(TITANIC, twin, has_entered=False)
    arguments = f"--competitions {tmp_path / 'own'} -c first -c {TITANIC} --data-dir {tmp_path / 'data'}"
    command = ["bash", "-c", f"exec {sys.executable} -m mlebench prepare {arguments} {stdin}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENT, check=False)
    assert done.returncode == 1
    assert "first: prepared" in done.stdout
    advice = "the rules are not accepted; open the page, join and accept the rules"
    assert f"  {advice}\n    https://www.kaggle.com/competitions/{TITANIC}/rules\n" in done.stderr
    assert f"To go on: mlebench prepare --competitions {tmp_path / 'own'}" in done.stderr
    assert done.stderr.rstrip().endswith(f"-c {TITANIC}")
