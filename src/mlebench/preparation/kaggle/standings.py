"""The rows of a leaderboard, from a zip with a CSV file whose columns nobody promised, or from the API's list."""

from __future__ import annotations

import csv
import io
import re
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mlebench.preparation.kaggle.errors import KaggleError
from mlebench.preparation.kaggle.kept import writable
from mlebench.preparation.kaggle.numerals import numbers

if TYPE_CHECKING:
    from mlebench.preparation.kaggle.client import Standing

MAX_BYTES = 200 << 20  # of a CSV file; 10,000 teams take one
# By what a column is known, letters and digits only; the first that is there counts.
_SCORE = ("privatescore", "score", "scorenullable", "bestscore")
_TEAM_ID = ("teamid",)
_TEAM = ("teamname", "team")
_SUBMITTED = ("lastsubmissiondate", "submissiondate", "lastsubmission")


class NotUnderstood(KaggleError):
    """What Kaggle sent is no leaderboard as far as this program can tell."""


@dataclass(frozen=True)
class Team:
    """A team with its score; None if it has none."""

    id: str
    name: str
    score: float | None
    submitted: str


def teams_of_zip(content: bytes) -> list[Team]:
    """The teams in a zip with one CSV file. Raises NotUnderstood."""
    return teams_of_csv(_only_table(content))


def teams_of_csv(text: str) -> list[Team]:
    """The teams in a CSV file with a header, in any order. Raises NotUnderstood."""
    header = text.partition("\n")[0]
    delimiter = max(",;\t", key=header.count)
    try:
        lines = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))
    except csv.Error as error:
        raise NotUnderstood(f"its CSV file can't be read ({error})") from error
    if not lines:
        raise NotUnderstood("its CSV file is empty")
    names, rows = lines[0], [line for line in lines[1:] if line]
    places = {re.sub(r"[^a-z0-9]", "", name.lower()): place for place, name in reversed(list(enumerate(names)))}
    if _find(places, _SCORE) is None:
        raise NotUnderstood(f"it has no column for scores; its columns are {', '.join(map(repr, names[:20]))}")
    if odd := next((n for n, row in enumerate(rows, 2) if len(row) != len(names)), None):
        raise NotUnderstood(f"line {odd} of its CSV file does not have {len(names)} cells")
    return _teams(*(_cells(rows, _find(places, known)) for known in (_TEAM_ID, _TEAM, _SCORE, _SUBMITTED)))


def teams_of_list(standings: Iterable[Standing]) -> list[Team]:
    """The teams of the API's list. Raises NotUnderstood."""
    rows = [
        (str(each.team_id), each.team, each.score, each.submitted.isoformat() if each.submitted else "")
        for each in standings
    ]
    return _teams(*zip(*rows, strict=True)) if rows else []


def _teams(ids: Sequence[str], names: Sequence[str], scores: Sequence[str], submitted: Sequence[str]) -> list[Team]:
    try:
        values = numbers(scores)
    except ValueError as error:
        raise NotUnderstood(f"a score of it can't be understood: {error}") from error
    repeated, count = next(iter(Counter(filter(None, ids)).most_common(1)), ("", 1))
    if count > 1:
        raise NotUnderstood(
            f"it has {count} rows for the team {repeated}, so it is a list of submissions and no final ranking"
        )
    return [
        Team(team_id, writable(name), score, date)
        for team_id, name, score, date in zip(ids, names, values, submitted, strict=True)
    ]


def _find(places: Mapping[str, int], known: Sequence[str]) -> int | None:
    return next((places[name] for name in known if name in places), None)


def _cells(rows: Sequence[Sequence[str]], place: int | None) -> list[str]:
    return ["" if place is None else row[place] for row in rows]


def _only_table(content: bytes) -> str:
    """The text of the one CSV file in a zip, or of the private leaderboard's if there are more."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            tables = [member for member in archive.infolist() if member.filename.lower().endswith(".csv")]
            private = [member for member in tables if "private" in member.filename.lower()]
            chosen = tables if len(tables) == 1 else private
            if len(chosen) != 1:
                listed = ", ".join(archive.namelist()[:5]) or "nothing"
                raise NotUnderstood(f"its zip should hold one CSV file and holds {listed}")
            if chosen[0].file_size > MAX_BYTES:
                raise NotUnderstood(f"its CSV file would have {chosen[0].file_size:,} bytes")
            return archive.read(chosen[0]).decode("utf-8-sig")
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, RuntimeError) as error:
        raise NotUnderstood(f"it is no zip archive that can be read ({error})") from error
    except UnicodeDecodeError as error:
        raise NotUnderstood(f"its CSV file is not written in UTF-8 ({error})") from error
