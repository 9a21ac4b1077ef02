"""What can go wrong, each with its culprit, and the table of how an attempt can end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


class MlebenchError(Exception):
    """An error with one message for the person at the terminal; no traceback is shown."""

    exit_code = 1


class UsageError(MlebenchError):
    """The person at the terminal asked for something that can't be."""

    exit_code = 2


class NotPreparedError(UsageError):
    """The data of a competition are not there yet."""


class PreparationError(MlebenchError):
    """Raw files are missing or damaged, so nothing was prepared."""


@dataclass(frozen=True)
class Problem:
    """One kind of fault in a submission; one that only warns leaves it valid.

    `rows` are numbers of data rows, from 1 (the header is not counted); at most a few rows and values are
    kept, `count` says how many there are.
    """

    kind: str
    message: str
    expected: str = ""
    rows: tuple[int, ...] = ()
    values: tuple[str, ...] = ()
    count: int = 1
    only_warns: bool = False

    def __str__(self) -> str:
        parts = [self.message]
        if self.rows:
            more = f" and {self.count - len(self.rows)} more" if self.count > len(self.rows) else ""
            plural = "s" if self.count > 1 else ""
            parts.append(f"row{plural} {', '.join(map(str, self.rows))}{more}")
        if self.values:
            parts.append("value" + ("s " if len(self.values) > 1 else " ") + ", ".join(self.values))
        if self.expected:
            parts.append(f"expected {self.expected}")
        return "; ".join(parts)


class InvalidSubmission(MlebenchError):
    """The submission can't be scored; the agent's doing. Carries every problem that was found."""

    def __init__(self, problems: Sequence[Problem] | str) -> None:
        self.problems: tuple[Problem, ...] = () if isinstance(problems, str) else tuple(problems)
        text = problems if isinstance(problems, str) else "; ".join(str(problem) for problem in problems)
        super().__init__(text)


class CompetitionError(MlebenchError):
    """A competition's own facts, code or private data are faulty; neither user nor agent is to blame."""


class SandboxError(MlebenchError):
    """The sandbox could not be set up or failed; the machine's doing, so the attempt is not counted."""


@dataclass(frozen=True)
class End:
    """One way for an attempt to end, and what follows from it."""

    name: str
    culprit: str  # "", "agent", "us" or "outside"
    graded: bool
    rerun: bool  # by `--resume`
    counts: bool
    meaning: str


ENDS: dict[str, End] = {
    end.name: end
    for end in (
        End("completed", "", True, False, True, "the agent stopped by itself"),
        End("timeout", "agent", True, False, True, "the time limit was reached"),
        End("out-of-memory", "agent", True, False, True, "the memory limit was reached"),
        End("disk-full", "agent", True, False, True, "the disk limit was reached"),
        End("budget-spent", "agent", True, False, True, "the budget for the language model was spent"),
        End("agent-error", "agent", True, False, True, "the agent failed"),
        End("sandbox-error", "us", False, True, False, "the sandbox failed"),
        End("gateway-error", "us", False, True, False, "the way to the language model failed"),
        End("grader-error", "us", False, True, False, "grading failed"),
        End("interrupted", "outside", False, True, False, "a person or the machine stopped the run"),
    )
}
MAX_RERUNS = 3
