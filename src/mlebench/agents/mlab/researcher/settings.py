"""What the environment tells the agent."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Settings:
    """Where things are, and how the agent works."""

    work: Path  # the working folder; everything that the model names lies in it, or behind its two links
    data: Path
    submission: Path
    logs: Path
    problem: str
    validation_url: str
    seconds: float
    main_model: str
    edit_script_model: str
    fast_model: str
    dialect: str  # auto, openai-chat or anthropic
    temperature: str  # "" is the protocol's, "none" sends none
    max_steps: int
    max_retries: int
    max_tokens: int
    steps_in_context: int
    observations_in_context: int
    show_hidden_actions: bool
    problem_in_prompt: bool
    keep_workspaces: bool

    @classmethod
    def read(cls, environment: Mapping[str, str] = os.environ) -> Settings:
        """The settings in these variables. Raises KeyError for one that must be there and isn't."""
        model = environment.get("MLEBENCH_MODEL", "")
        data = Path(environment["DATA_DIR"])
        return cls(
            work=Path(environment["CODE_DIR"]).resolve(),
            data=data.resolve(),
            submission=Path(environment["SUBMISSION_DIR"]).resolve(),
            logs=Path(environment["LOGS_DIR"]),
            problem=_problem(environment, data),
            validation_url=environment.get("VALIDATION_URL", ""),
            seconds=float(environment.get("TIME_LIMIT_SECS", "86400")),
            main_model=environment.get("AGENT_MAIN_MODEL") or model,
            edit_script_model=environment.get("AGENT_EDIT_SCRIPT_MODEL") or model,
            fast_model=environment.get("AGENT_FAST_MODEL") or model,
            dialect=environment.get("AGENT_DIALECT", "auto"),
            temperature=environment.get("AGENT_TEMPERATURE", ""),
            max_steps=int(environment.get("AGENT_MAX_STEPS", "2000")),
            max_retries=int(environment.get("AGENT_MAX_RETRIES", "10")),
            max_tokens=int(environment.get("AGENT_MAX_TOKENS", "16384")),
            steps_in_context=int(environment.get("AGENT_STEPS_IN_CONTEXT", "3")),
            observations_in_context=int(environment.get("AGENT_OBSERVATIONS_IN_CONTEXT", "3")),
            show_hidden_actions=environment.get("AGENT_SHOW_HIDDEN_ACTIONS") == "true",
            problem_in_prompt=environment.get("AGENT_PROBLEM_IN_PROMPT", "true") == "true",
            keep_workspaces=environment.get("AGENT_KEEP_WORKSPACES") == "true",
        )


def _problem(environment: Mapping[str, str], data: Path) -> str:
    """The text of the task: instructions, limits, description."""
    prompt = Path(environment.get("PROMPT_FILE", ""))
    if prompt.is_file():
        return prompt.read_text(encoding="utf-8")
    texts = (Path(environment["INSTRUCTIONS_FILE"]), data / "description.md")
    return "\n\n".join(path.read_text(encoding="utf-8") for path in texts if path.is_file())


class Clock:
    """The time of the attempt; it starts when the agent does."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._end = time.monotonic() + seconds

    def left(self) -> float:
        """Seconds left of all; negative once they are over."""
        return self._end - time.monotonic()

    def left_for_work(self) -> float:
        """Seconds left for a script or a request.

        A little is kept so that the agent ends by itself, though the attempt began before it did.
        """
        return self.left() - min(30.0, 1 + 0.02 * self.seconds)


def time_in_words(seconds: float) -> str:
    """A time as a person says it.

    >>> time_in_words(86399), time_in_words(754.4), time_in_words(-3)
    ('23 h 59 min 59 s', '12 min 34 s', '0 s')
    """
    minutes, rest = divmod(max(0, int(seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    parts = [f"{value} {unit}" for value, unit in ((hours, "h"), (minutes, "min"), (rest, "s")) if value]
    return " ".join(parts) or "0 s"
