"""Run all attempts of a run that are not done yet; survive Ctrl-C and the death of the machine."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from mlebench import agents, environments
from mlebench.agents import Agent
from mlebench.competition import REVISIONS, Competition
from mlebench.dataset import Dataset
from mlebench.errors import UsageError
from mlebench.executors import find_executor
from mlebench.runs.attempt import run_attempt
from mlebench.runs.hidden_validation import hold_back_all
from mlebench.runs.machine import available_cpus, disk_share, hardware, memory_share, versions
from mlebench.runs.machine import gpus as find_gpus
from mlebench.runs.proof import seal_run
from mlebench.runs.seal import file_sha256, mlebench_digest, tree_digest
from mlebench.runs.store import AttemptFolder, RunConfig, attempts, read_config, write_config
from mlebench.sandbox import best, find_sandbox

LONGEST_PATIENCE = 3600.0  # seconds that errors of a provider are waited out, if nothing else is said

Watcher = Callable[[Sequence[AttemptFolder]], None]  # called about twice a second with all attempts of the run


def plan_run(
    *,
    agent: str,
    competitions: Sequence[Competition],
    data_dir: Path,
    runs_dir: Path,
    seeds: int = 1,
    time_limit_seconds: float = 86400,
    sandbox: str = "auto",
    executor: str = "local",
    workers: int = 1,
    memory_bytes: int | None = None,
    processes: int | None = None,
    disk_bytes: int | None = None,
    name: str | None = None,
    agent_parameters: dict[str, str] | None = None,
    edition: str = "v1",
    obfuscated: bool = False,
    original_description: bool = False,
    model: str | None = None,
    models_file: Path | None = None,
    budget: Mapping[str, Any] | None = None,
    replay: Path | None = None,
    environment: str | None = None,
    cpus: int | None = None,
    gpus: int = 0,
    snapshot_seconds: float | None = None,
    hidden_validation: float | None = None,
    scores_per_hour: int = 4,
) -> tuple[Path, list[str]]:
    """Check everything that can be checked before the first attempt, write run.json, return folder and warnings.

    Without limits of their own, attempts share the machine's memory and free disk evenly. `budget` holds limits of
    the model's use for each attempt, as `mlebench.services.gateway.plan_gateway` takes them; `replay` is a run whose
    recorded answers stand in for the model. `hidden_validation` is the share of the training rows to be held back, on
    which agents may ask for `scores_per_hour` scores in any hour. Raises UsageError if an agent, its environment, a
    sandbox, a model or a data set isn't there, rows can't be held back, or the name is taken.
    """
    chosen = agents.get(agent)
    chosen.variables(agent_parameters)
    _require_devices(cpus, gpus)
    sandbox, warnings = choose_sandbox(sandbox, chosen, environment)
    if obfuscated and sandbox == "none":
        raise UsageError(
            "without a sandbox the agent can't be kept from the competition's name: --obfuscated needs one"
        )
    if original_description and (obfuscated or sandbox == "none"):
        why = "it names the competition" if obfuscated else "without a sandbox it can't take the place of ours"
        raise UsageError(f"--original-description is not possible here: {why}")
    if hidden_validation is not None and sandbox == "none":
        raise UsageError(
            "without a sandbox the agent can't be kept from the rows held back: --hidden-validation needs one"
        )
    software = chosen.software_for(environment)
    if software is None:
        chosen.require_packages()
    built = environments.find(software, sandbox)
    limits_of_use = {"patience_seconds": min(LONGEST_PATIENCE, time_limit_seconds / 4), **(budget or {})}
    model, gateway = _plan_model(chosen, agent_parameters, model, models_file, limits_of_use, replay)
    datasets = [Dataset(competition.in_edition(edition), data_dir.absolute()) for competition in competitions]
    _require_prepared(datasets)
    created = datetime.now(UTC)
    run_id = name or f"{created:%Y-%m-%dT%H-%M-%S}-{chosen.id}"
    run = (runs_dir / run_id).absolute()
    if (run / "run.json").exists():
        raise UsageError(f"the run {run} exists already; --resume {run} goes on with it, --name gives another name")
    held_back = {} if hidden_validation is None else hold_back_all(run, datasets, hidden_validation)
    config = RunConfig(
        id=run_id,
        created=created.isoformat(timespec="seconds"),
        agent=chosen.reference,
        agent_parameters=agent_parameters or {},
        competitions=[competition.id for competition in competitions],
        competition_folders=sorted({str(c.folder.absolute().parent) for c in competitions if not c.is_built_in}),
        seeds=seeds,
        time_limit_seconds=time_limit_seconds,
        sandbox=sandbox,
        executor=executor,
        workers=workers,
        data_dir=str(data_dir.absolute()),
        memory_bytes=memory_bytes or memory_share(workers),
        processes=processes,
        disk_bytes=disk_bytes or disk_share(runs_dir.absolute(), workers),
        edition=REVISIONS[edition],
        obfuscated=obfuscated,
        original_descriptions=_original_descriptions(datasets) if original_description else {},
        sources={dataset.competition.id: dataset.source for dataset in datasets},
        network="open" if sandbox == "none" else "gateway" if gateway else "none",
        model=model,
        gateway=gateway,
        replay=str(replay.absolute()) if replay else None,
        environment=environment,
        environment_digest=built.digest,
        agent_digest=tree_digest(chosen.folder),
        mlebench_digest=mlebench_digest(),
        manifests={dataset.competition.id: file_sha256(dataset.manifest_path) for dataset in datasets},
        leaderboards=_fetched_leaderboards(datasets),
        cpus=cpus,
        gpus=gpus,
        snapshot_seconds=snapshot_seconds,
        hidden_validation=hidden_validation,
        scores_per_hour=scores_per_hour if held_back else 0,
        held_back=held_back,
        planned=[f"{competition.id}/{seed}" for seed in range(seeds) for competition in competitions],
        hardware=hardware(),
        versions=versions(),
        command=sys.argv,
    )
    write_config(run, config)
    return run, warnings


def choose_sandbox(name: str, agent: Agent, environment: str | None = None) -> tuple[str, list[str]]:
    """The sandbox to use and what the person should know about it.

    `auto` takes the best that works here. Where none does, or none has what the agent runs in, agents that are trusted
    run unsandboxed with a warning. Raises UsageError if the sandbox can't be used here, or if
    another's agent, or a model's code, would run unsandboxed unasked.
    """
    if name != "auto":
        if reason := find_sandbox(name).unavailable():
            raise UsageError(f"the sandbox {name} can't be used here: {reason}")
        return name, [] if name != "none" else ["the agent runs without a sandbox, with all your rights"]
    found, reasons = best()
    why = " ".join(f"{each}: {reason}" for each, reason in reasons)
    if found is not None:
        try:
            environments.find(agent.software_for(environment), found)
        except UsageError as error:
            if not agent.trusted:
                raise
            why = f"{why} {found}: {error}".strip()
        else:
            return found, []
    if not agent.trusted:
        raise UsageError(
            f"there is no sandbox for this agent. {why} "
            "--sandbox none runs it without one, with all your rights and the answers in reach."
        )
    return "none", [f"NO SANDBOX. {why} This agent is built in and trusted, so it runs without one."]


def _require_devices(cpus: int | None, gpus: int) -> None:
    """Raise UsageError if an attempt is to have more processors or GPUs than there are."""
    there = {"CPUs": len(available_cpus()), "GPUs": len(find_gpus())}
    for name, wanted in (("CPUs", cpus or 0), ("GPUs", gpus)):
        if wanted > there[name]:
            raise UsageError(f"an attempt is to have {wanted} {name}, and there are {there[name]}")


def _plan_model(
    agent: Agent,
    parameters: Mapping[str, str] | None,
    model: str | None,
    models_file: Path | None,
    budget: Mapping[str, Any],
    replay: Path | None,
) -> tuple[str | None, dict[str, Any]]:
    """The model as `upstream/name` and the gateway's configuration; none without a model."""
    from mlebench.services.gateway import plan_gateway

    if replay is not None:
        recorded = read_config(replay)
        if not recorded.gateway:
            raise UsageError(f"nothing can be replayed from {replay}: its agent had no model")
        return recorded.model, recorded.gateway
    if model is None:
        if agent.needs_model:
            raise UsageError(f'the agent "{agent.id}" needs a model: --model openai/gpt-4o-2024-08-06, for example')
        return None, {}
    config = plan_gateway([model, *agent.models(parameters)], models_file, **budget)
    if agent.dialects:
        config.require_dialects(agent.dialects)
    return config.models[0].full_name, replace(config, spoken=tuple(agent.dialects)).to_json()


