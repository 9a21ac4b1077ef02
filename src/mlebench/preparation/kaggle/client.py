"""The calls of Kaggle's API that are needed here, with typed results and errors.

A call is `POST <url>/<service>/<method>` with a JSON body; a download answers with a redirect to a storage server,
which gets no credentials.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import islice
from typing import Any, TypeVar
from urllib.parse import urljoin

import httpx

from mlebench import __version__
from mlebench.preparation.kaggle.authorization import Authorization
from mlebench.preparation.kaggle.credentials import Credentials, find_credentials
from mlebench.preparation.kaggle.errors import (
    SETTINGS,
    BadCredentials,
    KaggleError,
    NotFound,
    NotJoinable,
    PhoneNotVerified,
    RateLimited,
    RulesNotAccepted,
    Transient,
    Unreachable,
)
from mlebench.preparation.kaggle.patience import Patience, retry_after

API_URL = "https://api.kaggle.com/v1"
URL_VARIABLE = "MLEBENCH_KAGGLE_URL"
PAGE_SIZE = 100
FIRST_TRIES = 3
_ANSWERED: set[str] = set()  # servers that have answered this process, whichever client asked
_COMPETITIONS = "competitions.CompetitionApiService"
_NOTEBOOKS = "kernels.KernelsApiService"
_LATER = "Try again later: a download goes on where it stopped"
_CLOSED_WORDS = ("closed", "no longer", "not available", "unavailable", "withdrawn", "has ended")

Result = TypeVar("Result")


@dataclass(frozen=True)
class CompetitionFacts:
    """What Kaggle says about a competition, and whether the user takes part in it."""

    id: str
    title: str
    has_entered: bool  # the user has joined and accepted the rules
    deadline: datetime | None
    new_entrant_deadline: datetime | None
    metric: str
    teams: int
    code_only: bool  # submissions are notebooks
    submissions_disabled: bool


@dataclass(frozen=True)
class RemoteFile:
    """A file of a competition's data."""

    name: str
    size: int
    created: datetime | None


@dataclass(frozen=True)
class Standing:
    """A team on a leaderboard, in the order in which Kaggle lists them."""

    team_id: int
    team: str
    score: str
    submitted: datetime | None


@dataclass(frozen=True)
class Page:
    """A page of a competition: description, evaluation, rules, data-description ..."""

    name: str
    content: str
    mime_type: str


@dataclass(frozen=True)
class Notebook:
    """A public notebook or script."""

    ref: str  # "author/slug"
    title: str
    author: str
    votes: int
    language: str
    kind: str  # "notebook" or "script"
    last_run: datetime | None
    competitions: tuple[str, ...]


@dataclass(frozen=True)
class NotebookSource:
    """A notebook with its code: JSON of Jupyter, or the text of a script."""

    notebook: Notebook
    source: str
    language: str
    kind: str


