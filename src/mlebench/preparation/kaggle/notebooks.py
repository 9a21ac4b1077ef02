"""The most voted public notebooks of a competition, kept for the comparison with what agents write.

<data-dir>/<id>/notebooks/<author>__<slug>.ipynb   or .py, .R, .Rmd …, as Kaggle gives them
                         /notebooks.json           every notebook's facts, when it came, and its SHA-256; or why not

It is written after each notebook, so that whatever stops the program, the next call goes on with the next one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mlebench.dataset import Dataset
from mlebench.errors import NotPreparedError
from mlebench.files import write_text
from mlebench.preparation import progress
from mlebench.preparation.kaggle.errors import KaggleError, NotFound, Transient
from mlebench.preparation.kaggle.kept import (
    fetch_each,
    file_name,
    now,
    read_facts,
    read_text,
    sha256,
    writable,
    write_facts,
)

if TYPE_CHECKING:
    from mlebench.preparation.kaggle.client import Client, Notebook, NotebookSource

_SUFFIXES = {"python": ".py", "r": ".R", "rmarkdown": ".Rmd", "julia": ".jl", "sqlite": ".sql"}
_CHUNK = re.compile(r"^```+ *\{[^}\n]*\} *\n(.*?)^```+ *$", re.MULTILINE | re.DOTALL)  # of R Markdown


@dataclass(frozen=True)
class NotebookCode:
    """The code of one notebook: what stands in its code cells, or the whole script."""

    ref: str  # "author/slug"
    title: str
    votes: int
    language: str
    code: str


def notebooks_folder(dataset: Dataset) -> Path:
    """Where the notebooks of a competition are kept."""
    return dataset.home / "notebooks"


def read_record(dataset: Dataset) -> dict[str, Any] | None:
    """What notebooks.json says; None if none were fetched."""
    return read_facts(notebooks_folder(dataset) / "notebooks.json")


def fetch_notebooks(client: Client, dataset: Dataset, top: int, *, force: bool = False) -> dict[str, Any]:
    """Fetch the `top` most voted notebooks that are not there yet (or again, with `force`); what notebooks.json says.

    Those that are private or deleted are noted, and not asked for again unless `force`; what is refused for another
    reason is asked for the next time. Raises a KaggleError if the list can't be had, or a Transient if Kaggle wants a
    rest; what came before stays.
    """
    before = read_record(dataset) or {}
    if _is_whole(before, top) and not force:
        return before
    known = {} if force else {entry["ref"]: entry for entry in before.get("notebooks", ())}
    listed = client.notebooks(dataset.competition.id, limit=top)
    entries = {each.ref: known.get(each.ref) or _facts(each) for each in listed}
    others = {ref: entry for ref, entry in known.items() if "fetched" in entry}  # outvoted since, still of use
    entries |= {ref: entry for ref, entry in others.items() if ref not in entries}
    wanted = [ref for ref, entry in entries.items() if "fetched" not in entry]
    record = _write(dataset, top, entries)
    with progress.step(f"{dataset.competition.id}: fetching notebooks", len(wanted)) as done:
        for ref in wanted:
            entries[ref].pop("refused", None)
            entries[ref] |= _fetched(client, dataset, ref)
            record = _write(dataset, top, entries)
            done()
    return record


def fetch_all_notebooks(
    datasets: Sequence[Dataset], top: int, *, force: bool = False, client: Client | None = None
) -> dict[str, str]:
    """Fetch the notebooks of several competitions; what went wrong, by competition. As `fetch_each`."""
    wanted = [each for each in datasets if force or not _is_whole(read_record(each) or {}, top)]
    return fetch_each(
        "fetching notebooks", wanted, lambda opened, each: fetch_notebooks(opened, each, top, force=force), client
    )


def read_notebooks(dataset: Dataset) -> Iterator[NotebookCode]:
    """The code of each notebook that was fetched, without text cells and outputs.

    Raises NotPreparedError if none were, PreparationError if a file is not as it was then.
    """
    record, name = read_record(dataset), dataset.competition.id
    if record is None:
        raise NotPreparedError(
            f'no notebooks of {name} are in {dataset.data_dir}. "mlebench notebooks {name} --data-dir '
            f'{dataset.data_dir}" fetches them.'
        )
    way_out = f"mlebench notebooks {name} --force"
    for entry in record["notebooks"]:
        if "file" in entry:
            text = read_text(notebooks_folder(dataset) / entry["file"], entry["sha256"], way_out)
            yield NotebookCode(
                entry["ref"], entry["title"], entry["votes"], entry["language"], code_of(text, entry["file"])
            )


def code_of(source: str, name: str) -> str:
    """The code in a notebook of Jupyter or R Markdown, or a script, as `name` ends.

    >>> code_of('{"cells": [{"cell_type": "code", "source": ["a = 1\\\\n", "b = 2"]}]}', "x.ipynb")
    'a = 1\\nb = 2'
    """
    if name.endswith(".ipynb"):
        return "\n\n".join(_code_cells(json.loads(source)))
    if name.endswith(".Rmd"):
        return "\n".join(_CHUNK.findall("\n".join(source.splitlines())))
    return source


def _is_whole(record: Mapping[str, Any], top: int) -> bool:
    """Whether the `top` most voted ones are there, or noted as missing."""
    return record.get("top", 0) >= top and not record.get("to_come", 1)


def _facts(notebook: Notebook) -> dict[str, Any]:
    return {
        "ref": notebook.ref,
        "title": notebook.title,
        "author": notebook.author,
        "votes": notebook.votes,
        "language": notebook.language,
        "kind": notebook.kind,
        "last_run": notebook.last_run.isoformat() if notebook.last_run else None,
    }


def _fetched(client: Client, dataset: Dataset, ref: str) -> dict[str, Any]:
    """Fetch one; what is to be noted of it."""
    try:
        found = client.notebook(ref)
    except Transient:
        raise
    except NotFound:
        return {"fetched": now(), "missing": "it is private or deleted"}
    except KaggleError as error:
        return {"refused": str(error)}
    if not found.source.strip():
        return {"fetched": now(), "missing": "it is empty"}
    text = writable(found.source)
    name = file_name(ref.replace("/", "__")) + _suffix(found)
    write_text(notebooks_folder(dataset) / name, text)
    facts = {"language": found.language or found.notebook.language, "kind": found.kind or found.notebook.kind}
    return {
        **{key: value for key, value in facts.items() if value},
        "fetched": now(),
        "file": name,
        "sha256": sha256(text),
    }


def _write(dataset: Dataset, top: int, entries: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    facts = {
        "source": "kaggle",
        "top": top,
        "to_come": sum("fetched" not in entry for entry in entries.values()),
        "notebooks": list(entries.values()),
    }
    return write_facts(notebooks_folder(dataset) / "notebooks.json", dataset.competition.id, facts)


def _suffix(source: NotebookSource) -> str:
    if _is_jupyter(source.source):
        return ".ipynb"
    return _SUFFIXES.get(source.language.lower().replace(" ", ""), ".txt")


def _is_jupyter(source: str) -> bool:
    if not source.lstrip().startswith("{"):
        return False
    try:
        content = json.loads(source)
    except ValueError:
        return False
    return isinstance(content, dict) and ("cells" in content or "worksheets" in content)


def _code_cells(notebook: Mapping[str, Any]) -> Iterator[str]:
    """The text of each code cell, of all versions of the format."""
    sheets = notebook.get("worksheets") or [notebook]
    for cell in (cell for sheet in sheets for cell in sheet.get("cells") or () if isinstance(cell, dict)):
        source = cell.get("source", cell.get("input")) or ""
        if cell.get("cell_type") == "code":
            yield source if isinstance(source, str) else "".join(source)
