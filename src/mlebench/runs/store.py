"""What a run leaves on disk. Files are the database: readable with `cat`, each replaced atomically.

<run>/run.json                          the configuration and the disclosure
<run>/<competition>/<seed>/attempt.json state, end, times, peaks
                          /grade.json   what the submission is worth
                          /submission/ code/ logs/ output.txt validations.jsonl
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from mlebench.errors import ENDS, MAX_RERUNS, UsageError
from mlebench.files import write_json


@dataclass(frozen=True)
class RunConfig:
    """One flat record: what was asked for, and what has to be disclosed with the results."""

    id: str
    created: str
    agent: str
    competitions: list[str]
    seeds: int
    time_limit_seconds: float
    sandbox: str
    executor: str
    workers: int
    data_dir: str
    agent_parameters: dict[str, str] = field(default_factory=dict)
    competition_folders: list[str] = field(default_factory=list)
    memory_bytes: int | None = None
    processes: int | None = None
    disk_bytes: int | None = None
    edition: str = "v1"
    sources: dict[str, str] = field(default_factory=dict)
    network: str = "none"
    model: str | None = None
    hardware: dict[str, Any] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    command: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class AttemptState:
    """The content of attempt.json."""

    competition: str
    seed: int
    state: str = "pending"  # pending, running, finished
    end: str | None = None
    message: str = ""
    exit_code: int | None = None
    started: str | None = None
    finished: str | None = None
    seconds: float | None = None
    peak_memory_bytes: int | None = None
    peak_disk_bytes: int | None = None
    reruns: int = 0
    validations: int = 0
    valid_validations: int = 0

    @property
    def is_done(self) -> bool:
        """Whether `--resume` leaves it alone."""
        if self.state != "finished" or self.end is None:
            return False
        end = ENDS[self.end]
        return not end.rerun or (end.culprit == "us" and self.reruns >= MAX_RERUNS)


@dataclass(frozen=True)
class AttemptFolder:
    """One agent on one competition with one seed."""

    run: Path
    competition_id: str
    seed: int

    @property
    def path(self) -> Path:
        """<run>/<competition>/<seed>."""
        return self.run / self.competition_id / str(self.seed)

    @property
    def grade_path(self) -> Path:
        """There once the attempt is graded."""
        return self.path / "grade.json"

    def state(self) -> AttemptState:
        """What attempt.json says; pending if there is none yet."""
        try:
            content = json.loads((self.path / "attempt.json").read_text(encoding="utf-8"))
        except FileNotFoundError:
            return AttemptState(self.competition_id, self.seed)
        return AttemptState(**content)

    def write_state(self, state: AttemptState) -> None:
        """Replace attempt.json."""
        write_json(self.path / "attempt.json", asdict(state))


def write_config(run: Path, config: RunConfig) -> None:
    """Write run.json."""
    write_json(run / "run.json", asdict(config))


def read_config(run: Path) -> RunConfig:
    """Read run.json. Raises UsageError if `run` is no run."""
    try:
        return RunConfig(**json.loads((run / "run.json").read_text(encoding="utf-8")))
    except FileNotFoundError as error:
        raise UsageError(f"{run} is no run: it has no run.json") from error
    except (TypeError, ValueError) as error:
        raise UsageError(f"{run / 'run.json'} can't be read: {error}") from error


def attempts(run: Path, config: RunConfig) -> list[AttemptFolder]:
    """All attempts of a run, seed by seed, so that early results cover all competitions."""
    return [AttemptFolder(run, name, seed) for seed in range(config.seeds) for name in config.competitions]
