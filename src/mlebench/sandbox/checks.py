"""What must hold for every sandbox, ours and a stranger's: tests and users run the same functions.

A check is a function `check(sandbox, folder)` that raises CheckFailed; `folder` is empty and its own. A back-end
that can't meet one says so in its attribute `exceptions` (name of the check -> reason).
`python -m mlebench.sandbox.checks NAME [IMAGE]` runs them all on the back-end NAME. Standard library only.
"""

from __future__ import annotations

import json
import os
import socket
import socketserver
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

from mlebench.errors import SandboxError
from mlebench.sandbox import Limits, Observer, Outcome, Sample, Sandbox, World, find_sandbox
from mlebench.sandbox.collect import collect_submission
from mlebench.sandbox.processes import processes

SECRET = "the-label-of-row-17-is-4"
MEGABYTE = 1 << 20


class CheckFailed(Exception):
    """What does not hold."""


Check = Callable[[Sandbox, Path], None]


@dataclass(frozen=True)
class CheckResult:
    """How one check went: "passed", "failed" or "excepted"."""

    check: str
    status: str
    reason: str = ""


def require(holds: object, otherwise: object) -> None:
    """Raise CheckFailed that says `otherwise`, unless it `holds`."""
    if not holds:
        raise CheckFailed(str(otherwise))


# --- a world to check in


def make_world(folder: Path, agent_code: str = "") -> World:
    """A world below `folder` with one data file, an agent `main.py`, and a label beside the public folder."""
    files = {
        folder / "prepared" / "public" / "train.csv": "id,x\n1,2\n",
        folder / "prepared" / "private" / "answers.csv": SECRET + "\n",
        folder / "agent" / "main.py": agent_code,
        folder / "instructions.txt": "Do your best.\n",
    }
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    submission, code, logs = (folder / name for name in ("submission", "code", "logs"))
    for path in (submission, code, logs):
        path.mkdir()
    return World(
        data=folder / "prepared" / "public",
        submission=submission,
        code=code,
        logs=logs,
        agent=folder / "agent",
        home_files={"instructions.txt": folder / "instructions.txt"},
        python=Path(sys.prefix),
    )


@dataclass(frozen=True)
class Ran:
    """How an agent fared, and what it printed."""

    outcome: Outcome
    output: str
    world: World


class WithImage:
    """A sandbox in which each world stands on an image."""

    def __init__(self, sandbox: Sandbox, image: str) -> None:
        self.sandbox, self.image, self.name = sandbox, image, sandbox.name
        self.exceptions = exceptions(sandbox)

    def unavailable(self) -> str | None:
        """As the sandbox says."""
        return self.sandbox.unavailable()

    def run(
        self, world: World, command: Sequence[str], limits: Limits, output: Path, observer: Observer | None = None
    ) -> Outcome:
        """Run `command` on the image, with the image's Python."""
        return self.sandbox.run(replace(world, image=self.image, python=None), command, limits, output, observer)


def run_code(
    sandbox: Sandbox,
    folder: Path,
    code: str,
    limits: Limits | None = None,
    marker: str = "",
    observer: Observer | None = None,
    **changes: Any,
) -> Ran:
    """Run Python code as an agent in a new world, with `marker` on its command line.

    `changes` replace fields of the world.
    """
    world = replace(make_world(folder, code), **changes)
    output = folder / "output.txt"
    command = ["python3", "/home/agent/main.py", marker]
    outcome = sandbox.run(world, command, limits or Limits(20, grace_seconds=1), output, observer)
    return Ran(outcome, output.read_text(errors="replace"), world)


def run_probe(sandbox: Sandbox, folder: Path, code: str, **changes: Any) -> Any:
    """Run code that must succeed and print JSON at its end; return that."""
    ran = run_code(sandbox, folder, code, None, **changes)
    require(ran.outcome.end == "completed", (ran.outcome, ran.output[-2000:]))
    return json.loads(ran.output.splitlines()[-1])


def alive(marker: str) -> list[str]:
    """Command lines of living processes that contain `marker`."""
    found = []
    for pid in processes():
        try:
            line = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace")
        except OSError:
            continue
        if marker in line:
            found.append(line.replace("\0", " "))
    return found


