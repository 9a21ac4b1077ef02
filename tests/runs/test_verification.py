"""Verification: an untouched run is complete; whatever is changed, added or taken away is named."""

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from mlebench import catalog
from mlebench.cli import main
from mlebench.dataset import Dataset
from mlebench.errors import MlebenchError, UsageError
from mlebench.preparation.engine import prepare
from mlebench.preparation.sources import Synthetic
from mlebench.runs.proof import PROOF, seal_run
from mlebench.runs.runner import execute, plan_run
from mlebench.runs.seal import file_sha256
from mlebench.runs.signing import SIGNATURE, new_key, sign_run
from mlebench.runs.store import TRIES, AttemptState, read_config
from mlebench.runs.verification import verify_run
from mlebench.sandbox import find_sandbox

SANDBOX = "bubblewrap" if find_sandbox("bubblewrap").unavailable() is None else "none"
IDS = ("spaceship-titanic", "spooky-author-identification")
FIRST, SECOND = (f"{competition_id}/0" for competition_id in IDS)


def make_run(folder: Path, agent="sample", ids=IDS, seeds=2, **options):
    """A finished run on twins."""
    for competition_id in ids:
        prepare(Dataset(catalog.get(competition_id), folder / "data"), Synthetic(rows=60))
    run, _ = plan_run(
        agent=agent,
        competitions=[catalog.get(competition_id) for competition_id in ids],
        data_dir=folder / "data",
        runs_dir=folder,
        seeds=seeds,
        time_limit_seconds=60,
        sandbox=SANDBOX,
        name="r",
        **options,
    )
    assert execute(run, lambda _: None)
    return run


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    return make_run(tmp_path_factory.mktemp("finished"))


@pytest.fixture
def run(finished, tmp_path):
    """A copy of the finished run and its data, to be tampered with."""
    shutil.copytree(finished.parent / "data", tmp_path / "data")
    shutil.copytree(finished, tmp_path / "r")
    return tmp_path / "r"


def verify(run, **options):
    return verify_run(run, data_dir=run.parent / "data", **options)


def found(run, **options):
    """What `verify_run` names: kind, place and message of each problem in one text."""
    return [f"{each.kind}: {each.where} {each.message}" for each in verify(run, **options).problems]


def edit(path, **changes):
    content = json.loads(path.read_text())
    path.write_text(json.dumps(content | changes))


def test_an_untouched_run_is_complete(run):
    result = verify(run, regrade=True)
    assert result.complete, result
    assert (result.planned, result.problems, result.warnings, result.to_come) == (4, [], [], [])
    assert file_sha256(run / PROOF) in result.notes[0]


def test_a_run_whose_grader_failed_at_first(tmp_path):
    answers = tmp_path / "data" / IDS[0] / "prepared" / "private" / "test.csv"
    prepare(Dataset(catalog.get(IDS[0]), tmp_path / "data"), Synthetic(rows=60))
    hidden = answers.rename(tmp_path / "hidden.csv")
    run, _ = plan_run(
        agent="sample",
        competitions=[catalog.get(IDS[0])],
        data_dir=tmp_path / "data",
        runs_dir=tmp_path,
        time_limit_seconds=60,
        sandbox=SANDBOX,
        name="r",
    )
    assert not execute(run, lambda _: None)
    assert seal_run(run) is None
    assert verify(run).to_come == [FIRST]
    hidden.rename(answers)
    assert execute(run, lambda _: None)
    state = json.loads((run / FIRST / "attempt.json").read_text())
    assert state["finished"] <= state["seal"]["sealed"]
    assert verify(run, regrade=True).complete


def test_going_on_with_a_finished_run_changes_nothing(run):
    before = (run / PROOF).read_bytes()
    edit(run / FIRST / "attempt.json", end="timeout")
    execute(run, lambda _: None)
    assert (run / PROOF).read_bytes() == before


# --- the plan


def test_changed_run_json(run):
    edit(run / "run.json", model="openai/another")
    messages = found(run)
    assert any(f"run.json changed since attempts began: {FIRST}, {SECOND}" in message for message in messages)
    assert f"plan: run.json was changed after {PROOF} was written" in messages


