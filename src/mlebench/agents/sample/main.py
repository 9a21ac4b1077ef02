"""Hand in the sample submission, and record in probe.json what could be reached from here.

Standard library only, but for 7z archives: this is the probe that shows what an agent can do in a sandbox.
"""

from __future__ import annotations

import gzip
import importlib.util
import json
import os
import re
import socket
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
import uuid
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

PACKAGES = ("numpy", "pandas", "sklearn", "scipy", "PIL", "pydicom", "mlebench")
OUTSIDE = (("1.1.1.1", 443), ("8.8.8.8", 53), ("pypi.org", 443), ("2606:4700:4700::1111", 443))
ANSWER_FILES = re.compile(
    r"^(answers?|solutions?|gold_submission|test_labels|private_test)\b.*\.(csv|json|parquet|zip)$"
)
DATA_FILES = re.compile(r"\.(csv|json|jsonl|parquet|zip|npy)$")
SEARCHED = ("/home", "/data", "/mnt", "/media", "/srv", "/opt", "/root", "/tmp", "/var", "/work", "/workspace")
SEARCH_SECONDS = 3.0
SEARCH_DEPTH = 6
CONNECT_SECONDS = 1.0


def main() -> int:
    """Write submission.csv and probe.json; 1 if there is no sample submission."""
    data = Path(os.environ["DATA_DIR"])
    submission = Path(os.environ["SUBMISSION_DIR"]) / "submission.csv"
    sample = find_sample(data)
    if sample is not None:
        submission.write_bytes(content(sample))
        print(f"Copied {sample.name} to {submission}.")
    report = probe(submission)
    (Path(os.environ["LOGS_DIR"]) / "probe.json").write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    if sample is None:
        print(f"There is no sample submission in {data}.", file=sys.stderr)
        return 1
    print(f"Validation: {report['validation']}")
    return 0


# --- the sample submission


def find_sample(data: Path) -> Path | None:
    """The file sample_submission.csv, else a table named like one, else one with the columns of the example."""
    tables = sorted(path for path in nearby(data) if re.search(r"\.(csv|txt)(\.gz|\.zip|\.7z)?$", path.name, re.I))
    named = [path for path in tables if "sample" in path.name.lower()]
    named.sort(key=lambda path: (path.name != "sample_submission.csv", "submission" not in path.name.lower()))
    if named:
        return named[0]
    header = example_header(data / "description.md")
    unnamed = [path for path in tables if "train" not in path.name.lower()]
    fitting = (path for path in unnamed if header and first_line(path) == header)
    return min(fitting, key=lambda path: not re.search("predict|submission", path.name, re.I), default=None)


def nearby(data: Path) -> Iterator[Path]:
    """The files in `data`, then those one folder deeper if there are none that hold a table."""
    entries = list(data.iterdir())
    yield from (entry for entry in entries if entry.is_file())
    if not any("sample" in entry.name.lower() for entry in entries if entry.is_file()):
        for folder in (entry for entry in entries if entry.is_dir()):
            yield from folder.glob("*sample*")


def first_line(path: Path) -> bytes:
    """The first line of a table without quotes."""
    return content(path).split(b"\n", 1)[0].strip().replace(b'"', b"")


def content(path: Path) -> bytes:
    """The bytes of a table, unpacked if it is a .gz, .zip or .7z."""
    if path.suffix == ".gz":
        return gzip.decompress(path.read_bytes())
    if path.suffix == ".zip":
        with zipfile.ZipFile(path) as archive:
            return archive.read(next(name for name in archive.namelist() if name.lower().endswith((".csv", ".txt"))))
    if path.suffix == ".7z":
        import py7zr

        with tempfile.TemporaryDirectory() as folder, py7zr.SevenZipFile(path) as archive:
            archive.extractall(folder)
            return next(inner for inner in Path(folder).rglob("*") if inner.is_file()).read_bytes()
    return path.read_bytes()


def example_header(description: Path) -> bytes | None:
    """The first line of the description's first csv block."""
    if not description.is_file():
        return None
    block = re.search(r"```(?:csv)?\s*\n([^\n`]+)\n", description.read_text(encoding="utf-8"))
    return block.group(1).strip().replace('"', "").encode() if block else None


# --- the probe


def probe(submission: Path) -> dict[str, object]:
    """What can be reached from here; each part stands alone, so that one that fails hides no other."""
    parts: dict[str, Callable[[], object]] = {
        "user": lambda: {"uid": os.getuid(), "gid": os.getgid()},
        "python": lambda: sys.version,
        "working_directory": os.getcwd,
        "environment": lambda: sorted(os.environ),
        "packages": lambda: {name: importlib.util.find_spec(name) is not None for name in PACKAGES},
        "writable": writable,
        "processes": processes,
        "network": network,
        "answers": answers,
        "validation": lambda: validate(submission),
    }
    report: dict[str, object] = {}
    for name, part in parts.items():
        try:
            report[name] = part()
        except Exception as error:
            report[name] = f"failed: {error!r}"
    return report