@contextmanager
def http_server(name: str = "you") -> Iterator[Path]:
    """A server on a Unix socket that answers every GET with its path, in a folder with a short name."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = f"{name} asked for {self.path}".encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def address_string(self) -> str:
            return "a Unix socket"

        def log_message(self, format: str, *args: object) -> None:
            pass

    with tempfile.TemporaryDirectory(prefix="mlebench-") as folder:
        path = Path(folder, "http.sock")
        with socketserver.ThreadingUnixStreamServer(str(path), Handler) as server:
            path.chmod(0o666)
            thread = threading.Thread(target=server.serve_forever, args=(0.05,))
            thread.start()
            try:
                yield path
            finally:
                server.shutdown()
                thread.join()


@contextmanager
def listening() -> Iterator[int]:
    """A TCP server on the host's loopback; its port."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


# --- the world


def the_environment_names_the_world(sandbox: Sandbox, folder: Path) -> None:
    """Folders, instructions and a home are where the variables say, writable where they should be."""
    code = """
import json, os, pathlib
env, text = os.environ, lambda *path: pathlib.Path(*path).read_text()
for name in ("SUBMISSION_DIR", "CODE_DIR", "LOGS_DIR", "HOME", "TMPDIR"):
    pathlib.Path(env[name], "mine").write_text(name)
print(json.dumps({"data": text(env["DATA_DIR"], "train.csv"), "told": text(env["INSTRUCTIONS_FILE"]),
    "agent": sorted(os.listdir(env["AGENT_DIR"])), "at_code": os.path.samefile(".", env["CODE_DIR"]),
    "python": os.path.realpath(__import__("sys").prefix), "given": env["GIVEN"],
    "plain": [env["TERM"], env["NO_COLOR"], env["COLUMNS"]], "stdin": os.read(0, 1).decode()}))
"""
    found = run_probe(sandbox, folder, code, environment={"GIVEN": "a value"})
    if isinstance(sandbox, WithImage):
        require(found.pop("python") != os.path.realpath(sys.prefix), "this is not the image's Python")
    expected = {
        "data": "id,x\n1,2\n",
        "told": "Do your best.\n",
        "agent": ["main.py"],
        "at_code": True,
        **({} if isinstance(sandbox, WithImage) else {"python": os.path.realpath(sys.prefix)}),
        "given": "a value",
        "plain": ["dumb", "1", "200"],
        "stdin": "",
    }
    require(found == expected, found)
    for name in ("submission", "code", "logs"):
        require((folder / name / "mine").read_text() == f"{name.upper()}_DIR", f"{name} is not kept")


def the_world_stands_at_its_paths(sandbox: Sandbox, folder: Path) -> None:
    """The documented paths exist, and `/home` holds nothing else."""
    code = "import json, os; print(json.dumps({'home': sorted(os.listdir('/home')), 'at': os.getcwd()}))"
    found = run_probe(sandbox, folder, code, python=None)
    expected = ["agent", "code", "data", "instructions.txt", "logs", "submission"]
    require(found == {"home": expected, "at": "/home/code"}, found)


def the_hosts_environment_stays_outside(sandbox: Sandbox, folder: Path) -> None:
    """No variable of ours reaches the agent, neither its own nor that of a process it can see."""
    code = """
import glob, json, os
seen = dict(os.environ)
for path in glob.glob("/proc/[0-9]*/environ"):
    try:
        seen[path] = open(path).read()
    except OSError:
        pass
print(json.dumps({"own": dict(os.environ), "all": seen}))
"""
    os.environ["MLEBENCH_CHECK_SECRET"] = SECRET
    try:
        found = run_probe(sandbox, folder, code)
    finally:
        del os.environ["MLEBENCH_CHECK_SECRET"]
    visible = found["own" if "no_process_outside_is_visible" in exceptions(sandbox) else "all"]
    require(SECRET not in json.dumps(visible), "a variable of the host is visible")


def data_and_agent_are_read_only(sandbox: Sandbox, folder: Path) -> None:
    """The agent can't change what it was given."""
    code = """
import json, os
tried = {}
for path in (os.environ["DATA_DIR"] + "/train.csv", os.environ["DATA_DIR"] + "/new", os.environ["AGENT_DIR"] + "/new",
             os.environ["INSTRUCTIONS_FILE"], "/usr/bin/new", "/etc/passwd", "/new", "/home/new", "/dev/new"):
    try:
        open(path, "a").close()
        tried[path] = "written"
    except OSError:
        pass
print(json.dumps(tried))
"""
    found = run_probe(sandbox, folder, code)
    require(found == {}, found)