def test_a_seed_dropped_from_the_plan(run):
    planned = [name for name in read_config(run).planned if name.endswith("/0")]
    edit(run / "run.json", seeds=1, planned=planned)
    messages = found(run)
    for competition_id in IDS:
        assert f"plan: {competition_id}/1 is not in the plan of run.json" in messages
        assert f"proof: {PROOF} {competition_id}/1 stands only in it" in messages


def test_a_plan_that_contradicts_itself(run):
    edit(run / "run.json", planned=read_config(run).planned[:3])
    assert f"plan: run.json {IDS[1]}/1 is named by its competitions and seeds alone" in found(run)


def test_an_added_seed(run):
    shutil.copytree(run / FIRST, run / IDS[0] / "2")
    assert f"plan: {IDS[0]}/2 is not in the plan of run.json" in found(run)


def test_an_added_seed_that_is_planned_too(run):
    shutil.copytree(run / FIRST, run / IDS[0] / "2")
    edit(run / IDS[0] / "2" / "attempt.json", seed=2)
    edit(run / "run.json", seeds=3, planned=[*read_config(run).planned, f"{IDS[0]}/2", f"{IDS[1]}/2"])
    shutil.copytree(run / SECOND, run / IDS[1] / "2")
    edit(run / IDS[1] / "2" / "attempt.json", seed=2)
    messages = found(run)
    assert f"proof: {PROOF} {IDS[0]}/2 stands only in run.json" in messages
    assert any("run.json changed since attempts began" in message for message in messages)


def test_an_added_competition(run):
    shutil.copytree(run / IDS[0], run / "leaf-classification")
    assert "plan: leaf-classification/0 is not in the plan of run.json" in found(run)


def test_attempts_with_other_code_are_named(run):
    path = run / FIRST / "attempt.json"
    provenance = json.loads(path.read_text())["provenance"]
    edit(path, provenance=provenance | {"agent_digest": "other"})
    warnings = verify(run).warnings
    assert [(each.where, each.message) for each in warnings] == [(FIRST, "the agent is another than in run.json")]


# --- attempts


def test_a_deleted_attempt(run):
    shutil.rmtree(run / FIRST)
    result = verify(run)
    assert result.to_come == [FIRST]
    assert f"attempts: {FIRST}/attempt.json was removed after {PROOF} was written" in found(run)


@pytest.mark.parametrize("changes", [{"end": "timeout"}, {"seconds": 1.0}, {"peak_disk_bytes": 5}, {"reruns": 1}])
def test_an_edited_attempt(run, changes):
    edit(run / FIRST / "attempt.json", **changes)
    assert f"attempts: {FIRST}/attempt.json was changed after {PROOF} was written" in found(run)


def test_an_edited_end_contradicts_the_seal(run):
    edit(run / FIRST / "attempt.json", end="timeout")
    (run / PROOF).unlink()
    assert f"attempts: {FIRST}/attempt.json has another end than its seal" in found(run)


def test_an_attempt_that_did_not_count(run):
    edit(run / FIRST / "attempt.json", end="sandbox-error", reruns=3, message="bwrap\nfailed")
    assert f"attempts: {FIRST} does not count, it ended as sandbox-error: failed" in found(run)


def test_tries_that_did_not_count_are_named_and_cannot_be_removed(tmp_path):
    """Else the best of several tries could be kept, one interrupted after the other."""
    run = make_run(tmp_path, ids=IDS[:1], seeds=1)
    (run / PROOF).unlink()
    edit(run / FIRST / "attempt.json", end="interrupted")
    assert execute(run, lambda _: None)
    (warning,) = [each for each in verify(run).warnings if each.kind == "attempts"]
    assert (warning.where, warning.message) == (FIRST, "was tried 2 times: before, it ended as interrupted")
    assert verify(run).complete
    (run / PROOF).unlink()
    shutil.rmtree(run / FIRST)
    assert execute(run, lambda _: None)
    assert found(run) == [f"attempts: {FIRST} was begun more often than its folder says: a try was removed"]
    (run / TRIES).write_text("")
    assert found(run) == [f"attempts: {TRIES} was changed after {PROOF} was written"]


