"""What the user has access to: every answer of Kaggle's, every fault, what is remembered."""

import json
import os
import subprocess
import sys
import threading
import time
from datetime import UTC, datetime, timedelta

import pytest

from kaggle_stand_in import Fault, RateLimit
from mlebench import catalog
from mlebench.preparation.kaggle.access import Access, memory_file
from mlebench.preparation.kaggle.client import Client
from mlebench.preparation.kaggle.credentials import Credentials
from mlebench.preparation.kaggle.errors import BadCredentials, RulesNotAccepted
from mlebench.preparation.kaggle.patience import Patience
from mlebench.preparation.kaggle.preflight import PATIENCE, check, measure_speed
from mlebench.preparation.kaggle.source import Kaggle
from mlebench.preparation.progress import shown_on

WEBSITE = "https://www.kaggle.com/competitions"
ON_DATA_TAB = ("detecting-insults-in-social-commentary", "the-icml-2013-whale-challenge-right-whale-redux")


@pytest.fixture
def titanic(kaggle, packed):
    return kaggle.add("titanic", packed(1000))


def asked(kaggle):
    return [request.body["competitionName"] for request in kaggle.calls("DownloadDataFiles")]


def test_open(client, kaggle, titanic):
    assert check(client, ["titanic"]) == {"titanic": Access("titanic", "open")}
    assert kaggle.calls("storage") == []


def test_each_is_asked_once_and_told_in_the_order_asked_for(client, kaggle, packed):
    ids = [f"contest-{n}" for n in range(20)]
    for each in ids:
        kaggle.add(each, packed(10))
    told, threads = [], set()

    def tell(access):
        told.append(access.competition)
        threads.add(threading.current_thread())

    assert list(check(client, [*ids, *ids], tell)) == ids
    assert sorted(told) == sorted(asked(kaggle)) == sorted(ids)
    assert threads == {threading.current_thread()}


def test_rules_that_are_not_accepted(client, titanic):
    titanic.has_entered = False
    (access,) = check(client, ["titanic"]).values()
    assert (access.state, access.page) == ("rules", f"{WEBSITE}/titanic/rules")
    assert access.reason == "the rules are not accepted"
    assert access.advice == "open the page, join and accept the rules"


@pytest.mark.parametrize("competition", ON_DATA_TAB)
def test_two_are_joined_on_their_data_tab(client, kaggle, packed, competition):
    kaggle.add(competition, packed(10), has_entered=False)
    (access,) = check(client, [competition]).values()
    assert (access.state, access.page) == ("rules", f"{WEBSITE}/{competition}/data")
    assert "its tab Data" in access.advice


def test_a_closed_one_is_said_to_be_closed_on_the_servers_word_alone(client, kaggle, titanic):
    titanic.is_closed = True
    (access,) = check(client, ["titanic"]).values()
    assert (access.state, access.page) == ("closed", f"{WEBSITE}/titanic/data")
    assert "no longer available" in access.reason
    assert "may be closed" in access.reason
    titanic.is_closed = titanic.has_entered = False  # its deadlines are years ago
    assert check(client, ["titanic"])["titanic"].state == "rules"


def test_a_refusal_without_a_word(client, kaggle, titanic):
    kaggle.fail("DownloadDataFiles", Fault.answer(403))
    (access,) = check(client, ["titanic"]).values()
    assert access.state == "closed"
    assert "although you have joined" in access.reason


def test_a_phone_number_that_is_not_verified(client, kaggle, titanic):
    kaggle.fail("DownloadDataFiles", Fault.answer(403, "Please verify your phone number."))
    (access,) = check(client, ["titanic"]).values()
    assert (access.state, access.page) == ("phone", "https://www.kaggle.com/settings")
    assert "Please verify your phone number." in access.reason


def test_one_that_kaggle_does_not_know(client, titanic):
    found = check(client, ["titanik", "titanic"])
    assert {each: access.state for each, access in found.items()} == {"titanik": "missing", "titanic": "open"}