def host_files_and_labels_are_out_of_sight(sandbox: Sandbox, folder: Path) -> None:
    """Neither a file beside the public data nor one in the host's home can be found by walking all there is."""
    code = """
import json, os
names = []
for at, folders, files in os.walk("/"):
    if at == "/":
        folders[:] = [name for name in folders if name not in ("usr", "proc", "sys", "nix")]
    names += [os.path.join(at, name) for name in files if name in ("answers.csv", "output.txt", "shadow")
        and os.access(os.path.join(at, name), os.R_OK)]
print(json.dumps({"found": names, "home": os.path.exists(%r), "private": os.path.exists(%r)}))
""" % (str(Path.home() / ".bashrc"), str(folder / "prepared" / "private"))  # noqa: UP031 - braces abound
    found = run_probe(sandbox, folder, code)
    require(found == {"found": [], "home": False, "private": False}, found)


def there_is_no_network(sandbox: Sandbox, folder: Path) -> None:
    """No interface but the loopback, and that is not the host's."""
    code = """
import json, os, socket
reached = []
for family, kind, address in (
    (socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", %d)),
    (socket.AF_INET, socket.SOCK_STREAM, ("1.1.1.1", 80)),
    (socket.AF_INET, socket.SOCK_STREAM, ("169.254.169.254", 80)),
    (socket.AF_INET, socket.SOCK_DGRAM, ("8.8.8.8", 53)),
    (socket.AF_INET6, socket.SOCK_STREAM, ("2606:4700:4700::1111", 80)),
):
    try:
        with socket.socket(family, kind) as client:
            client.settimeout(2)
            client.connect(address)
            reached.append(address)
    except OSError:
        pass
print(json.dumps({"reached": reached, "interfaces": [name for _, name in socket.if_nameindex() if name != "lo"]}))
"""
    with listening() as port:
        found = run_probe(sandbox, folder, code % port)
    interfaces = [name for name in found["interfaces"] if name not in ("sit0", "tunl0", "ip6tnl0")]
    require(found["reached"] == [] and interfaces == [], found)


def ports_lead_to_sockets(sandbox: Sandbox, folder: Path) -> None:
    """Two ports on localhost answer with what the host's Unix sockets say, many times over and at once."""
    code = """
import json, os, threading, urllib.request
bases, answers = [os.environ["VALIDATION_URL"].removesuffix("/validate"), os.environ["OTHER_URL"]], []
def ask(number):
    with urllib.request.urlopen(f"{bases[number % 2]}/{number}") as answer:
        answers.append(answer.read().decode())
threads = [threading.Thread(target=ask, args=(number,)) for number in range(20)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(json.dumps({"answers": sorted(answers)}))
"""
    other = {"OTHER_URL": "http://localhost:5100"}
    with http_server("the first") as first, http_server("the second") as second:
        found = run_probe(sandbox, folder, code, sockets={5000: first, 5100: second}, environment=other)
    expected = sorted(f"the {('first', 'second')[number % 2]} asked for /{number}" for number in range(20))
    require(found["answers"] == expected, found)


def no_process_outside_is_visible(sandbox: Sandbox, folder: Path) -> None:
    """The agent sees its own processes only, and can't signal ours."""
    code = """
import glob, json, os
lines = [open(path, "rb").read().decode(errors="replace") for path in glob.glob("/proc/[0-9]*/cmdline")]
try:
    os.kill(%d, 0)
    hit = True
except OSError:
    hit = False
print(json.dumps({"lines": lines, "hit": hit}))
""" % os.getpid()  # noqa: UP031 - braces abound
    found = run_probe(sandbox, folder, code)
    text = json.dumps(found["lines"])
    require(len(found["lines"]) <= 5 and str(folder) not in text, found)
    require(not found["hit"] or os.getpid() < 10, "the agent can signal a process outside")