def test_a_broken_attempt(run):
    (run / FIRST / "attempt.json").write_text("{")
    assert any(message.startswith(f"attempts: {FIRST}/attempt.json") and "can't be read" in message
               for message in found(run))  # fmt: skip
    edit(run / SECOND / "attempt.json", seal={"submission": 5, "grades": "x"})
    assert any(f"{SECOND}/attempt.json its seal is none" in message for message in found(run))


def test_an_unfinished_run_is_incomplete_and_says_how_far_it_is(run):
    (run / PROOF).unlink()
    (run / FIRST / "attempt.json").write_text(json.dumps(AttemptState(IDS[0], 0, "running").__dict__))
    shutil.rmtree(run / IDS[1] / "1")
    result = verify(run)
    assert sorted(result.to_come) == sorted([FIRST, f"{IDS[1]}/1"])
    assert not result.problems
    assert not result.complete


# --- what an attempt left


def test_a_changed_submission(run):
    path = run / FIRST / "submission" / "submission.csv"
    path.write_text(path.read_text().replace("False", "True", 1))
    assert found(run) == [f"submissions: {FIRST}/submission/submission.csv was changed"]


def test_a_removed_submission(run):
    (run / FIRST / "submission" / "submission.csv").unlink()
    assert found(run) == [f"submissions: {FIRST}/submission/submission.csv was removed"]


def test_an_added_submission(run, tmp_path):
    seal = json.loads((run / FIRST / "attempt.json").read_text())["seal"]
    edit(run / FIRST / "attempt.json", seal=seal | {"submission": None})
    assert f"submissions: {FIRST}/submission/submission.csv was added" in found(run)


def test_an_edited_grade(run):
    edit(run / FIRST / "grade.json", score=1.0, gold_threshold=0.1)
    assert found(run) == [f"grades: {FIRST}/grade.json was changed"]


def test_a_grade_edited_together_with_all_hashes_is_caught_by_grading_again(run):
    edit(run / FIRST / "grade.json", score=1.0, gold_threshold=0.1)
    seal = json.loads((run / FIRST / "attempt.json").read_text())["seal"]
    grades = {"grade.json": file_sha256(run / FIRST / "grade.json")}
    edit(run / FIRST / "attempt.json", seal=seal | {"grades": grades})
    (run / PROOF).unlink()
    seal_run(run)
    assert verify(run).complete
    assert found(run, regrade=True) == [
        f"grades: {FIRST}/grade.json another {key} when graded again" for key in ("gold_threshold", "score")
    ]


def test_what_was_graded_twice(run):
    edit(run / FIRST / "attempt.json", gradings=2)
    assert f"grades: {FIRST}/grade.json was not graded once" in found(run)


def test_a_grade_without_a_hash(run):
    seal = json.loads((run / FIRST / "attempt.json").read_text())["seal"]
    (run / FIRST / "grade.json").unlink()
    edit(run / FIRST / "attempt.json", seal={name: value for name, value in seal.items() if name != "grades"})
    assert f"grades: {FIRST}/grade.json was removed" in found(run)


@pytest.mark.parametrize("name", ["output.txt", "validations.jsonl", "prompt.txt", "instructions.txt"])
def test_an_edited_record(run, name):
    with (run / FIRST / name).open("a") as file:
        file.write("\n")
    assert found(run) == [f"records: {FIRST}/{name} was changed"]


def test_an_added_or_removed_record(run):
    (run / FIRST / "gateway.jsonl").write_text("{}\n")
    (run / SECOND / "output.txt").unlink()
    assert found(run) == [f"records: {FIRST}/gateway.jsonl was added", f"records: {SECOND}/output.txt was removed"]


def test_changed_folders(run):
    (run / FIRST / "code" / "solution.py").write_text("")
    shutil.rmtree(run / SECOND / "logs")
    assert found(run) == [f"records: {FIRST}/code was changed", f"records: {SECOND}/logs was removed"]