class Client:
    """Kaggle's API as one user. A context manager; without credentials given, those of the environment are used.

    Calls are repeated while failures may pass (no connection, HTTP 429 and 5xx). Each raises BadCredentials,
    RulesNotAccepted, PhoneNotVerified, NotJoinable, NotFound, RateLimited, Unreachable, or another KaggleError.
    Threads may share one.
    """

    def __init__(
        self,
        credentials: Credentials | None = None,
        url: str | None = None,
        patience: Patience | None = None,
        timeout: float = 60.0,
    ) -> None:
        self.credentials = credentials or find_credentials()
        self.url = (url or os.environ.get(URL_VARIABLE) or API_URL).rstrip("/")
        self._patience = patience or Patience()
        self.has_answered = self.url in _ANSWERED  # a server that has never answered is not insisted on
        self.calls, self.refusals = 0, 0  # of these, how many it answered by asking for fewer
        self._username = self.credentials.username
        self._authorization = Authorization(self.credentials, self.url)
        self._http = httpx.Client(headers={"User-Agent": f"mlebench/{__version__}"}, timeout=timeout)

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections."""
        self._http.close()

    @property
    def patience(self) -> Patience:
        """How long to go on after failures: not long with a server that has never answered."""
        few = min(self._patience.tries, FIRST_TRIES)
        return self._patience if self.has_answered else replace(self._patience, tries=few)

    def username(self) -> str:
        """The user's name: who the access token belongs to, as the server says, or whose key or sign-in it is."""
        if not self._username and self.credentials.is_sign_in:
            return ""  # the client that signed in did not write it down
        if not self._username:
            answer = self._ask("security.OAuthService", "IntrospectToken", token=self.credentials.secret)
            if not answer.get("active"):
                raise self._bad_credentials()
            self._username = _text(answer, "username")
        return self._username

    def confirmed_username(self) -> str:
        """The same, but never without a call: a legacy key says of itself whose it is, right or wrong."""
        if self.credentials.username or self.credentials.is_sign_in:
            next(self.competitions(entered=True), None)
        return self.username()

    def competition(self, competition: str) -> CompetitionFacts:
        """The facts about one competition."""
        return _competition(self._ask(_COMPETITIONS, "GetCompetition", competition, competitionName=competition))

    def competitions(self, search: str = "", *, entered: bool = False) -> Iterator[CompetitionFacts]:
        """All competitions that match; only those that the user has joined if `entered`."""
        tab = "ENTERED" if entered else "EVERYTHING"
        fields = {"group": f"COMPETITION_LIST_TAB_{tab}", "search": search, "pageSize": PAGE_SIZE}
        return map(_competition, self._pages(_COMPETITIONS, "ListCompetitions", "competitions", **fields))

    def files(self, competition: str, limit: int | None = None) -> list[RemoteFile]:
        """The files of the competition's data, with their sizes before packing; the first `limit` of them."""
        fields = {"competitionName": competition, "pageSize": PAGE_SIZE}
        return [
            RemoteFile(
                _text(file, "name") or _text(file, "ref"), _number(file, "totalBytes"), _time(file, "creationDate")
            )
            for file in islice(self._pages(_COMPETITIONS, "ListDataFiles", "files", competition, **fields), limit)
        ]

    def leaderboard(self, competition: str, *, public: bool = False) -> Iterator[Standing]:
        """The standings, best first: the private ones where the competition is over, unless `public`."""
        fields = {"competitionName": competition, "overridePublic": public, "pageSize": PAGE_SIZE}
        for row in self._pages(_COMPETITIONS, "GetLeaderboard", "submissions", competition, **fields):
            yield Standing(
                _number(row, "teamId"), _text(row, "teamName"), _text(row, "score"), _time(row, "submissionDate")
            )

    def leaderboard_zip(self, competition: str) -> bytes:
        """The whole leaderboard as Kaggle packs it: a zip with one CSV file."""
        return self._call(_COMPETITIONS, "DownloadLeaderboard", competition, competitionName=competition).content

    def pages(self, competition: str, name: str = "") -> list[Page]:
        """The competition's pages, or the one of this name."""
        fields = {"competitionName": competition} | ({"pageName": name} if name else {})
        answer = self._ask(_COMPETITIONS, "ListCompetitionPages", competition, **fields)
        return [Page(_text(p, "name"), _text(p, "content"), _text(p, "mimeType")) for p in _items(answer, "pages")]

    def notebooks(self, competition: str, *, sort_by: str = "VOTE_COUNT", limit: int | None = None) -> list[Notebook]:
        """Public notebooks that use the competition's data; the first `limit` of them."""
        fields = {
            **{"competition": competition, "group": "EVERYONE", "sortBy": sort_by, "page": 1},
            **{"kernelType": "all", "language": "all", "outputType": "all"},
            "pageSize": min(limit or PAGE_SIZE, PAGE_SIZE),
        }
        found = self._pages(_NOTEBOOKS, "ListKernels", "kernels", competition, **fields)
        return [_notebook(row) for row in islice(found, limit)]

    def notebook(self, ref: str) -> NotebookSource:
        """The code of the notebook `author/slug`."""
        author, _, slug = ref.partition("/")
        answer = self._ask(_NOTEBOOKS, "GetKernel", "", userName=author, kernelSlug=slug)
        blob = _part(answer, "blob")
        return NotebookSource(
            _notebook(_part(answer, "metadata")),
            *(_text(blob, "source"), _text(blob, "language"), _text(blob, "kernelType")),
        )

    def locate(self, competition: str, file: str = "") -> str:
        """Where the competition's zip, or one of its files, can be downloaded for the next minutes. Tries once."""
        method = "DownloadDataFile" if file else "DownloadDataFiles"
        fields = {"competitionName": competition} | ({"fileName": file} if file else {})
        response = self._try(_COMPETITIONS, method, competition, fields)
        location = response.headers.get("location", "")
        if not response.has_redirect_location or not location:
            raise KaggleError(
                f"{competition}: Kaggle answered HTTP {response.status_code} where it should say from where to "
                f"download; try again later, or give the zip: --source FILE.zip"
            )
        return urljoin(str(response.request.url), location)

    def size(self, url: str) -> int | None:
        """The bytes of what `locate` found, by asking for the first one; None if the storage server does not tell.

        Tries once.
        """
        with self.open(url, {"Range": "bytes=0-0"}) as response:
            told = response.headers.get("content-range", "").rpartition("/")[2]
            told = told if response.status_code == 206 else response.headers.get("content-length", "")
            return int(told) if response.is_success and told.isdecimal() else None

    @contextmanager
    def open(self, url: str, headers: Mapping[str, str]) -> Iterator[httpx.Response]:
        """A response of the storage server, its body unread. Tries once; sends no credentials.

        Raises a Transient for what may pass, also while the body is read.
        """
        # Without "identity" a storage server may pack or unpack on the way, and sizes and hashes are of other bytes.
        sent = {"Accept-Encoding": "identity", **headers}
        with (
            _transport_errors("the storage server of Kaggle"),
            self._http.stream("GET", url, headers=sent, follow_redirects=True) as response,
        ):
            _raise_transient(response, "the storage server of Kaggle")
            yield response

    def _pages(self, service: str, method: str, name: str, about: str = "", **fields: Any) -> Iterator[Any]:
        """The items of all pages of a list."""
        token = ""
        while True:
            answer = self._ask(service, method, about, **fields, pageToken=token)
            yield from _items(answer, name)
            following = _text(answer, "nextPageToken")
            if not following or following == token:
                return
            token = following
            fields.pop("page", None)

    def _ask(self, service: str, method: str, about: str = "", **fields: Any) -> Mapping[str, Any]:
        response = self._call(service, method, about, **fields)
        answer = _json(response)
        if answer is None:
            raise KaggleError(f"Kaggle's answer to {method} is no JSON object; is {self.url} the address of its API?")
        return answer

    def _call(self, service: str, method: str, about: str, **fields: Any) -> httpx.Response:
        return self.insist(lambda: self._try(service, method, about, fields))

    def insist(self, attempt: Callable[[], Result]) -> Result:
        """What `attempt` returns, tried again while its failures are Transient and patience lasts."""
        failures = 0
        while True:
            try:
                return attempt()
            except Transient as error:
                failures += 1
                self.patience.wait(error, failures)

    def _try(self, service: str, method: str, competition: str, fields: Mapping[str, Any]) -> httpx.Response:
        self.calls += 1
        with _transport_errors(self.url):
            response = self._http.post(f"{self.url}/{service}/{method}", json=dict(fields), auth=self._authorization)
        self.has_answered = True
        _ANSWERED.add(self.url)
        self.refusals += response.status_code == 429
        _raise_transient(response, "Kaggle")
        status, told = _refusal(response)
        if status < 400:
            return response
        raise self._error(status, told, method, competition)

    def _error(self, status: int, told: str, method: str, competition: str) -> Exception:
        about = competition or method
        if status == 401:
            return self._bad_credentials()
        if status == 403 and competition:
            return self._why_forbidden(competition, told, method)
        if status == 404:
            reason = f"Kaggle knows no such thing (HTTP 404: {told or 'not found'}); is the id right?"
            return NotFound(f"{about}: {reason}", reason=reason)
        return KaggleError(f"{about}: Kaggle refused {method} (HTTP {status}{': ' + told if told else ''})")

    def _why_forbidden(self, competition: str, told: str, method: str) -> Exception:
        """A 403 has several reasons; if the answer doesn't tell them apart, the competition's facts do."""
        words = told.lower()
        if "phone" in words:
            return PhoneNotVerified.of(competition, told)
        if "rules" in words and "accept" in words:
            return RulesNotAccepted.of(competition)
        if any(word in words for word in _CLOSED_WORDS):
            return NotJoinable.of(competition, told)
        if method == "GetCompetition":
            return KaggleError(
                f"{competition}: Kaggle refuses to show it to you (HTTP 403{': ' + told if told else ''})"
            )
        facts = self.competition(competition)
        return NotJoinable.of(competition, told) if facts.has_entered else RulesNotAccepted.of(competition, told)

    def _bad_credentials(self) -> BadCredentials:
        kind, source = self.credentials.kind, self.credentials.source
        return BadCredentials(
            f"Kaggle does not accept the {kind} from {source} (HTTP 401): it is mistyped, expired or revoked. Create "
            f"another at {SETTINGS} (section API) and put it in the place of the old one. Variables go before files, "
            "and an access token before a legacy key: what is found first is used alone"
        )


