"""For root: enter a user namespace in which the agent is nobody, hand it its folders, become the next program.

`python -I -S launcher.py FOLDERS... -- COMMAND...`. In the new namespace there are two users: root, who is root
outside and can read what is to be mounted, and `AGENT`, who outside is a user that owns nothing but FOLDERS.
So the kernel counts the agent's processes (it exempts root from RLIMIT_NPROC), and a file of root's that the
agent might come upon is a stranger's file. No namespace can be made from inside.
Standard library only.
"""

from __future__ import annotations

import os
import sys

AGENT = 1000  # inside
FIRST_OUTSIDE = 0x70000000  # plus the process id: no two attempts of a machine share a user
CLONE_NEWUSER = 0x10000000


def main(folders: list[str], command: list[str]) -> None:
    """Become `command`, as root of a new user namespace."""
    outside = FIRST_OUTSIDE + os.getpid()
    if folders:
        code = os.spawnvp(os.P_WAIT, "chown", ["chown", "-Rh", f"{outside}:{outside}", *folders])
        if code != 0:
            raise OSError(f"the agent's folders can't be handed over: chown ended with code {code}")
    enter_namespace(f"0 0 1\n{AGENT} {outside} 1\n")
    os.setgid(0)
    os.setuid(0)
    with open("/proc/sys/user/max_user_namespaces", "w", encoding="ascii") as file:  # noqa: PTH123
        file.write("0")
    os.execvp(command[0], command)


def enter_namespace(mapping: str) -> None:
    """Enter a new user namespace. The mapping of users is written by a child, which stays outside."""
    ours = os.getpid()
    entered, tell = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(tell)
        if not os.read(entered, 1):
            os._exit(1)  # the parent is dead
        for name in ("uid_map", "gid_map"):
            with open(f"/proc/{ours}/{name}", "w", encoding="ascii") as file:  # noqa: PTH123
                file.write(mapping)
        os._exit(0)
    unshare_user_namespace()
    os.write(tell, b"x")
    if os.waitpid(child, 0)[1] != 0:
        raise OSError("the users of the new namespace can't be set")
    os.close(entered)
    os.close(tell)


def unshare_user_namespace() -> None:
    """unshare(CLONE_NEWUSER), also before Python 3.12."""
    if sys.version_info >= (3, 12):
        os.unshare(CLONE_NEWUSER)
        return
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWUSER) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


if __name__ == "__main__":
    end = sys.argv.index("--")
    main(sys.argv[1:end], sys.argv[end + 1 :])
