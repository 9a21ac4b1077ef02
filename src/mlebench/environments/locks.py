"""Files of pinned packages: those of the bases, and an agent's own."""

from __future__ import annotations

import re
from pathlib import Path

from mlebench.errors import UsageError

HERE = Path(__file__).parent


def base_files(base: str) -> tuple[Path, Path]:
    """The names that a base consists of, and the lock that pins them and all that they ask for."""
    return HERE / f"{base}.in", HERE / f"{base}.lock"


def base_sources(base: str) -> list[Path]:
    """All files that decide what a base is."""
    names, lock = base_files(base)
    included = [HERE / line[3:].strip() for line in names.read_text().splitlines() if line.startswith("-r ")]
    return [names, *included, lock]


def has_hashes(requirements: Path) -> bool:
    """Whether each package's files are pinned as well."""
    return "--hash=" in requirements.read_text(encoding="utf-8")


def require_pinned(requirements: Path) -> None:
    """Raise UsageError if a line names anything else than one exact version."""
    from packaging.requirements import InvalidRequirement, Requirement

    for line in logical_lines(requirements):
        try:
            found = Requirement(line)
        except InvalidRequirement as error:
            raise UsageError(f'{requirements}: "{line}" is no package with a version, as "numpy==2.4.6"') from error
        exact = [one for one in found.specifier if one.operator in ("==", "===") and not one.version.endswith("*")]
        if not found.url and not exact:
            raise UsageError(
                f'{requirements}: "{line}" names no exact version. '
                '"uv pip compile requirements.in -o requirements.lock" pins all, also what others ask for.'
            )


def logical_lines(requirements: Path) -> list[str]:
    """One text for each package, without comments, hashes and continuations."""
    text = re.sub(r"\\\r?\n", " ", requirements.read_text(encoding="utf-8"))
    lines = (re.sub(r"(^|\s)#.*", "", line) for line in text.splitlines())
    return [line for line in (re.sub(r"\s--hash=\S+", "", line).strip() for line in lines) if line]
