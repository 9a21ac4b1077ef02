"""The file that each node wrote, and which of them is handed in."""

from __future__ import annotations

import itertools
import json
import shutil
import urllib.request
import uuid
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Submissions:
    """Keeps the submission of every node under its id, and one of them where it counts."""

    written: Path  # where a node's program leaves its file
    kept: Path  # the folder of all that were written
    handed_in: Path  # the file that counts
    keep_bytes: float
    validation_url: str = ""
    valid: dict[str, bool | None] = field(default_factory=dict)  # by node, oldest first; None: not known
    in_place: str | None = None  # the node whose file is handed in
    _seen: tuple[int, ...] | None = None  # what the file that counts looked like when it was last ours

    def clear(self) -> None:
        """Before a program runs: nothing of the one before may look like its own."""
        _remove(self.written)
        self._seen = _look(self.handed_in)

    def keep(self, node: str) -> str:
        """After a program ran: its file is the node's. What is wrong with it as a text, empty if nothing is.

        A program that overwrote the file that counts instead of writing its own has written that.
        """
        overwritten = _look(self.handed_in) != self._seen
        source = next(
            (path for path in (self.written, self.handed_in if overwritten else None) if _is_file(path)), None
        )
        if source is None:
            self._restore(overwritten)
            return "The program wrote no ./working/submission.csv."
        _copy(source, self._path(node))
        self.valid[node], problem = _validate(self._path(node), self.validation_url)
        self._restore(overwritten)
        self._forget(node)
        return problem

    def hand_in(self, best: str | None) -> str | None:
        """Put the file of the node `best` in place; without one the latest file, a valid one if possible.

        Returns the node, None if nothing was ever written.
        """
        if best is None and self.valid:
            valid = [node for node in self.valid if self.valid[node] is not False]
            best = (valid or list(self.valid))[-1]
        if best is not None and (best != self.in_place or _look(self.handed_in) != self._seen):
            _copy(self._path(best), self.handed_in)
            self.in_place, self._seen = best, _look(self.handed_in)
        return best

    def restore(self) -> None:
        """Put back what a program may have overwritten; before any node ended, take what its program has written."""
        if self.in_place is not None:
            self._restore(_look(self.handed_in) != self._seen)
        elif _is_file(self.written):
            _copy(self.written, self.handed_in)

    def _path(self, node: str) -> Path:
        return self.kept / f"{node}.csv"

    def _restore(self, overwritten: bool) -> None:
        if overwritten and self.in_place is not None:
            _copy(self._path(self.in_place), self.handed_in)
        self._seen = _look(self.handed_in)

    def _forget(self, latest: str) -> None:
        """Remove the oldest files when all together take too much room, but neither the one in place nor the latest."""
        sizes = {node: self._path(node).stat().st_size for node in self.valid}
        excess = sum(sizes.values()) - self.keep_bytes
        for node in [node for node in sizes if node not in (latest, self.in_place)]:
            if excess <= 0:
                return
            _remove(self._path(node))
            del self.valid[node]
            excess -= sizes[node]


_COUNTER = itertools.count()


def _copy(source: Path, target: Path) -> None:
    """Copy a file so that nobody ever sees half of it; safe also when a signal interrupts another copy."""
    target.parent.mkdir(parents=True, exist_ok=True)
    if target.is_dir():
        _remove(target)
    temporary = target.parent / f".{target.name}.{next(_COUNTER)}"
    try:
        shutil.copyfile(source, temporary)
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _is_file(path: Path | None) -> bool:
    return path is not None and path.is_file()


def _look(path: Path) -> tuple[int, ...] | None:
    """What changes when a file is written or replaced; None if there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size


def _validate(path: Path, url: str) -> tuple[bool | None, str]:
    """What the validation service says: whether it is valid (None if it can't say), and the problems."""
    if not url:
        return None, ""
    border = uuid.uuid4().hex
    head = f'--{border}\r\nContent-Disposition: form-data; name="file"; filename="submission.csv"\r\n\r\n'
    body = head.encode() + path.read_bytes() + f"\r\n--{border}--\r\n".encode()
    request = urllib.request.Request(url, body, {"Content-Type": f"multipart/form-data; boundary={border}"})
    try:
        with urllib.request.urlopen(request, timeout=600) as response:
            answer = json.load(response)
        return (True, "") if answer["is_valid"] else (False, str(answer["result"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None, ""