@contextmanager
def _transport_errors(whom: str) -> Iterator[None]:
    """Turn failures of the connection into Unreachable, and what no other try can help into a KaggleError."""
    try:
        yield
    except (httpx.UnsupportedProtocol, httpx.InvalidURL, httpx.TooManyRedirects, httpx.DecodingError) as error:
        raise KaggleError(f"{whom} can't be used: {error}. {URL_VARIABLE} is another address of the API") from error
    except httpx.TransportError as error:
        reason = str(error) or error.__class__.__name__
        if "CERTIFICATE_VERIFY_FAILED" in reason:
            raise KaggleError(
                f"the certificate of {whom} is not trusted: {reason}. If a proxy of yours makes its own "
                "certificates, let SSL_CERT_FILE name the file with its authority"
            ) from error
        raise Unreachable(f"{whom} can't be reached or broke off: {reason}. {_LATER}") from error


def _raise_transient(response: httpx.Response, who: str) -> None:
    status, after = response.status_code, retry_after(response.headers)
    if status == 429:
        more = f"; it asks to wait {after:,.0f} s" if after is not None else ""
        raise RateLimited(f"{who} gets too many requests from you (HTTP 429){more}. {_LATER}", after)
    if status == 408 or status >= 500:
        raise Unreachable(f"{who} fails (HTTP {status}). {_LATER}", after)


