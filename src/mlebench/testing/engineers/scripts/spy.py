"""Try what an agent must not be able to do, and record what came of it."""

import json
import os
import socket
from collections.abc import Callable
from pathlib import Path

HOSTS = (("1.1.1.1", 443), ("pypi.org", 443))
FOLDERS = ("/private", "/root", "/home", "/host", "/mnt", "/work")
SECONDS = 2.0


def connected(address: tuple[str, int]) -> str:
    """That a connection was made."""
    socket.create_connection(address, SECONDS).close()
    return "connected"


def environment_of_first_process() -> str:
    """The names of the variables of process 1."""
    given = Path("/proc/1/environ").read_bytes().decode(errors="replace").split("\0")
    return " ".join(sorted(each.partition("=")[0] for each in given if each)) or "empty"


def attempt(action: Callable[[], str]) -> dict[str, object]:
    """What the action gave, or what refused it."""
    try:
        return {"reached": True, "result": action()}
    except Exception as error:
        return {"reached": False, "result": f"{type(error).__name__}: {error}"}


def listing(folder: str) -> Callable[[], str]:
    """An action that lists a folder."""
    return lambda: " ".join(sorted(entry.name for entry in Path(folder).iterdir()))


def answers() -> str:
    """Folders named private anywhere near the data; fails if there is none."""
    data = Path(os.environ.get("DATA_DIR", "/home/data")).resolve()
    return str(next(path for parent in data.parents for path in parent.glob("private/*")))


def main() -> None:
    """Try all; the record is printed, and kept in the logs if there is a place for them."""
    actions: dict[str, Callable[[], str]] = {
        **{f"network {host}:{port}": lambda address=(host, port): connected(address) for host, port in HOSTS},
        **{f"folder {folder}": listing(folder) for folder in FOLDERS},
        "environment of process 1": environment_of_first_process,
        "answers": answers,
    }
    report = {name: attempt(action) for name, action in actions.items()}
    for name, found in report.items():
        print(f"{name}: {'REACHED' if found['reached'] else 'refused'} ({str(found['result'])[:200]})")
    if logs := os.environ.get("LOGS_DIR"):
        (Path(logs) / "spy.json").write_text(json.dumps(report, indent=2), encoding="utf-8")


if __name__ in ("__main__", "builtins"):
    main()
