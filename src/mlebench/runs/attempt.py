"""One attempt from end to end: services, sandbox, sealing what it left, grading."""

from __future__ import annotations

import importlib
import json
import os
import secrets
import shutil
import tempfile
import traceback
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from filelock import FileLock

from mlebench import agents, catalog, environments
from mlebench.dataset import Dataset
from mlebench.errors import ENDS, SandboxError
from mlebench.files import remove_tree, write_json
from mlebench.grading import grade
from mlebench.runs import machine
from mlebench.runs.observation import Observation
from mlebench.runs.seal import file_sha256, mlebench_digest, seal
from mlebench.runs.setting import Setting, dataset_of, replayed
from mlebench.runs.store import AttemptFolder, AttemptState, RunConfig, note_try, read_config
from mlebench.sandbox import Outcome, find_sandbox
from mlebench.sandbox.collect import collect_submission
from mlebench.sandbox.inside import GATEWAY_PORT, VALIDATION_PORT
from mlebench.services import validation
from mlebench.services.scoring import Scorer, scores_asked
from mlebench.services.serving import serve

if TYPE_CHECKING:
    from mlebench.services.gateway import Gateway

LATE_IMPORTS = (
    "anyio._backends._asyncio",
    "mlebench.metrics",
    "pyarrow.pandas_compat",
    "uvicorn.lifespan.off",
    "uvicorn.loops.auto",
    "uvicorn.protocols.http.auto",
)
TIDYING_SECONDS = 300.0
KEPT_OF_EARLIER_TRIES = ("gateway.jsonl", "output.txt", "scores.jsonl")


def run_attempt(run: str, competition_id: str, seed: int) -> str:
    """Run the attempt, seal and grade what it left, and return how it ended. The result is the folder.

    An attempt that was sealed before but not graded is only graded. KeyboardInterrupt is recorded as `interrupted`
    and raised again.
    """
    folder = AttemptFolder(Path(run), competition_id, seed)
    with _held(folder):
        return _run_attempt(folder, read_config(folder.run))


@contextmanager
def _held(folder: AttemptFolder) -> Iterator[None]:
    """Keep others from the attempt: a child of a runner that was killed may still be tidying up."""
    path = folder.run / ".locks" / f"{folder.competition_id}-{folder.seed}"
    path.parent.mkdir(exist_ok=True)
    with FileLock(path, timeout=TIDYING_SECONDS):
        yield


def _run_attempt(folder: AttemptFolder, config: RunConfig) -> str:
    state = folder.state()
    try:
        if _awaits_its_grade(state):
            state = _to_be_graded_again(state)
        else:
            state = _begin(folder, state)
            state = _sealed(folder, _run_agent(folder, config, state))
        if state.state == "sealed":
            state = _graded(folder, config, state)
    except KeyboardInterrupt:
        if folder.state().state == "running":
            folder.write_state(_finished(folder.state(), "interrupted", "the run was stopped"))
        raise
    except SandboxError as error:
        state = _finished(folder.state(), "sandbox-error", str(error))
    except _GraderFailure as error:
        state = _finished(state, "grader-error", str(error))
    except Exception:  # a fault of ours is never the agent's
        state = _finished(folder.state(), "sandbox-error", traceback.format_exc(limit=-3))
    folder.write_state(state)
    return state.end or ""


def warm_up() -> None:
    """Do once what every attempt needs: imports that come late otherwise, and what doesn't change meanwhile."""
    for module in LATE_IMPORTS:
        importlib.import_module(module)
    mlebench_digest()
    machine.gpus()
    environments.find(None, "none")
    agents.agents()
    known = catalog.competitions(())  # () as all ask: the cache knows it by that
    _ = next(iter(known.values())).leaderboard  # all stand in one file, which is read now
    find_sandbox("bubblewrap").unavailable()


class _GraderFailure(Exception):
    """Grading failed on our side."""


# --- before


def _awaits_its_grade(state: AttemptState) -> bool:
    return state.state == "sealed" or (state.end == "grader-error" and bool(state.seal))


