"""What a run's report says of the model's use, of killed children, and of earlier moments."""

import json

import pytest

from mlebench import catalog
from mlebench.report import over_time, render_terminal, to_json, write_html
from mlebench.report.results import read_run
from mlebench.runs.runner import execute, plan_run
from mlebench.runs.store import attempts, read_config
from mlebench.sandbox import find_sandbox

SANDBOX = "bubblewrap" if find_sandbox("bubblewrap").unavailable() is None else "none"
PROGRAM = """
import os, pathlib, shutil, time
out = pathlib.Path(os.environ["SUBMISSION_DIR"], "submission.csv")
out.write_text("junk")
time.sleep(1.6)
shutil.copy(os.environ["DATA_DIR"] + "/sample_submission.csv", out)
time.sleep(1.4)
"""
USE = {"requests": 3, "input_tokens": 1000, "output_tokens": 50, "dollars": 0.25, "lost_seconds": 61.0}


@pytest.fixture(scope="module")
def run(twins, tmp_path_factory):
    folder = tmp_path_factory.mktemp("over-time")
    (folder / "agent").mkdir()
    (folder / "agent" / "agent.toml").write_text(
        'title = "T"\nsummary = "S"\ncommand = ["python", "/home/agent/main.py"]\n'
    )
    (folder / "agent" / "main.py").write_text(PROGRAM)
    dataset = twins("spaceship-titanic")
    run, _ = plan_run(
        agent=str(folder / "agent"), competitions=[catalog.get("spaceship-titanic")], data_dir=dataset.data_dir,
        runs_dir=folder, sandbox=SANDBOX, name="r", time_limit_seconds=60, snapshot_seconds=1,
    )  # fmt: skip
    assert execute(run, lambda _: None)
    (attempt,) = attempts(run, read_config(run))
    state = attempt.state()
    changed = {"model_use": USE, "earlier_model_use": [USE], "memory_kills": 2}
    attempt.write_state(type(state)(**{**vars(state), **changed}))
    return run


def test_moments_tell_what_was_in_place(run):
    results = read_run(run)
    moments = over_time.moments(results)
    assert [moment.seconds for moment in moments[:3]] == [1, 2, 3]
    assert moments[0].valid == 0
    assert moments[-1].valid == 1
    assert sorted({moment.valid for moment in moments}) == [0, 1]
    (attempt,) = results.attempts
    assert attempt.grade_at(0.5) is None
    assert attempt.grade_at(1e6) == attempt.grade


def test_what_earlier_tries_used_counts(run):
    assert read_run(run).spent == {name: 2 * value for name, value in USE.items()}


def test_it_is_in_every_form_of_the_report(run, tmp_path):
    from rich.console import Console

    console = Console(record=True, width=120, file=(tmp_path / "out").open("w"))
    render_terminal(run, console)
    shown = console.export_text()
    console.file.close()
    page = write_html(run, tmp_path / "report.html").read_text()
    for text in (shown, page):
        assert "6 requests, 2,000 tokens in, 100 out, $0.50, 2m 02s lost" in text
        assert "2 of the agent" in text
    assert "Had the attempts ended earlier" in shown
    assert "Over time" in page
    content = json.loads(json.dumps(to_json(run)))
    assert content["model_use"]["dollars"] == 0.5
    assert content["over_time"][0]["valid"] == 0
    assert content["attempts"][0]["snapshots"]
