"""Which competitions' data the user may have: asked of Kaggle before hours are spent, and remembered."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import copy_context
from dataclasses import dataclass
from functools import partial

from mlebench.preparation import progress
from mlebench.preparation.kaggle.access import Access, Memory, refused
from mlebench.preparation.kaggle.client import Client
from mlebench.preparation.kaggle.errors import (
    BadCredentials,
    KaggleError,
    NotJoinable,
    PhoneNotVerified,
    RateLimited,
    RulesNotAccepted,
    Transient,
)
from mlebench.preparation.kaggle.patience import Patience

PATIENCE = Patience(tries=6, longest_told=120.0)  # for a client that only asks: somebody waits for the answer
THREADS = 4
SAMPLE_BYTES, SAMPLE_SECONDS, LEAST_SAMPLE_BYTES = 8 << 20, 5.0, 1 << 20


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
    return {each: refused(each, error) for each in ids}


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

    Whoever meets a failure that may pass tries again when it is his turn, one at a time; and once Kaggle has asked for
    fewer requests, everybody asks in turn: together they would go on being too many.

    Daemon threads instead of a pool: whoever is interrupted must not wait for a pause, or an answer, to be over.
    """

    def __init__(self, client: Client, ids: Sequence[str], sizes: bool) -> None:
        self._client, self._sizes = client, sizes
        self._number = len(ids)
        self._waiting: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._answers: queue.SimpleQueue[Access | BaseException] = queue.SimpleQueue()
        self._turn = threading.Lock()
        self._is_slow = False
        self._went_well = 0.0  # when a turn last did
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
        try:
            url = self._locate(competition)
        except KaggleError as error:
            return refused(competition, error)
        return Access(competition, "open", bytes=self._size(url) if self._sizes else None)

    def _locate(self, competition: str) -> str:
        failure, failed = None, 0.0
        if not self._is_slow and self._given_up is None:
            try:
                return self._client.locate(competition)
            except Transient as error:
                failure, failed = error, time.monotonic()
                self._is_slow = self._is_slow or isinstance(error, RateLimited)
        with self._turn:
            if self._given_up is not None:
                raise self._given_up
            if failed < self._went_well:
                failure = None  # it has passed
            return self._locate_in_turn(competition, failure)

    def _locate_in_turn(self, competition: str, failure: Transient | None) -> str:
        try:
            if failure is not None:
                self._client.patience.wait(failure, 1)
            url = self._client.insist(partial(self._client.locate, competition))
        except Transient as error:
            if isinstance(error, RateLimited) or not self._client.has_answered:
                self._given_up = error
            raise
        self._went_well = time.monotonic()
        return url

    def _size(self, url: str) -> int | None:
        with suppress(KaggleError):
            return self._client.insist(partial(self._client.size, url))
        return None


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
