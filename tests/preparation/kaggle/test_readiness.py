"""What stands between a user and prepared data, and how `mlebench doctor` tells it."""

import io
import json
import shutil
import subprocess
import sys
import zipfile

import pytest

from kaggle_stand_in import Fault
from mlebench import catalog
from mlebench.cli.doctor import AT_ONCE, render
from mlebench.dataset import Dataset
from mlebench.doctor import Diagnosis, Finding, Section
from mlebench.doctor_of_data import credentials, sections
from mlebench.preparation.disk.sizes import needs
from mlebench.preparation.kaggle.credentials import NONE_FOUND
from mlebench.preparation.kaggle.download import download
from mlebench.preparation.kaggle.errors import KaggleError
from mlebench.preparation.kaggle.readiness import look
from mlebench.preparation.kaggle.single_files import SingleFiles
from mlebench.sandbox import best

OPEN, LARGE, CLOSED = "leaf-classification", "denoising-dirty-documents", "mlsp-2013-birds"
RULES, ON_DATA_TAB = "dog-breed-identification", "detecting-insults-in-social-commentary"
PREPARED, DELIVERED = "spaceship-titanic", "random-acts-of-pizza"
WEBSITE = "https://www.kaggle.com/competitions"
PAGES = [f"{WEBSITE}/{RULES}/rules", f"{WEBSITE}/{ON_DATA_TAB}/data"]


@pytest.fixture(autouse=True)
def _account(monkeypatch, kaggle):
    monkeypatch.setenv("MLEBENCH_KAGGLE_URL", kaggle.url)
    monkeypatch.setenv("KAGGLE_API_TOKEN", kaggle.credentials.secret)


@pytest.fixture
def held(kaggle, packed):
    """Competitions of which some can't be downloaded."""
    kaggle.add(OPEN, packed(1000))
    kaggle.add(LARGE, packed(3 << 20))
    kaggle.add(RULES, packed(10), has_entered=False)
    kaggle.add(ON_DATA_TAB, packed(10), has_entered=False)
    kaggle.add(CLOSED, packed(10), is_closed=True)
    return (OPEN, LARGE, RULES, ON_DATA_TAB, CLOSED)


@pytest.fixture
def dataset(tmp_path):
    return lambda competition: Dataset(catalog.get(competition), tmp_path / "data")


@pytest.fixture
def examined(dataset):
    """What was found out, and the findings by their names."""

    def examine(*ids, fresh=False):
        data = look([dataset(each) for each in ids], fresh=fresh)
        return data, {finding.name: finding for section in sections(data) for finding in section.findings}

    return examine


@pytest.fixture
def here(twins, dataset, packed):
    """Makes one prepared, and brings the zip of another."""
    prepared, delivered = dataset(PREPARED), dataset(DELIVERED)
    shutil.copytree(twins(PREPARED).prepared, prepared.prepared)
    delivered.home.mkdir(parents=True)
    (delivered.home / f"{DELIVERED}.zip").write_bytes(packed(5000))
    return (PREPARED, DELIVERED)


def test_all_is_well(examined, held, kaggle):
    data, found = examined(OPEN, LARGE)
    assert data.is_ready
    assert data.pages == ()
    assert all(finding.works is not False for finding in found.values())
    assert found["credentials"].text == "access token from KAGGLE_API_TOKEN"
    assert found["user"].text == "ann"
    assert found["open"].text == "2 of 2: can be downloaded"
    assert found["download"].text.endswith("(sizes as Kaggle tells them)")
    assert "of denoising-dirty-documents" in found["time"].text
    assert data.speed.bytes == data.access[LARGE].bytes > 3 << 20
    assert data.needs.download == data.access[LARGE].bytes + data.access[OPEN].bytes


def test_what_is_barred_is_told_with_its_page(examined, held):
    data, found = examined(*held)
    assert not data.is_ready
    assert list(data.pages) == PAGES
    assert [each.competition for each in data.barred] == [RULES, ON_DATA_TAB, CLOSED]
    assert found["open"].text.startswith("2 of 5")
    assert found["rules"].text == "2 of 5: the rules are not accepted"
    assert found["rules"].lines == (PAGES[0], f"{PAGES[1]} (joined on its tab Data)")
    assert "--open" in found["rules"].advice
    assert "may be closed" in found["closed"].text
    assert found["closed"].lines == (f"{WEBSITE}/{CLOSED}/data",)
    assert found["download"].text.endswith("(2 of 5 sizes as Kaggle tells them, the others estimated)")


