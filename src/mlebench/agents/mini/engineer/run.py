"""One attempt: read the settings, let the tool work, end tidily."""

from __future__ import annotations

import os
import signal
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

from . import models, shell, words

FAILED, REFUSED, STOPPED = 1, 3, 128 + signal.SIGTERM
LAST_WORDS = 120.0  # seconds that the longest command leaves to the model, but not more than a twentieth of all


class Stopped(BaseException):
    """SIGTERM: time is up, or the budget is spent."""


@dataclass
class Clock:
    """How much time there is, and whether the model should be told that it runs short."""

    limit: float
    warned: bool = False
    started: float = field(default_factory=time.monotonic)

    @property
    def left(self) -> float:
        """Seconds until the end."""
        return self.limit - (time.monotonic() - self.started)

    def for_command(self, timeout: float) -> float:
        """Seconds that a command may take."""
        return max(1.0, min(timeout, self.left - min(LAST_WORDS, self.limit / 20)))


def main() -> NoReturn:
    """Run mini-swe-agent and leave; programs in the background must not keep this process."""
    signal.signal(signal.SIGTERM, _stop)
    try:
        code = run()
    except Stopped:
        print("Stopped: time is up or the budget is spent.", flush=True)
        code = STOPPED
    except KeyError as error:
        print(f"The environment variable {error} is missing.", file=sys.stderr)
        code = 2
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _stop(_signal: int, _frame: FrameType | None) -> NoReturn:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise Stopped


def run() -> int:
    """Let the model work until it says that it is done, or a limit ends it; the exit code."""
    clock = Clock(float(os.environ["TIME_LIMIT_SECS"]))

    def warn(_signal: int, _frame: FrameType | None) -> None:
        clock.warned = True

    signal.signal(signal.SIGUSR1, warn)
    task = Path(os.environ["PROMPT_FILE"]).read_text(encoding="utf-8")
    engineer = make_engineer(clock)
    refusals = _refusals()
    print(f"mini-swe-agent: model {engineer.model.config.model_name}", flush=True)
    try:
        ending = engineer.run(task)
    except refusals as error:
        print(f"The model is refused, so the work ends: {error}", file=sys.stderr)
        return REFUSED
    except Exception as error:
        print(f"The work failed: {type(error).__name__}: {error}", file=sys.stderr)
        return FAILED
    status = ending.get("exit_status", "")
    print(f"The work ended after {engineer.n_calls} answers: {status}", flush=True)
    return 0 if status in ("Submitted", "LimitsExceeded", "TimeExceeded") else FAILED


def _refusals() -> tuple[type[Exception], ...]:
    import litellm  # pyright: ignore[reportMissingImports]

    litellm.suppress_debug_info = True  # advertisements at every error
    exceptions = litellm.exceptions
    return exceptions.AuthenticationError, exceptions.PermissionDeniedError, exceptions.NotFoundError


def make_engineer(clock: Clock) -> Any:
    """The tool's agent with its own words for what it sees, and ours for the task."""
    from minisweagent.agents.default import DefaultAgent  # pyright: ignore[reportMissingImports]
    from minisweagent.config import get_config_from_spec  # pyright: ignore[reportMissingImports]
    from minisweagent.environments.local import LocalEnvironment  # pyright: ignore[reportMissingImports]

    stock = get_config_from_spec("mini.yaml")
    submission = Path(os.environ["SUBMISSION_DIR"]) / "submission.csv"

    class Shell(LocalEnvironment):
        """The tool's shell; its commands may be long, and print anything."""

        def execute(self, action: dict[str, Any], cwd: str = "", *, timeout: int | None = None) -> dict[str, Any]:
            seconds = clock.for_command(timeout or self.config.timeout)
            command = action.get("command", "")
            found = shell.execute(command, Path(cwd or self.config.cwd), os.environ | self.config.env, seconds)
            ran_out = f"The command was stopped after {seconds:.0f} seconds." if found.code is None else ""
            code = -1 if found.code is None else found.code
            output = {"output": found.output, "returncode": code, "exception_info": ran_out}
            self._check_finished(output)
            return output

    class Engineer(DefaultAgent):
        """The tool's agent; says what it does, tells that time runs short, writes its trajectory atomically."""

        def query(self) -> dict[str, Any]:
            if clock.warned:
                clock.warned = False
                minutes = f"{max(0.0, clock.left) / 60:.0f}"
                notice = words.NOTICE.format(minutes=minutes, submission=submission)
                self.add_messages(self.model.format_message(role="user", content=notice))
            return super().query()

        def add_messages(self, *messages: dict[str, Any]) -> list[dict[str, Any]]:
            for message in messages:
                tell(message, self.n_calls)
            return super().add_messages(*messages)

        def save(self, path: Path | None, *extra_dicts: dict[str, Any]) -> dict[str, Any]:
            if path is None:
                return super().save(path, *extra_dicts)
            temporary = path.with_name(f".{path.name}")
            data = super().save(temporary, *extra_dicts)
            temporary.replace(path)
            return data

    timeout = int(os.environ["AGENT_COMMAND_TIMEOUT"])
    model = models.make_model(stock["model"])
    place = Shell(
        cwd=os.environ["CODE_DIR"], env=stock["environment"].get("env", {}) | {"PAGER": "cat"}, timeout=timeout
    )
    engineer = Engineer(
        model,
        place,
        system_template=words.SYSTEM,
        instance_template=words.TASK,
        step_limit=int(os.environ["AGENT_STEP_LIMIT"]),
        cost_limit=0.0,
        wall_time_limit_seconds=int(os.environ["AGENT_WALL_TIME_LIMIT"]),
        max_consecutive_format_errors=int(os.environ["AGENT_FORMAT_ERRORS"]),
        output_path=Path(os.environ["LOGS_DIR"]) / "trajectory.json",
    )
    engineer.extra_template_vars |= {
        "code": os.environ["CODE_DIR"],
        "submission": str(submission),
        "command_time": duration(min(timeout, clock.limit)),
    }
    return engineer


def duration(seconds: float) -> str:
    """A time in words.

    >>> duration(32400), duration(1500), duration(90)
    ('9 hours', '25 minutes', '90 seconds')
    """
    for size, unit in ((3600, "hours"), (60, "minutes")):
        if seconds >= 2 * size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.0f} seconds"


def tell(message: dict[str, Any], step: int) -> None:
    """A few lines about a message, for who reads the output."""
    role = message.get("role", "")
    text = message.get("content") or ""
    text = text if isinstance(text, str) else str(text)
    if role == "assistant":
        print(f"step {step}: {_short(text, 300)}", flush=True)
        for action in message.get("extra", {}).get("actions", []):
            print(f"  $ {_short(action['command'], 600)}", flush=True)
    elif role == "tool":
        print(f"  {_short(text, 600)}", flush=True)
    elif step and text.strip():
        print(f"{role}: {_short(text, 300)}", flush=True)


def _short(text: str, length: int) -> str:
    text = text.strip()
    return text if len(text) <= length else f"{text[: length // 2]} ... {text[-length // 2 :]}"
