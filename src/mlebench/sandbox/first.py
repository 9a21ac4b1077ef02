"""The first process inside a container: starts the relay, ends with it, or with whoever holds the container.

`python -I -S first.py RELAY...`, with standard input, output and error held by the runner outside. As long as the
runner lives, standard input stays open; when it ends, be it by SIGKILL, this process ends, and the kernel ends all
others with it. Standard error carries words for the runner, which the agent can't forge: first the relay's, then
one line of JSON with the exit code and the number of processes that the kernel killed for want of memory. The
agent can neither signal nor trace the first process of its namespace. Standard library only.
"""

from __future__ import annotations

import ctypes
import errno
import json
import os
import select
import signal
import struct
import sys
from contextlib import suppress

PR_SET_DUMPABLE = 4
PR_SET_SECCOMP = 22
SECCOMP_MODE_FILTER = 2
CLONE_NEWUSER = 0x10000000
SYSTEM_CALLS = {  # machine -> its number for the kernel, and those of clone, unshare, clone3, prlimit64
    "x86_64": (0xC000003E, 56, 272, 435, 302),
    "aarch64": (0xC00000B7, 220, 97, 435, 261),
}
RUNNER = 9  # the descriptor to which the relay says that it is ready
KILLS = (  # cgroup v2, v1
    ("/sys/fs/cgroup/memory.events", "oom_kill "),
    ("/sys/fs/cgroup/memory/memory.oom_control", "oom_kill "),
)


def main(command: list[str]) -> int:
    """Run `command`, adopt orphans, and return its exit code (128 + n after signal n)."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)  # no reading of, or writing to, what it has open
    forbid(libc)
    os.dup2(2, RUNNER, inheritable=False)
    os.dup2(1, 2)
    woken, wake = os.pipe()
    for end in (woken, wake):
        os.set_blocking(end, False)
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # the first process hears no signal that it has no handler for
    signal.signal(signal.SIGTERM, pass_on)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    relay = start(command)
    while True:
        ready, _, _ = select.select([0, woken], [], [])
        if 0 in ready and not os.read(0, 4096):
            return 1  # nobody is there any more
        if woken in ready:
            os.read(woken, 4096)
            if (code := reap(relay)) is not None:
                report = json.dumps({"code": code, "memory_kills": memory_kills()})
                os.write(RUNNER, report.encode() + b"\n")
                return code


def forbid(libc: ctypes.CDLL) -> None:
    """Forbid ourselves and all children to make user namespaces and to set limits of the first process.

    In a namespace of its own an agent would be root; not all engines forbid it. By limits it could end us.
    """
    if os.uname().machine not in SYSTEM_CALLS:
        return
    program = filter_program(*SYSTEM_CALLS[os.uname().machine])
    instructions = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *each) for each in program))
    header = struct.pack("HxxxxxxP", len(program), ctypes.addressof(instructions))
    if libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.create_string_buffer(header), 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "system calls can't be forbidden")


def filter_program(
    machine: int, clone: int, unshare: int, clone3: int, prlimit: int
) -> list[tuple[int, int, int, int]]:
    """For the kernel's filter machine: operation, steps to skip if true, steps to skip if false, operand."""
    load, equal, at_least, any_bit, answer = 0x20, 0x15, 0x35, 0x45, 0x06
    allow, refuse, missing = 0x7FFF0000, 0x00050000 | errno.EPERM, 0x00050000 | errno.ENOSYS
    return [
        (load, 0, 0, 4),  # for which machine the call is meant
        (equal, 0, 10, machine),
        (load, 0, 0, 0),  # its number
        (at_least, 8, 0, 0x40000000),  # another way to count calls
        (equal, 7, 0, clone3),  # its flags can't be seen; the C library then takes clone
        (equal, 4, 0, clone),
        (equal, 3, 0, unshare),
        (equal, 0, 5, prlimit),
        (load, 0, 0, 16),  # whose limits
        (equal, 4, 3, 1),
        (load, 0, 0, 16),  # flags of clone and unshare
        (any_bit, 2, 1, CLONE_NEWUSER),
        (answer, 0, 0, missing),
        (answer, 0, 0, allow),
        (answer, 0, 0, refuse),
    ]


def pass_on(number: int, _: object) -> None:
    """Send a signal to all other processes, of which the runner may not see any."""
    if os.getpid() == 1:
        with suppress(OSError):
            os.kill(-1, number)


def start(command: list[str]) -> int:
    """Start `command` without our standard input."""
    child = os.fork()
    if child == 0:
        try:
            signal.set_wakeup_fd(-1)
            for number in (signal.SIGCHLD, signal.SIGTERM):
                signal.signal(number, signal.SIG_DFL)
            os.set_inheritable(RUNNER, True)
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            os.execvp(command[0], command)
        finally:
            os._exit(127)
    return child


def reap(relay: int) -> int | None:
    """Take note of all that ended; the exit code of the relay if it did."""
    code = None
    with suppress(ChildProcessError):
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                break
            if pid == relay:
                code = os.waitstatus_to_exitcode(status)
    return code if code is None or code >= 0 else 128 - code


def memory_kills(root: str = "") -> int:
    """How many processes of the container with this root the kernel killed for want of memory."""
    for path, name in KILLS:
        with suppress(OSError), open(root + path, encoding="ascii") as file:  # noqa: PTH123
            for line in file:
                if line.startswith(name):
                    return int(line.split()[1])
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
