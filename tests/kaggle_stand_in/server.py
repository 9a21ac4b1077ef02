"""The server: takes requests, keeps a record of them, and hands them to the API or to the storage."""

from __future__ import annotations

import asyncio
import re
import socket
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from mlebench.preparation.kaggle.credentials import Credentials

from .api import Api, asked_of, error
from .content import Content
from .faults import Fault, RateLimit
from .held import Held
from .storage import Sending

TOKEN, USERNAME, KEY = "stand-in-token", "ann", "stand-in-key"


@dataclass
class Recorded:
    """One request that came in."""

    method: str
    path: str
    headers: dict[str, str]
    body: Any = None
    status: int = 0
    competition: str = ""
    file: str = ""  # of a download of one file
    start: int = 0  # the first byte of a download
    sent: int = 0  # bytes of the body of a download
    of: float = 0.0  # when what was sent had been changed


@dataclass(frozen=True)
class Traffic:
    """The bytes of downloads, counted."""

    served: int
    different: int  # each byte of each file counted once
    requests: int

    @property
    def twice(self) -> int:
        """How many were sent in vain."""
        return self.served - self.different


class StandIn:
    """The server, while its block runs. `requests` grows; `url` is the base of the API."""

    credentials = Credentials("the stand-in", TOKEN)
    legacy_credentials = Credentials("the stand-in", KEY, USERNAME)
    sign_in = Credentials("the stand-in", "stand-in-refresh-token", USERNAME, is_sign_in=True)

    def __init__(self, port: int = 0, on_request: Callable[[Recorded], None] | None = None) -> None:
        self.port = port
        self.requests: list[Recorded] = []
        self.errors: list[Exception] = []  # of this server itself: a test with any is no test
        self.held: dict[str, Held] = {}
        self.pace = 0.0  # seconds that each block takes, always
        self.limit: RateLimit | None = None
        self.has_verified_phone = True
        self.knows_credentials = True
        self.token_lifetime = 43_200  # seconds; of what a sign-in gets
        self.requests_per_address: int | None = None  # then its permission is over
        self._on_request = on_request
        self._faults: dict[str, deque[Fault]] = {}
        self._addresses: dict[str, _Address] = {}
        self._numbers = iter(range(1, 1 << 60))
        self._lock = threading.Lock()
        self._folder = tempfile.TemporaryDirectory(prefix="kaggle-stand-in-")
        self._files: dict[tuple[object, ...], Path] = {}
        self._api = Api(self)
        routes = [
            # The first as on api.kaggle.com, the second as on other hosts.
            *(Route(prefix + "/{service}/{method}", self._call, methods=["POST"]) for prefix in ("/v1", "/api/v1")),
            Route("/storage/{signature}/{competition}/{name:path}", _Asgi(self._store)),
            Route("/report", self._report),
        ]
        self._app = Starlette(routes=routes)

    def __enter__(self) -> StandIn:
        self._socket = socket.create_server(("127.0.0.1", self.port))
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
        self._folder.cleanup()

    @property
    def environment(self) -> dict[str, str]:
        """The variables that lead a program here, with an account."""
        return {"MLEBENCH_KAGGLE_URL": self.url, "KAGGLE_API_TOKEN": self.credentials.secret}

    def add(self, competition: str, archive: bytes | Path, **facts: Any) -> Held:
        """Let Kaggle have a competition; what is returned can be changed."""
        self.held[competition] = Held(archive, **facts)
        return self.held[competition]

    def fail(self, where: str, *faults: Fault, times: int = 1, competition: str = "") -> None:
        """Answer the next calls of a method such as "DownloadDataFiles", or of "storage", with these faults in turn.

        Only those about `competition`, if one is given.
        """
        self._faults.setdefault(f"{where} {competition}", deque()).extend(faults * times)

    def recover(self) -> None:
        """Forget the faults that have not happened yet."""
        self._faults.clear()

    def sign(self, competition: str, file: str) -> str:
        """The signature of a new address of an archive, or of one of its files."""
        signature = f"signature{next(self._numbers)}"
        self._addresses[signature] = _Address(competition, file)
        return signature

    @property
    def served(self) -> int:
        """The bytes of all downloads."""
        return self.traffic().served

    def traffic(self, competition: str = "") -> Traffic:
        """The downloads of a competition, or all."""
        downloads = [r for r in self.calls("storage") if not competition or r.competition == competition]
        ranges: dict[tuple[str, str, float], list[tuple[int, int]]] = {}
        for r in downloads:
            ranges.setdefault((r.competition, r.file, r.of), []).append((r.start, r.start + r.sent))
        return Traffic(sum(r.sent for r in downloads), sum(map(_length, ranges.values())), len(downloads))

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
        except ClientDisconnect:  # a client that was killed while it asked
            return
        except Exception as error:
            self.errors.append(error)
            raise

    def _next_fault(self, where: str, competition: str) -> Fault | None:
        with self._lock:
            for key in (f"{where} {competition}", f"{where} "):
                if self._faults.get(key):
                    return self._faults[key].popleft()
        return None

    def _record(self, recorded: Recorded) -> Recorded:
        self.requests.append(recorded)
        return recorded

    def _told(self, recorded: Recorded) -> None:
        if self._on_request:
            self._on_request(recorded)

    async def _report(self, _: Request) -> Response:
        """For who tries by hand: bytes by competition."""
        return JSONResponse(
            {name: vars(self.traffic(name)) | {"twice": self.traffic(name).twice} for name in self.held}
        )

    # --- the API

    async def _call(self, request: Request) -> Response:
        method, body = request.path_params["method"], await request.json()
        recorded = self._record(Recorded("POST", request.url.path, dict(request.headers), body))
        recorded.competition, recorded.file = asked_of(body), str(body.get("fileName") or "")
        response = await self._answer(request, method, body)
        recorded.status = response.status_code
        self._told(recorded)
        return response

    async def _answer(self, request: Request, method: str, body: dict[str, Any]) -> Response:
        fault = self._next_fault(method, asked_of(body)) or (self.limit and self.limit.refuses())
        if fault:
            await asyncio.sleep(fault.pause)
            if fault.cut_after is not None:
                request.scope["transport"].abort()
            if fault.status or not fault.pause:
                return error(fault.status or 500, fault.message, fault.headers, fault.code)
        if method != "GenerateAccessToken" and not self._is_known(request.headers.get("authorization")):
            return error(401, "Unauthenticated")
        return self._api.answer(method, body)

    def _is_known(self, authorization: str | None) -> bool:
        known = (self.credentials.authorization, self.legacy_credentials.authorization)
        return self.knows_credentials and authorization in known

    # --- the storage

    async def _store(self, request: Request, send: Any) -> None:
        recorded = self._record(Recorded(request.method, request.url.path, dict(request.headers)))
        recorded.competition = request.path_params["competition"]
        fault = self._next_fault("storage", recorded.competition) or Fault()
        held = self.held[recorded.competition]
        if fault.change is not None:
            held.archive, held.changed = fault.change, held.changed + 60
        if fault.is_stale:
            self._addresses.clear()
        address = self._addresses.get(request.path_params["signature"])
        refusal = self._refusal(request, fault, address)
        if refusal is not None or address is None:
            recorded.status = refusal.status_code if refusal else 403
            await (refusal or _expired())(request.scope, request.receive, send)
        else:
            address.used += 1
            recorded.file = address.file
            content = await asyncio.to_thread(self._content, held, address)
            await Sending(held, content, request, recorded, fault).send(send, self.pace)
        self._told(recorded)

    def _refusal(self, request: Request, fault: Fault, address: _Address | None) -> Response | None:
        if fault.status:
            return Response("<Error/>", fault.status, dict(fault.headers), "application/xml")
        if "authorization" in request.headers:
            return Response("<Error><Code>InvalidArgument</Code></Error>", 400, media_type="application/xml")
        uses = self.requests_per_address
        if address is None or (uses is not None and address.used >= uses):
            return _expired()
        return None

    def _content(self, held: Held, address: _Address) -> Content:
        if not address.file:
            return held.content()
        key = (address.file, held.content().known_by, held.is_zipped(address.file))
        with self._lock:
            if key not in self._files:
                path = Path(self._folder.name) / str(len(self._files))
                held.copy_file(address.file, path)
                self._files[key] = path
        return Content(self._files[key])


@dataclass
class _Address:
    """What a signature gives access to."""

    competition: str
    file: str
    used: int = 0


class _Asgi:
    """An endpoint that sends its messages itself."""

    def __init__(self, handler: Any) -> None:
        self._handler = handler

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await self._handler(Request(scope, receive, send), send)


def _expired() -> Response:
    return Response("<Error><Code>ExpiredToken</Code></Error>", 403, media_type="application/xml")


def _length(ranges: list[tuple[int, int]]) -> int:
    """How many numbers are in at least one of the ranges."""
    total = reached = 0
    for start, end in sorted(ranges):
        total += max(0, end - max(start, reached))
        reached = max(reached, end)
    return total