def test_snapshots_and_their_grades(tmp_path):
    agent = tmp_path / "agent"
    agent.mkdir()
    (agent / "agent.toml").write_text('title = "T"\nsummary = "S"\ncommand = ["python", "/home/agent/main.py"]\n')
    (agent / "main.py").write_text(
        "import os, shutil, time\n"
        "data, out = os.environ['DATA_DIR'], os.environ['SUBMISSION_DIR']\n"
        "shutil.copy(data + '/sample_submission.csv', out + '/submission.csv')\n"
        "time.sleep(1.5)\n"
    )
    run = make_run(tmp_path, agent=str(agent), ids=IDS[:1], seeds=1, snapshot_seconds=0.5)
    (snapshot,) = (run / FIRST / "snapshots").iterdir()
    assert verify(run, regrade=True).complete
    edit(snapshot / "grade.json", score=1.0)
    assert found(run) == [f"grades: {FIRST}/snapshots/{snapshot.name}/grade.json was changed"]
    (snapshot / "submission.csv").write_text("")
    assert f"records: {FIRST}/snapshots was changed" in found(run)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"finished": "2020-01-01T00:00:00+00:00"}, "finished is before started"),
        ({"started": "2020-01-01T00:00:00+00:00"}, "started is before run.json's created"),
        ({"finished": "2100-01-01T00:00:00+00:00"}, "sealed is before finished"),
        ({"finished": "yesterday"}, "finished is no time"),
        ({"seconds": 5000.0}, "took longer than allowed"),
        ({"seconds": 59.9}, "started and finished are nearer than seconds"),
    ],
)
def test_times_out_of_order(run, changes, message):
    edit(run / FIRST / "attempt.json", **changes)
    assert any(each.startswith(f"times: {FIRST}/attempt.json {message}") for each in found(run))


# --- data


@pytest.mark.parametrize("name", ["public/train.csv", "private/test.csv"])
@pytest.mark.parametrize("same_size", [True, False])
def test_swapped_data(run, name, same_size):
    path = run.parent / "data" / IDS[0] / "prepared" / name
    content = path.read_bytes()
    path.write_bytes(content[:-2] + b"?\n" if same_size else content + b"\n")
    message = "was changed" if same_size else "has another size"
    assert found(run) == [f"data: {IDS[0]}/prepared/{name} {message}"]
    assert bool(found(run, sizes_only=True)) is (not same_size or name.startswith("private"))


def test_added_and_removed_data(run):
    prepared = run.parent / "data" / IDS[0] / "prepared"
    (prepared / "private" / "test.csv").unlink()
    (prepared / "public" / "hints.csv").write_text("")
    assert found(run) == [
        f"data: {IDS[0]}/prepared/private/test.csv was removed",
        f"data: {IDS[0]}/prepared/public/hints.csv was added",
    ]


def test_a_manifest_that_fits_swapped_data(run):
    path = run.parent / "data" / IDS[0] / "prepared" / "manifest.json"
    edit(path, created="2020-01-01T00:00:00+00:00")
    messages = found(run)
    assert f"data: {IDS[0]}/prepared/manifest.json is another than in run.json" in messages
    assert any(f"when these began: {FIRST}, {IDS[0]}/1" in message for message in messages)


def test_a_broken_manifest(run):
    path = run.parent / "data" / IDS[0] / "prepared" / "manifest.json"
    for text in ("{", "{}"):
        path.write_text(text)
        assert any(message.startswith(f"data: {IDS[0]}") and "can't be read" in message for message in found(run))


def test_data_that_are_not_there(run):
    shutil.rmtree(run.parent / "data" / IDS[0])
    assert any("--no-data leaves them out" in message for message in found(run))
    result = verify(run, data=False)
    assert result.complete
    assert "The data were not looked at." in result.notes


# --- the proof


