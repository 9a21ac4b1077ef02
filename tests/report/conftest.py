"""Small run folders, written as the runner writes them."""

import json

import pytest

from mlebench import catalog
from mlebench.grading import make_report

RUN = {
    "id": "2026-01-02-baseline",
    "created": "2026-01-02T03:04:05+00:00",
    "agent": "baseline",
    "agent_parameters": {"depth": "4"},
    "competitions": ["spaceship-titanic"],
    "competition_folders": [],
    "seeds": 3,
    "time_limit_seconds": 86400.0,
    "memory_bytes": 8 << 30,
    "processes": None,
    "disk_bytes": None,
    "sandbox": "bubblewrap",
    "executor": "local",
    "workers": 2,
    "data_dir": "/data",
    "edition": "v1",
    "sources": {"spaceship-titanic": "local"},
    "network": "none",
    "model": None,
    "hardware": {"cpus": 8, "memory_bytes": 32 << 30, "gpus": [], "machine": "x86_64"},
    "versions": {"mlebench": "0.1.0", "python": "3.11.7"},
    "command": ["mlebench", "run", "--agent", "baseline"],
}
ATTEMPT = {
    "state": "finished",
    "end": "completed",
    "message": "",
    "exit_code": 0,
    "started": "2026-01-02T03:04:06+00:00",
    "finished": "2026-01-02T04:04:06+00:00",
    "seconds": 3600.0,
    "peak_memory_bytes": 3 << 29,
    "peak_disk_bytes": 1 << 20,
    "reruns": 0,
    "validations": 3,
    "valid_validations": 2,
}
TOML = """
title = "{title}"
category = "Tabular"
complexity = "{complexity}"
[metric]
name = "accuracy"
title = "accuracy"
direction = "{direction}"
best = 1.0
[submission]
id = "id"
[[submission.columns]]
name = "label"
[files]
answers = "answers.csv"
"""


def graded(competition, score, source="local", exists=True, reason=""):
    """The content of grade.json for `score` on a catalog's competition; None: no valid submission."""
    report = make_report(
        competition,
        score,
        submission_exists=exists,
        submission_path="submission/submission.csv",
        source=source,
        reason=reason,
    )
    return report.to_dict()


def attempt_at(run, competition, seed, grade=None, **facts):
    """Write attempt.json, and grade.json if there is a grade."""
    folder = run / competition / str(seed)
    folder.mkdir(parents=True)
    content = {"competition": competition, "seed": seed, **ATTEMPT, **facts}
    (folder / "attempt.json").write_text(json.dumps(content))
    if grade is not None:
        (folder / "grade.json").write_text(json.dumps(grade))


@pytest.fixture
def own(tmp_path):
    """Competitions of one's own: `own(id, complexity, scores) -> Competition`, in a folder that a run can name."""
    folder = tmp_path / "competitions"

    def make(name, complexity="low", scores=range(1, 101), direction="higher", title=None):
        home = folder / name
        home.mkdir(parents=True)
        (home / "competition.toml").write_text(
            TOML.format(title=title or name.upper(), complexity=complexity, direction=direction)
        )
        if scores is not None:
            (home / "leaderboard.csv").write_text("score\n" + "".join(f"{score}\n" for score in scores))
        catalog.competitions.cache_clear()
        return catalog.get(name, (folder,))

    make.folder = folder
    return make


@pytest.fixture
def make_run(tmp_path):
    """`make_run({(competition, seed): {"score": …, "source": …, …facts of attempt.json}}, **facts of run.json)`.

    The score None is an invalid submission; without a score there is no grade; the value None is no folder at all.
    Competitions that the catalog does not know need a "grade".
    """

    def make(attempts, **facts):
        run = tmp_path / "runs" / "run"
        run.mkdir(parents=True)
        names = list(dict.fromkeys(competition for competition, _ in attempts))
        seeds = 1 + max((seed for _, seed in attempts), default=0)
        folders = [tmp_path / "competitions"] if (tmp_path / "competitions").is_dir() else []
        content = {
            **RUN,
            "competitions": names,
            "seeds": seeds,
            "sources": {},
            "competition_folders": [str(folder) for folder in folders],
            **facts,
        }
        (run / "run.json").write_text(json.dumps(content))
        for (name, seed), given in attempts.items():
            if given is None:
                continue
            entry = dict(given)
            grade = entry.pop("grade", None)
            settings = {key: entry.pop(key) for key in ("source", "exists", "reason") if key in entry}
            if "score" in entry:
                grade = graded(catalog.get(name, tuple(folders)), entry.pop("score"), **settings)
            attempt_at(run, name, seed, grade, **entry)
        return run

    return make