def test_a_failure_of_one_is_no_failure_of_the_others(client, kaggle, packed):
    for each in ("a", "b"):
        kaggle.add(each, packed(10), has_entered=False)
    kaggle.fail("GetCompetition", Fault.answer(403, "odd"))
    kaggle.fail("DownloadDataFiles", Fault.answer(403))
    states = sorted(access.state for access in check(client, ["a", "b"]).values())
    assert states == ["rules", "unknown"]


def test_too_many_requests_are_waited_out(client, kaggle, packed, pauses, display):
    ids = [f"contest-{n}" for n in range(9)]
    for each in ids:
        kaggle.add(each, packed(10))
    kaggle.fail("DownloadDataFiles", *[Fault.answer(429, retry_after="7")] * 5)
    with shown_on(display):
        assert all(access.is_open for access in check(client, ids).values())
    assert set(pauses) == {7}
    assert len(pauses) <= 5
    assert client.refusals == 5
    assert any("trying again in 7 s" in text for text, _ in display.steps)


def test_a_rate_limit_is_kept_by_asking_in_turn(kaggle, packed):
    """Four at once would keep each other from ever getting through."""
    ids = [f"contest-{n}" for n in range(16)]
    for each in ids:
        kaggle.add(each, packed(10))
    kaggle.limit = RateLimit(6, seconds=1)
    with Client(kaggle.credentials, kaggle.url, PATIENCE) as client:
        assert all(access.is_open for access in check(client, ids).values())
    assert 0 < client.refusals == kaggle.limit.refused <= 10


def test_nobody_goes_on_asking_who_was_told_to_wait_for_long(client, kaggle, packed, pauses):
    ids = [f"contest-{n}" for n in range(30)]
    for each in ids:
        kaggle.add(each, packed(10))
    kaggle.fail("DownloadDataFiles", Fault.answer(429, retry_after="86400"), times=30)
    found = check(client, ids)
    assert {access.state for access in found.values()} == {"unknown"}
    assert all("86,400 s" in access.reason for access in found.values())
    assert len(asked(kaggle)) <= 4
    assert pauses == []


def test_no_network(pauses):
    patience = Patience(sleep=pauses.append)
    for credentials in (Credentials("x", "y"), Credentials("x", "y", "ann")):
        with Client(credentials, "http://127.0.0.1:9/v1", patience) as client:
            found = check(client, [f"contest-{n}" for n in range(20)])
        assert {access.state for access in found.values()} == {"unknown"}
        assert all("can't be reached" in access.reason for access in found.values())
    assert len(pauses) <= 2 + 4 * 2  # no patience with each of the twenty


@pytest.mark.parametrize("user", ["", "ann"])
def test_credentials_that_are_refused_are_one_error(kaggle, titanic, user):
    with Client(Credentials("a file", "wrong", user), kaggle.url) as client, pytest.raises(BadCredentials):
        check(client, ["titanic"])


def test_sizes(client, kaggle, titanic, packed):
    found = check(client, ["titanic"], sizes=True)
    assert found["titanic"].bytes == len(titanic.archive)
    assert [(each.status, each.sent) for each in kaggle.calls("storage")] == [(206, 1)]


def test_a_size_that_is_not_told_does_not_matter(client, kaggle, titanic):
    kaggle.fail("storage", Fault.answer(403))
    assert check(client, ["titanic"], sizes=True) == {"titanic": Access("titanic", "open")}


def test_what_was_open_is_remembered(client, kaggle, titanic, packed):
    kaggle.add("closed", packed(10), is_closed=True)
    check(client, ["titanic", "closed"])
    kaggle.requests.clear()
    found = check(client, ["titanic", "closed"])
    assert asked(kaggle) == ["closed"]
    assert found["titanic"].is_open
    assert datetime.now(UTC) - datetime.fromisoformat(found["titanic"].remembered) < timedelta(minutes=10)
    check(client, ["titanic"], fresh=True)
    assert asked(kaggle) == ["closed", "titanic"]


