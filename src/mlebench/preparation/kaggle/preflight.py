"""Which competitions' data the user may have: asked of Kaggle before hours are spent, and remembered."""

from __future__ import annotations

import json
import queue
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import copy_context
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, Literal

from mlebench.files import write_json
from mlebench.preparation import progress
from mlebench.preparation.kaggle.client import Client
from mlebench.preparation.kaggle.errors import (
    BY_HAND,
    BadCredentials,
    KaggleError,
    NotFound,
    NotJoinable,
    PhoneNotVerified,
    RateLimited,
    RulesNotAccepted,
    Transient,
    which_tab,
)
from mlebench.preparation.kaggle.patience import Patience

State = Literal["open", "rules", "phone", "closed", "missing", "unknown"]
"""open: the data can be downloaded. rules: they are not accepted. phone: the account's number is not verified. closed:
Kaggle refuses whatever is accepted. missing: Kaggle has no such competition. unknown: it could not be asked."""

PATIENCE = Patience(tries=4, longest_told=120.0)  # for a client that only asks: somebody waits for the answer
THREADS = 4
REMEMBERED = timedelta(days=30)
SAMPLE_BYTES, SAMPLE_SECONDS, LEAST_SAMPLE_BYTES = 8 << 20, 5.0, 1 << 20

_STATES: tuple[tuple[type[KaggleError], State, str], ...] = (
    (RulesNotAccepted, "rules", "open the page, join and accept the rules"),
    (PhoneNotVerified, "phone", "open the page and verify it: once is enough for all competitions"),
    (NotJoinable, "closed", f"look at the page, {BY_HAND}"),
    (NotFound, "missing", "give data of your own: --source PATH"),
    (KaggleError, "unknown", "run the same command again later"),
)


@dataclass(frozen=True)
class Access:
    """Whether Kaggle gives the user a competition's data; where not: why, the page about it, and what to do."""

    competition: str
    state: State
    page: str = ""
    reason: str = ""
    advice: str = ""
    bytes: int | None = None  # of the zip, where that was asked for and told
    remembered: str = ""  # when Kaggle said so, in UTC; empty: now

    @property
    def is_open(self) -> bool:
        """Whether the data can be downloaded."""
        return self.state == "open"


def check(
    client: Client,
    ids: Sequence[str],
    on_access: Callable[[Access], None] | None = None,
    *,
    sizes: bool = False,
    fresh: bool = False,
) -> dict[str, Access]:
    """What the client's user has access to, by id in the order asked for; with the sizes of the zips if `sizes`.

    One call for each, a few at a time: where the zip is, which Kaggle tells only those who may have it; a second for
    its size. What was open is remembered for 30 days, and asked again only if `fresh`. Each answer is passed to
    `on_access` when it comes, in the calling thread. After a failure that the client's patience does not outlast, what
    is left is "unknown". Raises BadCredentials, and no other KaggleError.
    """
    ids = list(dict.fromkeys(ids))
    found: dict[str, Access] = {}
    with progress.step("asking Kaggle about access", len(ids), "competitions") as done:
        for access in _answers(client, ids, sizes, fresh):
            found[access.competition] = access
            done()
            if on_access is not None:
                on_access(access)
    return {each: found[each] for each in ids}


def not_asked(ids: Sequence[str], error: Transient) -> dict[str, Access]:
    """What is known where Kaggle can't be asked."""
    return {each: _refused(each, error) for each in ids}


@contextmanager
def forgetting(client: Client, competition: str) -> Iterator[None]:
    """What is refused inside is no longer remembered as open."""
    try:
        yield
    except (RulesNotAccepted, PhoneNotVerified, NotJoinable):
        with suppress(KaggleError, BadCredentials):
            Memory(client.url, client.username()).forget(competition)
        raise


def _answers(client: Client, ids: Sequence[str], sizes: bool, fresh: bool) -> Iterator[Access]:
    try:
        memory = Memory(client.url, client.username())
    except Transient as error:
        yield from not_asked(ids, error).values()
        return
    except KaggleError:  # this server does not tell names
        memory = Memory(client.url, "")
    known = {} if fresh else memory.recall(ids, sizes)
    yield from known.values()
    opened = []
    try:
        for access in _Asking(client, [each for each in ids if each not in known], sizes):
            opened += [access] if access.is_open else []
            yield access
    finally:
        memory.keep(opened)