def there_are_no_privileges(sandbox: Sandbox, folder: Path) -> None:
    """No root, no capability, no way to gain any, no namespace of its own."""
    code = """
import json, os, subprocess
status = dict(line.split(":\\t", 1) for line in open("/proc/self/status").read().splitlines() if ":\\t" in line)
unshare = subprocess.run(["unshare", "--user", "--map-root-user", "true"], capture_output=True).returncode
mount = subprocess.run(["mount", "-t", "tmpfs", "none", "/home/code"], capture_output=True).returncode
print(json.dumps({"uid": os.getuid(), "caps": int(status["CapEff"], 16) | int(status["CapPrm"], 16) |
    int(status["CapAmb"], 16), "no_new": status["NoNewPrivs"], "unshare": unshare != 0, "mount": mount != 0}))
"""
    found = run_probe(sandbox, folder, code)
    require(found.pop("uid") != 0, "the agent is root")
    require(found == {"caps": 0, "no_new": "1", "unshare": True, "mount": True}, found)


# --- ends


def exit_codes_become_ends(sandbox: Sandbox, folder: Path) -> None:
    """0 is completed, others are the agent's error, a missing program too; output is kept."""
    for code, end in ((0, "completed"), (3, "agent-error")):
        ran = run_code(sandbox, folder / str(code), f"import sys; print('hello'); sys.exit({code})")
        require(
            (ran.outcome.end, ran.outcome.exit_code, ran.output) == (end, code, "hello\n"), (ran.outcome, ran.output)
        )
    ran = run_code(sandbox, folder / "signal", "import os; os.kill(os.getpid(), 11)")
    require((ran.outcome.end, ran.outcome.exit_code) == ("agent-error", 139), ran.outcome)
    outcome = sandbox.run(make_world(folder / "none"), ["no-such-program"], Limits(20), folder / "output.txt")
    require((outcome.end, outcome.exit_code) == ("agent-error", 127), outcome)


def time_is_limited(sandbox: Sandbox, folder: Path) -> None:
    """SIGTERM at the deadline, SIGKILL after the grace, for children too; work done before stays."""
    code = """
import os, pathlib, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, lambda *_: pathlib.Path(os.environ["LOGS_DIR"], "warned").touch())
pathlib.Path(os.environ["SUBMISSION_DIR"], "submission.csv").write_text("id\\n1\\n")
while True:
    time.sleep(1)
"""
    started = time.monotonic()
    ran = run_code(sandbox, folder, code, Limits(1.5, grace_seconds=0.5))
    require((ran.outcome.end, ran.outcome.exit_code) == ("timeout", None), (ran.outcome, ran.output))
    require(time.monotonic() - started < 6, f"it took {time.monotonic() - started:.1f} s")
    require((ran.world.logs / "warned").exists(), "there was no SIGTERM")
    require(collect_submission(ran.world.submission), "the submission is lost")


def who_heeds_the_warning_ends_by_itself(sandbox: Sandbox, folder: Path) -> None:
    """An agent that stops at SIGTERM has its own exit code, and the end is still a timeout."""
    code = "import signal, sys, time; signal.signal(signal.SIGTERM, lambda *_: sys.exit(0)); time.sleep(60)"
    ran = run_code(sandbox, folder, code, Limits(1.5, grace_seconds=10))
    require((ran.outcome.end, ran.outcome.exit_code) == ("timeout", 0), ran.outcome)


def memory_is_limited(sandbox: Sandbox, folder: Path) -> None:
    """Memory of all processes counts together, and pages that they share count once."""
    code = """
import os, sys, time
shared = bytearray(os.urandom(1 << 20) * 60)
for _ in range(5):
    if os.fork() == 0:
        time.sleep(1.5)
        os._exit(0)
if os.environ["FILL"] == "yes":
    own = [os.urandom(1 << 20) for _ in range(200)]
    time.sleep(18)  # children die first, one at each look
time.sleep(1.5)
"""
    limits = Limits(20, memory_bytes=200 * MEGABYTE, grace_seconds=1)
    ran = run_code(sandbox, folder / "fill", code, limits, environment={"FILL": "yes"})
    require((ran.outcome.end, ran.outcome.exit_code) == ("out-of-memory", None), (ran.outcome, ran.output))
    if sys.platform == "linux":
        ran = run_code(sandbox, folder / "share", code, limits, environment={"FILL": "no"})
        require(ran.outcome.end == "completed" and ran.outcome.memory_kills == 0, (ran.outcome, ran.output))


