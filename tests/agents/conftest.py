"""Running an agent as the runner does, but without a sandbox; and whole attempts with a scripted model."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest

from mlebench import agents, environments, testing
from mlebench.errors import UsageError
from mlebench.runs.runner import execute, plan_run
from mlebench.runs.store import AttemptFolder, AttemptState
from mlebench.sandbox import find_sandbox

REQUIRED = os.environ.get("MLEBENCH_REQUIRE_AGENTS", "").split()  # their tests fail where they would be skipped


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
        command = [sys.executable, *(part.replace("/home/agent", str(agent.folder)) for part in agent.command[1:])]
        return subprocess.run(
            command,
            env=self.variables(agent, data) | more,
            cwd=self.home / "code",
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )

    def variables(self, agent: agents.Agent, data: Path) -> dict[str, str]:
        """What the agent finds in its environment; no model."""
        return {
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
            **agent.variables(),
        }


@pytest.fixture
def place(tmp_path) -> Place:
    home = tmp_path / "home"
    for name in ("submission", "code", "logs"):
        (home / name).mkdir(parents=True)
    (home / "instructions.txt").write_text("Solve it.")
    return Place(home)


@dataclass(frozen=True)
class Attempted:
    """An attempt that was made, and the model's server as it was left."""

    folder: AttemptFolder
    server: testing.Server

    @property
    def state(self) -> AttemptState:
        return self.folder.state()

    @property
    def output(self) -> str:
        return (self.folder.path / "output.txt").read_text()

    @property
    def logs(self) -> Path:
        return self.folder.path / "logs"

    @property
    def submission(self) -> Path:
        return self.folder.path / "submission" / "submission.csv"

    @property
    def grade(self) -> dict[str, Any]:
        return json.loads(self.folder.grade_path.read_text())


@pytest.fixture
def attempt(twins, tmp_path):
    """Make one attempt as a user would: `attempt(agent, model, ...)`, in bubblewrap, with a scripted model.

    Skipped where the agent's environment isn't built: "mlebench agents build AGENT --environment light" does it.
    """

    def make(
        agent: str,
        model: str = "solver",
        *,
        script: Any = None,
        faults: Mapping[int, testing.Fault] | None = None,
        competition: str = "spaceship-titanic",
        seconds: float = 180,
        parameters: Mapping[str, object] | None = None,
        replay: Path | None = None,
        **budget: object,
    ) -> Attempted:
        _require(agent)
        dataset = twins(competition)
        with testing.serve(script, faults=faults) as server:
            models = tmp_path / "models.toml"
            models.write_text(_MODELS.format(url=server.url, model=model))
            run, _ = plan_run(
                agent=agent,
                competitions=[dataset.competition],
                data_dir=dataset.data_dir,
                runs_dir=tmp_path / "runs",
                time_limit_seconds=seconds,
                sandbox="bubblewrap",
                memory_bytes=2_000_000_000,
                agent_parameters={name: str(value) for name, value in (parameters or {}).items()},
                model=f"scripted/{model}",
                models_file=models,
                budget=budget,
                replay=replay,
                environment="light",
                name=f"run-{time.time_ns()}",
            )
            assert execute(run, lambda _: None)
        return Attempted(AttemptFolder(run, competition, 0), server)

    return make


@pytest.fixture
def program(place):
    """Start an agent in its environment, but without a sandbox: `with program(agent, server, data) as process`.

    It asks `server`, a scripted model, itself; skipped where its environment isn't built.
    """

    @contextmanager
    def start(agent_id: str, server: testing.Server, data: Path, **parameters: object) -> Iterator[psutil.Popen]:
        python = _require(agent_id).python
        assert python is not None
        agent = agents.get(agent_id)
        (place.home / "tmp").mkdir()
        (place.home / "prompt.txt").write_text("Solve it.")
        variables = place.variables(agent, data) | {
            "PROMPT_FILE": str(place.home / "prompt.txt"),
            "TMPDIR": str(place.home / "tmp"),
            "PATH": f"{python / 'bin'}:{os.environ['PATH']}",
            "MLEBENCH_MODEL": "scripted",
            "OPENAI_BASE_URL": f"{server.url}/v1",
            "ANTHROPIC_BASE_URL": server.url,
            "OPENAI_API_KEY": "token",
            "ANTHROPIC_API_KEY": "token",
            **agent.variables({name: str(value) for name, value in parameters.items()}),
        }
        command = [python / "bin" / "python", agent.folder / "main.py"]
        with (place.home / "output.txt").open("w") as output:
            process = psutil.Popen(
                [str(part) for part in command],
                env=variables,
                cwd=place.home / "code",
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
            try:
                yield process
            finally:
                for each in [*process.children(recursive=True), process] if process.is_running() else []:
                    each.kill()
                process.wait()

    return start


def _require(agent: str) -> environments.Environment:
    if reason := find_sandbox("bubblewrap").unavailable():
        pytest.skip(reason)
    try:
        return environments.find(agents.get(agent).software_for("light"), "bubblewrap")
    except UsageError as error:
        (pytest.fail if agent in REQUIRED else pytest.skip)(str(error))


_MODELS = """
[upstreams.scripted]
url = "{url}"
dialects = ["openai-chat", "openai-responses", "openai-completions", "anthropic", "google"]
[prices."scripted/{model}"]
input = 1.0
cached_input = 0.1
output = 4.0
"""
