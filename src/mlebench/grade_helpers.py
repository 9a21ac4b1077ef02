"""v1's `mlebench.grade_helpers`: the report, the grader, and the error for submissions that can't be scored."""

from mlebench._v1.grader import Grader
from mlebench.errors import InvalidSubmission as InvalidSubmissionError
from mlebench.grading import GradeReport as CompetitionReport

__all__ = ["CompetitionReport", "Grader", "InvalidSubmissionError"]
