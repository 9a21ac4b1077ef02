"""Running the commands that build an environment: each has a name, and all they print goes to one file."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from mlebench.errors import MlebenchError

Say = Callable[[str], None]
_DROPPED = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "PIP_TARGET", "PIP_PREFIX", "PIP_USER", "PIP_REQUIRE_VIRTUALENV")
_SHOWN_LINES = 15


class BuildError(MlebenchError):
    """An environment could not be built."""


class Steps:
    """Runs the steps of one build."""

    def __init__(self, log: Path, say: Say) -> None:
        self.log, self.say = log, say

    def run(
        self,
        what: str,
        command: Sequence[str],
        cwd: Path | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> str:
        """Say `what`, run the command, return what it printed. Raises BuildError with its last lines if it fails."""
        if what:
            self.say(what)
        begin = self.log.stat().st_size if self.log.exists() else 0
        with self.log.open("ab") as log:
            log.write(f"$ {' '.join(command)}\n".encode())
            log.flush()
            try:
                code = subprocess.run(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    cwd=cwd,
                    env={**build_environment(), **(environment or {})},
                    check=False,
                ).returncode
            except OSError as error:
                raise BuildError(f"{what}: {command[0]} can't be started: {error.strerror}") from error
        with self.log.open("rb") as log:
            log.seek(begin)
            said = log.read().decode(errors="replace").partition("\n")[2]
        if code != 0:
            tail = "\n".join(said.splitlines()[-_SHOWN_LINES:])
            raise BuildError(f"{what}: failed with exit code {code} (all of it: {self.log})\n{tail}")
        return said


def build_environment() -> dict[str, str]:
    """The host's environment without keys of models and without what would lead installers elsewhere."""
    return {
        name: value
        for name, value in os.environ.items()
        if name not in _DROPPED and not name.upper().endswith("_API_KEY")
    }
