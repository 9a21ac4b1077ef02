"""The validation service over its true Unix socket."""

import json
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from mlebench import catalog, submission
from mlebench.errors import SandboxError
from mlebench.sandbox import SANDBOXES, Limits, find_sandbox
from mlebench.sandbox.checks import make_world
from mlebench.services import validation
from mlebench.services.serving import serve

ID = "spaceship-titanic"
SCRIPT = Path(validation.__file__).with_name("validate_submission.sh")


@pytest.fixture(scope="module")
def public(twins):
    return twins(ID).public


@pytest.fixture
def service(public, tmp_path):
    """A client, the log and the socket of a running service."""
    # Socket paths are limited to about 100 bytes.
    socket = Path("/tmp") / f"mlebench-{os.getpid()}-{tmp_path.name[-8:]}.sock"
    log = tmp_path / "validations.jsonl"
    app = validation.make_app(catalog.get(ID), public, log, max_bytes=1 << 20)
    with (
        serve(app, socket),
        httpx.Client(transport=httpx.HTTPTransport(uds=str(socket)), base_url="http://localhost:5000") as client,
    ):
        yield client, log, socket
    assert not socket.exists()


@pytest.fixture
def sample(public):
    return (public / "sample_submission.csv").read_bytes()


def test_a_valid_submission(service, sample):
    client, log, _ = service
    answer = client.post("/validate", files={"file": sample})
    assert answer.status_code == 200
    assert answer.json() == {"result": "Submission is valid.", "is_valid": True}
    entry = json.loads(log.read_text())
    assert entry.pop("time").endswith("+00:00")
    assert entry == {"bytes": len(sample), "valid": True, "kinds": []}


def test_an_invalid_submission_is_told_why(service, sample):
    client, log, _ = service
    lines = sample.decode().splitlines()
    answer = client.post("/validate", files={"file": "\n".join([*lines[:-1], "nobody,True"])})
    assert answer.status_code == 200
    assert answer.json()["is_valid"] is False
    assert "nobody" in answer.json()["result"]
    assert json.loads(log.read_text())["kinds"] == ["unknown id", "missing id"]


def test_a_raw_body(service, sample):
    client, _, _ = service
    headers = {"Content-Type": "text/csv; charset=utf-8", "X-Competition-Id": ID}
    answer = client.post("/validate", content=sample, headers=headers)
    assert answer.json() == {"valid": True, "message": "Submission is valid.", "is_valid": True}
    plain = client.post("/validate", content=sample, headers={**headers, "Accept": "text/plain"})
    assert plain.text == "Submission is valid."


def test_health_names_the_competition(service):
    client, _, _ = service
    assert client.get("/health").json() == {"status": "running", "competition": ID}


def test_the_header_of_a_shared_server_is_understood(service, sample):
    client, _, _ = service
    assert client.post("/validate", files={"file": sample}, headers={"exp-id": ID}).json()["is_valid"]
    answer = client.post("/validate", files={"file": sample}, headers={"exp-id": "another"})
    assert answer.status_code == 404
    assert ID in answer.json()["error"]


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        ({"files": {"other": b"x"}}, 400),
        ({"data": {"file": "text"}}, 400),
        ({"content": b"x"}, 400),
        ({"content": b"junk", "headers": {"Content-Type": "multipart/form-data"}}, 400),
        ({"content": b"junk", "headers": {"Content-Type": "multipart/form-data; boundary=x"}}, 400),
        ({"files": [("file", b"a"), ("file", b"b")]}, 400),
        ({"files": {"file": bytes(2 << 20)}}, 413),
        ({"content": bytes(2 << 20), "headers": {"Content-Type": "text/csv"}}, 413),
    ],
)
def test_what_is_no_upload_is_refused(service, sample, request_, status):
    client, log, _ = service
    answer = client.post("/validate", **request_)
    assert answer.status_code == status
    assert set(answer.json()) == {"error", "details"}
    assert not log.exists()
    assert client.post("/validate", files={"file": sample}).json()["is_valid"]


def test_odd_bytes_are_an_answer_not_a_failure(service):
    client, _, _ = service
    for content in (b"", b"\0" * 1000, b"\xff\xfe\xfa", b"a" * 100_000, b'"' * 1001, b"../../etc/passwd"):
        answer = client.post("/validate", files={"file": ("../../submission.csv", content)})
        assert answer.status_code == 200
        assert answer.json()["is_valid"] is False


def test_many_at_once(service, sample):
    client, _, _ = service
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: client.post("/validate", files={"file": sample}), range(16)))
    assert all(answer.json()["is_valid"] for answer in answers)


