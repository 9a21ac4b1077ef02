"""The calls and their errors, against the server that stands in for Kaggle."""

import io
import pickle
import socket
import ssl
import threading
import zipfile
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from kaggle_stand_in import Fault
from mlebench.preparation.kaggle.client import Client
from mlebench.preparation.kaggle.credentials import Credentials
from mlebench.preparation.kaggle.errors import (
    BadCredentials,
    KaggleError,
    NotFound,
    NotJoinable,
    PhoneNotVerified,
    RateLimited,
    RulesNotAccepted,
    Unreachable,
)
from mlebench.preparation.kaggle.patience import Patience, retry_after
from mlebench.preparation.progress import shown_on


@pytest.fixture
def held(kaggle, packed):
    return kaggle.add("titanic", packed(1000))


@pytest.fixture
def untrusted(tmp_path):
    """The address of a server whose certificate nobody knows."""
    certificate = tmp_path / "certificate.pem"
    certificate.write_bytes(self_signed_certificate())
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)

    def shake_hands():
        with suppress(OSError), listener.accept()[0] as connection:
            context.wrap_socket(connection, server_side=True).close()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=shake_hands)
        thread.start()
        yield f"https://localhost:{listener.getsockname()[1]}/v1"
        thread.join(10)


def self_signed_certificate():
    """With its key, for localhost."""
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    key = ec.generate_private_key(ec.SECP256R1())
    today = datetime.now(UTC)
    builder = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
    signed = builder.not_valid_before(today).not_valid_after(today + timedelta(days=1)).sign(key, hashes.SHA256())
    pem = serialization.Encoding.PEM
    packed = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return packed + signed.public_bytes(pem)


def test_facts(client, held):
    facts = client.competition("titanic")
    assert (facts.id, facts.title, facts.metric, facts.teams) == ("titanic", "Titanic", "Accuracy", 2000)
    assert facts.has_entered
    assert facts.deadline == datetime(2024, 1, 31, 23, 59, tzinfo=UTC)
    assert facts.new_entrant_deadline == datetime(2024, 1, 24, 23, 59, 0, 123456, tzinfo=UTC)
    held.has_entered = False
    assert not client.competition("titanic").has_entered


def test_competitions_that_were_entered(client, kaggle, packed):
    for n in range(120):
        kaggle.add(f"contest-{n}", packed(10), has_entered=n % 2 == 0)
    assert len(list(client.competitions("contest"))) == 120
    assert [c.id for c in client.competitions("contest", entered=True)] == [f"contest-{n}" for n in range(0, 120, 2)]
    assert [c.id for c in client.competitions("contest-7")] == ["contest-7", *(f"contest-{n}" for n in range(70, 80))]


def test_files_of_all_pages(client, kaggle):
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as opened:
        for n in range(250):
            opened.writestr(f"images/{n}.jpg", b"x" * n)
    kaggle.add("titanic", content.getvalue())
    files = client.files("titanic")
    assert [(file.name, file.size) for file in files] == [(f"images/{n}.jpg", n) for n in range(250)]
    assert len(kaggle.calls("ListDataFiles")) == 3


def test_leaderboard(client, held, kaggle):
    held.standings = [(f"team {n}", f"0.{999 - n}") for n in range(130)]
    standings = list(client.leaderboard("titanic"))
    assert [(s.team, s.score) for s in standings] == held.standings
    assert standings[0].submitted == datetime(2023, 1, 1, 10, tzinfo=UTC)
    list(client.leaderboard("titanic", public=True))
    assert [r.body["overridePublic"] for r in kaggle.calls("GetLeaderboard")] == [False, False, True, True]
    with zipfile.ZipFile(io.BytesIO(client.leaderboard_zip("titanic"))) as opened:
        assert opened.read("titanic.csv").splitlines()[1] == b"1,1,team 0,2023-01-01 10:00:00,0.999,2,member1"


def test_pages(client, held):
    held.pages = {"description": "About ships.", "rules": "Be fair."}
    assert [page.name for page in client.pages("titanic")] == ["description", "rules"]
    assert [page.content for page in client.pages("titanic", "rules")] == ["Be fair."]


