"""What is left in the folder of logs: a transcript, a file for each step, and how it ended.

agent_log/main_log            for reading
agent_log/step_<n>.json       entries, observation, times, tokens
agent_log/summary.json        why it ended; replaced after each step
env_log/traces/step_<n>.json  name -> sha256 of the small files in the working folder; if workspaces are kept
env_log/files/<sha256>        their content, once each
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

SMALL = 1_000_000  # bytes of a file that is kept


@dataclass(frozen=True)
class Step:
    """One round: what the model answered, what came of it."""

    number: int
    entries: dict[str, str]
    observation: str
    shown: str  # the observation, summarised if it is long
    parsed: bool  # whether the action's input could be parsed
    retries: int  # answers that were thrown away before
    seconds_left: float
    requests: int
    input_tokens: int  # all counts since the start
    output_tokens: int


class Records:
    """Writes the logs."""

    def __init__(self, logs: Path, keep_workspaces: bool) -> None:
        self._agent = logs / "agent_log"
        self._traces = logs / "env_log" / "traces" if keep_workspaces else None
        self._files = logs / "env_log" / "files"
        self._agent.mkdir(parents=True, exist_ok=True)
        if self._traces:
            self._traces.mkdir(parents=True, exist_ok=True)
            self._files.mkdir(parents=True, exist_ok=True)

    def say(self, text: str) -> None:
        """Add to the transcript, and print."""
        print(text, flush=True)
        with (self._agent / "main_log").open("a", encoding="utf-8") as file:
            file.write(text + "\n")

    def keep(self, step: Step, work: Path) -> None:
        """Record a step."""
        entries = "\n".join(f"{name}: {text}" for name, text in step.entries.items())
        self.say(f"--- Step {step.number} ---\n{entries}\nObservation:\n{step.shown}\n")
        _write_json(self._agent / f"step_{step.number}.json", asdict(step))
        if self._traces:
            _write_json(self._traces / f"step_{step.number}.json", dict(self._kept(work)))

    def end(self, **summary: Any) -> None:
        """Replace the summary."""
        _write_json(self._agent / "summary.json", summary)

    def _kept(self, work: Path) -> Iterator[tuple[str, str]]:
        """Names and sums of the small files below `work`; the content of new ones is stored."""
        for folder, _, names in os.walk(work):
            for path in (Path(folder) / name for name in names):
                if path.is_symlink() or not path.is_file() or path.stat().st_size > SMALL:
                    continue
                content = path.read_bytes()
                name = hashlib.sha256(content).hexdigest()
                if not (self._files / name).exists():
                    (self._files / name).write_bytes(content)
                yield os.path.relpath(path, work), name


def _write_json(path: Path, content: object) -> None:
    """Replace a file at once, so that a reader never sees half of it."""
    draft = path.with_name(f".{path.name}")
    draft.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    draft.replace(path)