def _to_be_graded_again(state: AttemptState) -> AttemptState:
    """Sealed as it was before a failure of the grader, or before the machine died."""
    failed = state.end == "grader-error"
    return replace(
        state,
        state="sealed",
        end=state.seal["end"],
        message=state.seal["message"],
        reruns=state.reruns + 1 if failed else state.reruns,
    )


def _begin(folder: AttemptFolder, before: AttemptState) -> AttemptState:
    """Put away what an earlier try left, and say that this one runs. Nothing is lost if that is cut off."""
    tried = before.state != "pending"
    use = _put_away(folder.path, before) if tried else {}
    state = AttemptState(
        folder.competition_id,
        folder.seed,
        "running",
        started=_now(),
        reruns=before.reruns + 1 if tried else 0,
        earlier_model_use=[*before.earlier_model_use, *([use] if use else [])],
    )
    folder.write_state(state)
    note_try(folder)
    for path in folder.path.iterdir():
        if path.name not in ("attempt.json", "earlier"):
            remove_tree(path)
    for name in ("submission", "code", "logs", "notices"):
        (folder.path / name).mkdir()
    return state


def _put_away(attempt: Path, before: AttemptState) -> dict[str, Any]:
    """Keep the records of a try that did not count, for what it cost was spent; what it used of the model."""
    kept = attempt / "earlier" / str(before.reruns)
    kept.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(attempt / "attempt.json", kept / "attempt.json")
    for name in KEPT_OF_EARLIER_TRIES:
        if (attempt / name).is_file():
            (attempt / name).replace(kept / name)
    recording = kept / "gateway.jsonl"
    if before.model_use or not recording.exists():
        return before.model_use
    return _recorded_use(recording)


def _recorded_use(recording: Path) -> dict[str, Any]:
    """What the calls of a try used that was cut off before it could say so; a lower bound."""
    from mlebench.services.gateway import read_recording

    calls = [call for call in read_recording(recording) if "refused" not in call]
    tokens = [call.get("tokens") or {} for call in calls]
    return {
        "requests": len(calls),
        "input_tokens": sum(each.get("input", 0) for each in tokens),
        "output_tokens": sum(each.get("output", 0) for each in tokens),
        "dollars": sum(call.get("dollars") or 0.0 for call in calls),
        "lost_seconds": sum(call.get("lost_seconds") or 0.0 for call in calls),
    }


# --- the agent


def _run_agent(folder: AttemptFolder, config: RunConfig, state: AttemptState) -> AttemptState:
    """Let the agent work in its sandbox; the state says how that ended."""
    setting = Setting(folder, config, agents.get(config.agent), dataset_of(config, folder.competition_id))
    with ExitStack() as stack:
        cpus = stack.enter_context(machine.claimed("cpu", machine.available_cpus(), config.cpus or 0)) or None
        gpus = stack.enter_context(machine.claimed("gpu", range(len(machine.gpus())), config.gpus))
        sockets = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="mlebench-", ignore_cleanup_errors=True)))
        limits = setting.limits(cpus, gpus)
        state = replace(state, provenance=setting.provenance(limits))
        folder.write_state(state)
        setting.write_texts()
        served = {VALIDATION_PORT: stack.enter_context(_validation(setting, sockets))}
        gateway = token = None
        if config.gateway:
            token = secrets.token_hex(16)
            gateway = stack.enter_context(_gateway(folder, config, token, sockets / "gateway.sock"))
            served[GATEWAY_PORT] = sockets / "gateway.sock"
        world = setting.world(served, setting.variables(gpus, token))
        observation = Observation(folder, config, gpus=gpus)
        if gateway is not None:
            observation = Observation(folder, config, lambda: gateway.verdict, lambda: asdict(gateway.use), gpus)
        output = folder.path / "output.txt"
        outcome = find_sandbox(config.sandbox).run(world, setting.agent.command, limits, output, observation)
    return _with_outcome(state, outcome, folder, gateway)


