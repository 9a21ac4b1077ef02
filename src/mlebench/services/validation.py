"""The validation service: tells an agent whether its submission is valid. It knows no labels.

It is made from a competition and the folder of its public files, so nothing that it says can give an answer
away. `POST /validate` takes the file as multipart field `file` (or as a raw `text/csv` body) and answers with
JSON, or with the bare message to `Accept: text/plain`; `GET /health` says that it runs. What comes in is the
agent's: uploads are bounded, spooled to disk, and judged one at a time.

`POST /score` takes a file in the same way, where training rows were held back for it; see `mlebench.services.scoring`.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import Message, Receive

from mlebench.competition import Competition
from mlebench.submission import Validation, largest_file

if TYPE_CHECKING:
    from mlebench.services.scoring import Scorer  # which grades, and is not needed to validate

FORM_BYTES = 1 << 20  # of an upload beside the file
MAX_WAITING = 16  # uploads; more are turned away
KINDS_LOGGED = 5
MAX_LOG_BYTES = 32 << 20  # an agent may ask all day


def make_app(
    competition: Competition,
    public: Path,
    log: Path | None = None,
    max_bytes: int | None = None,
    scorer: Scorer | None = None,
    name: str | None = None,
) -> Starlette:
    """The service for one competition whose public files are in `public`.

    Each call appends a line of JSON to `log`: time, bytes, valid, kinds (of the first problems). With a `scorer` there
    are scores on rows held back, too. `name` is what the competition is called here, if not by its id.
    """
    if max_bytes is None:  # more would be invalid, and takes the host's disk
        sample = public / competition.sample_submission_file
        max_bytes = largest_file(sample) + FORM_BYTES if sample.is_file() else FORM_BYTES
    service = _Service(competition, public, log, max_bytes, scorer, name or competition.id)
    return Starlette(
        routes=[
            Route("/validate", service.validate, methods=["POST"]),
            Route("/score", service.score, methods=["POST"]),
            Route("/health", service.health, methods=["GET"]),
        ],
        exception_handlers={HTTPException: _http_error, Exception: _failure},
    )


class _Service:
    def __init__(
        self,
        competition: Competition,
        public: Path,
        log: Path | None,
        max_bytes: int,
        scorer: Scorer | None,
        name: str,
    ) -> None:
        self._competition, self._public, self._log, self._max_bytes = competition, public, log, max_bytes
        self._scorer, self._name = scorer, name
        self._one_at_a_time = asyncio.Lock()
        self._waiting = 0

    async def health(self, request: Request) -> Response:  # noqa: ARG002 - starlette's signature
        """That it runs, and for which competition."""
        return JSONResponse({"status": "running", "competition": self._name})

    async def validate(self, request: Request) -> Response:
        """Judge the file in the request."""
        wanted = request.headers.get("exp-id") or request.headers.get("x-competition-id")
        if wanted not in (None, self._name):
            raise HTTPException(404, f"this service validates {self._name}, not {wanted}")
        async with self._turn(), self._upload(request) as (path, raw):
            result = await run_in_threadpool(self._judge, path)
        if "text/plain" in request.headers.get("accept", ""):
            return PlainTextResponse(result.message())
        if raw:
            return JSONResponse({"valid": result.valid, "message": result.message(), "is_valid": result.valid})
        return JSONResponse({"result": result.message(), "is_valid": result.valid})

    async def score(self, request: Request) -> Response:
        """Score the file in the request on the rows held back."""
        if self._scorer is None:
            raise HTTPException(404, "no training rows were held back, so there are no scores")
        async with self._turn(), self._upload(request) as (path, _):
            answer = await run_in_threadpool(self._scorer.judge, path)
        headers = {"Retry-After": str(answer.wait_seconds)} if answer.wait_seconds else None
        return JSONResponse(answer.content(), answer.status, headers)

    @asynccontextmanager
    async def _turn(self) -> AsyncIterator[None]:
        """Wait until no other upload is received or judged."""
        if self._waiting >= MAX_WAITING:
            raise HTTPException(503, "too many validations at once; try again when one has been answered")
        self._waiting += 1
        try:
            async with self._one_at_a_time:
                yield
        finally:
            self._waiting -= 1

    @asynccontextmanager
    async def _upload(self, request: Request) -> AsyncIterator[tuple[Path, bool]]:
        """The uploaded file in a temporary folder, and whether it came as a raw body."""
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        bounded = Request(request.scope, _bounded(request.receive, self._max_bytes))
        with tempfile.TemporaryDirectory(prefix="mlebench-") as folder:
            path = Path(folder) / "submission.csv"
            if kind == "text/csv":
                with path.open("wb") as file:
                    async for block in bounded.stream():
                        file.write(block)
                yield path, True
                return
            if kind != "multipart/form-data":
                raise HTTPException(400, 'send the submission as multipart field "file", or as a text/csv body')
            async with bounded.form(max_files=1, max_fields=8) as form:
                upload = form.get("file")
                if not isinstance(upload, UploadFile):
                    raise HTTPException(400, 'there is no file in the multipart field "file"')
                await run_in_threadpool(_save, upload, path)
            yield path, False

    def _judge(self, path: Path) -> Validation:
        sample = self._public / self._competition.sample_submission_file
        result = self._competition.validate(path, sample)
        self._record(path.stat().st_size, result)
        return result

    def _record(self, size: int, result: Validation) -> None:
        if self._log is None or (self._log.exists() and self._log.stat().st_size > MAX_LOG_BYTES):
            return
        kinds = list(dict.fromkeys(problem.kind for problem in result.problems))[:KINDS_LOGGED]
        entry = {"time": datetime.now(UTC).isoformat(), "bytes": size, "valid": result.valid, "kinds": kinds}
        with self._log.open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")


def _bounded(receive: Receive, limit: int) -> Receive:
    """`receive`, but a body of more than `limit` bytes is refused as it comes in."""
    seen = 0

    async def count() -> Message:
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        if seen > limit:
            raise HTTPException(413, f"the upload has more than {limit:,} bytes")
        return message

    return count


def _save(upload: UploadFile, path: Path) -> None:
    with path.open("wb") as file:
        while block := upload.file.read(1 << 20):
            file.write(block)


async def _http_error(request: Request, error: Exception) -> Response:  # noqa: ARG001 - starlette's signature
    assert isinstance(error, HTTPException)
    return JSONResponse({"error": error.detail, "details": ""}, error.status_code)


async def _failure(request: Request, error: Exception) -> Response:  # noqa: ARG001 - starlette's signature
    """Our own fault; what failed is named, where is not."""
    return JSONResponse({"error": "the validation failed", "details": type(error).__name__}, 500)
