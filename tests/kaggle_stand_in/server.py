"""The server: the calls of the API, and the storage to which downloads are redirected."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import io
import re
import socket
import threading
import time
import zipfile
from collections import deque
from dataclasses import dataclass, field
from email.utils import formatdate
from functools import lru_cache, partial
from typing import Any

import uvicorn
from google_crc32c import Checksum
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from mlebench.preparation.kaggle.credentials import Credentials

from .faults import CLOSED, RULES, Fault

TOKEN, USERNAME, KEY = "stand-in-token", "ann", "stand-in-key"
BLOCK = 1 << 16


@dataclass
class Recorded:
    """One request that came in."""

    method: str
    path: str
    headers: dict[str, str]
    body: Any = None
    status: int = 0
    sent: int = 0  # bytes of the body of a download


@dataclass
class Held:
    """What Kaggle has of a competition."""

    archive: bytes
    changed: float = 1_445_412_480.0
    has_entered: bool = True
    is_closed: bool = False
    tells_hashes: bool = True
    tells_etag: bool = True
    pages: dict[str, str] = field(default_factory=dict)
    standings: list[tuple[str, str]] = field(default_factory=list)  # team, score
    notebooks: dict[str, str] = field(default_factory=dict)  # author/slug: code

    def files(self) -> dict[str, bytes]:
        try:
            with zipfile.ZipFile(io.BytesIO(self.archive)) as opened:
                return {member.filename: opened.read(member) for member in opened.infolist()}
        except zipfile.BadZipFile:
            return {}


class StandIn:
    """The server, while its block runs. `requests` grows; `url` is the base of the API."""

    credentials = Credentials("the stand-in", TOKEN)
    legacy_credentials = Credentials("the stand-in", KEY, USERNAME)

    def __init__(self) -> None:
        self.requests: list[Recorded] = []
        self.errors: list[Exception] = []  # of this server itself: a test with any is no test
        self._held: dict[str, Held] = {}
        self._faults: dict[str, deque[Fault]] = {}
        self._signatures: set[str] = set()
        self._number = 0
        self._lock = threading.Lock()
        self.pace = 0.0  # seconds that each block takes, always
        routes = [
            # The first as on api.kaggle.com, the second as on other hosts.
            *(Route(prefix + "/{service}/{method}", self._call, methods=["POST"]) for prefix in ("/v1", "/api/v1")),
            Route("/storage/{signature}/{competition}/{name:path}", _Asgi(self._store)),
        ]
        self._app = Starlette(routes=routes)

    def __enter__(self) -> StandIn:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}/api/v1"
        config = uvicorn.Config(
            self._asgi, log_level="critical", interface="asgi3", lifespan="off", timeout_graceful_shutdown=1, ws="none"
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=partial(self._server.run, sockets=[self._socket]), daemon=True)
        self._thread.start()
        while not self._server.started:
            assert self._thread.is_alive()
            time.sleep(0.01)
        return self

    def __exit__(self, *_: object) -> None:
        self._server.should_exit = True
        self._thread.join(30)
        self._socket.close()

    def add(self, competition: str, archive: bytes, **facts: Any) -> Held:
        """Let Kaggle have a competition; what is returned can be changed."""
        self._held[competition] = Held(archive, **facts)
        return self._held[competition]

    def fail(self, where: str, *faults: Fault, times: int = 1) -> None:
        """Answer the next calls of a method such as "DownloadDataFiles", or of "storage", with these faults in turn."""
        self._faults.setdefault(where, deque()).extend(faults * times)

    @property
    def served(self) -> int:
        """The bytes of all downloads."""
        return sum(request.sent for request in self.requests)

    def calls(self, name: str) -> list[Recorded]:
        """The requests of a method, or to "storage"."""
        return [
            r
            for r in self.requests
            if r.path.endswith(f"/{name}") or (r.path.startswith("/storage") and name == "storage")
        ]

    async def _asgi(self, scope: Any, receive: Any, send: Any) -> None:
        """A client that is told to use this server as its proxy asks for whole addresses."""
        path = re.sub(r"^https?://[^/]+", "", scope["path"])
        cycle = getattr(send, "__self__", None)
        scope = {**scope, "path": path, "raw_path": path.encode(), "transport": getattr(cycle, "transport", None)}
        try:
            await self._app(scope, receive, send)
        except Exception as error:
            self.errors.append(error)
            raise

    def _next_fault(self, where: str) -> Fault | None:
        with self._lock:
            waiting = self._faults.get(where)
            return waiting.popleft() if waiting else None

    # --- the API

    async def _call(self, request: Request) -> Response:
        method, body = request.path_params["method"], await request.json()
        recorded = Recorded("POST", request.url.path, dict(request.headers), body)
        self.requests.append(recorded)
        response = self._answer(request, method, body)
        recorded.status = response.status_code
        return response

    def _answer(self, request: Request, method: str, body: dict[str, Any]) -> Response:
        if (fault := self._next_fault(method)) is not None:
            if fault.cut_after is not None:
                request.scope["transport"].abort()
            return _error(fault.status or 500, fault.message, fault.headers, fault.code)
        if request.headers.get("authorization") not in (
            self.credentials.authorization,
            self.legacy_credentials.authorization,
        ):
            return _error(401, "Unauthenticated")
        name = body.get("competitionName") or body.get("competition")
        if name and name not in self._held:
            return _error(404, "Not found")
        answers = {
            "IntrospectToken": self._introspect,
            "GetCompetition": self._competition,
            "ListCompetitions": self._competitions,
            "ListDataFiles": self._files,
            "DownloadDataFiles": self._download,
            "DownloadDataFile": self._download,
            "GetLeaderboard": self._leaderboard,
            "DownloadLeaderboard": self._leaderboard_zip,
            "ListCompetitionPages": self._pages,
            "ListKernels": self._notebooks,
            "GetKernel": self._notebook,
        }
        return answers[method](body) if method in answers else _error(404, "Not found")

    def _introspect(self, body: dict[str, Any]) -> Response:
        active = body["token"] == TOKEN
        return JSONResponse({"active": active, **({"username": USERNAME} if active else {})})

    def _facts(self, name: str) -> dict[str, Any]:
        """Fields that are zero, false or empty are left out."""
        held = self._held[name]
        facts: dict[str, Any] = {
            **{"id": 1, "ref": f"https://www.kaggle.com/competitions/{name}", "title": name.title(), "teamCount": 2000},
            **{"deadline": "2024-01-31T23:59:00Z", "evaluationMetric": "Accuracy"},
            "newEntrantDeadline": "2024-01-24T23:59:00.1234567Z",
        }
        return facts | ({"userHasEntered": True} if held.has_entered else {})

    def _competition(self, body: dict[str, Any]) -> Response:
        return JSONResponse(self._facts(body["competitionName"]))

    def _competitions(self, body: dict[str, Any]) -> Response:
        entered = body.get("group") == "COMPETITION_LIST_TAB_ENTERED"
        names = [
            n for n, held in self._held.items() if body.get("search", "") in n and (held.has_entered or not entered)
        ]
        return _page(body, "competitions", [self._facts(name) for name in names])

    def _files(self, body: dict[str, Any]) -> Response:
        files = self._held[body["competitionName"]].files()
        facts = [
            {"ref": n, "name": n, "totalBytes": len(c), "creationDate": "2022-02-11T21:13:01.123Z"}
            for n, c in files.items()
        ]
        return _page(body, "files", facts)

    def _download(self, body: dict[str, Any]) -> Response:
        competition, file = body["competitionName"], body.get("fileName", "")
        held = self._held[competition]
        if held.is_closed:
            return _error(403, CLOSED)
        if not held.has_entered:
            return _error(403, RULES)
        if file and file not in held.files():
            return _error(404, "Not found")
        self._number += 1
        signature = f"signature{self._number}"
        self._signatures.add(signature)
        # Another host than the API's, so that a client which sends its credentials along is found out.
        address = f"http://localhost:{self.port}/storage/{signature}/{competition}/{file or 'archive.zip'}"
        return Response(status_code=302, headers={"Location": f"{address}?X-Goog-Signature={signature}"})

    def _leaderboard(self, body: dict[str, Any]) -> Response:
        standings = self._held[body["competitionName"]].standings
        rows = [
            {"teamId": n, "teamName": team, "score": score, "submissionDate": "2023-01-01T10:00:00Z"}
            for n, (team, score) in enumerate(standings, 1)
        ]
        return _page(body, "submissions", rows)

    def _leaderboard_zip(self, body: dict[str, Any]) -> Response:
        name = body["competitionName"]
        lines = [f"{n},{n},{team},{score}\n" for n, (team, score) in enumerate(self._held[name].standings, 1)]
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w") as opened:
            opened.writestr(f"{name}.csv", "Rank,TeamId,TeamName,Score\n" + "".join(lines))
        return Response(packed.getvalue(), media_type="application/zip")

    def _pages(self, body: dict[str, Any]) -> Response:
        pages = self._held[body["competitionName"]].pages
        wanted = body.get("pageName")
        shown = [
            {"name": n, "content": c, "mimeType": "text/markdown"} for n, c in pages.items() if wanted in (None, "", n)
        ]
        return JSONResponse({"pages": shown})

    def _notebooks(self, body: dict[str, Any]) -> Response:
        notebooks = self._held[body["competition"]].notebooks
        return _page(body, "kernels", [self._notebook_facts(ref, votes) for votes, ref in enumerate(notebooks)])

    def _notebook_facts(self, ref: str, votes: int = 0) -> dict[str, Any]:
        author, slug = ref.split("/")
        facts: dict[str, Any] = {"ref": ref, "title": slug, "author": author, "slug": slug, "totalVotes": votes}
        return facts | {"language": "Python", "kernelType": "script", "lastRunTime": "2023-01-01T10:00:00.5Z"}

    def _notebook(self, body: dict[str, Any]) -> Response:
        ref = f"{body['userName']}/{body['kernelSlug']}"
        code = next((held.notebooks[ref] for held in self._held.values() if ref in held.notebooks), None)
        if code is None:
            return _error(404, "Not found")
        blob = {"source": code, "language": "python", "kernelType": "script", "slug": body["kernelSlug"]}
        return JSONResponse({"metadata": self._notebook_facts(ref), "blob": blob})

    # --- the storage

    async def _store(self, request: Request, send: Any) -> None:
        recorded = Recorded(request.method, request.url.path, dict(request.headers))
        self.requests.append(recorded)
        fault = self._next_fault("storage") or Fault()
        held = self._held[request.path_params["competition"]]
        if fault.change is not None:
            held.archive, held.changed = fault.change, held.changed + 60
        if fault.is_stale:
            self._signatures.clear()
        refusal = self._storage_refusal(request, fault)
        if refusal is not None:
            recorded.status = refusal.status_code
            await refusal(request.scope, request.receive, send)
            return
        await _Sending(self, request, recorded, fault).send(send)

    def _storage_refusal(self, request: Request, fault: Fault) -> Response | None:
        if fault.status:
            return Response("<Error/>", fault.status, dict(fault.headers), "application/xml")
        if "authorization" in request.headers:
            return Response("<Error><Code>InvalidArgument</Code></Error>", 400, media_type="application/xml")
        if request.path_params["signature"] not in self._signatures:
            return Response("<Error><Code>ExpiredToken</Code></Error>", 403, media_type="application/xml")
        return None

    def content(self, request: Request) -> tuple[Held, bytes]:
        """What is asked for."""
        held = self._held[request.path_params["competition"]]
        name = request.path_params["name"]
        return held, held.archive if name == "archive.zip" else held.files()[name]


class _Asgi:
    """An endpoint that sends its messages itself."""

    def __init__(self, handler: Any) -> None:
        self._handler = handler

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await self._handler(Request(scope, receive), send)


class _Sending:
    """One answer of the storage."""

    def __init__(self, server: StandIn, request: Request, recorded: Recorded, fault: Fault) -> None:
        self._server, self._request, self._recorded, self._fault = server, request, recorded, fault
        self._held, self._content = server.content(request)

    async def send(self, send: Any) -> None:
        status, body, headers = self._range()
        self._recorded.status = status
        if self._fault.wrong_byte and body:
            body = body[:-1] + bytes([body[-1] ^ 1])
        raw = [(name.lower().encode(), value.encode()) for name, value in headers]
        await send({"type": "http.response.start", "status": status, "headers": raw})
        cut = self._fault.cut_after
        block = self._fault.block or BLOCK
        whole = body if cut is None else body[:cut]
        for start in range(0, len(whole), block):
            part = whole[start : start + block]
            self._recorded.sent += len(part)
            await send({"type": "http.response.body", "body": part, "more_body": True})
            await asyncio.sleep(self._fault.pause or self._server.pace)
        if cut is not None and cut < len(body):
            self._request.scope["transport"].close()  # what was written still arrives
            return
        await send({"type": "http.response.body", "body": b""})

    def _range(self) -> tuple[int, bytes, list[tuple[str, str]]]:
        size = len(self._content) + self._fault.longer
        headers = self._headers(size)
        wanted = re.fullmatch(r"bytes=(\d+)-(\d*)", self._request.headers.get("range", ""))
        condition = self._request.headers.get("if-range")
        known = condition is None or condition in (self._etag(), self._date())
        if wanted is None or not known or self._fault.no_ranges:
            body = self._content[:size]
            return 200, body, [*headers, ("Content-Length", str(len(body)))]
        start = int(wanted[1])
        if start >= size or start >= len(self._content):
            return 416, b"", [("Content-Range", f"bytes */{size}"), ("Content-Length", "0")]
        end = min(int(wanted[2] or size) + 1, size)
        body = self._content[start:end]
        shown = f"bytes {start}-{start + len(body) - 1}/{size}"
        return 206, body, [*headers, ("Content-Range", shown), ("Content-Length", str(len(body)))]

    def _etag(self) -> str:
        return f'"{_hashes(self._content)[0].hex()}"'

    def _date(self) -> str:
        return formatdate(self._held.changed, usegmt=True)

    def _headers(self, size: int) -> list[tuple[str, str]]:
        headers = [("Content-Type", "application/zip"), ("Accept-Ranges", "bytes")]
        headers.append(("X-Goog-Stored-Content-Length", str(size)))
        if self._held.tells_etag:
            headers += [("ETag", self._etag()), ("Last-Modified", self._date())]
        if self._held.tells_hashes:
            md5, crc32c = (base64.b64encode(digest).decode() for digest in _hashes(self._content))
            headers += [("X-Goog-Hash", f"crc32c={crc32c}"), ("X-Goog-Hash", f"md5={md5}")]
        return headers


@lru_cache(maxsize=8)
def _hashes(content: bytes) -> tuple[bytes, bytes]:
    """md5 and crc32c."""
    return hashlib.md5(content).digest(), Checksum(content).digest()


def _error(status: int, message: str, headers: Any = None, code: int = 0) -> Response:
    if not message:
        return Response("<html></html>", status, headers, "text/html")
    return JSONResponse({"code": code or status, "message": message}, status, headers)


def _page(body: dict[str, Any], name: str, items: list[Any]) -> Response:
    """One page of a list, as long as asked for (20 if nothing was said)."""
    start, size = int(body.get("pageToken") or 0), int(body.get("pageSize") or 20)
    following = {"nextPageToken": str(start + size)} if start + size < len(items) else {}
    return JSONResponse({name: items[start : start + size], **following})
