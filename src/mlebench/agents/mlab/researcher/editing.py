"""Writing files: with a backup of what was there, and the difference as the answer."""

from __future__ import annotations

import difflib
import os
import time
from pathlib import Path

from .answers import first_code_block
from .bench import ActionError, Bench

_EDIT = """\
This is the Python script {name}:

```python
{content}
```

Change it as follows: {instruction}

Answer with the whole new script in one block that begins with ```python. Keep what the change does not concern.
"""
_EDIT_SEGMENT = """\
These are the lines {first} to {last} of the Python script {name}:

```python
{content}
```

Change them as follows: {instruction}

Answer with the new text of these lines, and of no others, in one block that begins with ```python. Keep their \
indentation.
"""


def edit_script(bench: Bench, script_name: str, edit_instruction: str, save_name: str) -> str:
    """Have the edit model rewrite a script; one that isn't there yet starts empty."""
    source = bench.places.readable(script_name)
    old = bench.read(script_name) if source.exists() else ""
    answer = bench.ask_edit(_EDIT.format(name=script_name, content=old, instruction=edit_instruction))
    return _saved_code(bench, script_name, save_name, old, _code(answer))


def edit_script_segment(
    bench: Bench,
    script_name: str,
    start_line_number: str,
    end_line_number: str,
    edit_instruction: str,
    save_name: str,
) -> str:
    """Have the edit model rewrite some lines of a script."""
    old = bench.read(script_name)
    lines = old.splitlines(keepends=True)
    first, last = line_range(start_line_number, end_line_number, len(lines))
    prompt = _EDIT_SEGMENT.format(
        first=first, last=last, name=script_name, content="".join(lines[first - 1 : last]), instruction=edit_instruction
    )
    code = _code(bench.ask_edit(prompt))
    return _saved_code(bench, script_name, save_name, old, "".join([*lines[: first - 1], code, *lines[last:]]))


def write_file(bench: Bench, file_name: str, content: str) -> str:
    """Replace the content of a file."""
    save(bench, file_name, content)
    return f"{file_name} is written."


def append_file(bench: Bench, file_name: str, content: str) -> str:
    """Add to the end of a file."""
    old = bench.read(file_name) if bench.places.readable(file_name).exists() else ""
    save(bench, file_name, old + content)
    return f"The text is appended to {file_name}."


def undo_edit_script(bench: Bench, script_name: str) -> str:
    """Put the latest backup of a script back in its place."""
    path = bench.places.writable(script_name)
    backups = sorted(_backups(bench, path).parent.glob(f"{_escaped(path.name)}_*"))
    if not backups:
        raise ActionError(f"there are no edits of {script_name} to undo")
    backups[-1].replace(path)
    return f"The last edit of {script_name} is undone. Its content now:\n{bench.read(script_name)}"


def save(bench: Bench, name: str, content: str) -> None:
    """Write a file, and keep what was there in the folder `backup`."""
    path = bench.places.writable(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.is_file():
        backup = _backups(bench, path)
        backup.parent.mkdir(parents=True, exist_ok=True)
        stamp = f"{time.strftime('%Y%m%d-%H%M%S')}-{time.time_ns():020d}"
        backup.with_name(f"{path.name}_{stamp}").write_bytes(path.read_bytes())
    draft = path.with_name(f".{path.name}.draft")
    draft.write_text(content, encoding="utf-8")
    draft.replace(path)


def line_range(start: str, end: str, lines: int) -> tuple[int, int]:
    """Two line numbers, both included, within a file of so many lines. Raises ActionError if they make no sense."""
    try:
        first, last = max(1, int(start)), min(int(end), lines)
    except ValueError as error:
        raise ActionError("the line numbers must be whole numbers") from error
    if first > last:
        raise ActionError(f"there are no lines {start} to {end}: the file has {lines} lines")
    return first, last


def _code(answer: str) -> str:
    code = first_code_block(answer)
    if code is None:
        raise ActionError("the edit model gave no block of code, so nothing was changed; word the instruction anew")
    return code


def _saved_code(bench: Bench, script_name: str, save_name: str, old: str, new: str) -> str:
    save(bench, save_name, new)
    changes = difflib.unified_diff(
        old.splitlines(keepends=True), new.splitlines(keepends=True), fromfile=script_name, tofile=save_name
    )
    text = "".join(line if line.endswith("\n") else line + "\n" for line in changes)
    return f"The edited script is saved as {save_name}. The difference:\n\n{text or '(no line changed)'}"


def _backups(bench: Bench, path: Path) -> Path:
    """The name of a file's backups, without the time."""
    inside = path.is_relative_to(bench.places.work)
    folder = bench.places.work if inside else bench.places.submission.parent
    return bench.places.work / "backup" / os.path.relpath(path, folder)


def _escaped(name: str) -> str:
    """A file's name in a pattern."""
    return "".join(f"[{letter}]" if letter in "[*?" else letter for letter in name)
