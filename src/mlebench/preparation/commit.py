"""The last step of a preparation: what was made is moved into place, and what is not kept goes.

That takes several renames, and a process may be killed between any two. So what is to be done is written down first,
in `.finishing.json`; each step can be done again without harm, and the next call does what is left. Until the file
is there, nothing of the old is touched; from then on the new is whole.
"""

from __future__ import annotations

import ctypes
import json
import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from mlebench.files import write_json
from mlebench.preparation.layout import FETCHING, LOCK, ORIGIN, PLAN, RAW_RECORD, SCRATCH, WORK


@dataclass(frozen=True)
class Plan:
    """What is left to do in a competition's folder; all paths are relative to it."""

    made: str  # the folder of prepared files
    target: str  # where it belongs
    raw: str  # the raw files that are kept; "" if none are
    discards: bool  # whether the download goes
    raw_record: str = ""  # the file that says what these raw files are


def commit(home: Path, plan: Plan, discard: Callable[[], object]) -> None:
    """Carry out the plan; `discard` removes the download. The made files are on disk before anything is moved."""
    _flush(home)  # a crash of the machine must not leave names without contents behind
    write_json(home / PLAN, asdict(plan))
    _carry_out(home, plan, discard)


def _flush(folder: Path) -> None:
    """Wait until all that was written to the file system of `folder` is on disk; to no other's, which may be slow."""
    syncfs = getattr(ctypes.CDLL(None), "syncfs", None)  # not on macOS
    if syncfs is None:
        os.sync()
        return
    opened = os.open(folder, os.O_RDONLY)
    try:
        if syncfs(opened):
            os.sync()
    finally:
        os.close(opened)


def recover(home: Path, discard: Callable[[], object]) -> None:
    """Do what a killed call has left to do, and clear away what it left; only for who holds the lock.

    Raw files of an interrupted fetch stay: they are gone on with.
    """
    with suppress(FileNotFoundError):
        _carry_out(home, _read(home), discard)
    _clear_work(home)


def has_leftovers(home: Path) -> bool:
    """Whether there is something for `recover` to do; also while another process prepares."""
    return (home / PLAN).exists() or (home / LOCK).exists() or any(_leftovers(home))


def _read(home: Path) -> Plan:
    return Plan(**json.loads((home / PLAN).read_text(encoding="utf-8")))


def _carry_out(home: Path, plan: Plan, discard: Callable[[], object]) -> None:
    _move(home / plan.made, home / plan.target)
    if plan.raw:
        _keep_raw(home, plan)
    throw_away_fetched(home)
    _clear_work(home)
    if plan.discards:
        discard()
    (home / PLAN).unlink()


def _keep_raw(home: Path, plan: Plan) -> None:
    """There is never a record beside other raw files than those that it is of."""
    if (home / plan.raw).is_dir():
        (home / RAW_RECORD).unlink(missing_ok=True)  # of those that were kept before
        shutil.rmtree(home / plan.raw / SCRATCH, ignore_errors=True)
        _move(home / plan.raw, home / "raw")
    if plan.raw_record and (home / plan.raw_record).is_file():
        (home / plan.raw_record).replace(home / RAW_RECORD)


def _move(made: Path, target: Path) -> None:
    """Put a folder in the place of another; nothing if that has happened."""
    if not made.is_dir():
        return
    if target.is_symlink():
        target.unlink()
    elif target.exists():
        target.rename(made.with_name(f"{WORK}replaced-{target.name}-{os.getpid()}"))
    made.rename(target)


def throw_away_fetched(home: Path) -> None:
    """Remove the raw files of an interrupted fetch; what says that they can be gone on with goes first."""
    (home / ORIGIN).unlink(missing_ok=True)
    remove(home / FETCHING)


def remove(folder: Path) -> None:
    """Remove a folder; files behind links stay."""
    shutil.rmtree(folder, ignore_errors=True)


def _clear_work(home: Path) -> None:
    for leftover in _leftovers(home):
        if leftover.is_dir():
            remove(leftover)
        else:
            leftover.unlink(missing_ok=True)


def _leftovers(home: Path) -> list[Path]:
    """Folders in which killed calls worked, and files that they were writing to be renamed."""
    patterns = (f"{WORK}*", *(f".{name}.*" for name in (PLAN, ORIGIN, RAW_RECORD)))
    return [path for pattern in patterns for path in home.glob(pattern)]