def a_child_that_takes_too_much_memory_dies_first(sandbox: Sandbox, folder: Path) -> None:
    """The agent itself lives on, hears of the child's death, and the outcome tells of it."""
    code = """
import subprocess, sys
hog = "import os, time; x = [os.urandom(1 << 20) for _ in range(300)]; time.sleep(30)"
child = subprocess.run([sys.executable, "-c", hog])
print("child", child.returncode)
"""
    ran = run_code(sandbox, folder, code, Limits(20, memory_bytes=200 * MEGABYTE, grace_seconds=1))
    require((ran.outcome.end, ran.output) == ("completed", "child -9\n"), (ran.outcome, ran.output))
    require(ran.outcome.memory_kills >= 1, ran.outcome)


def the_observer_sees_and_stops(sandbox: Sandbox, folder: Path) -> None:
    """What is used is told meanwhile; an end that is returned comes with SIGTERM first."""
    code = """
import os, pathlib, signal, sys, time
def tidy(*_):
    pathlib.Path(os.environ["LOGS_DIR"], "tidied").touch()
    sys.exit(0)
signal.signal(signal.SIGTERM, tidy)
hoard = [os.urandom(1 << 20) for _ in range(45)]
open("file", "wb").write(bytes(3 << 20))
while time.process_time() < 0.7: pass
time.sleep(60)
"""
    samples: list[Sample] = []

    def observe(sample: Sample) -> tuple[str, str] | None:
        samples.append(sample)
        enough = sample.seconds > 2.5 and sample.cpu_seconds > 0.5
        return ("budget-spent", "as told") if enough or sample.seconds > 15 else None

    ran = run_code(sandbox, folder, code, Limits(20, grace_seconds=10), observer=observe)
    require((ran.outcome.end, ran.outcome.message) == ("budget-spent", "as told"), (ran.outcome, ran.output))
    require((ran.world.logs / "tidied").exists(), "there was no SIGTERM")
    last = samples[-1]
    require(last.memory_bytes > 40 * MEGABYTE and last.disk_bytes > 3 * MEGABYTE and last.processes >= 1, last)
    require(0.5 < last.cpu_seconds < 2.5 + last.seconds, last)


def time_running_short_is_told(sandbox: Sandbox, folder: Path) -> None:
    """The agent's first process gets the signal that it asked for, and what is put into notices is seen."""
    notices = folder / "notices"
    notices.mkdir(parents=True)
    told = notices / "time.txt"
    code = """
import os, pathlib, signal, subprocess, sys, time
def warned(*_):
    print("warned", pathlib.Path(os.environ["NOTICES_DIR"], "time.txt").read_text(), flush=True)
    child.kill()
    sys.exit(0)
signal.signal(signal.SIGUSR1, warned)
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
time.sleep(60)
"""

    def observe(_: Sample) -> None:
        if not told.exists():
            told.write_text("one second left")

    limits = Limits(6, warning_seconds=4, grace_seconds=1)
    ran = run_code(sandbox, folder / "world", code, limits, notices=notices, warning_signal="SIGUSR1", observer=observe)
    require((ran.outcome.end, ran.output) == ("completed", "warned one second left\n"), (ran.outcome, ran.output))


def processes_are_limited(sandbox: Sandbox, folder: Path) -> None:
    """An agent that forks without end gets no further than its limit, and the attempt ends by name."""
    code = """
import os, time
while True:
    try:
        if os.fork() == 0:
            time.sleep(60)
    except OSError:
        time.sleep(0.01)
"""
    marker = f"forking-{os.getpid()}-{time.monotonic_ns()}"
    ran = run_code(sandbox, folder, code, Limits(2, processes=50, grace_seconds=0.5), marker)
    require(ran.outcome.end in ("timeout", "agent-error"), ran.outcome)
    require(not alive(marker), "processes are left")


def disk_is_limited(sandbox: Sandbox, folder: Path) -> None:
    """Many files and one large file break the limit; an empty hole of a terabyte is no disk use."""
    limits = Limits(20, disk_bytes=20 * MEGABYTE, grace_seconds=1)
    many = """
import itertools, os
for number in itertools.count():
    with open(f"{number}", "wb") as file:
        file.write(bytes(100_000))
"""
    ran = run_code(sandbox, folder / "many", many, limits)
    require(ran.outcome.end == "disk-full", (ran.outcome, ran.output))
    one = "import os\nwith open(os.environ['TMPDIR'] + '/x', 'wb') as file:\n    while True: file.write(bytes(1 << 20))"
    ran = run_code(sandbox, folder / "one", one, limits)
    require(ran.outcome.end == "disk-full", (ran.outcome, ran.output))
    hole = "open('x', 'wb').truncate(1 << 40)"
    ran = run_code(sandbox, folder / "hole", hole, Limits(20))
    require(ran.outcome.end == "completed" and ran.outcome.peak_disk_bytes < MEGABYTE, (ran.outcome, ran.output))


