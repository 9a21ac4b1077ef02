"""What leaderboards, pages and notebooks have in common: they are fetched once and kept beside the data.

Each lies in the competition's folder of the data directory, outside of what is prepared (so that no agent ever sees
it), as plain files and one JSON file of facts about them: when they came, from where, their hashes. The facts are
written last and replaced as a whole.
"""

from __future__ import annotations

import hashlib
import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from mlebench import __version__
from mlebench.errors import PreparationError
from mlebench.files import write_json

_LONGEST = 150  # bytes; file systems take 255


def write_facts(path: Path, competition: str, facts: dict[str, Any]) -> dict[str, Any]:
    """Write `facts` with competition, time and version before them; returns what was written."""
    whole = {"competition": competition, "fetched": now(), "mlebench": __version__, **facts}
    write_json(path, whole)
    return whole


def read_facts(path: Path) -> dict[str, Any] | None:
    """The facts in a file; None if there is none. Raises PreparationError that names the file if it is broken."""
    try:
        facts = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise PreparationError(f"{path} is broken ({error}); remove it and fetch again") from error
    if not isinstance(facts, dict):
        raise PreparationError(f"{path} is broken (it holds no object); remove it and fetch again")
    return facts


def now() -> str:
    """The time in UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def sha256(text: str) -> str:
    """Of a text as it is written, in hexadecimal digits."""
    return hashlib.sha256(text.encode()).hexdigest()


def file_name(text: str) -> str:
    """A name that any file system takes, the same for the same text; letters, digits, "_", "-" and "." stay.

    >>> file_name("data-description"), file_name("../Réglement?")
    ('data-description', '_R_glement_-3f4ad1')
    """
    name = re.sub(r"[^A-Za-z0-9_.-]+", "_", text).lstrip(".")[:_LONGEST]
    return name if name == text else f"{name}-{sha256(text)[:6]}"


def writable(text: str) -> str:
    """The text without the half characters that JSON can hold and UTF-8 can't."""
    return text.encode("utf-8", "replace").decode()
