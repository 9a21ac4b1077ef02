"""Downloads under every fault."""

import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from datetime import datetime

import pytest

from kaggle_stand_in import Fault
from mlebench.errors import PreparationError
from mlebench.preparation.kaggle import records
from mlebench.preparation.kaggle.client import Client
from mlebench.preparation.kaggle.download import begun_bytes, discard, download
from mlebench.preparation.kaggle.errors import (
    BadCredentials,
    DamagedDownload,
    KaggleError,
    NotFound,
    NotJoinable,
    RateLimited,
    RulesNotAccepted,
    Unreachable,
)
from mlebench.preparation.kaggle.patience import Patience
from mlebench.preparation.progress import shown_on

CHUNK = 50_000


@pytest.fixture
def held(kaggle, packed):
    return kaggle.add("titanic", packed())


@pytest.fixture
def target(tmp_path):
    return tmp_path / "titanic" / "titanic.zip"


@pytest.fixture
def get(client, target):
    def get(**options):
        return download(client, "titanic", target, **{"chunk_bytes": CHUNK, **options})

    return get


def visible(folder):
    return sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))


def test_what_is_there_in_the_end(get, held, target, kaggle):
    archive = get()
    assert target.read_bytes() == held.archive
    assert (archive.path, archive.size) == (target, len(held.archive))
    assert archive.md5 == hashlib.md5(held.archive).hexdigest()
    assert datetime.fromisoformat(archive.modified).tzinfo is not None
    assert visible(target.parent) == ["titanic.zip"]
    assert kaggle.served == len(held.archive)
    assert len(kaggle.calls("DownloadDataFiles")) == 1
    assert len(kaggle.calls("storage")) == -(-len(held.archive) // CHUNK)


def test_the_storage_gets_no_credentials(get, held, kaggle):
    get()
    assert kaggle.calls("storage")
    for request in kaggle.calls("storage"):
        assert "authorization" not in request.headers
        assert kaggle.credentials.secret not in str(request)


def test_what_is_there_is_left_alone(get, held, target, kaggle):
    target.parent.mkdir()
    target.write_bytes(b"mine")
    assert get().md5 == hashlib.md5(b"mine").hexdigest()
    assert kaggle.requests == []


def test_progress_is_told_in_bytes(get, held):
    told = []
    get(on_progress=lambda done, total: told.append((done, total)))
    assert {total for _, total in told} == {len(held.archive)}
    assert [done for done, _ in told] == sorted({done for done, _ in told})
    assert told[-1][0] == len(held.archive)


def test_a_single_file(get, held, kaggle, target):
    get(file="folder/notes.txt")
    assert target.read_text() == "of no interest\n"
    assert kaggle.calls("DownloadDataFile")[0].body == {"competitionName": "titanic", "fileName": "folder/notes.txt"}


def test_connections_cut_anywhere(get, held, kaggle, target, pauses):
    """Every byte that arrived before a cut counts."""
    places = [0, 1, 7, 4096, 30_000, CHUNK - 1]
    kaggle.fail("storage", *(Fault.cut(place) for place in places))
    get()
    assert target.read_bytes() == held.archive
    assert kaggle.served == len(held.archive)
    assert len(pauses) == len(places)


def test_only_failures_in_a_row_use_up_patience(get, held, kaggle, target, pauses):
    kaggle.fail("storage", *[Fault.cut(20_000)] * 12)
    get()
    assert target.read_bytes() == held.archive
    assert len(pauses) == 12


def test_a_server_that_always_cuts_is_given_up_and_what_came_is_kept(get, held, kaggle, target):
    kaggle.fail("storage", Fault.cut(1000), *[Fault.cut(0)] * 9)
    with pytest.raises(Unreachable, match="goes on where it stopped"):
        get()
    assert target.with_name("titanic.zip.part").read_bytes() == held.archive[:1000]
    assert not target.exists()
    kaggle.recover()
    get()
    assert target.read_bytes() == held.archive
    assert kaggle.served == len(held.archive)


def test_a_slow_server(get, held, kaggle, target, pauses):
    kaggle.fail("storage", Fault.drip(10_000, 0.05))
    get()
    assert target.read_bytes() == held.archive
    assert pauses == []


def test_a_silent_server_is_left_and_asked_again(kaggle, held, target, pauses):
    kaggle.fail("storage", Fault.silence(3))
    with Client(kaggle.credentials, kaggle.url, Patience(sleep=pauses.append), timeout=0.5) as client:
        download(client, "titanic", target, chunk_bytes=CHUNK)
    assert target.read_bytes() == held.archive
    assert len(pauses) == 1


def test_too_many_requests(get, held, kaggle, target, pauses):
    kaggle.fail("DownloadDataFiles", Fault.answer(429, "slow down", retry_after="11"))
    kaggle.fail("storage", Fault(), Fault.answer(429, retry_after="3"), Fault.answer(503))
    get()
    assert target.read_bytes() == held.archive
    assert pauses[:2] == [11, 3]
    assert kaggle.served == len(held.archive)


def test_too_many_requests_for_good(get, held, kaggle, target):
    kaggle.fail("DownloadDataFiles", Fault.answer(429), times=9)
    with pytest.raises(RateLimited):
        get()
    assert not target.exists()


@pytest.mark.parametrize(
    ("fault", "error", "told"),
    [
        (Fault.rules(), RulesNotAccepted, "/competitions/titanic/rules"),
        (Fault.answer(401, "Unauthenticated"), BadCredentials, "HTTP 401"),
        (Fault.answer(403), NotJoinable, "closed"),
        (Fault.answer(404, "Not found"), NotFound, "titanic"),
        (Fault.answer(400, "Bad"), KaggleError, "HTTP 400: Bad"),
        (Fault.answer(200, "no redirect"), KaggleError, "from where to download"),
    ],
    ids=["rules", "401", "closed", "404", "400", "200"],
)
def test_refusals_leave_nothing(get, held, kaggle, target, fault, error, told):
    kaggle.fail("DownloadDataFiles", fault)
    with pytest.raises(error, match=told):
        get()
    assert visible(target.parent) == []
    assert len(kaggle.calls("DownloadDataFiles")) == 1


def test_a_refusal_of_the_storage(get, held, kaggle):
    kaggle.fail("storage", Fault.answer(404))
    with pytest.raises(KaggleError, match="storage server refuses"):
        get()


def test_a_storage_that_sends_in_circles(get, held, kaggle):
    kaggle.fail("storage", Fault.answer(302, location="/storage/x/titanic/archive.zip"), times=50)
    with pytest.raises(KaggleError, match="redirects"):
        get()


def test_an_address_that_expires_under_way(get, held, kaggle, target):
    kaggle.fail("storage", Fault(), Fault(), Fault(is_stale=True))
    get()
    assert target.read_bytes() == held.archive
    assert len(kaggle.calls("DownloadDataFiles")) == 2
    assert kaggle.served == len(held.archive)


@pytest.mark.parametrize("size", [200_000, 300_000, 400_000])
@pytest.mark.parametrize("tells_etag", [True, False])
def test_an_archive_that_changes_between_two_ranges(get, held, kaggle, target, packed, size, tells_etag):
    """Never a mixture: the new one is had from its beginning."""
    held.tells_etag = tells_etag
    changed = packed(size, seed=1)
    kaggle.fail("storage", Fault(), Fault(), Fault(change=changed))
    get()
    assert target.read_bytes() == changed


def test_an_archive_that_always_changes(get, held, kaggle, target, packed):
    kaggle.fail("storage", *(Fault(change=packed(seed=seed), cut_after=1000) for seed in range(1, 20)))
    with pytest.raises(KaggleError, match="changes all the time"):
        get()
    assert visible(target.parent) == []


def test_a_damaged_byte_is_found_and_the_file_had_again(get, held, kaggle, target):
    kaggle.fail("storage", Fault(), Fault(wrong_byte=True))
    get()
    assert target.read_bytes() == held.archive


def test_damage_without_end(get, held, kaggle, target):
    kaggle.fail("storage", Fault(wrong_byte=True), times=99)
    with pytest.raises(DamagedDownload, match="its md5 is"):
        get()
    assert visible(target.parent) == []


def test_what_is_no_zip(get, kaggle, target):
    kaggle.add("titanic", b"<html>Come back later</html>" * 9000)
    with pytest.raises(DamagedDownload, match="no zip archive"):
        get()
    assert visible(target.parent) == []


@pytest.mark.parametrize("longer", [-1, -70_000, 1, 70_000])
@pytest.mark.parametrize("tells_hashes", [True, False])
def test_a_wrong_length(get, held, kaggle, target, longer, tells_hashes):
    held.tells_hashes = tells_hashes
    kaggle.fail("storage", Fault(longer=longer), times=99)
    with pytest.raises(KaggleError):
        get()
    assert not target.exists()


def test_a_server_without_ranges(get, held, kaggle, target):
    kaggle.fail("storage", Fault(no_ranges=True, cut_after=100_000), Fault(no_ranges=True))
    get()
    assert target.read_bytes() == held.archive


def test_a_server_that_tells_nothing_to_know_the_file_by(get, held, kaggle, target):
    """Such a file is had in ranges, but nothing that an earlier process left is trusted."""
    held.tells_etag = held.tells_hashes = False
    kaggle.fail("storage", Fault(), *[Fault.cut(0)] * 4)
    with pytest.raises(Unreachable):
        get()
    get()
    assert target.read_bytes() == held.archive
    assert kaggle.served == len(held.archive) + CHUNK


@pytest.mark.parametrize("state", ["", "{}", "[1]", '{"of": ["titanic", ""], "identity": {"size": "x"}}', None])
def test_a_state_that_is_not_understood(get, held, kaggle, target, state):
    target.parent.mkdir()
    target.with_name("titanic.zip.part").write_bytes(b"of unknown origin")
    if state is not None:
        target.with_name("titanic.zip.part.json").write_text(state)
    get()
    assert target.read_bytes() == held.archive


def test_a_part_that_was_damaged_on_disk(get, held, kaggle, target):
    kaggle.fail("storage", Fault(), *[Fault.cut(0)] * 4)
    with pytest.raises(Unreachable):
        get()
    part = target.with_name("titanic.zip.part")
    part.write_bytes(bytes(len(part.read_bytes())))
    get()
    assert target.read_bytes() == held.archive


def test_a_part_of_another_archive(get, held, kaggle, target, packed):
    kaggle.fail("storage", Fault(), *[Fault.cut(0)] * 4)
    with pytest.raises(Unreachable):
        get()
    held.archive = packed(seed=5)
    held.changed += 60
    get()
    assert target.read_bytes() == held.archive


def test_a_part_that_was_whole_when_the_process_died(get, held, kaggle, target):
    get()
    state = {"of": ["titanic", ""], "identity": {"size": len(held.archive), "etag": '"x"'}}
    target.rename(target.with_name("titanic.zip.part"))
    target.with_name("titanic.zip.part.json").write_text(json.dumps(state))
    before = len(kaggle.requests)
    get()
    assert target.read_bytes() == held.archive
    assert len(kaggle.requests) == before


@pytest.mark.parametrize("moment", ["before it has its name", "after"])
def test_killed_in_the_last_moments(get, held, kaggle, target, moment):
    """The file is whole and recorded then: it is ours, and nothing is downloaded again."""
    get(recorded=True)
    state = {"of": ["titanic", ""], "identity": {"size": len(held.archive), "etag": '"x"'}}
    target.with_name("titanic.zip.part.json").write_text(json.dumps(state))
    if moment == "before it has its name":
        target.rename(target.with_name("titanic.zip.part"))
    before = len(kaggle.requests)
    get(recorded=True)
    assert target.read_bytes() == held.archive
    assert records.is_ours(target)
    assert visible(target.parent) == ["titanic.zip", "titanic.zip.json"]
    assert len(kaggle.requests) == before


def test_discarding_takes_what_an_interrupted_download_left(get, held, kaggle, target):
    kaggle.fail("storage", Fault(), *[Fault.cut(0)] * 4)
    with pytest.raises(Unreachable):
        get()
    assert begun_bytes(target) == CHUNK
    target.write_bytes(b"by hand")
    assert discard(target) == CHUNK
    assert visible(target.parent) == ["titanic.zip"]
    assert begun_bytes(target) == 0


def test_what_another_process_downloads_is_not_discarded(kaggle, packed, target, start):
    kaggle.add("titanic", packed(2_000_000))
    kaggle.pace = 0.05
    process = start(1 << 18)
    while not begun_bytes(target):
        assert process.poll() is None
        time.sleep(0.002)
    assert discard(target) == 0
    kaggle.pace = 0
    assert process.wait() == 0
    assert target.is_file()


def test_waiting_for_another_process_is_told(kaggle, packed, target, start, client, display):
    kaggle.add("titanic", packed(2_000_000))
    kaggle.pace = 0.05
    process = start(1 << 18)
    while not begun_bytes(target):
        assert process.poll() is None
        time.sleep(0.002)
    with shown_on(display):
        download(client, "titanic", target)
    assert process.wait() == 0
    assert any("titanic.zip: waiting for process" in text for text, _ in display.steps)


def test_a_disk_that_is_too_small(get, kaggle, target):
    kaggle.add("titanic", b"")
    kaggle.fail("storage", Fault(no_ranges=False, longer=1 << 60))
    with pytest.raises(KaggleError):
        get()
    kaggle.add("titanic", b"x")
    kaggle.fail("storage", Fault(longer=1 << 60))
    with pytest.raises(PreparationError, match="free"):
        get()


PROGRAM = """
import sys
from pathlib import Path
from mlebench.preparation.kaggle.client import Client
from mlebench.preparation.kaggle import records
from mlebench.preparation.kaggle.download import begun_bytes, discard, download
with Client() as client:
    download(client, "titanic", Path(sys.argv[1]), chunk_bytes=int(sys.argv[2]), recorded=True)
"""


@pytest.fixture
def start(kaggle, target):
    """Download in a process of its own."""
    environment = {**os.environ, "MLEBENCH_KAGGLE_URL": kaggle.url, "KAGGLE_API_TOKEN": kaggle.credentials.secret}
    started = []

    def start(chunk):
        command = [sys.executable, "-c", PROGRAM, str(target), str(chunk)]
        started.append(subprocess.Popen(command, env=environment))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.wait()


def test_killed_at_any_moment(kaggle, packed, target, start):
    """Ten processes are killed at random places: the file is the same, and hardly a byte was sent twice."""
    chunk, kills = 1 << 18, 10
    content = kaggle.add("titanic", packed(20_000_000)).archive
    kaggle.pace = 0.005
    part = target.with_name("titanic.zip.part")
    choose = random.Random(0)
    for kill in range(kills):
        place = int((kill + choose.random()) * len(content) / (kills + 1))
        process = start(chunk)
        while not (part.exists() and part.stat().st_size >= place):
            assert process.poll() is None
            time.sleep(0.002)
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert not target.exists()
    kaggle.pace = 0
    assert start(chunk).wait() == 0
    assert target.read_bytes() == content
    assert visible(target.parent) == ["titanic.zip", "titanic.zip.json"]
    assert records.is_ours(target)
    assert kaggle.served <= len(content) + kills * chunk


def test_two_processes_download_once(kaggle, packed, target, start):
    content = kaggle.add("titanic", packed(2_000_000)).archive
    kaggle.pace = 0.02
    processes = [start(1 << 18), start(1 << 18)]
    assert [process.wait() for process in processes] == [0, 0]
    assert target.read_bytes() == content
    assert kaggle.served == len(content)


def test_two_threads_download_once(kaggle, held, target, get):
    threads = [threading.Thread(target=get) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert target.read_bytes() == held.archive
    assert kaggle.served == len(held.archive)