def test_what_would_be_too_large_anyway_is_not_taken_in(public, tmp_path, sample, monkeypatch):
    monkeypatch.setattr(submission, "MIN_LIMIT_BYTES", 0)
    monkeypatch.setattr(validation, "FORM_BYTES", 1000)
    socket = Path("/tmp") / f"mlebench-{os.getpid()}-large.sock"
    with (
        serve(validation.make_app(catalog.get(ID), public), socket),
        httpx.Client(transport=httpx.HTTPTransport(uds=str(socket))) as client,
    ):
        answers = [client.post("http://localhost/validate", files={"file": sample * times}) for times in (1, 100)]
    assert [answer.status_code for answer in answers] == [200, 413]


def test_too_many_at_once_are_turned_away(service, sample, monkeypatch):
    client, _, _ = service
    monkeypatch.setattr(validation, "MAX_WAITING", 0)
    assert client.post("/validate", files={"file": sample}).status_code == 503


def test_a_failure_of_ours_says_so_and_no_more(public, tmp_path, sample):
    broken = replace(catalog.get(ID), sample_submission_file="missing.csv")
    socket = Path("/tmp") / f"mlebench-{os.getpid()}-broken.sock"
    with serve(validation.make_app(broken, public), socket):
        with httpx.Client(transport=httpx.HTTPTransport(uds=str(socket))) as client:
            answer = client.post("http://localhost/validate", files={"file": sample})
        with httpx.Client(transport=httpx.HTTPTransport(uds=str(socket))) as another:  # the first connection is closed
            assert another.get("http://localhost/health").status_code == 200
    assert answer.status_code == 500
    assert set(answer.json()) == {"error", "details"}
    assert str(public) not in answer.text


def test_a_path_that_is_too_long_is_explained(public, tmp_path):
    app = validation.make_app(catalog.get(ID), public)
    with pytest.raises(SandboxError, match="limited"), serve(app, tmp_path / ("x" * 120)):
        pass


@pytest.mark.parametrize("name", SANDBOXES)
@pytest.mark.parametrize("tool", ["curl", "python3"])
def test_the_script_inside_a_sandbox(name, tool, service, sample, tmp_path):
    """With both tools; a file name of any kind; the exit code tells valid, invalid and wrong use apart."""
    sandbox = find_sandbox(name)
    if reason := sandbox.unavailable():
        pytest.skip(reason)
    if tool == "curl" and shutil.which("curl", path="/usr/bin:/bin") is None:
        pytest.skip("no curl")
    code = """
import os, pathlib, shutil, subprocess, sys
script = pathlib.Path(os.environ["INSTRUCTIONS_FILE"]).with_name("validate_submission.sh")
shutil.copy(os.environ["DATA_DIR"] + "/sample_submission.csv", "a; b,c=\\"1\\".csv")
pathlib.Path("bad.csv").write_text("nothing\\n1\\n")
tools = pathlib.Path(os.environ["TMPDIR"], "tools")
tools.mkdir()
for name in ("sh", "python3", "cat", sys.argv[1]):
    if not (tools / name).exists():
        (tools / name).symlink_to(sys.executable if name == "python3" else shutil.which(name))
for arguments in (["a; b,c=\\"1\\".csv"], ["bad.csv"], [], ["missing.csv"]):
    done = subprocess.run(["sh", script, *arguments], env={**os.environ, "PATH": str(tools)}, capture_output=True)
    print(done.returncode, done.stdout.decode().splitlines()[:1], done.stderr.decode()[:5])
"""
    _, _, socket = service
    world = make_world(tmp_path / "world", code)
    (world.data / "sample_submission.csv").write_bytes(sample)
    inside = {"instructions.txt": tmp_path / "world" / "instructions.txt", "validate_submission.sh": SCRIPT}
    if name == "none":  # nothing is mounted: the script lies beside the instructions
        shutil.copy(SCRIPT, tmp_path / "world" / SCRIPT.name)
    world = replace(world, home_files=inside, sockets={5000: socket})
    output = tmp_path / "output.txt"
    sandbox.run(world, ["python3", "/home/agent/main.py", tool], Limits(30), output)
    assert output.read_text().splitlines() == [
        "0 ['Submission is valid.'] ",
        "1 ['Submission is invalid.'] ",
        "2 [] Usage",
        "2 [] There",
    ]


def test_the_service_does_not_import_what_grades():
    code = "import sys, mlebench.services.validation; print([m for m in sys.modules if m.startswith('mlebench')])"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "grading" not in loaded
    assert "dataset" not in loaded
