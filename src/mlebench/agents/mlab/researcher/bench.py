"""What the actions work with."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from .model import Models
from .places import Places
from .settings import Clock, Settings

TOOL_TOKENS = 4000  # of an answer of the fast model, and of the edit model unless a file is longer
FAST_TEMPERATURE = 0.01


class ActionError(Exception):
    """The action can't be done; the message is for the model."""


@dataclass
class Bench:
    """Settings, places, models, the time, and the last round of entries."""

    settings: Settings
    places: Places
    models: Models
    clock: Clock
    entries: dict[str, str] = field(default_factory=dict)  # of the step that is being done
    final_answer: str | None = None

    @property
    def research_log(self) -> Path:
        """Notes that the model may keep."""
        return self.settings.logs / "research_log.md"

    def ask_fast(self, prompt: str) -> str:
        """What the fast model answers."""
        return self.models.ask(self.settings.fast_model, prompt, TOOL_TOKENS, FAST_TEMPERATURE)

    def ask_edit(self, prompt: str) -> str:
        """What the edit model answers."""
        return self.models.ask(self.settings.edit_script_model, prompt, self.settings.max_tokens, None)

    def read(self, name: str, most: int | None = None) -> str:
        """The text of a file, at most so many characters of it."""
        with self.places.file(name).open(encoding="utf-8", errors="replace") as file:
            return file.read(most)
