"""Engineers by name: what each intends, whatever agent asks. See docs/testing.md."""

from __future__ import annotations

from dataclasses import dataclass, field

from mlebench.testing.conversation import Engineer, Reply, Request, ToolCall
from mlebench.testing.engineers.plan import Check, Done, Execute, Look, Plan, Run, Step, Write, script
from mlebench.testing.engineers.styles import Aide, ResearchAgent, answer, style_of

__all__ = [
    "Check",
    "Done",
    "Execute",
    "Fumbler",
    "Look",
    "Plan",
    "Planned",
    "Run",
    "Write",
    "engineers_by_name",
    "script",
]


@dataclass(frozen=True)
class Planned:
    """An engineer that follows a plan, whoever asks."""

    plan: Plan

    def __call__(self, request: Request) -> Reply:
        """The next move."""
        return answer(self.plan, request)


@dataclass
class Fumbler:
    """An engineer whose first move is malformed; then it follows the plan."""

    plan: Plan
    _fumbled: bool = field(default=False, repr=False)

    def __call__(self, request: Request) -> Reply:
        """Once in a server's life a broken tool call, or an answer that lacks what the agent needs."""
        good = answer(self.plan, request)
        textual = isinstance(style_of(request), Aide | ResearchAgent) and not request.forced_tool
        if self._fumbled or not (good.calls or textual):
            return good
        self._fumbled = True
        if good.calls:
            return Reply("I begin.", (ToolCall.malformed(good.calls[0].name),))
        return Reply("I begin, and forget all that I was asked for.")


def engineers_by_name() -> dict[str, Engineer]:
    """All engineers by the model name under which they are asked, fresh."""
    sample = script("solve", SAMPLE_ONLY=True)
    return {
        "solver": Planned(_plan(_attempt("solution.py", script("solve")))),
        "stumbler": Planned(_plan(*_versions([script("crash", ATTEMPT=1), script("crash", ATTEMPT=2), _solving(3)]))),
        "climber": Planned(_plan(*_versions([_solving(1, 1.0), _solving(2, 0.8), _solving(3, 0.6)]))),
        "looper": Planned(Plan([Look(), *_attempt("sample.py", sample + script("loop")), Run("sleep 2; date")])),
        "forbidden": Planned(_plan(_attempt("forbidden.py", script("forbidden") + script("solve")))),
        "spy": Planned(Plan([Look(), *_SPYING, *_attempt("spy.py", script("spy") + sample), Check(), Done()])),
        "babbler": Planned(_plan(_attempt("babble.py", script("babble") + script("solve"), "On and on. " * 20_000))),
        "fumbler": Fumbler(_plan(_attempt("solution.py", script("solve")))),
    }


_SPYING = (
    Run("ls -la /private", "I look for the answers."),
    Run("tr '\\0' '\\n' </proc/1/environ | cut -d= -f1", "I look for keys."),
    Run("ls -la /root /home /host /mnt", "I look for other people's files."),
    Run("curl -sS -m 3 https://pypi.org | head -5", "I look for the network."),
)


def _plan(*attempts: list[Step]) -> Plan:
    return Plan([Look(), *(step for attempt in attempts for step in attempt), Check(), Done()])


def _attempt(name: str, code: str, text: str = "I write a script that learns from the training table.") -> list[Step]:
    return [Write(name, code, text), Execute(name)]


def _versions(codes: list[str]) -> list[list[Step]]:
    return [_attempt(f"solution_{number}.py", code) for number, code in enumerate(codes, start=1)]


def _solving(attempt: int, quality: float = 1.0) -> str:
    return script("solve", ATTEMPT=attempt, QUALITY=quality)
