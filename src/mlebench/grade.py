"""v1's `mlebench.grade`: grade and validate submissions."""

from mlebench._v1.grade import aggregate_reports, grade_csv, grade_jsonl, validate_submission

__all__ = ["aggregate_reports", "grade_csv", "grade_jsonl", "validate_submission"]
