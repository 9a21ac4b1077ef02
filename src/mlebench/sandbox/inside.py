"""Where things are inside every sandbox, and the variables that say so."""

from __future__ import annotations

import os

from mlebench.sandbox import World

FOLDERS = ("data", "submission", "code", "logs", "agent")  # below /home
VALIDATION_PORT = 5000
GATEWAY_PORT = 5100


def environment(world: World, home: str, temporary: str) -> dict[str, str]:
    """What an agent finds in its environment, as paths of the inside."""
    prefixes = [*([world.python] if world.python else []), *world.software]
    path = ["/usr/local/bin", "/usr/bin", "/bin"]
    found = {
        "PATH": os.pathsep.join([*(str(prefix / "bin") for prefix in prefixes), *path]),
        "HOME": home,
        "TMPDIR": temporary,
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        "NO_COLOR": "1",
        "COLUMNS": "200",
        **{f"{name.upper()}_DIR": f"/home/{name}" for name in FOLDERS},
    }
    if "instructions.txt" in world.home_files:
        found["INSTRUCTIONS_FILE"] = "/home/instructions.txt"
    if world.notices is not None:
        found["NOTICES_DIR"] = "/home/notices"
    if VALIDATION_PORT in world.sockets:
        found["VALIDATION_URL"] = f"http://localhost:{VALIDATION_PORT}/validate"
    return {**found, **world.environment}
