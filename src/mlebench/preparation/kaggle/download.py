"""Downloads that survive everything: cut connections, killed processes, archives that change under way.

While it comes, `<name>.part` holds the bytes so far and `<name>.part.json` whose they are (size, ETag, hashes); both
are renamed away only when the file is whole and verified. The file is asked for in ranges of `chunk_bytes`, so that
whoever is killed loses what was on the way, never more than one chunk.
"""

from __future__ import annotations

import base64
import errno
import hashlib
import json
import os
import re
import shutil
import zipfile
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import httpx

from mlebench.errors import PreparationError
from mlebench.files import write_json
from mlebench.preparation import progress
from mlebench.preparation.kaggle import records
from mlebench.preparation.kaggle.client import Client
from mlebench.preparation.kaggle.errors import BY_HAND, DamagedDownload, KaggleError, Transient, Unreachable
from mlebench.preparation.kaggle.records import Archive
from mlebench.preparation.locks import Lock, held, held_if_free, require_held

CHUNK_BYTES = 256 << 20  # a smaller one costs time on fast lines: each begins with a pause
HASHED_AT_ONCE = 4 << 20
MAX_RESTARTS = 3  # of a download whose file changes under way, or arrives damaged
_STALE = (400, 401, 403, 404, 410)  # what a storage server says when the permission in an address is over
_CHANGED = f"It came so several times: a proxy or a disk may change bytes. Run it again elsewhere, {BY_HAND}"

Progress = Callable[[int, int], None]
"""Called with the bytes that are there and those of the whole."""


@dataclass(frozen=True)
class Identity:
    """What a server says about a file, by which it is known again and verified. Hashes in hexadecimal digits."""

    size: int
    etag: str = ""
    last_modified: str = ""
    md5: str = ""
    crc32c: str = ""

    @property
    def validator(self) -> str:
        """What If-Range takes: a strong ETag or a date."""
        return self.etag if self.etag and not self.etag.startswith("W/") else self.last_modified

    def may_be(self, other: Identity) -> bool:
        """Whether nothing says that the other is another file."""
        pairs = [(getattr(self, f.name), getattr(other, f.name)) for f in fields(self)]
        return all(ours == theirs for ours, theirs in pairs if ours and theirs)

    def is_known(self) -> bool:
        """Whether there is more than the size to know it by."""
        return bool(self.etag or self.last_modified or self.md5 or self.crc32c)


def download(
    client: Client,
    competition: str,
    target: Path,
    *,
    file: str = "",
    on_progress: Progress | None = None,
    chunk_bytes: int = CHUNK_BYTES,
    recorded: bool = False,
) -> Archive:
    """The competition's zip (or one `file` of it) as `target`, which is left alone if it is there.

    Continues what an earlier process began; waits for one that downloads the same. If `recorded`, the file is
    marked as downloaded here, and whoever tidies up may remove it. Raises a KaggleError, or PreparationError if the
    disk is too small.
    """
    order = _Order(client, competition, target, file, on_progress, chunk_bytes, recorded)
    target.parent.mkdir(parents=True, exist_ok=True)
    with held(_lock_of(target), f"{competition}: downloading {target.name}") as lock:
        if not target.exists():
            try:
                with ThreadPoolExecutor(1, "hashing") as pool:
                    return _Download(order, lock, pool).run()
            except OSError as error:
                if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                    raise
                raise PreparationError(f"the disk of {target.parent} is full; free some and run it again") from error
        elif not _part_of(target).exists():
            _state_of(target).unlink(missing_ok=True)  # of a process that was killed a moment before it was done
    return records.describe(target)


def is_begun(target: Path) -> bool:
    """Whether a download of `target` was interrupted and can go on."""
    return _part_of(target).is_file() and _state_of(target).is_file()


def begun_bytes(target: Path) -> int:
    """How much of `target` an interrupted download has left to go on with."""
    return _part_of(target).stat().st_size if is_begun(target) else 0


def discard(target: Path) -> int:
    """Remove what was downloaded as `target` and what an interrupted download left; returns the bytes freed.

    Nothing happens while another process downloads it, or to a file that was not downloaded here.
    """
    if not target.parent.is_dir():
        return 0
    with held_if_free(_lock_of(target)) as free:
        if not free:
            return 0
        freed = records.remove(target)
        if is_begun(target):
            freed += records.freed_by(_part_of(target))
            _part_of(target).unlink()
        _state_of(target).unlink(missing_ok=True)
    return freed


def _part_of(target: Path) -> Path:
    return target.with_name(f"{target.name}.part")


def _state_of(target: Path) -> Path:
    return target.with_name(f"{target.name}.part.json")