def test_what_is_here_is_not_asked_for(examined, held, here, kaggle, dataset):
    data, found = examined(*here, OPEN)
    assert data.is_ready
    assert {r.body["competitionName"] for r in kaggle.calls("DownloadDataFiles")} == {OPEN}
    assert found["prepared"].text == "1 of 3 (1 of them synthetic): nothing to do"
    assert found["downloaded"].text == "1 of 3: the files are here"
    assert data.needs.download == data.access[OPEN].bytes
    delivered = catalog.get(DELIVERED)
    assert data.needs.peak < needs(delivered, None).peak + needs(catalog.get(OPEN), data.needs.download).peak


def test_bytes_of_an_interrupted_download_are_not_needed_again(examined, kaggle, packed, dataset, client):
    kaggle.add(LARGE, packed(3 << 20))
    before, _ = examined(LARGE)
    target = dataset(LARGE).home / f"{LARGE}.zip"
    target.parent.mkdir(parents=True)
    kaggle.fail("storage", Fault(), Fault.answer(451))
    with pytest.raises(KaggleError):
        download(client, LARGE, target, chunk_bytes=1 << 20)
    after, _ = examined(LARGE)
    assert before.needs.download - after.needs.download == 1 << 20
    assert after.wanted == (LARGE,)


def test_files_that_came_instead_of_a_zip_are_here(examined, kaggle, dataset, client, tmp_path):
    competition = next(each for each in catalog.competitions().values() if each.raw_files == ("train.csv",))
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as opened:
        opened.writestr("train.csv", b"x" * 1000)
        opened.writestr("test.csv", b"x" * 9000)
    kaggle.add(competition.id, content.getvalue())
    kaggle.requests.clear()
    assert SingleFiles(dataset(competition.id).home, competition).obtain(client, lambda *_: None)
    data, found = examined(competition.id)
    assert found["downloaded"].text == "1 of 1: the files are here"
    assert (data.wanted, data.needs.download) == ((), 0)


def test_no_network_is_used_for_what_is_here(examined, here, kaggle, monkeypatch):
    for token in (kaggle.credentials.secret, None):
        if token is None:
            monkeypatch.delenv("KAGGLE_API_TOKEN")
        data, found = examined(*here)
        assert data.is_ready
        assert kaggle.requests == []
        assert "nothing is to be downloaded" in found["credentials"].advice
        assert "time" not in found


def test_what_another_program_prepared_is_not_asked_for(examined, here, dataset, kaggle):
    dataset(PREPARED).manifest_path.unlink()
    data, found = examined(PREPARED)
    assert data.is_ready
    assert found["prepared before"].text.startswith("1 of 1")
    assert found["prepared before"].lines == (PREPARED,)
    assert kaggle.requests == []


def test_all_is_prepared(examined, here, kaggle):
    data, found = examined(PREPARED)
    assert data.is_ready
    assert found["disk"].text == "nothing is to be prepared"
    assert kaggle.requests == []


def test_no_credentials(examined, held, monkeypatch, kaggle):
    monkeypatch.delenv("KAGGLE_API_TOKEN")
    data, found = examined(*held)
    assert not data.is_ready
    assert found["credentials"].works is False
    assert "(1) make an account" in found["credentials"].advice
    assert found["not asked"].text.startswith("5 of 5")
    assert found["download"].text.endswith("(estimated)")
    assert kaggle.requests == []


@pytest.mark.parametrize("variables", [{"KAGGLE_API_TOKEN": "old"}, {"KAGGLE_USERNAME": "ann", "KAGGLE_KEY": "old"}])
def test_credentials_that_are_refused(examined, held, kaggle, monkeypatch, variables):
    monkeypatch.delenv("KAGGLE_API_TOKEN")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    data, found = examined(*held)
    assert not data.is_ready
    assert found["credentials"].works is False
    assert "HTTP 401" in found["credentials"].advice
    assert "https://www.kaggle.com/settings" in found["credentials"].advice
    assert kaggle.calls("DownloadDataFiles") == []


