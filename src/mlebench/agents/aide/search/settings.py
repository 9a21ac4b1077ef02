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
    dialect: str
    system_as_user: str  # true, false or auto
    max_output_tokens: int
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
    obfuscate: bool
    tell_limits: bool
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
        model=model,
        feedback_model=_text("feedback_model") or model,
        dialect=_text("dialect"),
        system_as_user=_text("system_as_user"),
        max_output_tokens=_whole("max_output_tokens"),
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
        obfuscate=_text("obfuscate") == "true"
        or (_text("obfuscate") == "auto" and os.environ["COMPETITION_ID"] == "competition"),
        tell_limits=_flag("tell_limits"),
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