def _lock_of(target: Path) -> Path:
    return target.with_name(f".{target.name}.lock")


@dataclass(frozen=True)
class _Order:
    """What `download` is asked for."""

    client: Client
    competition: str
    target: Path
    file: str
    on_progress: Progress | None
    chunk_bytes: int
    recorded: bool

    @property
    def of(self) -> list[str]:
        """What the bytes are of, as the state says it."""
        return [self.competition, self.file]


class _Download:
    """One download under way."""

    def __init__(self, order: _Order, lock: Lock, pool: Executor) -> None:
        self._order, self._lock, self._pool = order, lock, pool
        self._client, self._competition = order.client, order.competition
        self._part, self._state = _part_of(order.target), _state_of(order.target)
        self._identity: Identity | None = None  # of the bytes in `_part`
        self._done = 0
        self._digests = _Digests(pool)
        self._url = ""
        self._restarts = 0

    def run(self) -> Archive:
        self._take_up()
        while True:
            self._fetch()
            try:
                self._verify()
                break
            except DamagedDownload as error:
                self._forget(error)
        return self._move_into_place()

    def _take_up(self) -> None:
        """Go on where another process stopped, if its state is there."""
        with suppress(OSError, ValueError, TypeError, KeyError):
            state = json.loads(self._state.read_text(encoding="utf-8"))
            identity = Identity(**state["identity"])
            if state["of"] != self._order.of or not identity.is_known() or self._part.stat().st_size > identity.size:
                return
            self._done = self._digests.feed_file(self._part, f"{self._competition}: reading what has come before")
            self._identity = identity

    def _fetch(self) -> None:
        """Get range after range until all is there."""
        failures = 0
        most = self._done
        while self._identity is None or self._done < self._identity.size:
            failure = self._try_range()
            if not failure and not self._url:  # the address was too old: another one may be asked for at once
                continue
            failures = 0 if self._done > most else failures + 1
            most = max(most, self._done)
            if failure or failures:
                nothing = Unreachable(f"{self._competition}: the storage server sends nothing; try again later")
                self._client.patience.wait(failure or nothing, max(failures, 1))

    def _try_range(self) -> Transient | None:
        """Get one range; what went wrong if another try may help."""
        try:
            self._fetch_range()
        except Transient as error:
            return error
        return None

    def _fetch_range(self) -> None:
        require_held(self._lock)
        is_new = not self._url
        if is_new:
            self._url = self._client.locate(self._competition, self._order.file)
        with self._client.open(self._url, self._range_headers()) as response:
            if response.status_code in _STALE and not is_new:
                self._url = ""  # ask for another address
            elif response.status_code == 416:
                self._forget(KaggleError(f"{self._competition}: the storage server refuses byte {self._done:,}"))
            elif response.status_code in (200, 206):
                self._take(response)
            else:
                raise KaggleError(f"{self._competition}: the storage server refuses (HTTP {response.status_code})")

    def _range_headers(self) -> dict[str, str]:
        headers = {"Range": f"bytes={self._done}-{self._done + self._order.chunk_bytes - 1}"}
        if self._done and self._identity and self._identity.validator:
            headers["If-Range"] = self._identity.validator
        return headers

    def _take(self, response: httpx.Response) -> None:
        """Append the body, or begin again with it if it is not of the same file."""
        start, identity = _content(response)
        if self._identity is not None and not self._identity.may_be(identity):
            self._forget(KaggleError(f"{self._competition}: the file changes all the time at Kaggle; try again later"))
        if start not in (0, self._done):  # of a file that has changed, or of a confused server
            self._forget(KaggleError(f"{self._competition}: the storage server sends other bytes than asked for"))
            return
        if start == 0:
            self._begin(identity)
        self._append(response)

    def _begin(self, identity: Identity) -> None:
        free = shutil.disk_usage(self._part.parent).free
        if identity.size > free:
            raise PreparationError(
                f"{self._order.target.name} has {identity.size:,} bytes, {self._part.parent} has {free:,} free"
            )
        self._part.write_bytes(b"")  # first: the new state must not stand beside old bytes
        write_json(self._state, {"of": self._order.of, "identity": asdict(identity)})
        self._identity, self._done, self._digests = identity, 0, _Digests(self._pool)

    def _append(self, response: httpx.Response) -> None:
        assert self._identity is not None
        total = self._identity.size
        with self._part.open("r+b") as part:
            part.seek(self._done)
            for block in response.iter_raw():
                part.write(block)
                part.flush()
                self._digests.feed(block)
                self._done += len(block)
                if self._order.on_progress:
                    self._order.on_progress(min(self._done, total), total)

    def _verify(self) -> None:
        """Raises DamagedDownload if the bytes are not those that the server has, or no zip where they should be."""
        assert self._identity is not None
        expected, found = self._identity, self._digests
        name = self._order.target.name
        if self._done != expected.size:
            raise DamagedDownload(f"{name} arrived with {self._done:,} bytes instead of {expected.size:,}. {_CHANGED}")
        for kind, theirs, ours in (("md5", expected.md5, found.md5), ("crc32c", expected.crc32c, found.crc32c)):
            if theirs and theirs != ours:
                raise DamagedDownload(f"{name} arrived damaged: its {kind} is {ours}, Kaggle's is {theirs}. {_CHANGED}")
        # Only the end is read: the list of members takes minutes where there are millions.
        if name.endswith(".zip") and not self._order.file and not zipfile.is_zipfile(self._part):
            raise DamagedDownload(f"what Kaggle sends as {name} is no zip archive. {_CHANGED}")

    def _forget(self, error: KaggleError) -> None:
        """Throw away what is there; raises `error` if that has happened too often."""
        self._restarts += 1
        self._part.unlink(missing_ok=True)
        self._state.unlink(missing_ok=True)
        self._identity, self._done, self._digests, self._url = None, 0, _Digests(self._pool), ""
        if self._restarts > MAX_RESTARTS:
            raise error

    def _move_into_place(self) -> Archive:
        require_held(self._lock)
        with self._part.open("rb") as part:
            os.fsync(part.fileno())
        if self._order.recorded:
            records.write_record(self._order.target, self._part, self._digests.md5, self._order.of)
        self._part.replace(self._order.target)
        self._state.unlink(missing_ok=True)
        return records.archive(self._order.target, self._digests.md5)


