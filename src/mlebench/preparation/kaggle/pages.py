"""The original pages of a competition (description, evaluation, data description, rules …), kept as Kaggle gives them.

<data-dir>/<id>/pages/<name>.md    or .html, .txt
                     /pages.json   when they came; each page's name, file, type and SHA-256
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mlebench.dataset import Dataset
from mlebench.errors import NotPreparedError, PreparationError
from mlebench.files import write_text
from mlebench.preparation.kaggle.errors import NotFound
from mlebench.preparation.kaggle.kept import fetch_each, file_name, read_facts, read_text, sha256, writable, write_facts

if TYPE_CHECKING:
    from mlebench.preparation.kaggle.client import Client

_OF_THE_TASK = ("description", "evaluation", "data-description")  # as the website shows them, the first on top
_REMARK = (
    "Below stand the competition's own pages as they were published. Files, columns and rows here may be others than "
    "they name: then what is found here is right."
)


def pages_folder(dataset: Dataset) -> Path:
    """Where the pages of a competition are kept."""
    return dataset.home / "pages"


def fetch_pages(client: Client, dataset: Dataset, *, force: bool = False) -> dict[str, Any]:
    """Fetch the pages unless they are there (or again, with `force`); what pages.json says of them.

    Raises a KaggleError if Kaggle shows none.
    """
    folder, competition = pages_folder(dataset), dataset.competition.id
    known = read_facts(folder / "pages.json")
    if known is not None and not force:
        return known
    pages = client.pages(competition)
    if not pages:
        raise NotFound(f"{competition}: Kaggle shows no page of this competition")
    entries: list[dict[str, str]] = []
    for page in pages:
        name = _new_name(page.name, [entry["name"] for entry in entries])
        entry = {"name": name, "file": file_name(name) + _suffix(page.mime_type), "type": page.mime_type}
        text = writable(page.content)
        write_text(folder / entry["file"], text)
        entries.append(entry | {"sha256": sha256(text)})
    facts = write_facts(folder / "pages.json", competition, {"source": "kaggle", "pages": entries})
    _remove_others(folder, {"pages.json", *(entry["file"] for entry in entries)})
    return facts


def fetch_all_pages(
    datasets: Sequence[Dataset], *, force: bool = False, client: Client | None = None
) -> dict[str, str]:
    """Fetch the pages of several competitions; what went wrong, by competition. As `fetch_each`."""
    wanted = [each for each in datasets if force or not (pages_folder(each) / "pages.json").is_file()]
    return fetch_each("fetching pages", wanted, lambda opened, each: fetch_pages(opened, each, force=force), client)


def read_pages(dataset: Dataset) -> dict[str, str]:
    """The text of each page by its name, in Kaggle's order.

    Raises NotPreparedError if they were not fetched, PreparationError if a file is not as it was then.
    """
    folder, competition = pages_folder(dataset), dataset.competition.id
    facts = read_facts(folder / "pages.json")
    if facts is None:
        raise NotPreparedError(
            f"the original pages of {competition} are not in {dataset.data_dir}. "
            f'"mlebench prepare -c {competition} --pages --data-dir {dataset.data_dir}" fetches them.'
        )
    way_out = f"remove {folder}, then mlebench prepare -c {competition} --pages"
    return {entry["name"]: read_text(folder / entry["file"], entry["sha256"], way_out) for entry in facts["pages"]}


def original_description(dataset: Dataset) -> str:
    """The task in the competition's own words: its pages of description, evaluation and data under one header.

    Raises what `read_pages` raises, and PreparationError if there is no description among them.
    """
    pages = {_plain(name): text for name, text in read_pages(dataset).items()}
    found = [pages[name] for name in _OF_THE_TASK if pages.get(name)]
    if not pages.get(_OF_THE_TASK[0]):
        listed = ", ".join(pages)
        raise PreparationError(f"{dataset.competition.id}: Kaggle's pages ({listed}) have none named description")
    return "\n\n".join([dataset.competition.heading, _REMARK, *found]) + "\n"


def _new_name(name: str, taken: Sequence[str]) -> str:
    """The name, with a number if there is one that a file system may not tell from it."""
    lower, number = {each.lower() for each in taken}, 2
    while name.lower() in lower:
        name, number = f"{name.rpartition(' ')[0] if number > 2 else name} {number}", number + 1
    return name


def _plain(name: str) -> str:
    """A page's name as it is written in an address.

    >>> _plain("Data Description")
    'data-description'
    """
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def _suffix(mime_type: str) -> str:
    return {"text/html": ".html", "text/plain": ".txt"}.get(mime_type.partition(";")[0].strip().lower(), ".md")


def _remove_others(folder: Path, kept: set[str]) -> None:
    """Remove pages that are no longer there."""
    for path in folder.iterdir():
        if path.name not in kept and not path.name.startswith("."):
            path.unlink()