class _Asking:
    """Asks in a few threads; iterating gives the answers as they come.

    Daemon threads instead of a pool: whoever is interrupted must not wait for a pause, or an answer, to be over.
    """

    def __init__(self, client: Client, ids: Sequence[str], sizes: bool) -> None:
        self._client, self._sizes = client, sizes
        self._number = len(ids)
        self._waiting: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._answers: queue.SimpleQueue[Access | BaseException] = queue.SimpleQueue()
        self._given_up: Transient | None = None
        self._is_over = False
        for each in ids:
            self._waiting.put(each)

    def __iter__(self) -> Iterator[Access]:
        for _ in range(min(THREADS, self._number)):
            # With the context of the caller, or pauses would not be shown.
            threading.Thread(target=copy_context().run, args=(self._work,), daemon=True).start()
        try:
            for _ in range(self._number):
                answer = self._answers.get()
                if isinstance(answer, BaseException):
                    raise answer
                yield answer
        finally:
            self._is_over = True

    def _work(self) -> None:
        with suppress(queue.Empty):
            while not self._is_over:
                competition = self._waiting.get_nowait()
                try:
                    self._answers.put(self._ask(competition))
                except BaseException as error:  # raised in the calling thread
                    self._answers.put(error)

    def _ask(self, competition: str) -> Access:
        if self._given_up is not None:
            return _refused(competition, self._given_up)
        try:
            url = self._client.insist(partial(self._client.locate, competition))
        except KaggleError as error:
            if isinstance(error, RateLimited) or (isinstance(error, Transient) and not self._client.has_answered):
                self._given_up = error
            return _refused(competition, error)
        return Access(competition, "open", bytes=self._size(url) if self._sizes else None)

    def _size(self, url: str) -> int | None:
        with suppress(KaggleError):
            return self._client.insist(partial(self._client.size, url))
        return None


def _refused(competition: str, error: KaggleError) -> Access:
    """By the first kind of error that fits."""
    _, state, advice = next(row for row in _STATES if isinstance(error, row[0]))
    if state == "rules":
        advice += which_tab(competition)
    return Access(competition, state, error.page, error.reason.removeprefix(f"{competition}: "), advice)


@dataclass(frozen=True)
class Speed:
    """How fast the bytes of a zip came, over one connection."""

    competition: str
    bytes: int
    seconds: float

    @property
    def bytes_per_second(self) -> float:
        """The rate."""
        return self.bytes / self.seconds


def measure_speed(client: Client, competition: str) -> Speed | None:
    """By the first megabytes of the competition's zip; None if they are too few, or can't be had now."""
    with suppress(KaggleError):
        return client.insist(partial(_read_a_part, client, competition))
    return None


def _read_a_part(client: Client, competition: str) -> Speed | None:
    with client.open(client.locate(competition), {"Range": f"bytes=0-{SAMPLE_BYTES - 1}"}) as response:
        if not response.is_success:
            return None
        began, arrived, seconds = (
            time.perf_counter(),
            0,
            0.0,
        )  # after the answer has begun: hours are not spent on asking
        for block in response.iter_raw():
            arrived += len(block)
            seconds = time.perf_counter() - began
            if arrived >= SAMPLE_BYTES or seconds > SAMPLE_SECONDS:
                break
    return Speed(competition, arrived, seconds) if arrived >= LEAST_SAMPLE_BYTES else None


def memory_file() -> Path:
    """Where access is remembered."""
    from platformdirs import user_cache_path

    return user_cache_path("mle-bench", appauthor=False) / "kaggle" / "access.json"


@dataclass(frozen=True)
class Memory:
    """What was open to a user of a server, in a file of the user's cache folder. Nothing is kept without a user."""

    url: str
    user: str
    path: Path = field(default_factory=memory_file)

    def recall(self, ids: Sequence[str], sizes: bool) -> dict[str, Access]:
        """What is remembered of these, only with sizes if those are needed."""
        entries = _entries(self.path)
        found = {}
        for each in ids:
            entry = entries.get(self._key(each))
            if entry is not None and not (sizes and entry["bytes"] is None):
                found[each] = Access(each, "open", bytes=entry["bytes"], remembered=entry["asked"])
        return found

    def keep(self, opened: Sequence[Access]) -> None:
        """Add these. If two processes write at once, one of them is asked again later; no lock is worth that."""
        if not opened or not self.user:
            return
        now = datetime.now(UTC).isoformat(timespec="seconds")
        entries = _entries(self.path)
        for each in opened:
            known = entries.get(self._key(each.competition), {}).get("bytes")
            size = each.bytes if each.bytes is not None else known
            entries[self._key(each.competition)] = {"asked": now, "bytes": size}
        self._write(entries)

    def forget(self, competition: str) -> None:
        """It turned out not to be open any more."""
        entries = _entries(self.path)
        if entries.pop(self._key(competition), None):
            self._write(entries)

    def _write(self, entries: Mapping[str, Any]) -> None:
        with suppress(OSError):  # a cache that can't be written is done without
            write_json(self.path, entries)

    def _key(self, competition: str) -> str:
        return f"{self.url} {self.user} {competition}"


def _entries(path: Path) -> dict[str, Any]:
    """The entries that are not too old; none if the file is missing or damaged."""
    oldest = datetime.now(UTC) - REMEMBERED
    with suppress(OSError, ValueError, AttributeError):
        entries = json.loads(path.read_text(encoding="utf-8")).items()
        return {key: entry for key, entry in entries if _is_entry(entry) and _time(entry) > oldest}
    return {}


def _is_entry(entry: Any) -> bool:
    return isinstance(entry, Mapping) and isinstance(entry.get("bytes"), int | None) and bool(entry.get("asked"))


def _time(entry: Mapping[str, Any]) -> datetime:
    return datetime.fromisoformat(entry["asked"]).astimezone(UTC)
