"""One attempt from end to end: sandbox, validation service, collecting, grading."""

from __future__ import annotations

import json
import os
import sys
import tempfile
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from mlebench import agents, catalog
from mlebench.competition import Competition
from mlebench.dataset import Dataset
from mlebench.errors import ENDS, SandboxError
from mlebench.files import remove_tree, write_json, write_text
from mlebench.grading import grade
from mlebench.runs.instructions import instructions
from mlebench.runs.store import AttemptFolder, AttemptState, RunConfig, read_config
from mlebench.sandbox import Limits, Outcome, World, find_sandbox
from mlebench.sandbox.collect import collect_submission
from mlebench.services import validation
from mlebench.services.serving import serve

VALIDATION_PORT = 5000


def run_attempt(run: str, competition_id: str, seed: int) -> str:
    """Run the attempt, grade what it left, and return how it ended. The result is the folder.

    KeyboardInterrupt is recorded as `interrupted` and raised again.
    """
    folder = AttemptFolder(Path(run), competition_id, seed)
    config = read_config(folder.run)
    state = _begin(folder)
    try:
        outcome = _run_agent(folder, config)
        state = _with_outcome(state, outcome, folder)
        if ENDS[outcome.end].graded:
            _grade(folder, _dataset(config, competition_id))
    except KeyboardInterrupt:
        folder.write_state(_finished(state, "interrupted", "the run was stopped"))
        raise
    except SandboxError as error:
        state = _finished(state, "sandbox-error", str(error))
    except _GraderFailure as error:
        state = _finished(state, "grader-error", str(error))
    except Exception:  # a fault of ours is never the agent's
        state = _finished(state, "sandbox-error", traceback.format_exc(limit=-3))
    folder.write_state(state)
    return state.end or ""


class _GraderFailure(Exception):
    """Grading failed on our side."""


def _begin(folder: AttemptFolder) -> AttemptState:
    """Clear what an earlier try left, and say that this one runs."""
    before = folder.state()
    tried = before.state != "pending"
    remove_tree(folder.path)
    for name in ("submission", "code", "logs"):
        (folder.path / name).mkdir(parents=True)
    state = AttemptState(
        folder.competition_id, folder.seed, "running", started=_now(), reruns=before.reruns + 1 if tried else 0
    )
    folder.write_state(state)
    return state


def _run_agent(folder: AttemptFolder, config: RunConfig) -> Outcome:
    dataset = _dataset(config, folder.competition_id)
    agent = agents.get(config.agent)
    write_text(folder.path / "instructions.txt", instructions(config))
    with _validation_service(dataset.competition, dataset.public, folder.path / "validations.jsonl") as socket:
        world = World(
            data=dataset.public,
            submission=folder.path / "submission",
            code=folder.path / "code",
            logs=folder.path / "logs",
            agent=agent.folder,
            home_files={
                "instructions.txt": folder.path / "instructions.txt",
                "validate_submission.sh": Path(validation.__file__).with_name("validate_submission.sh"),
                **({"data/description.md": dataset.competition.description_path} if config.obfuscated else {}),
            },
            sockets={VALIDATION_PORT: socket},
            environment={
                "COMPETITION_ID": "competition" if config.obfuscated else dataset.competition.id,
                "TIME_LIMIT_SECS": f"{config.time_limit_seconds:g}",
                "SEED": str(folder.seed),
                **agent.variables(config.agent_parameters),
            },
            python=Path(sys.prefix),
        )
        limits = Limits(config.time_limit_seconds, config.memory_bytes, config.processes, config.disk_bytes)
        return find_sandbox(config.sandbox).run(world, agent.command, limits, folder.path / "output.txt")


@contextmanager
def _validation_service(competition: Competition, public: Path, log: Path) -> Iterator[Path]:
    """The service on a Unix socket, in a folder with a short name: such paths are limited to 107 bytes."""
    with tempfile.TemporaryDirectory(prefix="mlebench-", ignore_cleanup_errors=True) as folder:
        socket = Path(folder) / "validation.sock"
        with serve(validation.make_app(competition, public, log), socket):
            yield socket


def _grade(folder: AttemptFolder, dataset: Dataset) -> None:
    """Write grade.json."""
    try:
        submission = collect_submission(folder.path / "submission")
        report = grade(submission, dataset)
        path = os.fspath(folder.path / "submission" / "submission.csv")
        write_json(folder.grade_path, replace(report, submission_path=path).to_dict())
    except Exception as error:
        raise _GraderFailure(f"{type(error).__name__}: {error}") from error


def _dataset(config: RunConfig, competition_id: str) -> Dataset:
    competition = catalog.get(competition_id, tuple(map(Path, config.competition_folders))).in_edition(config.edition)
    return Dataset(competition, Path(config.data_dir))


def _with_outcome(state: AttemptState, outcome: Outcome, folder: AttemptFolder) -> AttemptState:
    calls = _validation_calls(folder.path / "validations.jsonl")
    return replace(
        _finished(state, outcome.end, outcome.message),
        exit_code=outcome.exit_code,
        seconds=round(outcome.seconds, 3),
        peak_memory_bytes=outcome.peak_memory_bytes,
        peak_disk_bytes=outcome.peak_disk_bytes,
        validations=len(calls),
        valid_validations=sum(calls),
    )


def _validation_calls(log: Path) -> list[bool]:
    """Whether the submission was valid, call by call."""
    if not log.is_file():
        return []
    return [bool(json.loads(line)["valid"]) for line in log.read_text(encoding="utf-8").splitlines() if line]


def _finished(state: AttemptState, end: str, message: str) -> AttemptState:
    return replace(state, state="finished", end=end, message=message, finished=_now())


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
