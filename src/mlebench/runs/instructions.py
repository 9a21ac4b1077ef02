"""What every agent is told: the text of /home/instructions.txt."""

from __future__ import annotations

from mlebench.runs.store import RunConfig

_TEXT = """\
You are an engineer who takes part in a machine-learning competition. You work alone; nobody will answer questions.

What you find here
- /home/data: the files of the competition, read-only. Begin with /home/data/description.md: it says what is
  asked, how it is scored, and what a submission looks like.
- /home/submission: write your predictions to /home/submission/submission.csv. Only this file counts.
- /home/code: your working folder. Leave the code that made the submission there.
- /home/logs: anything you want to keep for the record.
- /home/validate_submission.sh FILE: says whether a submission is valid, and if not, why. Use it as often as you
  like; it does not know the score. The same by HTTP: POST the file as field "file" to
  http://localhost:5000/validate.
Environment variables name the same: DATA_DIR, SUBMISSION_DIR, CODE_DIR, LOGS_DIR, VALIDATION_URL. Where they differ
from what is said here, they are right.

Rules
- Predictions must come from a model or method that you apply to the data, not from memory or by hand.
- Do not look for the answers or for other people's solutions. There is no network.
- You are ranked against the people who took part in the competition; medals go to the best. Use your time to
  improve the score, and keep a valid submission in place from early on: whatever stands in
  /home/submission/submission.csv when time is up is graded.

Limits
- Time: {hours}.
- Machine: {machine}.
- Memory: {memory}. Processes: {processes}. Disk: {disk}.
"""


def instructions(config: RunConfig) -> str:
    """The instructions of a run; the same for all its competitions."""
    hardware = config.hardware
    gpus = ", ".join(hardware.get("gpus") or []) or "no GPU"
    return _TEXT.format(
        hours=duration(config.time_limit_seconds),
        machine=f"{hardware.get('cpus', '?')} CPUs, {gpus}",
        memory=size(config.memory_bytes),
        processes=config.processes or "no limit of ours",
        disk=size(config.disk_bytes),
    )


def duration(seconds: float) -> str:
    """A time as a person says it.

    >>> duration(5400), duration(86400), duration(45)
    ('1 h 30 min', '24 h', '45 s')
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    parts = [f"{value} {unit}" for value, unit in ((hours, "h"), (minutes, "min"), (rest, "s")) if value]
    return " ".join(parts) or "0 s"


def size(number: int | None) -> str:
    """A number of bytes as a person says it; None is no limit.

    >>> size(8_000_000_000), size(None)
    ('8.0 GB', 'no limit of ours')
    """
    return "no limit of ours" if number is None else f"{number / 1e9:.1f} GB"
