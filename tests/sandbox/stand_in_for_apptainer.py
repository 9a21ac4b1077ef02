#!/usr/bin/python3
"""Does by bubblewrap what Apptainer does by itself, for the options that mlebench uses.

Where Apptainer can't be had, tests put it on PATH under that name. It knows folders only, no images.
"""

import os
import sys
import tempfile

FLAGS = {"--containall", "--cleanenv", "--no-home", "--net", "--nv"}
VALUES = {"--no-mount", "--network", "--hostname", "--pwd", "--bind"}


def main(arguments):
    """Become bwrap."""
    assert arguments.pop(0) == "exec", "only exec is known"
    given = {name: [] for name in VALUES}
    flags = set()
    while arguments[0].startswith("-"):
        name = arguments.pop(0)
        if name in FLAGS:
            flags.add(name)
        else:
            given[name].append(arguments.pop(0))
    root, command = arguments[0], arguments[1:]
    assert {"--containall", "--cleanenv", "--no-home"} <= flags, "what is not contained is not imitated"
    options = ["--bind", root, "/", "--proc", "/proc", "--dev", "/dev", "--unshare-user"]
    for bind in given["--bind"]:
        source, inside, mode = bind.split(":")
        options += ["--bind" if mode == "rw" else "--ro-bind", source, inside]
    options += ["--unshare-pid", "--unshare-ipc", "--unshare-uts", "--hostname", given["--hostname"][0]]
    if "--net" in flags and given["--network"] == ["none"]:
        options.append("--unshare-net")
    options += ["--remount-ro", "/", "--remount-ro", "/dev", "--clearenv", "--setenv", "PATH", "/usr/bin:/bin"]
    options += ["--chdir", *given["--pwd"]]
    with tempfile.TemporaryFile() as file:  # Apptainer's processes inside don't show its options either
        file.write("\0".join(options).encode())
        file.seek(0)
        os.set_inheritable(file.fileno(), True)
        os.execvp("bwrap", ["bwrap", "--args", str(file.fileno()), "--", *command])


if __name__ == "__main__":
    main(sys.argv[1:])
