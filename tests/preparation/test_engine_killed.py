"""Killed at every step that changes the file system: nothing half-made looks prepared, and the same call goes on."""

import json
import subprocess
import sys

import pytest

PROGRAM = '''
"""Prepares again and again, killed before the first, second, third … change of the file system, till one call ends."""

import dataclasses
import hashlib
import json
import os
import shutil
import signal
import sys
import zipfile
from pathlib import Path

from mlebench import catalog
from mlebench.dataset import Dataset, read_manifest
from mlebench.grading import score_valid  # imported before the forks, as all that is heavy
from mlebench.preparation.commit import recover
from mlebench.preparation.engine import prepare
from mlebench.preparation.kaggle import records
from mlebench.preparation.sources import Local, Synthetic, find_source
from mlebench.preparation.verification import checksums, files_in

ID = "spaceship-titanic"
COMPETITION = dataclasses.replace(catalog.get(ID), checksums={})  # no published files that twins are unlike
CHANGES = {"os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.link", "os.symlink", "os.truncate", "shutil.rmtree"}
folder, kind, options = Path(sys.argv[1]), sys.argv[2], json.loads(sys.argv[3])


def in_a_child(function):
    """Run it in a process of its own; the signal that ended it, or 0."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            function()
            code = 0
        finally:
            os._exit(code)
    status = os.waitpid(pid, 0)[1]
    assert os.waitstatus_to_exitcode(status) in (0, -signal.SIGKILL), "the child failed"
    return os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0


def killed_before(change):
    """Let this process be killed before that change of the file system."""
    seen = 0

    def watch(event, arguments):
        nonlocal seen
        if event in CHANGES or event == "open" and arguments[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
            seen += 1
            if seen == change:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(watch)


def zipped(path):
    raw = folder / "raw"
    raw.mkdir(exist_ok=True)
    Synthetic(rows=30).fetch(catalog.get(ID), raw)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(raw.iterdir()):
            archive.write(file, file.name)


def start(data):
    """What is there before: nothing, other prepared data, a zip that was downloaded."""
    shutil.rmtree(data, ignore_errors=True)
    shutil.copytree(folder / "before", data)
    if kind == "kaggle":
        zip = data / ID / f"{ID}.zip"
        records.write_record(zip, zip, md5, [ID, ""])


def call(data):
    source = Synthetic(rows=30) if kind == "synthetic" else find_source(kind, data_dir=data)
    prepare(Dataset(COMPETITION, data), source, **options)


def contents(data):
    """All files but those that tell the time, with their hashes; checks that what looks prepared is so."""
    home = data / ID
    timeless = [path for path in files_in(home) if not path.endswith(("manifest.json", ".zip.json", "raw.json"))]
    found = checksums(home, timeless)
    if (home / "raw.json").is_file():
        recorded = json.loads((home / "raw.json").read_text())["files"]
        found |= {f"raw.json: {path}": facts for path, facts in recorded.items()}
    if (home / "prepared" / "manifest.json").is_file():
        for path, facts in read_manifest(home / "prepared")["files"].items():
            assert found[f"prepared/{path}"] == facts, path
    return found


archive = folder / f"{ID}.zip"
zipped(archive)
before = folder / "before" / ID
before.mkdir(parents=True)
md5 = ""
if kind == "kaggle":
    shutil.copy(archive, before)
    md5 = hashlib.md5(archive.read_bytes()).hexdigest()
if options.get("force"):
    prepare(Dataset(catalog.get(ID), folder / "before"), Synthetic(rows=40))
kind = str(archive) if kind == "zip" else kind

start(folder / "data")
assert in_a_child(lambda: call(folder / "data")) == 0
expected = contents(folder / "data")
change, step = 0, int(sys.argv[4])
while True:
    change += step
    data = folder / "data"
    start(data)
    ended = in_a_child(lambda: (killed_before(change), call(data)))
    after = contents(data)
    if not ended:
        break
    if options.get("force"):  # old or new, there are always data after what is left has been done
        shutil.copytree(data, folder / "copy", symlinks=True)
        recover(folder / "copy" / ID, lambda: None)
        contents(folder / "copy")
        assert (folder / "copy" / ID / "prepared" / "manifest.json").is_file(), change
        shutil.rmtree(folder / "copy")
    assert in_a_child(lambda: call(data)) == 0, change
    assert contents(data) == expected, (change, sorted(contents(data)), sorted(expected))
print(json.dumps({"changes": change, "files": sorted(expected)}))
'''
PREPARED = [
    "prepared/private/test.csv",
    *(f"prepared/public/{name}" for name in ("description.md", "sample_submission.csv", "test.csv", "train.csv")),
]
RAW = [f"{where}{name}.csv" for where in ("raw/", "raw.json: ") for name in ("sample_submission", "test", "train")]


@pytest.mark.parametrize(
    ("source", "options", "step", "kept"),
    [
        ("synthetic", {}, 5, []),
        ("zip", {"keep": "raw", "force": True}, 3, RAW),
        ("kaggle", {"keep": "nothing"}, 3, []),
        pytest.param("zip", {"keep": "raw", "force": True}, 1, RAW, marks=pytest.mark.slow),
        pytest.param("kaggle", {"keep": "nothing"}, 1, [], marks=pytest.mark.slow),
    ],
    ids=[
        "synthetic",
        "in place of others",
        "downloaded",
        "in place of others, every change",
        "downloaded, every change",
    ],
)
def test_killed_anywhere_the_next_call_goes_on(tmp_path, source, options, step, kept):
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path), source, json.dumps(options), str(step)],
        check=False,
        capture_output=True,
        text=True,
    )
    assert ended.returncode == 0, ended.stderr[-4000:]
    result = json.loads(ended.stdout)
    assert result["changes"] > 30
    assert result["files"] == sorted([*PREPARED, *kept])
