"""The storage: sends files, in ranges, to whom the API gave an address."""

from __future__ import annotations

import asyncio
import base64
import re
from collections.abc import Iterator
from dataclasses import dataclass
from email.utils import formatdate
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.types import Message

from .content import BLOCK, Content
from .faults import Fault

if TYPE_CHECKING:
    from .held import Held
    from .server import Recorded


@dataclass(frozen=True)
class Answer:
    """Which bytes of a file, and what is said about them."""

    status: int
    headers: list[tuple[str, str]]
    start: int = 0
    end: int = 0


class Sending:
    """One answer of the storage."""

    def __init__(self, held: Held, content: Content, request: Request, recorded: Recorded, fault: Fault) -> None:
        self._held, self._content = held, content
        self._request, self._recorded, self._fault = request, recorded, fault

    async def send(self, send: Any, pace: float) -> None:
        """Send head and body, `pace` seconds a block."""
        # Not in the event loop: large files take a while, and others are served meanwhile.
        answer = await asyncio.to_thread(self._answer)
        self._recorded.status, self._recorded.start = answer.status, answer.start
        self._recorded.of = self._held.changed
        raw = [(name.lower().encode(), value.encode()) for name, value in answer.headers]
        head: Message | None = {"type": "http.response.start", "status": answer.status, "headers": raw}
        for part in self._parts(answer):
            self._recorded.sent += len(part)  # before anything is sent: who got it may look
            if head:
                await send(head)
                head = None
            await send({"type": "http.response.body", "body": part, "more_body": True})
            await asyncio.sleep(self._fault.pause or pace)
            if self._transport.is_closing():  # nobody listens: what follows is not sent
                return
        if head:
            await send(head)
        if self._last(answer) < answer.end:
            self._transport.close()  # what was written still arrives
            return
        await send({"type": "http.response.body", "body": b""})

    @property
    def _transport(self) -> Any:
        return self._request.scope["transport"]

    def _last(self, answer: Answer) -> int:
        """The byte before which it ends, perhaps too early."""
        cut = self._fault.cut_after
        return answer.end if cut is None else min(answer.end, answer.start + cut)

    def _parts(self, answer: Answer) -> Iterator[bytes]:
        place, last = answer.start, self._last(answer)
        with self._content.open() as opened:
            opened.seek(place)
            while place < last:
                if not (part := opened.read(min(self._fault.block or BLOCK, last - place))):
                    return  # the file on disk became shorter under way
                place += len(part)
                is_wrong = self._fault.wrong_byte and place == answer.end
                yield part[:-1] + bytes([part[-1] ^ 1]) if is_wrong else part

    def _answer(self) -> Answer:
        real = self._content.size
        size = real + self._fault.longer
        headers = self._headers(size)
        wanted = re.fullmatch(r"bytes=(\d+)-(\d*)", self._request.headers.get("range", ""))
        condition = self._request.headers.get("if-range")
        known = condition is None or condition in (self._etag(), self._date())
        if wanted is None or not known or self._fault.no_ranges:
            end = min(size, real)
            return Answer(200, [*headers, ("Content-Length", str(end))], 0, end)
        start = int(wanted[1])
        if start >= min(size, real):
            return Answer(416, [("Content-Range", f"bytes */{size}"), ("Content-Length", "0")])
        end = min(int(wanted[2] or size) + 1, size, real)
        shown = f"bytes {start}-{end - 1}/{size}"
        return Answer(206, [*headers, ("Content-Range", shown), ("Content-Length", str(end - start))], start, end)

    def _etag(self) -> str:
        return f'"{self._content.hashes()[0].hex()}"'

    def _date(self) -> str:
        return formatdate(self._held.changed, usegmt=True)

    def _headers(self, size: int) -> list[tuple[str, str]]:
        headers = [("Content-Type", "application/zip"), ("Accept-Ranges", "bytes")]
        headers.append(("X-Goog-Stored-Content-Length", str(size)))
        if self._held.tells_etag:
            headers += [("ETag", self._etag()), ("Last-Modified", self._date())]
        if self._held.tells_hashes:
            md5, crc32c = (base64.b64encode(digest).decode() for digest in self._content.hashes())
            headers += [("X-Goog-Hash", f"crc32c={crc32c}"), ("X-Goog-Hash", f"md5={md5}")]
        return headers
