"""What Kaggle has of a competition, and whom it gives it to."""

from __future__ import annotations

import csv
import io
import shutil
import zipfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .content import Content

COLUMNS = ("Rank", "TeamId", "TeamName", "LastSubmissionDate", "Score", "SubmissionCount", "TeamMemberUserNames")
SUBMITTED = "2023-01-01 10:00:00"


@dataclass
class Held:
    """One competition; every field may be changed while the server runs."""

    archive: bytes | Path
    changed: float = 1_445_412_480.0
    has_entered: bool = True
    consent: str = "rules"  # the page of the website on which this is done: "rules" or "data"; the API says nothing
    is_closed: bool = False
    is_hidden: bool = False  # from this user: every call is refused
    tells_hashes: bool = True
    tells_etag: bool = True
    zips_files: bool | frozenset[str] = False  # single files are sent zipped: all of them, or these
    pages: dict[str, str] = field(default_factory=dict)
    standings: list[tuple[str, str]] = field(default_factory=list)  # team, score: private ones
    public_standings: list[tuple[str, str]] | None = None  # None: as the private ones
    board_columns: tuple[str, ...] = COLUMNS  # of the zip of a leaderboard
    board_archive: bytes | None = None  # is sent as it is, in place of that zip
    zips_public_board: bool = False  # the zip holds the public leaderboard
    page_types: dict[str, str] = field(default_factory=dict)  # of pages that are no Markdown
    notebooks: dict[str, str] = field(default_factory=dict)  # author/slug: code, the most voted first
    notebook_facts: dict[str, dict[str, Any]] = field(default_factory=dict)  # fields that are not as usual
    withheld: dict[str, int] = field(default_factory=dict)  # notebooks that are listed, but answered with this status

    def content(self) -> Content:
        """The archive."""
        return Content(self.archive)

    def sizes(self) -> dict[str, int]:
        """The files, with their sizes before packing."""
        return self.content().members()

    def is_zipped(self, name: str) -> bool:
        """Whether this file is sent as a zip with itself in it."""
        return self.zips_files if isinstance(self.zips_files, bool) else name in self.zips_files

    def copy_file(self, name: str, target: Path) -> None:
        """Write a file as it is sent, zipped or not."""
        with self.content().open() as opened, zipfile.ZipFile(opened) as archive, archive.open(name) as member:
            if not self.is_zipped(name):
                with target.open("wb") as file:
                    shutil.copyfileobj(member, file)
                return
            facts = zipfile.ZipInfo(name.rpartition("/")[2], (2022, 2, 11, 21, 13, 0))
            facts.compress_type = zipfile.ZIP_DEFLATED
            with zipfile.ZipFile(target, "w") as packed, packed.open(facts, "w", force_zip64=True) as file:
                shutil.copyfileobj(member, file)

    def board(self, *, public: bool) -> list[tuple[str, str]]:
        """Teams and scores, the best first."""
        return self.public_standings if public and self.public_standings is not None else self.standings

    def board_zip(self, name: str) -> bytes:
        """The leaderboard as a zip with one CSV file."""
        if self.board_archive is not None:
            return self.board_archive
        lines = io.StringIO()
        writer = csv.writer(lines, lineterminator="\n")
        writer.writerow(self.board_columns)
        for rank, (team, score) in enumerate(self.board(public=self.zips_public_board), 1):
            facts = {
                **{"Rank": rank, "TeamId": rank, "TeamName": team, "LastSubmissionDate": SUBMITTED, "Score": score},
                **{
                    "SubmissionCount": 1 + rank % 9,
                    "TeamMemberUserNames": f"member{rank}",
                    "SubmissionDate": SUBMITTED,
                },
            }
            writer.writerow([facts[column] for column in self.board_columns])
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as opened:
            opened.writestr(f"{name}.csv", lines.getvalue())
        return packed.getvalue()