def test_a_missing_or_broken_proof(run):
    (run / PROOF).write_text('{"attempts": {"../x": ""}}')
    assert any("no object with the hash of each attempt" in message for message in found(run))
    (run / PROOF).unlink()
    assert any(message.startswith(f"proof: {PROOF} is missing") for message in found(run))


def test_signatures(run, tmp_path):
    key, other = tmp_path / "key", tmp_path / "other"
    public, another = new_key(key), new_key(other)
    assert any("was not signed" in message for message in found(run, public_key=public))
    sign_run(run, key)
    assert key.stat().st_mode & 0o077 == 0
    assert "came with the run" in verify(run).notes[0]
    expected = verify(run, public_key=public)
    assert expected.complete
    assert "as expected" in expected.notes[0]
    assert found(run, public_key=another) == [f"proof: {SIGNATURE} is of another key"]


def test_a_proof_written_anew_is_not_the_signed_one(run, tmp_path):
    public = new_key(tmp_path / "key")
    sign_run(run, tmp_path / "key")
    edit(run / FIRST / "attempt.json", peak_memory_bytes=1)
    (run / PROOF).unlink()
    assert f"proof: {SIGNATURE} {PROOF}, which it signs, is gone" in found(run)
    seal_run(run)
    assert found(run, public_key=public) == [f"proof: {SIGNATURE} it is no signature of this {PROOF}"]
    edit(run / SIGNATURE, signature="?")
    assert any("holds no signature" in message for message in found(run))


def test_nobody_signs_what_was_changed_or_is_unfinished(run, tmp_path):
    new_key(tmp_path / "key")
    edit(run / FIRST / "attempt.json", peak_memory_bytes=1)
    with pytest.raises(MlebenchError, match=f"{FIRST}/attempt.json changed"):
        sign_run(run, tmp_path / "key")
    (run / PROOF).unlink()
    shutil.rmtree(run / FIRST)
    with pytest.raises(UsageError, match="before all its attempts are done"):
        sign_run(run, tmp_path / "key")
    assert not (run / SIGNATURE).exists()


def test_keys_that_are_none(run, tmp_path):
    (tmp_path / "text").write_text("no key")
    with pytest.raises(UsageError, match="holds no private key"):
        sign_run(run, tmp_path / "text")
    with pytest.raises(UsageError, match="can't be read"):
        sign_run(run, tmp_path / "nowhere")
    new_key(tmp_path / "key")
    with pytest.raises(UsageError, match="never overwritten"):
        new_key(tmp_path / "key")


# --- the command


def call(*arguments):
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def test_the_commands(run, tmp_path):
    options = ("--data-dir", run.parent / "data")
    done = call("verify", run, *options, "--regrade")
    assert done.exit_code == 0, done.output
    assert "r is complete: 4 of 4 attempts" in done.stdout
    signed = call("sign", run, "--key", tmp_path / "key", "--new-key")
    assert signed.exit_code == 0, signed.output
    assert call("verify", run, *options, "--public-key", tmp_path / "key.pub").exit_code == 0
    edit(run / FIRST / "attempt.json", seconds=1.0)
    edit(run / FIRST / "grade.json", score=1.0)
    bad = call("verify", run, *options)
    assert bad.exit_code == 1
    assert f"{FIRST}/grade.json: was changed (expected " in bad.stdout
    assert "r is incomplete: 2 problems." in bad.stdout
    facts = json.loads(call("verify", run, *options, "--json").stdout)
    assert facts["complete"] is False
    assert facts["problems"][1]["found"] == file_sha256(run / FIRST / "grade.json")
    assert call("verify", tmp_path / "nothing").exit_code == 2
    again = ("run", "--resume", run, "--sign", tmp_path / "key")
    assert call(*again).exit_code == 1  # for what was changed since
    assert call("run", "--resume", run, "--sign", run / "run.json").exit_code == 2
    (run / PROOF).unlink()
    (run / SIGNATURE).unlink()
    assert call(*again).exit_code == 0
    assert (run / SIGNATURE).is_file()
    (run / PROOF).unlink()
    shutil.rmtree(run / FIRST)
    assert "1 of 4 attempts are still to come" in call("verify", run, *options).stdout
