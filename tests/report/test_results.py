import json

import pytest

from mlebench import catalog
from mlebench.errors import MlebenchError, UsageError
from mlebench.report.results import read_run


def test_attempts_are_keyed_by_competition_and_seed(own, make_run):
    own("a"), own("b")
    run = make_run({("b", 1): {"score": 2.0}, ("a", 1): None, ("a", 0): {"score": 1.0}, ("b", 0): {"end": "timeout"}})
    results = read_run(run)
    keys = [(attempt.competition, attempt.seed) for attempt in results.attempts]
    assert keys == [("b", 0), ("b", 1), ("a", 0), ("a", 1)]
    assert results.attempt("b", 1).grade.score == 2.0
    assert results.attempt("a", 0).grade.score == 1.0
    assert results.attempt("a", 1).state == "pending"
    assert results.attempt("b", 0).status == "timeout, not graded yet"
    assert results.attempt("nowhere", 7).state == "pending"


def test_all_facts_are_read(own, make_run):
    own("a")
    results = read_run(make_run({("a", 0): {"score": 95.0, "seconds": 12.5, "reruns": 2}}))
    attempt = results.attempt("a", 0)
    assert (attempt.seconds, attempt.reruns, attempt.peak_memory_bytes) == (12.5, 2, 3 << 29)
    assert (attempt.validations, attempt.valid_validations, attempt.outcome) == (3, 2, "gold")
    assert (results.run.agent, results.run.edition, results.run.seeds) == ("baseline", "v1", 1)
    assert results.run.command == ["mlebench", "run", "--agent", "baseline"]


def test_an_attempt_that_was_not_planned_is_not_lost(own, make_run):
    own("a"), own("b")
    run = make_run({("a", 0): {"score": 95.0}, ("b", 3): {"score": 95.0}}, competitions=["a"], seeds=1)
    results = read_run(run)
    assert results.competitions == ("a", "b")
    assert results.seeds == (0, 3)


def test_other_things_in_the_folder_are_no_attempts(own, make_run):
    own("a")
    run = make_run({("a", 0): {"score": 95.0}})
    for name in ("a/old/attempt.json", "a/0/submission/attempt.json", "report.html"):
        path = run / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("not ours")
    assert len(read_run(run).attempts) == 1


def test_a_grade_of_an_attempt_that_runs_again_is_not_used(own, make_run):
    own("a")
    attempt = read_run(make_run({("a", 0): {"score": 95.0, "state": "running", "end": None}})).attempt("a", 0)
    assert attempt.grade is None
    assert attempt.to_come


def test_a_competition_that_is_gone_keeps_its_id(own, make_run, tmp_path):
    own("a")
    run = make_run({("a", 0): {"score": 95.0}})
    (own.folder / "a").rename(tmp_path / "elsewhere")
    own.folder.rmdir()
    catalog.competitions.cache_clear()
    results = read_run(run)
    assert results.title("a") == "a"
    assert results.leaderboard("a") is None
    assert results.thresholds("a")["gold"] == 91
    assert results.attempt("a", 0).outcome == "gold"


def test_a_broken_competition_does_not_take_the_report_down(own, make_run):
    own("a")
    run = make_run({("a", 0): {"score": 95.0}})
    (own.folder / "a" / "competition.toml").write_text("title = ")
    catalog.competitions.cache_clear()
    results = read_run(run)
    assert "a" not in results.catalog
    assert "spaceship-titanic" in results.catalog


def test_synthetic_is_what_the_run_or_a_grade_says(own, make_run):
    own("a"), own("b"), own("c")
    run = make_run(
        {("a", 0): None, ("b", 0): {"score": 1.0, "source": "synthetic"}, ("c", 0): {"score": 1.0}},
        sources={"a": "synthetic", "b": "local", "c": "local"},
    )
    results = read_run(run)
    assert [results.is_synthetic(name) for name in "abc"] == [True, True, False]
    assert results.synthetic


def test_outcomes(own, make_run):
    own("a"), own("b", scores=None)
    run = make_run(
        {
            ("a", 0): {"score": 85.0},
            ("a", 1): {"score": 1.0},
            ("a", 2): {"score": None},
            ("a", 3): {"score": None, "exists": False},
            ("a", 4): {"end": "sandbox-error"},
            ("a", 5): {"end": "an end of a later version"},
            ("a", 6): None,
            ("b", 0): {"score": 0.5},
        }
    )
    outcomes = [attempt.outcome for attempt in read_run(run).attempts_on("a")]
    assert outcomes == ["silver", "no medal", "invalid", "no submission", "not counted", "not counted", "to come"]
    assert read_run(run).attempt("b", 0).outcome == "valid"


@pytest.mark.parametrize("name", ["run.json", "a/0/attempt.json", "a/0/grade.json"])
@pytest.mark.parametrize("content", ["", "{", "[]", "null", "\x00", '{"state": "finished"'])
def test_a_broken_file_is_named(own, make_run, name, content):
    own("a")
    run = make_run({("a", 0): {"score": 95.0}})
    (run / name).write_text(content)
    with pytest.raises(MlebenchError, match=f"{name} can't be read"):
        read_run(run)


@pytest.mark.parametrize(
    ("name", "change", "complaint"),
    [
        ("run.json", {"seeds": "many"}, "seeds is 'many', not of type int"),
        ("run.json", {"competitions": 5}, "competitions is 5, not of type list"),
        ("a/0/attempt.json", {"seed": 1}, "seed 1 of a"),
        ("a/0/attempt.json", {"competition": "b"}, "seed 0 of b"),
        ("a/0/attempt.json", {"seconds": "long"}, "long"),
        ("a/0/grade.json", {"competition_id": "b"}, "grades b"),
        ("a/0/grade.json", {"created_at": "yesterday"}, "yesterday"),
    ],
)
def test_a_file_with_a_wrong_value_is_named(own, make_run, name, change, complaint):
    own("a")
    run = make_run({("a", 0): {"score": 95.0}})
    path = run / name
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(MlebenchError, match=f"{name} can't be read.*{complaint}"):
        read_run(run)


def test_what_is_no_run_is_refused(tmp_path):
    with pytest.raises(UsageError, match="is no run"):
        read_run(tmp_path)
