"""What this machine can do: sandboxes, limits, disks, programs, keys, agents; and what preparing data takes.

Finds out, and changes nothing.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mlebench.errors import MlebenchError
from mlebench.files import nearest_existing

if TYPE_CHECKING:
    from mlebench.agents import Agent
    from mlebench.dataset import Dataset
    from mlebench.preparation.kaggle.readiness import Readiness
    from mlebench.sandbox.engine import Engine

CGROUP = Path("/sys/fs/cgroup")


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at. `works` is None for a mere fact, and for what nothing depends on."""

    name: str
    works: bool | None
    text: str
    advice: str = ""
    lines: tuple[str, ...] = ()  # what belongs to it and is copied whole: addresses, ids


@dataclass(frozen=True)
class Section:
    """Findings that belong together."""

    title: str
    findings: tuple[Finding, ...]


@dataclass(frozen=True)
class Diagnosis:
    """All that was found. `sandbox` is what `--sandbox auto` takes; None if agents can't be isolated here."""

    sandbox: str | None
    sections: tuple[Section, ...]
    data: Readiness | None = None  # None if no competitions were named

    @property
    def is_well(self) -> bool:
        """Whether agents can be isolated, and what was named can be prepared."""
        return self.sandbox is not None and (self.data is None or self.data.is_ready)


def examine(
    data_dir: Path,
    runs_dir: Path,
    environment: Mapping[str, str] = os.environ,
    datasets: Sequence[Dataset] = (),
    *,
    fresh: bool = False,
) -> Diagnosis:
    """Look at everything. The network is used for `datasets` alone; `fresh` asks again about what is remembered."""
    from mlebench.doctor_of_data import credentials, sections
    from mlebench.sandbox import best

    sandbox, _ = best()
    data = _readiness(datasets, fresh)
    return Diagnosis(
        sandbox,
        (
            Section("Sandboxes", tuple(sandboxes(sandbox))),
            Section("Machine", tuple(machine())),
            Section("Kernel and engine", tuple(kernel())),
            Section("Disk", tuple(disks(data_dir, runs_dir))),
            Section("Programs", tuple(programs())),
            Section("Model keys", tuple(keys(environment))),
            Section("Agents", tuple(agents(sandbox))),
            *(sections(data) if data else (Section("Kaggle", (credentials(environment),)),)),
        ),
        data,
    )


def _readiness(datasets: Sequence[Dataset], fresh: bool) -> Readiness | None:
    if not datasets:
        return None
    from mlebench.preparation.kaggle.readiness import look

    return look(datasets, fresh=fresh)


def sandboxes(chosen: str | None) -> Iterator[Finding]:
    """Each back-end, and which one is taken if none is asked for."""
    from mlebench.sandbox import SANDBOXES, find_sandbox

    for name in SANDBOXES:
        reason = find_sandbox(name).unavailable()
        if reason is not None:
            what, _, advice = reason.partition(". ")
            yield Finding(name, False, what.rstrip("."), advice)
        elif name == "none":
            yield Finding(name, None, "no isolation: for agents that you trust as yourself")
        else:
            yield Finding(name, True, "works")
    if chosen is not None:
        yield Finding("auto", True, f"takes {chosen}, the first of our preference that works here")
    else:
        yield Finding(
            "auto",
            False,
            "finds no sandbox that isolates: built-in agents run without one, others not at all",
            "Follow the advice of one of those above.",
        )


def machine() -> Iterator[Finding]:
    """System, processors, memory, GPUs."""
    import psutil

    from mlebench.runs.machine import available_cpus, gpus

    yield Finding("system", None, f"{platform.system()} {platform.release()}, {platform.machine()}")
    yield Finding("Python", None, f"{platform.python_version()} at {sys.prefix}")
    there, ours = os.cpu_count() or 1, len(available_cpus())
    yield Finding("CPUs", None, f"{ours}" + (f" of {there}" if ours != there else ""))
    memory = psutil.virtual_memory()
    yield Finding("memory", None, f"{_gigabytes(memory.total)}, of which {_gigabytes(memory.available)} are free")
    found = gpus()
    kinds = ", ".join(f"{found.count(name)} {name}" for name in dict.fromkeys(found))
    yield Finding("GPUs", None, kinds or "none that nvidia-smi sees")


def kernel() -> Iterator[Finding]:
    """What keeps agents in bounds."""
    if sys.platform != "linux":
        yield Finding("kernel", None, "not Linux: limits are sampled only")
        return
    yield _user_namespaces()
    version = "2" if (CGROUP / "cgroup.controllers").exists() else "1" if (CGROUP / "memory").exists() else None
    yield Finding("cgroups", None, f"version {version}" if version else "none in sight")
    yield _engine()
    yield Finding("bubblewrap's limits", None, "memory sampled, processes held by the kernel, disk sampled")
    yield Finding("docker's limits", None, _held())


def _user_namespaces() -> Finding:
    if os.geteuid() == 0:
        return Finding("user namespaces", None, "mlebench runs as root: each agent becomes a user of its own")
    result = subprocess.run(["unshare", "--user", "true"], capture_output=True, text=True, check=False)
    if result.returncode == 0:
        return Finding("user namespaces", True, "can be made")
    return Finding("user namespaces", False, f"can't be made: {' '.join(result.stderr.split())}")


