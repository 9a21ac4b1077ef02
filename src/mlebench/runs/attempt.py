"""One attempt from end to end: services, sandbox, sealing what it left, grading."""

from __future__ import annotations

import importlib
import json
import os
import secrets
import tempfile
import traceback
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from filelock import FileLock

from mlebench import agents, catalog, environments
from mlebench.dataset import Dataset
from mlebench.errors import ENDS, SandboxError
from mlebench.files import remove_tree, write_json, write_text
from mlebench.grading import grade
from mlebench.runs import machine
from mlebench.runs.hidden_validation import HeldBack, changed_files, hold_back
from mlebench.runs.instructions import hardware_in_words, instructions, prompt, warning_seconds
from mlebench.runs.observation import Observation
from mlebench.runs.seal import file_sha256, mlebench_digest, seal, tree_digest
from mlebench.runs.store import AttemptFolder, AttemptState, RunConfig, read_config
from mlebench.sandbox import Limits, Outcome, World, find_sandbox
from mlebench.sandbox.collect import collect_submission
from mlebench.sandbox.watch import GATEWAY_PORT, VALIDATION_PORT
from mlebench.services import validation
from mlebench.services.scoring import Scorer, scores_asked
from mlebench.services.serving import serve

if TYPE_CHECKING:
    from mlebench.services.gateway import Gateway

TIDYING_SECONDS = 300.0
KEPT_OF_EARLIER_TRIES = ("attempt.json", "gateway.jsonl", "output.txt", "scores.jsonl")


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
    """Do once what every attempt needs: imports that come late otherwise, and hashes that don't change."""
    for module in ("uvicorn.loops.auto", "uvicorn.protocols.http.auto", "uvicorn.lifespan.off"):
        importlib.import_module(module)
    mlebench_digest()
    machine.gpus()
    environments.find(None, "none")
    agents.agents()


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
    """Put away what an earlier try left, and say that this one runs."""
    tried = before.state != "pending"
    with tempfile.TemporaryDirectory(dir=folder.run, prefix=".earlier-") as aside:
        if tried:
            _put_away(folder.path, Path(aside), before.reruns)
        remove_tree(folder.path)
        for name in ("submission", "code", "logs", "notices"):
            (folder.path / name).mkdir(parents=True)
        if tried:
            Path(aside, "earlier").rename(folder.path / "earlier")
    state = AttemptState(
        folder.competition_id,
        folder.seed,
        "running",
        started=_now(),
        reruns=before.reruns + 1 if tried else 0,
        earlier_model_use=[*before.earlier_model_use, *([before.model_use] if before.model_use else [])],
    )
    folder.write_state(state)
    return state


def _put_away(attempt: Path, aside: Path, number: int) -> None:
    """Move the records of the earlier tries, for what they cost was spent."""
    earlier = attempt / "earlier"
    if earlier.is_dir():
        earlier.rename(aside / "earlier")
    kept = aside / "earlier" / str(number)
    kept.mkdir(parents=True, exist_ok=True)
    for name in KEPT_OF_EARLIER_TRIES:
        if (attempt / name).is_file():
            (attempt / name).rename(kept / name)


# --- the agent


def _run_agent(folder: AttemptFolder, config: RunConfig, state: AttemptState) -> AttemptState:
    """Let the agent work in its sandbox; the state says how that ended."""
    agent = agents.get(config.agent)
    dataset = _dataset(config, folder.competition_id)
    environment = environments.find(agent.software_for(config.environment), config.sandbox)
    with ExitStack() as stack:
        cpus = stack.enter_context(machine.claimed("cpu", machine.available_cpus(), config.cpus or 0)) or None
        gpus = stack.enter_context(machine.claimed("gpu", range(len(machine.gpus())), config.gpus))
        sockets = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="mlebench-", ignore_cleanup_errors=True)))
        limits = Limits(
            config.time_limit_seconds,
            config.memory_bytes,
            config.processes,
            config.disk_bytes,
            cpus,
            gpus,
            warning_seconds=warning_seconds(config.time_limit_seconds),
        )
        state = replace(state, provenance=_provenance(folder, config, agent, environment.digest, dataset, limits))
        folder.write_state(state)
        _write_texts(folder, config, dataset)
        log = folder.path / "validations.jsonl"
        held_back = _held_back(folder, config, dataset)
        app = validation.make_app(dataset.competition, dataset.public, log, scorer=_scorer(folder, config, held_back))
        stack.enter_context(serve(app, sockets / "validation.sock"))
        served = {VALIDATION_PORT: sockets / "validation.sock"}
        gateway = token = None
        if config.gateway:
            token = secrets.token_hex(16)
            gateway = stack.enter_context(_gateway(folder, config, token, sockets / "gateway.sock"))
            served[GATEWAY_PORT] = sockets / "gateway.sock"
        world = World(
            data=dataset.public,
            submission=folder.path / "submission",
            code=folder.path / "code",
            logs=folder.path / "logs",
            agent=agent.folder,
            home_files=_home_files(folder, config, dataset) | (held_back.home_files if held_back else {}),
            sockets=served,
            environment=_variables(folder, config, agent, gpus, token),
            python=environment.python,
            software=environment.software,
            root=environment.root,
            image=environment.image,
            notices=folder.path / "notices",
            warning_signal=agent.warning_signal,
        )
        observation = Observation(folder, config, gpus=gpus)
        if gateway is not None:
            observation = Observation(folder, config, lambda: gateway.verdict, lambda: asdict(gateway.use), gpus)
        output = folder.path / "output.txt"
        outcome = find_sandbox(config.sandbox).run(world, agent.command, limits, output, observation)
    return _with_outcome(state, outcome, folder, gateway)