def test_no_network(examined, held, monkeypatch):
    monkeypatch.setenv("MLEBENCH_KAGGLE_URL", "http://127.0.0.1:9/v1")
    data, found = examined(*held)
    assert not data.is_ready
    assert found["credentials"].works is None  # they may be good
    assert "can't be reached" in found["server"].text
    assert found["not asked"].text == "5 of 5: see above"
    assert {access.state for access in data.access.values()} == {"unknown"}
    assert "Kaggle was not asked; at 10.0 MB a second, " in found["time"].text
    assert data.pages == ()


def test_a_server_that_tells_no_names(examined, held, kaggle):
    kaggle.fail("IntrospectToken", Fault.answer(404, "no such method"), times=2)
    data, found = examined(OPEN)
    assert data.is_ready
    assert found["credentials"].works is True
    assert found["user"].works is None
    kaggle.fail("IntrospectToken", Fault.answer(404, "no such method"), times=2)
    kaggle.fail("DownloadDataFiles", Fault.answer(418, "I am a teapot"))
    assert examined(OPEN)[1]["credentials"].works is None  # nothing says that they are good


def test_many_requests(examined, held, kaggle):
    kaggle.fail("DownloadDataFiles", Fault.answer(429, "slow down", retry_after="0"), times=3)
    _, found = examined(OPEN, LARGE)
    assert found["rate limit"].text.startswith("asked 3 times to slow down, in ")


def test_a_phone_number_that_is_wanted(examined, held, kaggle):
    kaggle.fail("DownloadDataFiles", Fault.answer(403, "Verify your phone number first."), times=2)
    data, found = examined(OPEN, LARGE)
    assert found["phone"].lines == ("https://www.kaggle.com/settings",)
    assert "Verify your phone number first." in found["phone"].text
    assert list(data.pages) == ["https://www.kaggle.com/settings"]


def test_one_that_could_not_be_asked_about(examined, held, kaggle):
    kaggle.fail("DownloadDataFiles", Fault.answer(418, "I am a teapot"))
    data, found = examined(OPEN)
    assert not data.is_ready
    assert "I am a teapot" in found["unknown"].text
    assert found["unknown"].lines == (OPEN,)


def test_what_is_remembered_is_said_to_be(examined, held, kaggle):
    examined(OPEN, RULES)
    kaggle.requests.clear()
    _, found = examined(OPEN, RULES)
    assert "1 remembered since 20" in found["open"].text
    asked = [request.body["competitionName"] for request in kaggle.calls("DownloadDataFiles")]
    assert asked.count(RULES) == 1
    assert "remembered" not in examined(OPEN, fresh=True)[1]["open"].text


def test_a_disk_that_is_too_small(examined, kaggle, held):
    kaggle.fail("storage", Fault(longer=10**16))
    data, found = examined(OPEN)
    assert data.access[OPEN].bytes > 10**16
    assert not data.is_ready
    assert found["free"].works is False
    assert "are missing" in found["free"].advice


def test_a_competition_of_ones_own(examined, kaggle, tmp_path):
    mine = catalog.load(shutil.copytree(catalog.get(PREPARED).folder, tmp_path / "mine" / "of-my-own"))
    data = look([Dataset(mine, tmp_path / "data")])
    found = {finding.name: finding for section in sections(data) for finding in section.findings}
    assert not data.is_ready
    assert found["missing"].lines == ("of-my-own",)
    assert "--source PATH" in found["missing"].advice


def test_credentials_without_asking(kaggle):
    found = credentials({"KAGGLE_API_TOKEN": "secret", "HOME": "/nowhere"})
    assert (found.works, found.text) == (True, "access token from KAGGLE_API_TOKEN")
    assert credentials({"HOME": "/nowhere"}).works is None
    half = credentials({"KAGGLE_USERNAME": "ann", "HOME": "/nowhere"})
    assert half.works is False
    assert "KAGGLE_KEY is not" in half.text
    assert kaggle.requests == []


def test_the_five_steps_are_one_paragraph():
    assert "\n" not in NONE_FOUND
    assert [f"({n})" in NONE_FOUND for n in range(1, 7)] == [True] * 5 + [False]


