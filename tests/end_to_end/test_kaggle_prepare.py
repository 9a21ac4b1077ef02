"""`mlebench prepare` for ten competitions, packed as Kaggle packs them."""

import json
import re
import shlex
import signal
import time
from subprocess import PIPE

import pytest

from kaggle_stand_in import Fault, RateLimit

TEN = [
    "aerial-cactus-identification",  # zips of images
    "denoising-dirty-documents",  # zips of images, a zip of a table
    "detecting-insults-in-social-commentary",  # tables
    "freesound-audio-tagging-2019",  # sounds
    "inaturalist-2019-fgvc6",  # tar.gz of images
    "invasive-species-monitoring",  # 7z of images, zips of tables
    "mlsp-2013-birds",  # a zip of everything
    "multi-modal-gesture-recognition",  # 7z, tar.gz, zips
    "random-acts-of-pizza",  # JSON
    "statoil-iceberg-classifier-challenge",  # 7z of JSON
]
DIFFERING = ["detecting-insults-in-social-commentary", "random-acts-of-pizza"]  # in the second edition


@pytest.fixture
def twins(kaggle, twins_of):
    found = twins_of(TEN)
    for twin in found:
        kaggle.add(twin.id, twin.archive)
    return found


def test_ten(kaggle, user, twins, twins_of):
    """What is said, what is there; what is there is left alone; the second edition takes the zips that were kept."""
    told = user.prepare(TEN, "--jobs", "2", "--keep", "zip")
    assert sorted(results(told)) == [f"{name}: prepared" for name in TEN]
    plan = re.search(r"([\d.]+) MB to download; disk: about \d+ MB at the peak and \d+ MB in the end", told.stderr)
    assert plan, told.stderr
    assert float(plan[1]) == pytest.approx(kaggle.traffic().different / 1e6, abs=0.06)
    assert "\n10 prepared\n" in told.stderr
    assert_prepared(user, twins)
    for twin in twins:
        assert (user.data_dir / twin.id / f"{twin.id}.zip").read_bytes() == twin.archive.read_bytes()
        assert kaggle.traffic(twin.id).twice <= 1  # one byte is asked for to learn the size

    asked = len(kaggle.requests)
    again = user.prepare(TEN)
    assert results(again) == [f"{name}: already prepared" for name in TEN]
    user.prepare(DIFFERING, "--edition", "v2")
    assert_prepared(user, twins_of(DIFFERING, "v2"), "v2")
    assert len(kaggle.requests) == asked


def test_what_kaggle_does_not_give_out_is_listed_and_the_rest_is_done(kaggle, user, twins):
    """Each with the page where something can be done; the command that is told goes on."""
    odd, closed, *refused = "detecting-insults-in-social-commentary", "random-acts-of-pizza", TEN[0], TEN[3]
    for name in (odd, *refused):
        kaggle.held[name].has_entered = False
    kaggle.held[closed].is_closed = True
    told = user.prepare(TEN[:4] + TEN[8:9], code=1)
    assert f"{TEN[1]}: prepared" in results(told)
    assert len([line for line in results(told) if "failed" in line]) == 4
    pages = [line.split()[0] for line in told.stderr.splitlines() if line.strip().startswith("https://")]
    at = "https://www.kaggle.com/competitions/"
    assert {f"{at}{odd}/data", *(f"{at}{name}/rules" for name in refused)} <= {*pages}
    assert f"{closed}: " in told
    assert "closed" in told
    assert kaggle.traffic(odd).served == kaggle.traffic(closed).served == 0

    for held in kaggle.held.values():
        held.has_entered, held.is_closed = True, False
    command = shlex.split(next(line for line in told.stderr.splitlines() if line.startswith("To go on: "))[10:])
    assert command[0] == "mlebench"
    user.call(*command[1:])
    assert_prepared(user, [twin for twin in twins if twin.id in TEN[:4] + TEN[8:9]])


def test_an_account_whose_phone_is_not_verified(kaggle, user, twins):
    kaggle.has_verified_phone = False
    told = user.prepare(TEN[:2], code=1)
    assert "phone" in told
    assert "https://www.kaggle.com/settings" in told
    kaggle.has_verified_phone = True
    user.prepare(TEN[:2])
    assert_prepared(user, twins[:2])


def test_all_at_once_under_a_rate_limit(kaggle, user, twins):
    """Three calls in two seconds: the others are told when to come again, and do."""
    kaggle.limit = RateLimit(3, seconds=2, tells="date")
    user.prepare(TEN[:4], "--jobs", "2", "--download-jobs", "4")
    assert_prepared(user, twins[:4])
    assert kaggle.limit.refused > 0


def test_ctrl_c_while_kaggle_is_asked(kaggle, user, twins):
    """It stops at once, without a traceback, and says how to go on."""
    kaggle.fail("DownloadDataFiles", *[Fault(pause=0.8)] * 2)
    process = user.start(
        *("prepare", "-c", TEN[2], "-c", TEN[8], "--data-dir", user.data_dir), stdout=PIPE, stderr=PIPE
    )
    while not kaggle.requests:
        time.sleep(0.01)
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == 130, stdout + stderr
    assert "Traceback" not in stderr, stderr
    command = shlex.split(next(line for line in stderr.splitlines() if line.startswith("To go on: "))[10:])
    kaggle.recover()
    user.call(*command[1:])
    assert_prepared(user, [twins[2], twins[8]])


def test_two_processes_do_the_same_ten_at_once(kaggle, user, twins):
    """Both end well, each byte comes once, and each competition is prepared once."""
    kaggle.pace = 0.005
    chosen = [part for name in TEN for part in ("-c", name)]
    both = [
        user.start("prepare", *chosen, "--jobs", "1", "--data-dir", user.data_dir, "--json", stdout=PIPE, stderr=PIPE)
        for _ in range(2)
    ]
    said = [process.communicate(timeout=300) for process in both]
    assert [process.returncode for process in both] == [0, 0], said
    states = [{result["competition"]: result["state"] for result in json.loads(told)} for told, _ in said]
    for name in TEN:
        assert sorted(each[name] for each in states) == ["already prepared", "prepared"]
    assert_prepared(user, twins)
    for twin in twins:
        assert kaggle.traffic(twin.id).twice <= 2  # both ask for a byte to learn the size


def results(told):
    """A line for each competition, without the place."""
    return [line.partition(" in /")[0] for line in told.stdout.splitlines() if not line.startswith(" ")]


def assert_prepared(user, twins, edition="v1"):
    """Byte for byte what source `synthetic` prepares."""
    for twin in twins:
        dataset = user.dataset(twin.id, edition)
        assert dataset.source == "kaggle"
        assert dataset.manifest()["files"] == twin.files, twin.id