@contextmanager
def _validation(setting: Setting, sockets: Path) -> Iterator[Path]:
    """The validation service; its socket."""
    folder, config, held_back = setting.folder, setting.config, setting.held_back
    scorer = None
    if held_back is not None:
        scorer = Scorer(held_back.dataset, config.scores_per_hour, folder.path / "scores.jsonl")
    log = folder.path / "validations.jsonl"
    competition, public = setting.dataset.competition, setting.dataset.public
    app = validation.make_app(competition, public, log, scorer=scorer, name=setting.name)
    with serve(app, sockets / "validation.sock"):
        yield sockets / "validation.sock"


@contextmanager
def _gateway(folder: AttemptFolder, config: RunConfig, token: str, socket: Path) -> Iterator[Gateway]:
    """The gateway to the model on a Unix socket."""
    from mlebench.services.gateway import Gateway, GatewayConfig

    replay = None
    if config.replay:
        replay = replayed(config, folder)
    planned = GatewayConfig.from_json(config.gateway)
    with (
        closing(Gateway(planned, folder.path / "gateway.jsonl", token, replay)) as gateway,
        serve(gateway.app, socket),
    ):
        yield gateway


def _with_outcome(
    state: AttemptState, outcome: Outcome, folder: AttemptFolder, gateway: Gateway | None
) -> AttemptState:
    calls = _validation_calls(folder.path / "validations.jsonl")
    end, message = outcome.end, outcome.message
    if gateway is not None and gateway.verdict and end in ("completed", "agent-error"):
        end, message = gateway.verdict  # that is why the agent ended
    return replace(
        state,
        end=end,
        message=message,
        finished=_now(),
        exit_code=outcome.exit_code,
        seconds=round(outcome.seconds, 3),
        peak_memory_bytes=outcome.peak_memory_bytes,
        peak_disk_bytes=outcome.peak_disk_bytes,
        memory_kills=outcome.memory_kills,
        validations=len(calls),
        valid_validations=sum(calls),
        scores_asked=scores_asked(folder.path / "scores.jsonl"),
        model_use=asdict(gateway.use) if gateway is not None else {},
    )


def _validation_calls(log: Path) -> list[bool]:
    """Whether the submission was valid, call by call."""
    if not log.is_file():
        return []
    return [bool(json.loads(line)["valid"]) for line in log.read_text(encoding="utf-8").splitlines() if line]


# --- afterwards


def _sealed(folder: AttemptFolder, state: AttemptState) -> AttemptState:
    """Fix what is there by hashes, and say so on disk before anything is graded."""
    sealed = {"end": state.end, "message": state.message, **seal(folder.path)}
    state = replace(state, state="sealed" if ENDS[state.end or ""].graded else "finished", seal=sealed)
    folder.write_state(state)
    return state


def _graded(folder: AttemptFolder, config: RunConfig, state: AttemptState) -> AttemptState:
    """Write grade.json, and one for each snapshot; raises _GraderFailure."""
    try:
        dataset = dataset_of(config, folder.competition_id)
        submission = collect_submission(folder.path / "submission")
        found = file_sha256(submission) if submission else None
        if found != (state.seal["submission"] or {}).get("sha256"):
            raise _GraderFailure("the submission is not the one that was sealed")
        _grade(submission, dataset, folder.grade_path, folder.path / "submission" / "submission.csv")
        for snapshot in sorted((folder.path / "snapshots").glob("*/submission.csv")):
            _grade(snapshot, dataset, snapshot.with_name("grade.json"), snapshot)
    except _GraderFailure:
        raise
    except Exception as error:
        raise _GraderFailure(f"{type(error).__name__}: {error}") from error
    grades = [folder.grade_path, *sorted((folder.path / "snapshots").glob("*/grade.json"))]
    hashes = {str(path.relative_to(folder.path)): file_sha256(path) for path in grades}
    return replace(state, state="finished", gradings=state.gradings + 1, seal={**state.seal, "grades": hashes})


def _grade(submission: Path | None, dataset: Dataset, into: Path, path: Path) -> None:
    report = grade(submission, dataset)
    write_json(into, replace(report, submission_path=os.fspath(path)).to_dict())


def _finished(state: AttemptState, end: str, message: str) -> AttemptState:
    return replace(state, state="finished", end=end, message=message, finished=state.finished or _now())


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