def _refusal(response: httpx.Response) -> tuple[int, str]:
    """The status of a response with what it says about it; some errors come with HTTP 200 and a code in the body."""
    answer = _json(response) if "json" in response.headers.get("content-type", "") else None
    if answer is None:
        return response.status_code, ""
    code = answer.get("code")
    told = answer.get("message") if isinstance(answer.get("message"), str) else ""
    return (code if isinstance(code, int) and code >= 400 else response.status_code), str(told)


def _json(response: httpx.Response) -> Mapping[str, Any] | None:
    try:
        answer = response.json()
    except ValueError:
        return None
    return answer if isinstance(answer, dict) else None


def _competition(facts: Mapping[str, Any]) -> CompetitionFacts:
    return CompetitionFacts(
        # The reference is the slug or, lately, the page's address.
        id=(_text(facts, "ref") or _text(facts, "url")).rstrip("/").rpartition("/")[2],
        title=_text(facts, "title"),
        has_entered=facts.get("userHasEntered") is True,
        deadline=_time(facts, "deadline"),
        new_entrant_deadline=_time(facts, "newEntrantDeadline"),
        metric=_text(facts, "evaluationMetric"),
        teams=_number(facts, "teamCount"),
        code_only=facts.get("isKernelsSubmissionsOnly") is True,
        submissions_disabled=facts.get("submissionsDisabled") is True,
    )


def _notebook(row: Mapping[str, Any]) -> Notebook:
    sources = row.get("competitionDataSources")
    return Notebook(
        ref=_text(row, "ref"),
        title=_text(row, "title"),
        author=_text(row, "author"),
        votes=_number(row, "totalVotes"),
        language=_text(row, "language"),
        kind=_text(row, "kernelType"),
        last_run=_time(row, "lastRunTime"),
        competitions=tuple(map(str, sources)) if isinstance(sources, list) else (),
    )


def _items(answer: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    items = answer.get(name) or []  # an empty list is left out
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise KaggleError(f'Kaggle\'s answer is not understood: "{name}" is no list of objects')
    return items


def _part(answer: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    part = answer.get(name) or {}
    if not isinstance(part, dict):
        raise KaggleError(f'Kaggle\'s answer is not understood: "{name}" is no object')
    return part


def _text(facts: Mapping[str, Any], name: str) -> str:
    value = facts.get(name)
    return "" if value is None else str(value)


def _number(facts: Mapping[str, Any], name: str) -> int:
    value = facts.get(name) or 0  # zero is left out, large numbers may be strings
    try:
        return int(value)
    except (TypeError, ValueError) as error:
        raise KaggleError(f'Kaggle\'s answer is not understood: "{name}" is {value!r}, not a number') from error


def _time(facts: Mapping[str, Any], name: str) -> datetime | None:
    """A time such as 2022-02-11T21:13:01.1234567Z, in UTC; None if there is none."""
    text = _text(facts, name).rstrip("Z")
    whole, _, fraction = text.partition(".")
    try:
        return datetime.fromisoformat(f"{whole}.{fraction[:6]:0<6}").replace(tzinfo=UTC) if text else None
    except ValueError:
        return None
