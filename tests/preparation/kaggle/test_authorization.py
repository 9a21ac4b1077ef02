"""Sign-ins by `kaggle auth login`: access tokens are got for them, renewed, and written nowhere."""

import json

import pytest

from kaggle_stand_in import Fault
from mlebench.errors import UsageError
from mlebench.preparation.kaggle.client import Client
from mlebench.preparation.kaggle.credentials import Credentials, find_credentials
from mlebench.preparation.kaggle.download import download
from mlebench.preparation.kaggle.errors import BadCredentials, KaggleError, Unreachable
from mlebench.preparation.kaggle.patience import Patience


@pytest.fixture
def signed_in(kaggle, pauses):
    with Client(kaggle.sign_in, kaggle.url, Patience(tries=3, sleep=pauses.append)) as opened:
        yield opened


@pytest.fixture
def held(kaggle, packed):
    return kaggle.add("titanic", packed())


def test_a_sign_in_downloads(kaggle, held, signed_in, tmp_path):
    download(signed_in, "titanic", tmp_path / "titanic.zip")
    assert (tmp_path / "titanic.zip").read_bytes() == held.archive
    signed_in.competition("titanic")
    (asking,) = kaggle.calls("GenerateAccessToken")
    assert asking.body["refreshToken"] == kaggle.sign_in.secret
    assert "authorization" not in asking.headers
    assert signed_in.confirmed_username() == "ann"


def test_a_token_is_renewed_before_its_end(kaggle, held, signed_in):
    kaggle.token_lifetime = 301  # so that it is to be renewed in a second
    signed_in.competition("titanic")
    signed_in.competition("titanic")
    assert len(kaggle.calls("GenerateAccessToken")) == 1
    kaggle.token_lifetime = 299
    signed_in._authorization._header = ""
    signed_in.competition("titanic")
    signed_in.competition("titanic")
    assert len(kaggle.calls("GenerateAccessToken")) == 3


def test_a_token_that_is_refused_is_renewed_once(kaggle, held, signed_in):
    signed_in.competition("titanic")
    kaggle.fail("GetCompetition", Fault.answer(401, "Unauthenticated"))
    assert signed_in.competition("titanic").id == "titanic"
    assert len(kaggle.calls("GenerateAccessToken")) == 2
    kaggle.fail("GetCompetition", Fault.answer(401, "Unauthenticated"), times=2)
    with pytest.raises(BadCredentials, match="the sign-in"):
        signed_in.competition("titanic")


@pytest.mark.parametrize("status", [400, 401, 403])
def test_a_sign_in_that_is_over_names_the_way_out(kaggle, held, signed_in, status):
    kaggle.fail("GenerateAccessToken", Fault.answer(status, "invalid grant"))
    with pytest.raises(BadCredentials, match="kaggle auth login") as error:
        signed_in.competition("titanic")
    assert kaggle.sign_in.secret not in str(error.value)


def test_a_failure_that_passes(kaggle, held, signed_in, pauses):
    signed_in.has_answered = True
    kaggle.fail("GenerateAccessToken", Fault.answer(503), Fault.answer(429, retry_after="5"))
    assert signed_in.competition("titanic").id == "titanic"
    assert pauses[1] == 5
    kaggle.fail("GenerateAccessToken", Fault.answer(503), times=9)
    signed_in._authorization._header = ""
    with pytest.raises(Unreachable):
        signed_in.competition("titanic")


def test_an_answer_without_a_token(kaggle, held, signed_in):
    kaggle.fail("GenerateAccessToken", Fault.answer(200, "hello"))
    with pytest.raises(KaggleError, match="no access token"):
        signed_in.competition("titanic")


def test_where_it_is_found(tmp_path):
    folder = tmp_path / ".kaggle"
    folder.mkdir()
    path = folder / "credentials.json"
    path.write_text(json.dumps({"refresh_token": "r", "access_token": "a", "username": "ann", "scopes": []}))
    before = path.stat()
    found = find_credentials({"HOME": str(tmp_path)})
    assert found == Credentials(str(path), "r", "ann", is_sign_in=True)
    assert found.kind == "sign-in"
    assert "'r'" not in repr(found)
    (folder / "kaggle.json").write_text(json.dumps({"username": "bob", "key": "k"}))
    assert find_credentials({"HOME": str(tmp_path)}).kind == "legacy key"
    assert path.stat() == before


@pytest.mark.parametrize("content", ["{", "[]", "{}", '{"refresh_token": ""}', '{"refresh_token": 7}'])
def test_what_is_no_sign_in(tmp_path, content):
    (tmp_path / ".kaggle").mkdir()
    (tmp_path / ".kaggle" / "credentials.json").write_text(content)
    with pytest.raises(UsageError, match="no Kaggle credentials were found"):
        find_credentials({"HOME": str(tmp_path)})