def _require_prepared(datasets: Sequence[Dataset]) -> None:
    missing = [dataset.competition.id for dataset in datasets if not dataset.is_prepared]
    if missing:
        edition = datasets[0].competition.edition
        ids = f"--edition {edition} " * (edition != "v1") + " ".join(f"-c {name}" for name in missing[:5])
        more = f" (and {len(missing) - 5} more)" if len(missing) > 5 else ""
        raise UsageError(
            f"{len(missing)} of {len(datasets)} competitions are not prepared in {datasets[0].data_dir}: "
            f'"mlebench prepare {ids}"{more} does it'
        )


def _original_descriptions(datasets: Sequence[Dataset]) -> dict[str, str]:
    """The SHA-256 of each competition's own description. Raises NotPreparedError if its pages were not fetched."""
    from mlebench.preparation.kaggle.kept import sha256
    from mlebench.preparation.kaggle.pages import original_description

    return {dataset.competition.id: sha256(original_description(dataset)) for dataset in datasets}


def _fetched_leaderboards(datasets: Sequence[Dataset]) -> dict[str, str]:
    """The MD5 of each leaderboard that was fetched: by those, ranks are exact."""
    there = [dataset for dataset in datasets if dataset.leaderboard_path.is_file()]
    return {dataset.competition.id: board.md5 for dataset in there if (board := dataset.leaderboard)}


