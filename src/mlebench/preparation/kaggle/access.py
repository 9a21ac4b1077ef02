"""Whether Kaggle gives the user a competition's data, and a memory of where it did."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

from mlebench.files import write_json
from mlebench.preparation.kaggle.errors import (
    BY_HAND,
    KaggleError,
    NotFound,
    NotJoinable,
    PhoneNotVerified,
    RulesNotAccepted,
    which_tab,
)

State = Literal["open", "rules", "phone", "closed", "missing", "unknown"]
"""open: the data can be downloaded. rules: they are not accepted. phone: the account's number is not verified. closed:
Kaggle refuses whatever is accepted. missing: Kaggle has no such competition. unknown: it could not be asked."""

REMEMBERED = timedelta(days=30)

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


def refused(competition: str, error: KaggleError) -> Access:
    """By the first kind of error that fits."""
    _, state, advice = next(row for row in _STATES if isinstance(error, row[0]))
    if state == "rules":
        advice += which_tab(competition)
    return Access(competition, state, error.page, error.reason.removeprefix(f"{competition}: "), advice)


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
