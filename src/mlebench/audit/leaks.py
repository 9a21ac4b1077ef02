"""Leak probes: small programs that read public files only, and show that edition v2 closed a leak.

A probe is a file `<competition id>.py` with a function `exploit(public) -> submission`. It proves a correction
if it is near perfect on edition v1, where the leak stands in the public files, and no better than chance on v2.
Chance is what its own predictions reach when they are dealt out to the test ids at random.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np

from mlebench.competition import import_file
from mlebench.dataset import Dataset
from mlebench.errors import InvalidSubmission, UsageError
from mlebench.grading import score_submission
from mlebench.tables import write_csv

if TYPE_CHECKING:
    import pandas as pd

NEAR_PERFECT = 0.9  # of the way from chance to the best score
SHUFFLES = 20

Exploit = Callable[[Path], "pd.DataFrame"]


@dataclass(frozen=True)
class Reach:
    """How far a probe comes on one edition. Scores are the metric's own."""

    score: float | None  # None: what it left is no valid submission
    chance: float  # the mean of its predictions dealt out at random
    luckiest: float  # the best of those, or of the sample submission
    best: float  # what perfect answers score

    @property
    def share(self) -> float:
        """How much of the way from chance to the best score it comes; 0 without a valid submission."""
        if self.score is None or self.best == self.chance:
            return 0.0
        return (self.score - self.chance) / (self.best - self.chance)

    @property
    def is_near_perfect(self) -> bool:
        """Whether the leak gives the labels away."""
        return self.share > NEAR_PERFECT

    @property
    def is_chance(self) -> bool:
        """Whether it is no better than luck."""
        if self.score is None:
            return True
        sign = 1 if self.best >= self.chance else -1
        return sign * self.score <= sign * self.luckiest


def find_probes(folder: Path) -> dict[str, Exploit]:
    """The probes in a folder by competition id; files that begin with `_` or `test_` are none.

    Raises UsageError for a file without a function `exploit`.
    """
    files = sorted(path for path in folder.glob("*.py") if not path.name.startswith(("_", "test_")))
    return {path.stem: _load(path) for path in files}


def _load(path: Path) -> Exploit:
    module = import_file(path, f"mlebench_probe_{path.stem.replace('-', '_')}")
    if not hasattr(module, "exploit"):
        raise UsageError(f"{path} is no leak probe: it has no function exploit(public)")
    return module.exploit


def reach(exploit: Exploit, dataset: Dataset) -> Reach:
    """Run a probe on the public files of `dataset` and score what it returns."""
    table = exploit(dataset.public)
    competition = dataset.competition
    sign = 1 if competition.metric.higher_is_better else -1
    with TemporaryDirectory(prefix="mlebench-probe-") as folder:
        path = Path(folder) / "submission.csv"
        found = _score(table, dataset, path)
        dealt = [_score(_dealt(table, competition.schema.id, seed), dataset, path) for seed in range(SHUFFLES)]
    by_chance = [score for score in dealt if score is not None]
    sample = score_submission(dataset.sample_submission, dataset)
    return Reach(
        score=found,
        chance=float(np.mean(by_chance)) if by_chance else sample,
        luckiest=sign * max(sign * score for score in [*by_chance, sample]),
        best=competition.metric.best,
    )


def _dealt(table: pd.DataFrame, key: str, seed: int) -> pd.DataFrame:
    """The same predictions with other ids."""
    order = np.random.default_rng(seed).permutation(len(table))
    dealt = table.drop(columns=key).iloc[order].reset_index(drop=True)
    dealt.insert(0, key, table[key].to_numpy())
    return dealt


def _score(table: pd.DataFrame, dataset: Dataset, path: Path) -> float | None:
    write_csv(table, path)
    try:
        return score_submission(path, dataset)
    except InvalidSubmission:
        return None
