"""Takes the submission out of a folder that an agent has written, without trusting it."""

from __future__ import annotations

import os
import stat
from pathlib import Path

MAX_BYTES = 16 << 30


def collect_submission(folder: Path) -> Path | None:
    """`folder`/submission.csv if it is a plain file of at most 16 GiB that can be read, else None.

    Links, devices, pipes and folders of that name count as no submission. To be called after the agent's end:
    what is looked at here must still be the same when it is read.
    """
    path = folder / "submission.csv"
    try:
        # A pipe would block the opening, hence O_NONBLOCK; a link is refused with ELOOP.
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    except OSError:
        return None
    try:
        state = os.fstat(handle)
    finally:
        os.close(handle)
    return path if stat.S_ISREG(state.st_mode) and state.st_size <= MAX_BYTES else None