class _Digests:
    """The hashes that storage servers tell, of the bytes so far; computed in `pool` while more bytes come."""

    def __init__(self, pool: Executor) -> None:
        from google_crc32c import Checksum

        self._md5: Any = hashlib.md5(usedforsecurity=False)
        self._crc32c: Any = Checksum()
        self._pool = pool
        self._blocks: list[bytes] = []
        self._waiting = 0  # bytes in these blocks
        self._running: Future[None] | None = None

    def feed(self, block: bytes) -> None:
        """Hash this, too: some time before a hash is asked for."""
        self._blocks.append(block)
        self._waiting += len(block)
        if self._waiting >= HASHED_AT_ONCE:
            self._hand_over()

    def feed_file(self, path: Path, text: str) -> int:
        """Hash a file, as a step of progress; returns the number of bytes."""
        size = 0
        with path.open("rb") as file, progress.step(text, path.stat().st_size, "B") as done:
            while block := file.read(HASHED_AT_ONCE):
                self.feed(block)
                size += len(block)
                done(len(block))
        return size

    @property
    def md5(self) -> str:
        self._settle()
        return self._md5.hexdigest()

    @property
    def crc32c(self) -> str:
        self._settle()
        return self._crc32c.digest().hex()

    def _hand_over(self) -> None:
        if self._running:
            self._running.result()
        self._running = self._pool.submit(self._update, self._blocks)
        self._blocks, self._waiting = [], 0

    def _settle(self) -> None:
        self._hand_over()
        if self._running:
            self._running.result()

    def _update(self, blocks: list[bytes]) -> None:
        for block in blocks:
            self._md5.update(block)
            self._crc32c.update(block)


def _content(response: httpx.Response) -> tuple[int, Identity]:
    """At which byte the body starts, and what file it is of."""
    headers = response.headers
    ranges = re.fullmatch(r"bytes (\d+)-(\d+)/(\d+)", headers.get("content-range", "").strip())
    if response.status_code == 206 and ranges:
        start, size = int(ranges[1]), int(ranges[3])
    elif response.status_code == 200 and headers.get("content-length", "").isdecimal():
        start, size = 0, int(headers["content-length"])
    else:
        raise KaggleError("the storage server does not say how large the file is; try again later")
    parts = [part.strip() for value in headers.get_list("x-goog-hash") for part in value.split(",")]
    hashes = {kind: value for kind, _, value in (part.partition("=") for part in parts)}
    md5 = hashes.get("md5") or (headers.get("content-md5", "") if response.status_code == 200 else "")
    return start, Identity(
        size=size,
        etag=headers.get("etag", ""),
        last_modified=headers.get("last-modified", ""),
        md5=_hexadecimal(md5),
        crc32c=_hexadecimal(hashes.get("crc32c", "")),
    )


def _hexadecimal(text: str) -> str:
    """The digits of a hash in base 64; empty if it is none."""
    try:
        return base64.b64decode(text, validate=True).hex()
    except ValueError:
        return ""
