"""What the environment says: places, limits, and the agent's parameters."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Settings:
    """One attempt's settings."""

    data: Path
    submission: Path  # the file that counts
    code: Path
    logs: Path
    prompt: Path
    workspace: Path
    validation_url: str
    seed: int
    limit: float  # seconds for everything
    model: str
    feedback_model: str
    steps: int
    num_drafts: int
    max_debug_depth: int
    debug_prob: float
    k_fold_validation: int
    exec_timeout: int
    code_temperature: float
    feedback_temperature: float
    data_preview: bool
    expose_prediction: bool
    copy_data: bool
    preprocess_data: bool
    generate_report: bool
    system_as_user: bool
    require_submission: bool
    request_timeout: float
    keep_megabytes: float
    started: float = field(default_factory=time.monotonic)

    @property
    def left(self) -> float:
        """Seconds until the end of time."""
        return self.limit - (time.monotonic() - self.started)

    @property
    def told_timeout(self) -> int:
        """The limit on one program that the model is told: the same at every step."""
        return max(1, min(self.exec_timeout, int(self.limit)))


def alias(model: str) -> str:
    """A name that AIDE takes for a stranger's model.

    It sends those to chat completions at OPENAI_BASE_URL, but families that it knows to addresses of its own.

    >>> alias("gpt-4o-2024-08-06")
    'gw-gpt-4o-2024-08-06'
    """
    return model if model.startswith("gw-") else f"gw-{model}"


def read() -> Settings:
    """The settings from the environment."""
    model = os.environ["MLEBENCH_MODEL"]
    return Settings(
        data=Path(os.environ["DATA_DIR"]),
        submission=Path(os.environ["SUBMISSION_DIR"]) / "submission.csv",
        code=Path(os.environ["CODE_DIR"]),
        logs=Path(os.environ["LOGS_DIR"]) / "aide",
        prompt=Path(os.environ["PROMPT_FILE"]),
        workspace=Path(os.environ["TMPDIR"]) / "aide",
        validation_url=os.environ.get("VALIDATION_URL", ""),
        seed=int(os.environ["SEED"]),
        limit=float(os.environ["TIME_LIMIT_SECS"]),
        model=alias(model),
        feedback_model=alias(_text("feedback_model") or model),
        steps=_whole("steps"),
        num_drafts=_whole("num_drafts"),
        max_debug_depth=_whole("max_debug_depth"),
        debug_prob=_number("debug_prob"),
        k_fold_validation=_whole("k_fold_validation"),
        exec_timeout=_whole("exec_timeout"),
        code_temperature=_number("code_temperature"),
        feedback_temperature=_number("feedback_temperature"),
        data_preview=_flag("data_preview"),
        expose_prediction=_flag("expose_prediction"),
        copy_data=_flag("copy_data"),
        preprocess_data=_flag("preprocess_data"),
        generate_report=_flag("generate_report"),
        system_as_user=_flag("system_as_user"),
        require_submission=_flag("require_submission"),
        request_timeout=_number("request_timeout"),
        keep_megabytes=_number("keep_megabytes"),
    )


def _text(parameter: str) -> str:
    return os.environ[f"AGENT_{parameter.upper()}"]


def _whole(parameter: str) -> int:
    return int(_text(parameter))


def _number(parameter: str) -> float:
    return float(_text(parameter))


def _flag(parameter: str) -> bool:
    return _text(parameter) == "true"