def test_what_a_download_was_refused_is_forgotten(client, kaggle, titanic, monkeypatch, tmp_path):
    monkeypatch.setenv("MLEBENCH_KAGGLE_URL", kaggle.url)
    monkeypatch.setenv("KAGGLE_API_TOKEN", kaggle.credentials.secret)
    competition = catalog.get("leaf-classification")
    held = kaggle.add(competition.id, titanic.archive)
    check(client, [competition.id, "titanic"])
    held.has_entered = False
    assert check(client, [competition.id])[competition.id].is_open  # as remembered
    with pytest.raises(RulesNotAccepted):
        Kaggle(tmp_path / "data").obtain(competition)
    kaggle.requests.clear()
    assert [access.state for access in check(client, [competition.id, "titanic"]).values()] == ["rules", "open"]
    assert asked(kaggle) == [competition.id]


def test_it_is_remembered_for_thirty_days(client, kaggle, titanic):
    check(client, ["titanic"])
    path = memory_file()
    entries = json.loads(path.read_text())
    for days, times in ((29, 0), (31, 1)):
        for entry in entries.values():
            entry["asked"] = (datetime.now(UTC) - timedelta(days=days)).isoformat()
        path.write_text(json.dumps(entries))
        kaggle.requests.clear()
        check(client, ["titanic"])
        assert len(asked(kaggle)) == times


def test_it_is_remembered_of_this_user_alone(client, kaggle, titanic):
    check(client, ["titanic"])
    content = memory_file().read_text()
    assert "ann" in content
    assert kaggle.credentials.secret not in content
    memory_file().write_text(content.replace(" ann ", " bob "))
    check(client, ["titanic"])
    assert asked(kaggle) == ["titanic"] * 2


def test_a_size_that_was_not_asked_for_is_asked_later_and_remembered(client, kaggle, titanic):
    for sizes in (False, True, True, False):
        found = check(client, ["titanic"], sizes=sizes)
    assert asked(kaggle) == ["titanic"] * 2
    assert found["titanic"].bytes == len(titanic.archive)


@pytest.mark.parametrize("content", ["", "[]", '{"x": 1}', '{"x": {"asked": "yesterday", "bytes": 1}}', "\0"])
def test_a_damaged_memory_is_none(client, kaggle, titanic, content):
    check(client, ["titanic"])
    memory_file().write_text(content)
    assert check(client, ["titanic"])["titanic"].is_open
    assert asked(kaggle) == ["titanic"] * 2
    check(client, ["titanic"])
    assert asked(kaggle) == ["titanic"] * 2


def test_a_memory_that_can_not_be_written_is_done_without(client, kaggle, titanic, tmp_path):
    memory_file().parents[1].parent.mkdir(parents=True)
    memory_file().parents[1].write_text("a file where a folder should be")
    assert check(client, ["titanic"])["titanic"].is_open


def test_who_interrupts_does_not_wait_for_pauses(kaggle, packed, tmp_path):
    """A process in a pause of a minute ends at once, and remembers what it learnt."""
    kaggle.add("titanic", packed(10))
    kaggle.add("slow", packed(10))
    code = (
        "import sys\n"
        "from mlebench.preparation.kaggle.client import Client\n"
        "from mlebench.preparation.kaggle.preflight import check\n"
        "check(Client(), sys.argv[1:], lambda access: print(access.competition, flush=True))\n"
    )
    environment = {
        **{"MLEBENCH_KAGGLE_URL": kaggle.url, "KAGGLE_API_TOKEN": kaggle.credentials.secret},
        **{"HOME": os.environ["HOME"], "PATH": ""},
    }
    kaggle.fail("DownloadDataFiles", Fault.answer(429, retry_after="60"))
    process = subprocess.Popen(
        [sys.executable, "-c", code, "slow", "titanic"], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout.readline().strip() in (b"slow", b"titanic")  # the other one waits
    began = time.monotonic()
    process.send_signal(2)
    _, errors = process.communicate(timeout=50)
    assert time.monotonic() - began < 50
    assert b"KeyboardInterrupt" in errors
    assert len(json.loads(memory_file().read_text())) == 1


def test_speed(client, kaggle, packed):
    kaggle.add("large", packed(3 << 20))
    kaggle.add("small", packed(10))
    speed = measure_speed(client, "large")
    assert speed.bytes == len(kaggle.add("large", packed(3 << 20)).archive)
    assert speed.bytes_per_second == pytest.approx(speed.bytes / speed.seconds)
    assert measure_speed(client, "small") is None
    assert measure_speed(client, "unknown") is None
