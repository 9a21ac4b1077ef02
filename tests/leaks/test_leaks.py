"""Leak probes: small programs that read public files only.

Each is near perfect on edition v1, where the leak stands in the public files, and no better than chance on v2.
Chance is what its own predictions reach when they are dealt out to the test ids at random, or the sample
submission, whichever is better.
"""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from mlebench import catalog
from mlebench.errors import InvalidSubmission
from mlebench.grading import score_submission
from mlebench.tables import write_csv

PROBES = sorted(path for path in Path(__file__).parent.glob("*.py") if not path.name.startswith(("test_", "_")))
NEAR_PERFECT = 0.9  # of the way from chance to the best score
SHUFFLES = 20


@pytest.fixture(params=PROBES, ids=lambda path: path.stem)
def probe(request):
    spec = importlib.util.spec_from_file_location("probe", request.param)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return request.param.stem, module.exploit


def test_is_near_perfect_on_v1(probe, twins, tmp_path):
    name, exploit = probe
    dataset = twins(name, "v1")
    table = exploit(dataset.public)
    found = _score(table, dataset, tmp_path)
    chance = np.mean(_by_chance(table, dataset, tmp_path))
    best = dataset.competition.metric.best
    assert (found - chance) / (best - chance) > NEAR_PERFECT, f"scores {found}, by chance {chance}, at best {best}"


def test_is_no_better_than_chance_on_v2(probe, twins, tmp_path):
    name, exploit = probe
    dataset = twins(name, "v2")
    table = exploit(dataset.public)
    try:
        found = _score(table, dataset, tmp_path)
    except InvalidSubmission:
        return  # what it left is no submission
    sign = 1 if dataset.competition.metric.higher_is_better else -1
    chance = [sign * score for score in _by_chance(table, dataset, tmp_path)]
    sample = sign * score_submission(dataset.sample_submission, dataset)
    assert sign * found <= max(*chance, sample), f"scores {found}, by chance up to {sign * max(chance)}"


def test_every_leak_that_v2_corrects_has_a_probe():
    corrected = {
        competition.id
        for competition in catalog.competitions().values()
        if any(issue.kind == "leak" and issue.v2 for issue in competition.issues)
    }
    assert {path.stem for path in PROBES} == corrected


def _by_chance(table, dataset, folder):
    """Scores of the same predictions, dealt out to the ids at random."""
    key = dataset.competition.schema.id
    values = table.drop(columns=key)
    scores = []
    for seed in range(SHUFFLES):
        order = np.random.default_rng(seed).permutation(len(table))
        dealt = values.iloc[order].reset_index(drop=True)
        dealt.insert(0, key, table[key].to_numpy())
        scores.append(_score(dealt, dataset, folder))
    return scores


def _score(table, dataset, folder):
    path = folder / "submission.csv"
    write_csv(table, path)
    return score_submission(path, dataset)