def test_addresses_are_never_broken():
    from io import StringIO

    from rich.console import Console

    page = f"{WEBSITE}/{'x' * 90}/rules"
    console = Console(file=StringIO(), width=60)
    render(Diagnosis(None, (Section("Things", (Finding("rules", False, "2 of 2", lines=(page, page)),)),)), console)
    assert [line.strip() for line in console.file.getvalue().splitlines()].count(page) == 2


# --- the command


def test_json(mlebench, held, here, tmp_path):
    chosen = [word for each in (*held, *here) for word in ("-c", each)]
    told = mlebench("doctor", "--data-dir", tmp_path / "data", *chosen, "--json", code=1)
    found = json.loads(told.stdout)
    assert found["data"]["is_ready"] is False
    assert found["data"]["pages"] == PAGES
    assert {each: access["state"] for each, access in found["data"]["access"].items()} == {
        **{OPEN: "open", LARGE: "open"},
        **{RULES: "rules", ON_DATA_TAB: "rules", CLOSED: "closed"},
    }
    assert {each["name"] for each in found["competitions"]} == {"prepared", "downloaded", "open", "rules", "closed"}
    assert found["sandboxes"]


def test_without_a_selection_nobody_is_asked(mlebench, kaggle):
    found = json.loads(mlebench("doctor", "--json", code=0 if best()[0] else 1).stdout)
    assert [each["name"] for each in found["kaggle"]] == ["credentials"]
    assert found["data"] is None
    assert "competitions" not in found
    assert kaggle.requests == []


def test_nothing_to_open_without_a_selection(mlebench):
    assert "--open opens the pages" in mlebench("doctor", "--open", code=2).output


@pytest.fixture
def doctor(tmp_path, kaggle):
    """The program in a process of its own: a browser is looked for once in each."""

    def call(*arguments, **variables):
        environment = {
            **{"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "MLEBENCH_KAGGLE_URL": kaggle.url},
            **{"KAGGLE_API_TOKEN": kaggle.credentials.secret, **variables},
        }
        command = [sys.executable, "-m", "mlebench", "doctor", "--data-dir", str(tmp_path / "data"), *arguments]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)

    return call


def test_pages_are_opened_in_order(doctor, held, tmp_path):
    browser, opened = tmp_path / "browser", tmp_path / "opened"
    browser.write_text(f'#!/bin/sh\necho "$1" >> {opened}\n')
    browser.chmod(0o755)
    chosen = [word for each in held for word in ("-c", each)]
    result = doctor(*chosen, "--open", "--json", BROWSER=f"{browser} %s")
    assert result.returncode == 1
    assert opened.read_text().split() == PAGES
    assert "Opened in the browser:" in result.stderr
    assert all(page in result.stderr for page in PAGES)
    assert json.loads(result.stdout)["data"]["pages"] == PAGES


def test_no_more_than_a_few_are_opened_at_once(doctor, kaggle, packed, tmp_path):
    ids = [competition.id for competition in catalog.split("medium")][: AT_ONCE + 3]
    for each in ids:
        kaggle.add(each, packed(10), has_entered=False)
    result = doctor(*[word for each in ids for word in ("-c", each)], "--open", BROWSER="true")
    assert [each in result.stderr for each in ids] == [True] * AT_ONCE + [False] * 3
    assert "3 more are left" in result.stderr
    assert {f"    {WEBSITE}/{each}/rules" for each in ids} <= set(result.stdout.splitlines())


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_without_a_browser_all_pages_are_named(doctor, held, options):
    result = doctor("-c", RULES, "-c", ON_DATA_TAB, "--open", *options)
    told = result.stderr if options else result.stdout
    assert "No browser can be started here" in result.stderr
    assert all(page in told for page in PAGES)


def test_nothing_to_open(mlebench, held, monkeypatch, tmp_path):
    arguments = ("doctor", "-c", LARGE, "--open", "--data-dir", tmp_path)
    assert "No page is to be opened." in mlebench(*arguments, code=0 if best()[0] else 1).output
    monkeypatch.setenv("KAGGLE_API_TOKEN", "wrong")
    assert "Kaggle was not asked" in mlebench(*arguments, code=1).output