def output_is_bounded(sandbox: Sandbox, folder: Path) -> None:
    """Endless output fills no disk; its beginning and its end are kept."""
    code = """
print("first")
block = "x" * 65_535
for _ in range(1200): print(block)
print("last")
"""
    ran = run_code(sandbox, folder, code)
    size = (folder / "output.txt").stat().st_size
    require(ran.outcome.end == "completed" and size < 70 * MEGABYTE, (ran.outcome, size))
    require(ran.output.startswith("first\n") and ran.output.endswith("last\n"), "beginning or end is lost")


# --- afterwards


def nothing_is_left_running(sandbox: Sandbox, folder: Path) -> None:
    """A daemon in a session of its own that ignores SIGTERM ends with the agent that left it behind."""
    marker = f"daemon-{os.getpid()}-{time.monotonic_ns()}"
    code = f"""
import subprocess, sys, time
child = "import signal, time; signal.signal(15, signal.SIG_IGN); print('up', flush=True); time.sleep(600)"
first = "import subprocess as s, sys; "
first += "s.Popen([sys.executable, '-c', sys.argv[1], {marker!r}], start_new_session=True)"
subprocess.run([sys.executable, "-c", first, child], check=True)
time.sleep(1)
"""
    ran = run_code(sandbox, folder, code)
    require(ran.outcome.end == "completed" and "up" in ran.output, (ran.outcome, ran.output))
    require(not alive(marker), alive(marker))


def an_interrupt_leaves_nothing_running(sandbox: Sandbox, folder: Path) -> None:
    """An exception in the waiting thread kills the tree."""
    import _thread
    import signal

    if threading.current_thread() is not threading.main_thread():
        raise CheckFailed("this check must run in the main thread")
    marker = f"interrupted-{os.getpid()}-{time.monotonic_ns()}"
    code = f"import subprocess, sys; subprocess.run([sys.executable, '-c', 'import time; time.sleep(600)', {marker!r}])"
    previous = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(1.5, _thread.interrupt_main)
    timer.start()
    try:
        run_code(sandbox, folder, code)
        raise CheckFailed("the interrupt was lost")
    except KeyboardInterrupt:
        require(not alive(marker), alive(marker))
    finally:
        timer.cancel()
        signal.signal(signal.SIGINT, previous)


def a_killed_runner_leaves_nothing_running(sandbox: Sandbox, folder: Path) -> None:
    """SIGKILL to the process that waits ends the agent too."""
    import signal
    import subprocess

    if sys.platform != "linux":
        return
    folder.mkdir(exist_ok=True)
    marker = f"orphan-{os.getpid()}-{time.monotonic_ns()}"
    agent = (
        f"import subprocess, sys; subprocess.run([sys.executable, '-c', 'import time; time.sleep(600)', {marker!r}])"
    )
    program = folder / "runner.py"  # a file, so that the marker is on the agent's command line only
    code = f"import sys; sys.path[:0] = {sys.path!r}\n"
    code += "from pathlib import Path\nfrom mlebench.sandbox import checks\n"
    image = sandbox.image if isinstance(sandbox, WithImage) else None
    code += f"sandbox = checks.open_sandbox({sandbox.name!r}, {image!r})\n"
    code += f"checks.run_code(sandbox, Path({str(folder / 'world')!r}), {agent!r})"
    program.write_text(code)
    environment = {**os.environ, "TMPDIR": str(folder)}  # it can't clean up after itself
    with subprocess.Popen([sys.executable, str(program)], env=environment, stderr=subprocess.DEVNULL) as runner:
        try:
            _wait_until(lambda: alive(marker) != [] or runner.poll() is not None, "the agent does not start")
            require(runner.poll() is None, "the runner failed")
        finally:
            runner.send_signal(signal.SIGKILL)
    _wait_until(lambda: alive(marker) == [], "the agent lives on")


