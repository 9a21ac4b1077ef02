"""Small files that are written on first use, for clients that read files of v1's package."""

from __future__ import annotations

import tempfile
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path

from platformdirs import user_cache_path

from mlebench.files import write_text


def cached_file(name: str, suffix: str, text: str) -> Path:
    """A file that holds `text`, named `<name>-<digest><suffix>`: in the user's cache, else in a temporary folder.

    The digest keeps apart what several versions and data directories write into the same cache.
    """
    digest = blake2b(text.encode(), digest_size=5).hexdigest()
    file = f"{name}-{digest}{suffix}"
    path = user_cache_path("mle-bench", appauthor=False) / "v1" / file
    try:
        if not path.is_file():
            write_text(path, text)
    except OSError:  # a read-only or missing home
        path = Path(_temporary_folder().name) / file
        if not path.is_file():
            write_text(path, text)
    return path


@lru_cache(maxsize=1)
def _temporary_folder() -> tempfile.TemporaryDirectory[str]:
    """One for this process, private to it, removed when it ends."""
    return tempfile.TemporaryDirectory(prefix="mle-bench-")