def _engine() -> Finding:
    engine = _found_engine()
    if engine is None:
        return Finding("container engine", None, "none; see docker above")
    rights = "without root" if engine.rootless else "as root"
    others = ", ".join(name for name in engine.runtimes if name != engine.runtime)
    text = f"{engine.name} {engine.version} {rights} at {engine.address}, runtime {engine.runtime}"
    return Finding("container engine", True, text + (f" (there are also {others})" if others else ""))


def _held() -> str:
    engine = _found_engine()
    if engine is None:
        return "none without an engine"
    ours = not (engine.rootless and engine.cgroup_version == "1")  # else they can't be set
    how = {"memory": engine.memory_limit and ours, "processes": engine.process_limit and ours, "disk": False}
    return ", ".join(f"{name} {'held by the kernel' if kernel else 'sampled'}" for name, kernel in how.items())


def _found_engine() -> Engine | None:
    from mlebench.sandbox.engine import NoEngineError, find_engine

    with suppress(NoEngineError):
        return find_engine()
    return None


def disks(data_dir: Path, runs_dir: Path) -> Iterator[Finding]:
    """Where things are kept, and how much room there is."""
    from mlebench.environments import environments_dir

    for name, folder in (("data", data_dir), ("runs", runs_dir), ("environments", environments_dir())):
        path = folder.absolute()
        existing = nearest_existing(path)
        free = shutil.disk_usage(existing).free
        missing = "" if path.exists() else " (not there yet)"
        if not os.access(existing, os.W_OK):
            yield Finding(
                name, False, f"{path} can't be written", f"Choose another folder; {_variable(name)} names it."
            )
        else:
            yield Finding(name, True, f"{_gigabytes(free)} free at {path}{missing}")


def _variable(name: str) -> str:
    return f"MLEBENCH_{name.upper()}_DIR"


def programs() -> Iterator[Finding]:
    """Programs that building environments and agents needs."""
    from mlebench.environments.pythons import find_uv

    for name, path, purpose in (
        ("uv", find_uv(), "builds environments; without it pip does, several times slower"),
        ("node", shutil.which("node"), "for agents that are Node.js programs"),
        ("npm", shutil.which("npm"), "installs those"),
        ("mmdebstrap", shutil.which("mmdebstrap"), "makes system trees for agents that need another Python"),
        ("nvidia-smi", shutil.which("nvidia-smi"), "tells of GPUs"),
    ):
        if path is None:
            yield Finding(name, None, f"not found: {purpose}")
        else:
            yield Finding(name, True, f"{_version(path)} at {path}")


def _version(program: str) -> str:
    with suppress(OSError, subprocess.SubprocessError):
        answer = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=20, check=False).stdout
        words = [word.lstrip("v") for word in answer.split() if word.lstrip("v")[:1].isdigit()]
        return words[0] if words else "of unknown version"
    return "of unknown version"


def keys(environment: Mapping[str, str]) -> Iterator[Finding]:
    """Which keys of model providers the environment holds: their names, never their values."""
    from mlebench.services.gateway.upstreams import BUILT_IN

    upstreams = {each.name: each.key for each in BUILT_IN.values() if each.key}
    own = environment.get("MLEBENCH_MODELS")
    if own:
        from mlebench.services.gateway.models_file import read_models_file

        try:
            upstreams |= {each.name: each.key for each in read_models_file(Path(own)).upstreams.values() if each.key}
            yield Finding("MLEBENCH_MODELS", True, f"{own} can be read")
        except (MlebenchError, OSError) as error:
            yield Finding("MLEBENCH_MODELS", False, str(error))
    for upstream, variable in upstreams.items():
        there = bool(environment.get(variable, "").strip())
        text = f"set: models {upstream}/..." if there else f"not set: no models {upstream}/..."
        yield Finding(variable, True if there else None, text)


def agents(sandbox: str | None) -> Iterator[Finding]:
    """Which built-in agents could start now."""
    from mlebench.agents import agents as built_in
    from mlebench.environments import find
    from mlebench.errors import UsageError

    for agent in built_in().values():
        software = agent.software_for(None)
        needs = ", needs a model" if agent.needs_model else ""
        place = "in this Python" if software is None else "in an environment of its own"
        try:
            if software is None:
                agent.require_packages()
            else:
                find(software, sandbox or "none")
        except UsageError as error:
            if f'"mlebench agents build {agent.id}"' not in str(error):
                yield Finding(agent.id, None, str(error))
                continue
            built = "built for --environment light alone" if _has_light(agent, sandbox) else "not built"
            yield Finding(agent.id, None, f"{built}: `mlebench agents build {agent.id}`")
        else:
            yield Finding(agent.id, True, f"ready, {place}{needs}")


def _has_light(agent: Agent, sandbox: str | None) -> bool:
    from mlebench.environments import find
    from mlebench.errors import UsageError

    try:
        find(agent.software_for("light"), sandbox or "none")
    except UsageError:
        return False
    return True


def to_json(diagnosis: Diagnosis) -> dict[str, object]:
    """As plain data: `sandbox`, findings under their section's title in small letters, and under `data` what those
    about data are based on.
    """
    sections = {
        section.title.lower().replace(" ", "_"): [asdict(finding) for finding in section.findings]
        for section in diagnosis.sections
    }
    data = diagnosis.data
    facts = data and {**asdict(data), "is_ready": data.is_ready, "pages": data.pages}
    return {"sandbox": diagnosis.sandbox, **sections, "data": facts}


def _gigabytes(size: int) -> str:
    return f"{size / 1e9:,.1f} GB"
