"""What containers show of this machine, and where; what the relay in them is told."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from mlebench.errors import SandboxError
from mlebench.sandbox import Limits, World, system
from mlebench.sandbox.first import RUNNER

HERE = Path(__file__).parent
RUN = "/run/mlebench"


@dataclass(frozen=True)
class Place:
    """What of this machine stands where inside."""

    source: Path
    inside: str
    writable: bool = False


def places_of(world: World, scratch: Path) -> list[Place]:
    """All that stands inside beside the system.

    `scratch` holds `tmp`, and `home` as `make_home` fills it.
    """
    found = [Place(scratch / "tmp", inside, True) for inside in ("/tmp", "/var/tmp")]
    found.append(Place(scratch / "home", "/home"))
    found += [Place(getattr(world, name), f"/home/{name}") for name in ("data", "agent")]
    found += [Place(getattr(world, name), f"/home/{name}", True) for name in ("submission", "code", "logs")]
    found += [Place(world.notices, "/home/notices")] if world.notices else []
    found += [Place(file, f"/home/{name}") for name, file in world.home_files.items()]
    found += [Place(HERE / name, f"{RUN}/{name}") for name in ("first.py", "relay.py")]
    found += [Place(socket, f"{RUN}/{port}.sock") for port, socket in world.sockets.items()]
    return found


def outer_first(places: Iterable[Place]) -> list[Place]:
    """The same, each before those within it: an environment may lie below /var/tmp, which is mounted too."""
    return sorted(places, key=lambda place: len(Path(place.inside).parts))


def require_present(places: Sequence[Place]) -> None:
    """Raise SandboxError if a source is missing, for some engines make an empty folder of it."""
    for place in places:
        if not place.source.exists():
            raise SandboxError(f"there is no {place.source}")


def system_places(world: World) -> list[Place]:
    """The system that is seen without an image, and the environments of the world."""
    prefixes = [Place(prefix, str(prefix)) for prefix in system.prefixes(world)]
    return [*(Place(*part) for part in system.parts(world.root or Path("/"))), *prefixes]


def make_home(folder: Path, world: World) -> None:
    """A folder for `/home`, with a mount point for each place directly in it: it shows nothing else."""
    for name in ("data", "agent", "submission", "code", "logs", *(["notices"] if world.notices else [])):
        (folder / name).mkdir(parents=True)
    for name, source in world.home_files.items():
        if Path(name).parts[0] not in ("data", "agent"):
            make_mount_point(folder / name, source)


def make_mount_point(path: Path, source: Path) -> None:
    """An empty folder or file at `path` for `source` to be mounted at."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        path.mkdir(exist_ok=True)
    else:
        path.touch()


def first_command(python: str) -> list[str]:
    """How the first process is started."""
    return [python, "-I", "-S", f"{RUN}/first.py"]


def relay_command(python: str, world: World, limits: Limits, count_processes: bool = False) -> list[str]:
    """How the relay is started below it; `count_processes` has the kernel count those of the agent's user."""
    kernel = {"CORE": 0}
    if limits.memory_bytes is not None:
        kernel["DATA"] = 2 * limits.memory_bytes  # as in bubblewrap
    if limits.disk_bytes is not None:
        kernel["FSIZE"] = limits.disk_bytes + (1 << 20)
    if limits.processes is not None and count_processes:
        kernel["NPROC"] = limits.processes + 2
    settings = {
        "ports": {port: f"{RUN}/{port}.sock" for port in world.sockets},
        "limits": kernel,
        "cpus": None if limits.cpus is None else list(limits.cpus),
        "ready": RUNNER,
    }
    return [python, "-I", "-S", f"{RUN}/relay.py", json.dumps(settings)]