def _wait_until(holds: Callable[[], bool], otherwise: str, seconds: float = 15) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        require(time.monotonic() < deadline, otherwise)
        time.sleep(0.1)


def no_link_of_the_agent_is_followed(sandbox: Sandbox, folder: Path) -> None:
    """A submission that is a link, a pipe, a folder or too large is no submission; a plain file is one."""
    for name, code, taken in (
        ("plain", "open(path, 'w').write('id')", True),
        ("link", "os.symlink('/etc/hostname', path)", False),
        ("inner", "open('x', 'w').write('id'); os.symlink(os.path.abspath('x'), path)", False),
        ("pipe", "os.mkfifo(path)", False),
        ("folder", "os.mkdir(path)", False),
        ("sparse", "open(path, 'wb').truncate(1 << 40)", False),
    ):
        code = "import os; path = os.environ['SUBMISSION_DIR'] + '/submission.csv'; " + code  # noqa: PLW2901
        ran = run_code(sandbox, folder / name, code)
        require(ran.outcome.end == "completed", (name, ran.outcome, ran.output))
        require((collect_submission(ran.world.submission) is not None) == taken, name)


def a_sandbox_that_fails_says_so(sandbox: Sandbox, folder: Path) -> None:
    """A world that can't be set up is the machine's fault: SandboxError, or at the least no `completed`."""
    world = replace(make_world(folder), logs=folder / "missing")
    try:
        outcome = sandbox.run(world, ["python3", "-c", "open('/home/logs/x', 'w')"], Limits(20), folder / "output.txt")
    except (SandboxError, FileNotFoundError):
        return
    raise CheckFailed(f"it ended as {outcome.end}")


SANDBOX_CHECKS: tuple[Check, ...] = (
    the_environment_names_the_world,
    the_world_stands_at_its_paths,
    the_hosts_environment_stays_outside,
    data_and_agent_are_read_only,
    host_files_and_labels_are_out_of_sight,
    there_is_no_network,
    ports_lead_to_sockets,
    no_process_outside_is_visible,
    there_are_no_privileges,
    exit_codes_become_ends,
    time_is_limited,
    who_heeds_the_warning_ends_by_itself,
    memory_is_limited,
    a_child_that_takes_too_much_memory_dies_first,
    the_observer_sees_and_stops,
    time_running_short_is_told,
    processes_are_limited,
    disk_is_limited,
    output_is_bounded,
    nothing_is_left_running,
    an_interrupt_leaves_nothing_running,
    a_killed_runner_leaves_nothing_running,
    no_link_of_the_agent_is_followed,
    a_sandbox_that_fails_says_so,
)


def exceptions(sandbox: Sandbox) -> Mapping[str, str]:
    """The checks that the back-end says it can't meet, each with the reason."""
    return getattr(sandbox, "exceptions", {})


def check_sandbox(sandbox: Sandbox, folder: Path) -> Iterator[CheckResult]:
    """Run all checks below `folder`, one result after the other."""
    for check in SANDBOX_CHECKS:
        name = check.__name__
        if reason := exceptions(sandbox).get(name):
            yield CheckResult(name, "excepted", reason)
            continue
        try:
            (folder / name).mkdir()
            check(sandbox, folder / name)
        except (CheckFailed, SandboxError) as error:
            yield CheckResult(name, "failed", str(error))
        else:
            yield CheckResult(name, "passed")


def open_sandbox(name: str, image: str | None = None) -> Sandbox:
    """The back-end with this name, on an image if one is given."""
    sandbox = find_sandbox(name)
    return sandbox if image is None else WithImage(sandbox, image)


def main(name: str, image: str | None = None) -> int:
    """Run all checks on a back-end and print the results; 1 if any failed."""
    sandbox = open_sandbox(name, image)
    if reason := sandbox.unavailable():
        print(f"{name} can't be used here: {reason}")
        return 1
    failed = 0
    with tempfile.TemporaryDirectory(prefix="mlebench-checks-", ignore_cleanup_errors=True) as folder:
        for result in check_sandbox(sandbox, Path(folder)):
            failed += result.status == "failed"
            print(f"{result.status:<9} {result.check}" + (f": {result.reason}" if result.reason else ""), flush=True)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