def _write_texts(folder: AttemptFolder, config: RunConfig, dataset: Dataset) -> None:
    told = instructions(config)
    write_text(folder.path / "instructions.txt", told)
    description = _description(config, dataset).read_text(encoding="utf-8")
    write_text(folder.path / "prompt.txt", prompt(told, description))


def _description(config: RunConfig, dataset: Dataset) -> Path:
    return dataset.competition.description_path if config.obfuscated else dataset.public / "description.md"


def _home_files(folder: AttemptFolder, config: RunConfig, dataset: Dataset) -> dict[str, Path]:
    files = {
        "instructions.txt": folder.path / "instructions.txt",
        "prompt.txt": folder.path / "prompt.txt",
        "validate_submission.sh": Path(validation.__file__).with_name("validate_submission.sh"),
    }
    if config.obfuscated:
        files["data/description.md"] = _description(config, dataset)
    return files


def _variables(
    folder: AttemptFolder, config: RunConfig, agent: agents.Agent, gpus: tuple[int, ...], token: str | None
) -> dict[str, str]:
    """What the agent finds in its environment beside the places of its world."""
    found = {
        "COMPETITION_ID": "competition" if config.obfuscated else folder.competition_id,
        "TIME_LIMIT_SECS": f"{config.time_limit_seconds:g}",
        "SEED": str(folder.seed),
        "HARDWARE": hardware_in_words(config),
        "GPUS": str(config.gpus),
        "CUDA_VISIBLE_DEVICES": ",".join(machine.gpu_uuids(gpus)) if gpus else "",
        "PROMPT_FILE": "/home/prompt.txt",
    }
    if config.hidden_validation:
        found |= {"HELD_BACK_DIR": "/home/held_back", "SCORE_URL": f"http://localhost:{VALIDATION_PORT}/score"}
    if token is not None:
        url = f"http://localhost:{GATEWAY_PORT}"
        found |= dict.fromkeys(("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY"), token)
        found |= dict.fromkeys(("OPENAI_BASE_URL", "OPENAI_API_BASE"), f"{url}/v1")
        found |= dict.fromkeys(("ANTHROPIC_BASE_URL", "GOOGLE_GEMINI_BASE_URL"), url)
        found["MLEBENCH_MODEL"] = _short_name(config)
    return {**found, **agent.variables(config.agent_parameters)}


def _held_back(folder: AttemptFolder, config: RunConfig, dataset: Dataset) -> HeldBack | None:
    """The training rows held back, built anew if they were lost; SandboxError if they are not the planned ones."""
    if config.hidden_validation is None:
        return None
    found = hold_back(folder.run, dataset, config.hidden_validation)
    if file_sha256(found.facts_path) != config.held_back.get(folder.competition_id) or changed_files(found.folder):
        raise SandboxError(f"the training rows held back in {found.folder} are not those that run.json names")
    return found


def _scorer(folder: AttemptFolder, config: RunConfig, held_back: HeldBack | None) -> Scorer | None:
    """What scores submissions for the rows held back."""
    if held_back is None:
        return None
    return Scorer(held_back.dataset, config.scores_per_hour, folder.path / "scores.jsonl")


def _short_name(config: RunConfig) -> str:
    """What the agent is to call its model."""
    from mlebench.services.gateway import GatewayConfig

    model = GatewayConfig.from_json(config.gateway).find(config.model or "")
    return model.short_name if model else ""


@contextmanager
def _gateway(folder: AttemptFolder, config: RunConfig, token: str, socket: Path) -> Iterator[Gateway]:
    """The gateway to the model on a Unix socket."""
    from mlebench.services.gateway import Gateway, GatewayConfig

    replay = None
    if config.replay:
        replay = AttemptFolder(Path(config.replay), folder.competition_id, folder.seed).path / "gateway.jsonl"
    planned = GatewayConfig.from_json(config.gateway)
    gateway = Gateway(planned, folder.path / "gateway.jsonl", token, replay)
    with serve(gateway.app, socket):
        yield gateway


def _provenance(
    folder: AttemptFolder,
    config: RunConfig,
    agent: agents.Agent,
    environment: str,
    dataset: Dataset,
    limits: Limits,
) -> dict[str, object]:
    """What this attempt runs on and with, as it was found when it began."""
    return {
        "mlebench_digest": mlebench_digest(),
        "agent_digest": tree_digest(agent.folder),
        "environment_digest": environment,
        "edition": dataset.revision,
        "manifest_sha256": file_sha256(dataset.manifest_path),
        "run_sha256": file_sha256(folder.run / "run.json"),
        "limits": asdict(limits),
        "hardware": machine.hardware(),
        "host": os.uname().nodename,
        "sandbox": config.sandbox,
        "network": config.network,
    }


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
        dataset = _dataset(config, folder.competition_id)
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


def _dataset(config: RunConfig, competition_id: str) -> Dataset:
    competition = catalog.get(competition_id, tuple(map(Path, config.competition_folders))).in_edition(config.edition)
    return Dataset(competition, Path(config.data_dir))


def _finished(state: AttemptState, end: str, message: str) -> AttemptState:
    return replace(state, state="finished", end=end, message=message, finished=state.finished or _now())


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
