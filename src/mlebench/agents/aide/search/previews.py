"""What the model is told about the data, bounded.

The tool reads every table whole and lists every folder: with gigabytes, a hundred thousand files, or a table that
isn't one, its first step takes hours, fills the model's context, or fails. Small, clean data give its own text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

LARGE_BYTES = 100_000_000  # tables above are not read whole
FILES_PER_FOLDER = 8  # as many as the tool's own tree shows
FILES = 60
CHARACTERS = 20_000


def bound(previews: ModuleType) -> None:
    """Put bounded functions into the tool's module `aide.utils.data_preview`."""
    previews._walk = _walk  # type: ignore[attr-defined]
    previews.get_file_len_size = _length  # type: ignore[attr-defined]
    previews.preview_csv = _guarded(previews.preview_csv, _large_table)  # type: ignore[attr-defined]
    previews.preview_json = _guarded(previews.preview_json, _large_file)  # type: ignore[attr-defined]


def text(previews: ModuleType, workspace: Path) -> str:
    """The preview of a workspace; without details if they can't be had."""
    try:
        found = previews.generate(workspace)
    except Exception as error:  # whatever is wrong with the data, the model can find out by its programs
        print(f"The data can't be previewed: {type(error).__name__}: {error}", flush=True)
        names = sorted(path.name for path in (workspace / "input").iterdir())
        found = "\n".join(f"input/{name}" for name in names[:100])
    if len(found) <= CHARACTERS:
        return found
    return f"{found[:CHARACTERS]}\n... ({len(found) - CHARACTERS} more characters)"


def _walk(folder: Path, left: list[int] | None = None) -> Iterator[Path]:
    """The first files of each folder, until there are enough; the description is told anyway."""
    left = [FILES] if left is None else left
    shown = 0
    for path in sorted(Path(folder).iterdir()):
        if left[0] <= 0:
            return
        if path.is_dir():
            yield from _walk(path, left)
        elif path.name != "description.md" and shown < FILES_PER_FOLDER:
            shown += 1
            left[0] -= 1
            yield path


def _length(path: Path) -> tuple[int, str]:
    """Number of lines of a text, else of bytes, and that in words."""
    import humanize  # pyright: ignore[reportMissingImports]
    from aide.utils.data_preview import plaintext_files  # pyright: ignore[reportMissingImports]

    size = path.stat().st_size
    if path.suffix not in plaintext_files:
        return size, humanize.naturalsize(size)
    lines = _lines(path)
    return lines, f"{lines} lines"


def _lines(path: Path) -> int:
    with path.open("rb") as file:
        return sum(1 for _ in file)


Preview = Callable[..., str]


def _guarded(preview: Preview, large: Callable[[Path, str], str]) -> Preview:
    """`preview` for files that are neither large nor broken."""

    def guarded(path: Path, name: str, **options: bool) -> str:
        try:
            return large(path, name) if path.stat().st_size > LARGE_BYTES else preview(path, name, **options)
        except Exception as error:
            return f"-> {name} can't be previewed: {type(error).__name__}"

    return guarded


def _large_table(path: Path, name: str) -> str:
    import pandas as pd

    columns = [str(column) for column in pd.read_csv(path, nrows=0).columns]
    more = f" and {len(columns) - 15} more" if len(columns) > 15 else ""
    return f"-> {name} has {_lines(path)} lines. The columns are: {', '.join(columns[:15])}{more}"


def _large_file(_path: Path, name: str) -> str:
    return f"-> {name} is too large for a preview."
