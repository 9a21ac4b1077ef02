"""What leaderboards, pages and notebooks have in common: they are fetched once and kept beside the data.

Each lies in the competition's folder of the data directory, outside of what is prepared (so that no agent ever sees
it), as plain files and one JSON file of facts about them: when they came, from where, their hashes. The facts are
written last and replaced as a whole.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mlebench import __version__
from mlebench.dataset import Dataset
from mlebench.errors import PreparationError
from mlebench.files import write_json
from mlebench.preparation import progress
from mlebench.preparation.kaggle.errors import KaggleError, Transient

if TYPE_CHECKING:
    from mlebench.preparation.kaggle.client import Client

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


def fetch_each(
    text: str, datasets: Sequence[Dataset], fetch: Callable[[Client, Dataset], object], client: Client | None = None
) -> dict[str, str]:
    """Fetch something for each competition; what went wrong, by competition. `text` is shown meanwhile.

    Stops where Kaggle can't be reached or wants a rest: all others are problems then, too. Without a client, one with
    the credentials of the environment is used. Raises UsageError if there are none, or Kaggle does not take them.
    """
    from mlebench.preparation.kaggle.client import Client

    problems: dict[str, str] = {}
    if not datasets:
        return problems
    with ExitStack() as stack, progress.step(text, len(datasets), "competitions") as done:
        client = client or stack.enter_context(Client())
        for place, dataset in enumerate(datasets):
            try:
                fetch(client, dataset)
            except Transient as error:
                rest = [each.competition.id for each in datasets[place:]]
                return problems | dict.fromkeys(rest, f"not fetched: {error}")
            except KaggleError as error:
                problems[dataset.competition.id] = f"not fetched: {error}"
            done()
    return problems


def read_text(path: Path, digest: str, way_out: str) -> str:
    """A text that was kept. Raises PreparationError with `way_out`, a command, if its SHA-256 is not `digest`."""
    text = path.read_bytes().decode("utf-8", "replace") if path.is_file() else ""
    if sha256(text) != digest:
        raise PreparationError(f"{path} is not as it was fetched; {way_out} fetches it again")
    return text


def now() -> str:
    """The time in UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def sha256(text: str) -> str:
    """Of a text as it is written, in hexadecimal digits."""
    return hashlib.sha256(text.encode()).hexdigest()


def file_name(text: str) -> str:
    """A name that any file system takes, the same for the same text; letters, digits, "_", "-" and "." stay.

    >>> file_name("data-description"), file_name("../Réglement?")
    ('data-description', '_R_glement_-516d81')
    """
    name = re.sub(r"[^A-Za-z0-9_.-]+", "_", text).lstrip(".")[:_LONGEST]
    return name if name == text else f"{name}-{sha256(text)[:6]}"


def writable(text: str) -> str:
    """The text without the half characters that JSON can hold and UTF-8 can't.

    >>> writable("a\\ud800é")
    'a?é'
    """
    return text.encode("utf-8", "replace").decode()
