"""A run as types that strict JSON has."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from mlebench.files import strict
from mlebench.report import formatting, over_time, statistics
from mlebench.report.results import AttemptResult, RunResults
from mlebench.report.statistics import Estimate, SplitStatistics


def content(results: RunResults, padded: bool = False) -> dict[str, Any]:
    """Configuration, numbers by split, and every attempt with its grade."""
    splits = statistics.by_split(results, padded)
    headline = statistics.headline_split(splits)
    return strict(
        {
            "run": asdict(results.run),
            "synthetic": results.synthetic,
            "warning": formatting.SYNTHETIC_WARNING if results.synthetic else None,
            "methods": {
                "sem": statistics.OVER_SEEDS,
                "pooled_error": statistics.POOLED,
                "pass_at_k": statistics.OVER_COMPETITIONS,
            },
            "headline": headline.name if headline else None,
            "splits": {split.name: _split(split) for split in splits},
            "model_use": results.spent,
            "over_time": [asdict(moment) for moment in over_time.moments(results)],
            "attempts": [_attempt(results, attempt) for attempt in results.attempts],
        }
    )


def _split(split: SplitStatistics) -> dict[str, Any]:
    facts = asdict(split)
    facts["caveats"] = list(formatting.caveats(split))
    facts["estimates"] = {estimate.name: _estimate(estimate) for estimate in split.estimates}
    return facts


def _estimate(estimate: Estimate) -> dict[str, Any]:
    return {**asdict(estimate), "pooled": estimate.pooled, "pooled_error": estimate.pooled_error}


def _attempt(results: RunResults, attempt: AttemptResult) -> dict[str, Any]:
    facts = {name: value for name, value in vars(attempt).items() if name not in ("grade", "snapshots")}
    return {
        **facts,
        "counts": attempt.counts,
        "outcome": attempt.outcome,
        "synthetic": results.is_synthetic(attempt.competition),
        "grade": attempt.grade.to_dict() if attempt.grade else None,
        "snapshots": [{"seconds": at, "grade": grade.to_dict()} for at, grade in attempt.snapshots],
    }
