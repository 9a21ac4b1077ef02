"""The agent `sample`, run as a program."""

import gzip
import json
import zipfile
from http.server import BaseHTTPRequestHandler, HTTPServer
from io import BytesIO
from threading import Thread
from typing import ClassVar

import pytest

from mlebench import catalog
from mlebench.grading import grade
from mlebench.preparation.seven_zip import write_7z

SAMPLE = b"id,score\n1,0.5\n2,0.5\n"


@pytest.fixture
def data(tmp_path):
    folder = tmp_path / "prepared" / "public"
    folder.mkdir(parents=True)
    (folder / "description.md").write_text("# Rivers\n\n```csv\nid,score\n1,0.5\n```\n")
    (folder / "train.csv").write_bytes(b"id,level,score\n3,1,1\n")
    return folder


@pytest.mark.parametrize(
    "name", ["sample_submission.csv", "sampleSubmission.csv", "sample_submission_null.csv", "out.csv"]
)
def test_hands_in_the_sample_submission(place, data, name):
    (data / name).write_bytes(SAMPLE)
    assert place.run("sample", data).returncode == 0
    assert place.submission.read_bytes() == SAMPLE


def test_the_usual_name_wins(place, data):
    (data / "a_sample.csv").write_bytes(b"other\n")
    (data / "sample_submission.csv").write_bytes(SAMPLE)
    place.run("sample", data)
    assert place.submission.read_bytes() == SAMPLE


@pytest.mark.parametrize("suffix", ["gz", "zip", "7z"])
def test_unpacks_the_sample_submission(place, data, suffix):
    path = data / f"sample_submission.csv.{suffix}"
    if suffix == "gz":
        path.write_bytes(gzip.compress(SAMPLE))
    elif suffix == "7z":
        write_7z(path, [("sample_submission.csv", BytesIO(SAMPLE))])
    else:
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("sample_submission.csv", SAMPLE)
    assert place.run("sample", data).returncode == 0
    assert place.submission.read_bytes() == SAMPLE


PACKED = ["billion-word-imputation", "invasive-species-monitoring", "statoil-iceberg-classifier-challenge"]


@pytest.mark.parametrize(
    "competition_id",
    [
        pytest.param(name, marks=[] if name in PACKED else pytest.mark.slow)
        for name in [*PACKED, *(name for name in catalog.competitions() if name not in PACKED)]
    ],
)
def test_hands_in_the_sample_submission_of_every_competition(place, twins, competition_id):
    dataset = twins(competition_id)
    done = place.run("sample", dataset.public)
    assert done.returncode == 0, done.stderr
    assert grade(place.submission, dataset).score == dataset.manifest()["sample_score"]


def test_without_a_sample_submission_it_fails_but_reports(place, data):
    done = place.run("sample", data)
    assert done.returncode == 1
    assert "no sample submission" in done.stderr
    assert (place.logs / "probe.json").is_file()


def test_probe_tells_what_it_could_reach(place, data):
    (data / "sample_submission.csv").write_bytes(SAMPLE)
    private = data.parent / "private"
    private.mkdir()
    (private / "test.csv").write_bytes(b"id,score\n1,1\n")
    place.run("sample", data, SECRET_KEY="hidden")
    text = (place.logs / "probe.json").read_text()
    report = json.loads(text)
    assert report["answers"][0] == str(private / "test.csv")  # what stands beside the data comes first
    assert report["writable"]["data"]
    assert report["writable"]["submission"]
    assert "SECRET_KEY" in report["environment"]
    assert "hidden" not in text
    assert any("main.py" in process for process in report["processes"])
    assert "1.1.1.1:443" in report["network"]
    assert report["packages"]["numpy"]
    assert report["validation"]["reached"] is False


class Validation(BaseHTTPRequestHandler):
    received: ClassVar[list[bytes]] = []

    def do_POST(self):
        self.received.append(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b'{"result": "Submission is valid.", "is_valid": true}')

    def log_message(self, format, *args):
        pass


def test_asks_the_validation_service(place, data):
    (data / "sample_submission.csv").write_bytes(SAMPLE)
    with HTTPServer(("127.0.0.1", 0), Validation) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        place.run("sample", data, VALIDATION_URL=f"http://127.0.0.1:{server.server_port}/validate")
        server.shutdown()
    assert SAMPLE in Validation.received[-1]
    report = json.loads((place.logs / "probe.json").read_text())
    assert report["validation"] == {"reached": True, "result": "Submission is valid.", "is_valid": True}
