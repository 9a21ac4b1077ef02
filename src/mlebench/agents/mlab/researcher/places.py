"""Which files the model may name: those of the working folder, of its link `data`, of its link `submission`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


class PlaceError(Exception):
    """A path that may not be used; the message is for the model."""


@dataclass(frozen=True)
class Places:
    """The three folders, all links resolved."""

    work: Path
    data: Path
    submission: Path

    def readable(self, name: str) -> Path:
        """The path of this name. Raises PlaceError if it leads elsewhere."""
        path = self._resolved(name)
        if not any(path.is_relative_to(folder) for folder in (self.work, self.data, self.submission)):
            raise PlaceError(f"{name!r} is outside the working folder")
        return path

    def writable(self, name: str) -> Path:
        """The path of this name, a file that may be written. Raises PlaceError if it may not."""
        path = self.readable(name)
        if path.is_relative_to(self.data) and not path.is_relative_to(self.work):
            raise PlaceError(f"{name!r} is read-only")
        if path.is_dir():
            raise PlaceError(f"{name!r} is a folder")
        return path

    def file(self, name: str) -> Path:
        """The path of this name, a file that is there. Raises PlaceError if there is none."""
        path = self.readable(name)
        if not path.is_file():  # nor is a pipe or a device, which would never end
            raise PlaceError(f"{name!r} is a folder" if path.is_dir() else f"there is no file {name!r}")
        return path

    def _resolved(self, name: str) -> Path:
        try:
            return (self.work / name.strip()).resolve()
        except (OSError, ValueError, RuntimeError) as error:  # a null byte, a loop of links
            raise PlaceError(f"{name!r} is no path: {error}") from error


def furnish(places: Places) -> None:
    """Make the working folder a task folder: the links `data` and `submission`, and a stub `train.py`.

    What is there already stays.
    """
    for name, target in (("data", places.data), ("submission", places.submission)):
        link = places.work / name
        if not link.exists() and not link.is_symlink():
            link.symlink_to(target)
    stub = places.work / "train.py"
    if not stub.exists():
        stub.write_text('"""Train a model on data/ and write submission/submission.csv."""\n', encoding="utf-8")