def stop_path(run: Path) -> Path:
    """There once a person asked the runner of `run` to stop."""
    return run / "stop-requested"


def is_running(run: Path) -> bool:
    """Whether a process of this machine is working on the run."""
    try:
        FileLock(run / ".lock").acquire(timeout=0).lock.release()
    except Timeout:
        return True
    return False


def execute(run: Path, watch: Watcher, workers: int | None = None) -> bool:
    """Run what is not done yet. Returns whether all attempts are done; raises UsageError if `run` is in use.

    Once all are done, proof.json fixes them.
    On KeyboardInterrupt running attempts are stopped, recorded as interrupted, and the exception goes on.
    """
    config = read_config(run)
    if workers is not None and workers != config.workers:
        config = replace(config, workers=workers)
    lock = FileLock(run / ".lock")
    try:
        lock.acquire(timeout=0)
    except Timeout as error:
        raise UsageError(f"another process is working on {run}") from error
    with lock:
        everything = attempts(run, config)
        for path in (stop_path(run), *(attempt.stop_path for attempt in everything)):
            path.unlink(missing_ok=True)
        _work_off(everything, config, watch)
        done = all(attempt.state().is_done for attempt in everything)
        if done:
            seal_run(run)
        return done


def _work_off(everything: Sequence[AttemptFolder], config: RunConfig, watch: Watcher) -> None:
    executor = find_executor(config.executor, config.workers)
    futures: dict[Future[str], AttemptFolder] = {}
    watch(everything)
    try:
        for attempt in everything:
            if not attempt.state().is_done:
                future = executor.submit(run_attempt, str(attempt.run), attempt.competition_id, attempt.seed)
                futures[future] = attempt
        pending = set(futures)
        while pending:
            finished, pending = wait(pending, timeout=0.5, return_when=FIRST_COMPLETED)
            for future in finished:
                _note_failure(future, futures[future])
            if stop_path(everything[0].run).exists():
                raise KeyboardInterrupt
            watch(everything)
    except BaseException:
        executor.shutdown(wait=True, cancel_futures=True)
        raise
    executor.shutdown()
    watch(everything)


def _note_failure(future: Future[str], attempt: AttemptFolder) -> None:
    """A worker that died without a word is a fault of ours, recorded as such.

    What was sealed before is graded again, but not run again: a submission must not be able to earn another try.
    """
    error = future.exception()
    state = attempt.state()
    if error is not None and state.state != "finished":
        end = "grader-error" if state.state == "sealed" else "sandbox-error"
        attempt.write_state(replace(state, state="finished", end=end, message=f"the worker failed: {error}"[:2000]))