def test_notebooks(client, held):
    held.notebooks = {f"ann/notebook-{n}": f"print({n})" for n in range(110)}
    assert len(client.notebooks("titanic")) == 110
    first = client.notebooks("titanic", limit=2)
    assert [(n.ref, n.author, n.kind) for n in first] == [(f"ann/notebook-{n}", "ann", "script") for n in range(2)]
    assert client.notebook("ann/notebook-7").source == "print(7)"


def test_who_the_user_is(client, kaggle):
    assert client.username() == "ann"
    with Client(kaggle.legacy_credentials, kaggle.url) as legacy:
        assert legacy.username() == "ann"
    with Client(Credentials("a file", "expired"), kaggle.url) as stranger, pytest.raises(BadCredentials):
        stranger.username()


def test_a_legacy_key_is_accepted_too(kaggle, held):
    with Client(kaggle.legacy_credentials, kaggle.url) as client:
        assert client.competition("titanic").id == "titanic"


def test_an_unknown_key_is_told_with_its_origin_and_not_shown(kaggle, held):
    with Client(Credentials("/home/ann/kaggle.json", "wrong", "ann"), kaggle.url) as client:
        with pytest.raises(BadCredentials, match=r"legacy key from /home/ann/kaggle\.json \(HTTP 401\)") as error:
            client.competition("titanic")
        assert "wrong" not in str(error.value)
    assert len(kaggle.calls("GetCompetition")) == 1  # not tried again


def test_rules_that_are_not_accepted(client, held):
    held.has_entered = False
    with pytest.raises(RulesNotAccepted) as error:
        client.locate("titanic")
    assert error.value.page == "https://www.kaggle.com/competitions/titanic/rules"
    assert error.value.page in str(error.value)


def test_what_kaggle_says_of_an_unusual_refusal_is_passed_on(client, held, kaggle):
    held.has_entered = False
    kaggle.fail("DownloadDataFiles", Fault.answer(403, "Please solve a riddle."))
    with pytest.raises(RulesNotAccepted, match=r"solve a riddle\."):
        client.locate("titanic")


def test_a_phone_number_that_is_not_verified(client, held, kaggle):
    kaggle.fail("DownloadDataFiles", Fault.answer(403, "Please verify your phone number."))
    with pytest.raises(PhoneNotVerified, match=r"kaggle\.com/settings") as error:
        client.locate("titanic")
    assert error.value.page == "https://www.kaggle.com/settings"


def test_errors_travel_between_processes(client, held):
    held.has_entered = False
    with pytest.raises(RulesNotAccepted) as error:
        client.locate("titanic")
    there = pickle.loads(pickle.dumps(error.value))
    assert (str(there), there.page, there.reason) == (str(error.value), error.value.page, error.value.reason)


def test_a_name_that_is_confirmed_by_a_call(client, kaggle, held):
    assert client.confirmed_username() == "ann"
    with Client(kaggle.legacy_credentials, kaggle.url) as legacy:
        assert legacy.confirmed_username() == "ann"
    assert len(kaggle.calls("ListCompetitions")) == 1
    with Client(Credentials("a file", "wrong", "ann"), kaggle.url) as stranger, pytest.raises(BadCredentials):
        stranger.confirmed_username()


def test_size_by_one_byte(client, kaggle, held):
    address = client.locate("titanic")
    assert client.size(address) == len(held.archive)
    assert kaggle.served == 1
    kaggle.fail("storage", Fault(no_ranges=True), Fault.answer(403))
    assert client.size(address) == len(held.archive)
    assert client.size(address) is None


@pytest.mark.parametrize(("has_entered", "expected"), [(False, RulesNotAccepted), (True, NotJoinable)])
def test_a_refusal_without_a_reason_is_told_apart_by_the_facts(client, held, kaggle, has_entered, expected):
    held.has_entered = has_entered
    kaggle.fail("DownloadDataFiles", Fault.answer(403))
    with pytest.raises(expected):
        client.locate("titanic")


def test_a_closed_competition(client, held):
    held.is_closed = True
    with pytest.raises(NotJoinable, match=r"--source FILE\.zip"):
        client.locate("titanic")


def test_a_competition_that_is_hidden_altogether(client, held, kaggle):
    kaggle.fail("DownloadDataFiles", Fault.answer(403))
    kaggle.fail("GetCompetition", Fault.answer(403))
    with pytest.raises(KaggleError, match="refuses to show it"):
        client.locate("titanic")


def test_an_unknown_competition(client, kaggle):
    with pytest.raises(NotFound, match="titanik"):
        client.files("titanik")


