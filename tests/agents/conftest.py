"""Running an agent as the runner does, but without a sandbox."""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from mlebench import agents


@dataclass(frozen=True)
class Place:
    """Where an agent runs in these tests."""

    home: Path

    @property
    def submission(self) -> Path:
        return self.home / "submission" / "submission.csv"

    @property
    def logs(self) -> Path:
        return self.home / "logs"

    def run(self, agent_id: str, data: Path, **more: str) -> subprocess.CompletedProcess[str]:
        """Run a built-in agent on the public files in `data`; `more` are further environment variables."""
        agent = agents.get(agent_id)
        variables = {
            "DATA_DIR": str(data),
            "SUBMISSION_DIR": str(self.home / "submission"),
            "CODE_DIR": str(self.home / "code"),
            "LOGS_DIR": str(self.logs),
            "AGENT_DIR": str(agent.folder),
            "INSTRUCTIONS_FILE": str(self.home / "instructions.txt"),
            "VALIDATION_URL": "http://localhost:1/validate",  # nothing answers there
            "COMPETITION_ID": "unknown",
            "TIME_LIMIT_SECS": "120",
            "SEED": "0",
            "HOME": str(self.home),
            "PATH": os.environ["PATH"],
        }
        command = [sys.executable, *(part.replace("/home/agent", str(agent.folder)) for part in agent.command[1:])]
        return subprocess.run(
            command,
            env=variables | agent.variables() | more,
            cwd=self.home / "code",
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )


@pytest.fixture
def place(tmp_path) -> Place:
    home = tmp_path / "home"
    for name in ("submission", "code", "logs"):
        (home / name).mkdir(parents=True)
    (home / "instructions.txt").write_text("Solve it.")
    return Place(home)
