"""The calls of the API."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from starlette.responses import JSONResponse, Response

from .faults import CLOSED, PHONE, RULES

if TYPE_CHECKING:
    from .held import Held
    from .server import StandIn

WEBSITE = "https://www.kaggle.com"


class Api:
    """What each method answers."""

    def __init__(self, server: StandIn) -> None:
        self._server = server
        self._held: Mapping[str, Held] = server.held
        self._answers = {
            "IntrospectToken": self._introspect,
            "GenerateAccessToken": self._token,
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

    def answer(self, method: str, body: dict[str, Any]) -> Response:
        """The response to a call of somebody who is known."""
        name = asked_of(body)
        if method not in self._answers or (name and name not in self._held):
            return error(404, "Not found")
        if name and self._held[name].is_hidden:
            return error(403, "Forbidden")
        return self._answers[method](body)

    def _introspect(self, body: dict[str, Any]) -> Response:
        active = body["token"] == self._server.credentials.secret
        name = self._server.legacy_credentials.username
        return JSONResponse({"active": active, **({"username": name} if active else {})})

    def _token(self, body: dict[str, Any]) -> Response:
        if body["refreshToken"] != self._server.sign_in.secret:
            return error(401, "Unauthenticated")
        return JSONResponse({"token": self._server.credentials.secret, "expiresIn": self._server.token_lifetime})

    def _facts(self, name: str) -> dict[str, Any]:
        """Fields that are zero, false or empty are left out."""
        facts: dict[str, Any] = {
            **{"id": 1, "ref": f"{WEBSITE}/competitions/{name}", "title": name.title(), "teamCount": 2000},
            **{"deadline": "2024-01-31T23:59:00Z", "evaluationMetric": "Accuracy"},
            "newEntrantDeadline": "2024-01-24T23:59:00.1234567Z",
        }
        return facts | ({"userHasEntered": True} if self._held[name].has_entered else {})

    def _competition(self, body: dict[str, Any]) -> Response:
        return JSONResponse(self._facts(body["competitionName"]))

    def _competitions(self, body: dict[str, Any]) -> Response:
        entered = body.get("group") == "COMPETITION_LIST_TAB_ENTERED"
        names = [
            n for n, held in self._held.items() if body.get("search", "") in n and (held.has_entered or not entered)
        ]
        return page(body, "competitions", [self._facts(name) for name in names])

    def _files(self, body: dict[str, Any]) -> Response:
        sizes = self._held[body["competitionName"]].sizes()
        facts = [
            {"ref": n, "name": n, "totalBytes": size, "creationDate": "2022-02-11T21:13:01.123Z"}
            for n, size in sizes.items()
        ]
        return page(body, "files", facts)

    def _download(self, body: dict[str, Any]) -> Response:
        competition, file = body["competitionName"], body.get("fileName", "")
        held = self._held[competition]
        if not self._server.has_verified_phone:
            return error(403, PHONE)
        if held.is_closed:
            return error(403, CLOSED)
        if not held.has_entered:
            return error(403, RULES)
        if file and file not in held.sizes():
            return error(404, "Not found")
        name = file + ".zip" * held.is_zipped(file) if file else "archive.zip"
        signature = self._server.sign(competition, file)
        # Another host than the API's, so that a client which sends its credentials along is found out.
        address = f"http://localhost:{self._server.port}/storage/{signature}/{competition}/{quote(name)}"
        return Response(status_code=302, headers={"Location": f"{address}?X-Goog-Signature={signature}"})

    def _leaderboard(self, body: dict[str, Any]) -> Response:
        standings = self._held[body["competitionName"]].board(public=bool(body.get("overridePublic")))
        rows = [
            {"teamId": n, "teamName": team, "score": score, "submissionDate": "2023-01-01T10:00:00Z"}
            for n, (team, score) in enumerate(standings, 1)
        ]
        return page(body, "submissions", rows)

    def _leaderboard_zip(self, body: dict[str, Any]) -> Response:
        name = body["competitionName"]
        return Response(self._held[name].board_zip(name), media_type="application/zip")

    def _pages(self, body: dict[str, Any]) -> Response:
        held = self._held[body["competitionName"]]
        wanted = body.get("pageName")
        shown = [
            {"name": n, "content": c, "mimeType": held.page_types.get(n, "text/markdown")}
            for n, c in held.pages.items()
            if wanted in (None, "", n)
        ]
        return JSONResponse({"pages": shown})

    def _notebooks(self, body: dict[str, Any]) -> Response:
        held = self._held[body["competition"]]
        facts = [
            _notebook_facts(ref, votes) | held.notebook_facts.get(ref, {}) for votes, ref in enumerate(held.notebooks)
        ]
        return page(body, "kernels", facts)

    def _notebook(self, body: dict[str, Any]) -> Response:
        ref = f"{body['userName']}/{body['kernelSlug']}"
        held = next((held for held in self._held.values() if ref in held.notebooks), None)
        if held is None or ref in held.withheld:
            return error(held.withheld[ref] if held else 404, "Not found")
        facts = _notebook_facts(ref) | held.notebook_facts.get(ref, {})
        blob = {
            **{"source": held.notebooks[ref], "slug": body["kernelSlug"]},
            **{"language": facts["language"].lower(), "kernelType": facts["kernelType"]},
        }
        return JSONResponse({"metadata": facts, "blob": blob})


def asked_of(body: Mapping[str, Any]) -> str:
    """The competition that a call is about; empty if it is about none."""
    return str(body.get("competitionName") or body.get("competition") or "")


def error(status: int, message: str, headers: Mapping[str, str] | None = None, code: int = 0) -> Response:
    """A refusal; without a message it is no JSON."""
    if not message:
        return Response("<html></html>", status, headers, "text/html")
    return JSONResponse({"code": code or status, "message": message}, status, headers)


def page(body: Mapping[str, Any], name: str, items: list[Any]) -> Response:
    """One page of a list, as long as asked for (20 if nothing was said)."""
    start, size = int(body.get("pageToken") or 0), int(body.get("pageSize") or 20)
    following = {"nextPageToken": str(start + size)} if start + size < len(items) else {}
    return JSONResponse({name: items[start : start + size], **following})


def _notebook_facts(ref: str, votes: int = 0) -> dict[str, Any]:
    author, slug = ref.split("/")
    facts: dict[str, Any] = {"ref": ref, "title": slug, "author": author, "slug": slug, "totalVotes": votes}
    return facts | {"language": "Python", "kernelType": "script", "lastRunTime": "2023-01-01T10:00:00.5Z"}