def test_an_error_that_comes_with_status_200(client, held, kaggle):
    kaggle.fail("GetCompetition", Fault(status=200, code=404, message="Gone"))
    with pytest.raises(NotFound, match="Gone"):
        client.competition("titanic")


def test_what_passes_is_tried_again(client, held, kaggle, pauses):
    kaggle.fail("GetCompetition", Fault.answer(503), Fault.cut(), Fault.answer(429, "slow down", retry_after="7"))
    assert client.competition("titanic").id == "titanic"
    assert len(pauses) == 3
    assert pauses[2] == 7


def test_pauses_grow(client, kaggle, pauses):
    kaggle.fail("GetCompetition", Fault.answer(500), times=9)
    with pytest.raises(Unreachable, match="HTTP 500"):
        client.competition("titanic")
    assert [round(pause) for pause in pauses] == pytest.approx([1, 2, 4], abs=1.01)
    assert pauses == sorted(pauses)
    assert len(kaggle.calls("GetCompetition")) == 4


def test_a_pause_that_is_too_long_is_told_instead_of_made(client, kaggle, pauses):
    kaggle.fail("GetCompetition", Fault.answer(429, retry_after="86400"))
    with pytest.raises(RateLimited, match="86,400 s") as error:
        client.competition("titanic")
    assert error.value.retry_after == 86_400
    assert pauses == []


def test_nobody_there(pauses):
    """It is told soon: who is offline does not wait for minutes."""
    patience = Patience(sleep=pauses.append)
    told = r"http://127\.0\.0\.1:9/v1 can't be reached"
    with (
        Client(Credentials("x", "y"), "http://127.0.0.1:9/v1", patience) as client,
        pytest.raises(Unreachable, match=told),
    ):
        client.competition("titanic")
    assert len(pauses) == 2


def test_a_server_that_went_away_is_insisted_on_by_clients_made_later(client, kaggle, held, pauses):
    """Or a line that is gone for some minutes would end all downloads that have yet to begin."""
    client.competition("titanic")
    kaggle.fail("GetCompetition", Fault.answer(503), times=9)
    patience = Patience(tries=6, sleep=pauses.append)
    with Client(kaggle.credentials, kaggle.url, patience) as later, pytest.raises(Unreachable):
        later.competition("titanic")
    assert len(pauses) == 5


@pytest.mark.parametrize("url", ["kaggle.example", "ftp://kaggle.example", "http://kaggle.example:port"])
def test_what_is_no_address_is_not_tried_again(pauses, url):
    client = Client(Credentials("x", "y"), url, Patience(sleep=pauses.append))
    with client, pytest.raises(KaggleError, match="MLEBENCH_KAGGLE_URL"):
        client.competition("titanic")
    assert pauses == []


def test_a_certificate_that_is_not_trusted_is_told_at_once(pauses, untrusted):
    client = Client(Credentials("x", "y"), untrusted, Patience(sleep=pauses.append))
    with client, pytest.raises(KaggleError, match="SSL_CERT_FILE"):
        client.competition("titanic")
    assert pauses == []


def test_a_pause_is_shown(client, held, kaggle, display):
    kaggle.fail("GetCompetition", Fault.answer(429, retry_after="7"))
    with shown_on(display):
        client.competition("titanic")
    assert len(display.steps) == 1
    assert display.steps[0][0].startswith("trying again in 7 s: Kaggle gets too many requests")


def test_another_server_is_no_kaggle(kaggle, held):
    elsewhere = kaggle.url.removesuffix("/api/v1") + "/elsewhere"
    with Client(kaggle.credentials, elsewhere) as client, pytest.raises(NotFound):
        client.competition("titanic")


def test_the_address_can_come_from_the_environment(kaggle, monkeypatch):
    monkeypatch.setenv("MLEBENCH_KAGGLE_URL", kaggle.url)
    monkeypatch.setenv("KAGGLE_API_TOKEN", kaggle.credentials.secret)
    with Client() as client:
        assert client.username() == "ann"


def test_retry_after_as_a_date():
    later = format_datetime(datetime.now(UTC) + timedelta(seconds=100), usegmt=True)
    assert retry_after({"retry-after": later}) == pytest.approx(100, abs=5)
    assert retry_after({"retry-after": "soon"}) is None
    assert retry_after({}) is None