def writable() -> dict[str, bool]:
    """For each place: whether a file can be made there. `data_files`: whether a public file can be changed."""
    names = {
        name: os.environ.get(f"{name.upper()}_DIR", "") for name in ("data", "submission", "code", "logs", "agent")
    }
    places = {**names, **{path: path for path in ("/", "/home", "/etc", "/usr", "/tmp")}}
    found = {name: can_write(Path(path)) for name, path in places.items() if path}
    found["data_files"] = any(can_change(path) for path in Path(os.environ["DATA_DIR"]).iterdir() if path.is_file())
    return found


def can_write(folder: Path) -> bool:
    """Whether a file can be made in `folder`; it is removed again."""
    path = folder / f".probe-{uuid.uuid4().hex}"
    try:
        path.write_bytes(b"probe")
        path.unlink()
    except OSError:
        return False
    return True


def can_change(path: Path) -> bool:
    """Whether `path` can be opened for writing; nothing is written."""
    try:
        with path.open("ab"):
            return True
    except OSError:
        return False


def processes() -> list[str]:
    """Number and command of every process that can be seen."""
    found = []
    for folder in sorted(Path("/proc").glob("[0-9]*"), key=lambda path: int(path.name)):
        try:
            command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
        except OSError:
            continue
        found.append(f"{folder.name} {command[:200]}")
    return found


def network() -> dict[str, str]:
    """For each address outside: "connected", or why not. All are tried at once."""
    results = {f"{host}:{port}": "no answer" for host, port in OUTSIDE}

    def connect(host: str, port: int) -> None:
        try:
            socket.create_connection((host, port), CONNECT_SECONDS).close()
            results[f"{host}:{port}"] = "connected"
        except OSError as error:
            results[f"{host}:{port}"] = str(error)

    threads = [threading.Thread(target=connect, args=address, daemon=True) for address in OUTSIDE]
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + 1.5 * CONNECT_SECONDS  # looking up a name has no time limit of its own
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))
    return dict(results)


def answers() -> list[str]:
    """Files outside the public ones that look like answers, those near the data first."""
    data = Path(os.environ["DATA_DIR"]).resolve()
    deadline = time.monotonic() + SEARCH_SECONDS
    beside = [data.parent, *data.parents[1:3]]
    roots = [*beside, *(Path(root) for root in SEARCHED)]
    found: dict[str, None] = {}
    for root in roots:
        if root != Path("/"):
            found.update(dict.fromkeys(sorted(str(path) for path in search(root, data, deadline))))
    return list(found)[:100]


def search(root: Path, data: Path, deadline: float) -> Iterator[Path]:
    """Files below `root` that are named like answers, or hold data and stand in a folder `private`."""
    skipped = {"site-packages", "proc", "sys", "node_modules", ".git", ".venv"}
    for folder, folders, files in os.walk(root):
        if time.monotonic() > deadline:
            return
        here = Path(folder)
        deep = len(here.relative_to(root).parts) >= SEARCH_DEPTH
        folders[:] = [] if deep else [name for name in folders if name not in skipped and here / name != data]
        if here == data:
            continue
        for name in files:
            if ANSWER_FILES.match(name) or (here.name == "private" and DATA_FILES.search(name)):
                yield here / name


def validate(submission: Path) -> dict[str, object]:
    """What the validation service says about the submission."""
    url = os.environ.get("VALIDATION_URL")
    if not url or not submission.is_file():
        return {"reached": False, "result": "no service or no submission"}
    border = uuid.uuid4().hex
    head = f'--{border}\r\nContent-Disposition: form-data; name="file"; filename="submission.csv"\r\n'
    body = (
        head.encode() + b"Content-Type: text/csv\r\n\r\n" + submission.read_bytes() + f"\r\n--{border}--\r\n".encode()
    )
    request = urllib.request.Request(url, body, {"Content-Type": f"multipart/form-data; boundary={border}"})
    try:
        with urllib.request.urlopen(request, timeout=300) as response:
            return {"reached": True, **json.load(response)}
    except urllib.error.HTTPError as error:
        return {"reached": True, "result": error.read().decode(errors="replace")[:2000], "is_valid": False}
    except (OSError, ValueError) as error:
        return {"reached": False, "result": str(error)}


if __name__ == "__main__":
    sys.exit(main())
