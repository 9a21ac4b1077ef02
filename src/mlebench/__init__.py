"""MLE-bench: machine-learning engineering tasks for agents, graded against human leaderboards.

The public API, imported when it is first used:

    from mlebench import Dataset, catalog, validate_submission
    dataset = Dataset(catalog.get("spaceship-titanic"), data_dir)
    print(validate_submission(path, dataset).message())
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mlebench import catalog
    from mlebench.competition import Competition, load_competition
    from mlebench.dataset import Dataset, default_data_dir
    from mlebench.errors import InvalidSubmission, MlebenchError
    from mlebench.grading import GradeReport, score_submission, validate_submission

__version__ = "0.1.0"
__all__ = [
    "Competition",
    "Dataset",
    "GradeReport",
    "InvalidSubmission",
    "MlebenchError",
    "__version__",
    "catalog",
    "default_data_dir",
    "load_competition",
    "score_submission",
    "validate_submission",
]

_HOMES = {
    "Competition": "competition",
    "load_competition": "competition",
    "Dataset": "dataset",
    "default_data_dir": "dataset",
    "GradeReport": "grading",
    "score_submission": "grading",
    "validate_submission": "grading",
    "InvalidSubmission": "errors",
    "MlebenchError": "errors",
}


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return getattr(importlib.import_module(f"mlebench.{_HOMES[name]}"), name)
    if name == "catalog":
        return importlib.import_module("mlebench.catalog")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
