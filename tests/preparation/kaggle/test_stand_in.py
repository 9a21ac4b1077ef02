"""The server that stands in for Kaggle is what tests take it for."""

import io
import os
import re
import resource
import signal
import subprocess
import sys
import time
import zipfile
from email.utils import parsedate_to_datetime
from pathlib import Path

import httpx
import pytest

from kaggle_stand_in import Fault, RateLimit, StandIn
from mlebench.preparation.kaggle.client import Client
from mlebench.preparation.kaggle.errors import PhoneNotVerified

TESTS = Path(__file__).parents[2]


def part(client, place, size, competition="titanic"):
    with client.open(client.locate(competition), {"Range": f"bytes={place}-{place + size - 1}"}) as response:
        return response.read()


def test_an_archive_on_disk_is_never_in_memory(client, kaggle, tmp_path):
    archive = tmp_path / "titanic.zip"
    with archive.open("wb") as file:
        file.truncate(5_000_000_000)
        file.seek(4_900_000_000)
        file.write(b"far behind")
    kaggle.add("titanic", archive, tells_hashes=False, tells_etag=False)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert part(client, 4_900_000_000, 10) == b"far behind"
    with client.open(client.locate("titanic"), {}) as response:
        assert response.headers["content-length"] == "5000000000"
        next(response.iter_raw())
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000  # kB


def test_bytes_that_were_sent_twice_are_counted(client, kaggle, packed):
    held = kaggle.add("titanic", packed(10_000))
    kaggle.add("other", packed(10_000))
    for place, size in ((0, 100), (50, 100), (200, 10), (150, 50)):
        part(client, place, size)
    part(client, 0, 1, "other")
    traffic = kaggle.traffic("titanic")
    assert (traffic.served, traffic.different, traffic.twice, traffic.requests) == (260, 210, 50, 4)
    held.archive, held.changed = packed(10_000, seed=1), held.changed + 1
    part(client, 0, 100)
    assert kaggle.traffic("titanic").twice == 50  # another file
    assert kaggle.traffic().served == 361


def test_a_change_of_the_file_on_disk_is_one_at_kaggle(client, kaggle, packed, tmp_path):
    archive = tmp_path / "titanic.zip"
    kaggle.add("titanic", archive)
    hashes = []
    for seed in range(2):
        archive.write_bytes(packed(seed=seed))
        os.utime(archive, (seed, seed))
        with client.open(client.locate("titanic"), {}) as response:
            hashes.append(response.headers["x-goog-hash"])
            assert response.read() == archive.read_bytes()
    assert hashes[0] != hashes[1]


@pytest.mark.parametrize("zipped", [False, True, frozenset({"folder/notes.txt"})])
def test_single_files_come_as_they_are_or_zipped(client, kaggle, packed, zipped):
    kaggle.add("titanic", packed(1000), zips_files=zipped)
    address = client.locate("titanic", "folder/notes.txt")
    with client.open(address, {}) as response:
        content = response.read()
    path = address.partition("?")[0]
    if not zipped:
        assert path.endswith("/folder/notes.txt")
        assert content == b"of no interest\n"
        return
    assert path.endswith("/folder/notes.txt.zip")
    with zipfile.ZipFile(io.BytesIO(content)) as opened:
        assert opened.namelist() == ["notes.txt"]
        assert opened.read("notes.txt") == b"of no interest\n"


def test_names_that_are_no_addresses(client, kaggle):
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as opened:
        opened.writestr("a b/ü #1?.csv", "x")
    kaggle.add("titanic", content.getvalue())
    with client.open(client.locate("titanic", "a b/ü #1?.csv"), {}) as response:
        assert response.read() == b"x"


@pytest.mark.parametrize("tells", ["seconds", "date", ""])
def test_a_rate_limit(kaggle, packed, tells):
    kaggle.add("titanic", packed(10))
    kaggle.limit = RateLimit(2, seconds=60, tells=tells)
    headers = {"Authorization": kaggle.credentials.authorization}
    address = f"{kaggle.url}/competitions.CompetitionApiService/GetCompetition"
    answers = [httpx.post(address, json={"competitionName": "titanic"}, headers=headers) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [200, 200, 429]
    told = answers[2].headers.get("retry-after")
    seconds = {
        "seconds": lambda: int(told),
        "date": lambda: parsedate_to_datetime(told).timestamp() - time.time(),
        "": lambda: 60 if told is None else 0,
    }
    assert 50 < seconds[tells]() <= 61


def test_an_address_serves_so_often(client, kaggle, packed):
    kaggle.add("titanic", packed(10))
    kaggle.requests_per_address = 2
    address = client.locate("titanic")
    statuses = []
    for _ in range(3):
        with client.open(address, {}) as response:
            statuses.append(response.status_code)
    assert statuses == [200, 200, 403]


def test_a_fault_of_one_competition(client, kaggle, packed):
    for name in ("titanic", "other"):
        kaggle.add(name, packed(10))
    kaggle.fail("DownloadDataFiles", Fault.phone(), competition="other")
    client.locate("titanic")
    with pytest.raises(PhoneNotVerified):
        client.locate("other")
    client.locate("other")


def test_as_a_program(packed, tmp_path):
    (tmp_path / "titanic.zip").write_bytes(packed(100_000))
    command = [sys.executable, "-m", "tests.kaggle_stand_in", "--folder", str(tmp_path), "--no-hashes"]
    command += ["--fail", 'storage={"status": 503, "times": 2}', "--mb-per-second", "50"]
    with subprocess.Popen(
        command, cwd=TESTS.parent, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        variables = dict(re.fullmatch(r"export (\w+)=(.*)\n", process.stdout.readline()).groups() for _ in range(2))
        assert set(variables) == {"MLEBENCH_KAGGLE_URL", "KAGGLE_API_TOKEN"}
        with Client(StandIn.credentials, variables["MLEBENCH_KAGGLE_URL"]) as client:
            address = client.locate("titanic")
            statuses = [httpx.get(address).status_code for _ in range(3)]
        report = httpx.get(variables["MLEBENCH_KAGGLE_URL"].replace("/api/v1", "/report")).json()
        process.send_signal(signal.SIGINT)
        told, requests = process.communicate(timeout=60)
    assert statuses == [503, 503, 200]
    assert report["titanic"]["served"] == (tmp_path / "titanic.zip").stat().st_size
    assert "titanic: 100," in told
    assert requests.count("storage") + requests.count("archive.zip") == 3
    assert process.returncode == 0
