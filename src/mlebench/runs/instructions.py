"""What every agent is told: the text of /home/instructions.txt."""

from __future__ import annotations

from mlebench.runs.store import RunConfig

_TEXT = """\
You are an engineer who takes part in a machine-learning competition, one of many that measure how well agents do
machine-learning engineering. You work alone; nobody will answer questions. Where the description of the competition
contradicts these instructions, these instructions are right.

What you find here
- /home/data: the files of the competition, read-only. Begin with /home/data/description.md: it says what is
  asked, how it is scored, and what a submission looks like. The division into training and test rows may be another
  than the description has it.
- /home/submission: write your predictions to /home/submission/submission.csv, whatever name or form the description
  gives. Only this one CSV file counts; without it the attempt has failed.
- /home/code: your working folder. Leave the code that made the submission there.
- /home/logs: anything you want to keep for the record.
- /home/validate_submission.sh FILE: says whether a submission is valid, and if not, why. Use it as often as you
  like; it does not know the score. The same by HTTP: POST the file as field "file" to
  http://localhost:5000/validate.
{scores}Environment variables name the same: DATA_DIR, SUBMISSION_DIR, CODE_DIR, LOGS_DIR, VALIDATION_URL. Where they
differ from what is said here, they are right.

Rules
- Predictions must come from a model that you train or a method that you apply to the data, never from labels that
  you write by hand, guess from memory or compute outside of it.
- Do not look for the answers or for other people's solutions to this competition. There is no network{model}.
- You are scored by the competition's own metric and ranked against the people who took part; medals go to the best.

Advice
- Put a simple valid submission in place early, then improve it.
- Hold back rows of your own to judge models by, look at the data before you trust them, and try several kinds of
  models.
- Use all the time there is to improve the score. Whatever stands in /home/submission/submission.csv when time is up
  is graded, so your best submission must be in place by then.

Limits
- Time: {hours}. {warning} before the end, a file time.txt appears in /home/notices.
- Machine: {machine}.
- Memory: {memory}. Processes: {processes}. Disk: {disk}.
"""
_SCORES = """\
- /home/held_back: some training rows that were held back, without their answers, in rows.csv, and
  sample_submission.csv for them. POST predictions for them, a CSV like that sample, as field "file" to
  http://localhost:5000/score: you get their score, at most {number} times in any hour. What counts in the end is
  /home/submission/submission.csv alone, with predictions for the competition's own test rows. Also: HELD_BACK_DIR,
  SCORE_URL.
"""


def instructions(config: RunConfig) -> str:
    """The instructions of a run; the same for all its competitions."""
    return _TEXT.format(
        hours=duration(config.time_limit_seconds),
        warning=duration(warning_seconds(config.time_limit_seconds)),
        machine=hardware_in_words(config),
        memory=size(config.memory_bytes),
        processes=config.processes or "no limit of ours",
        disk=size(config.disk_bytes),
        model=", but for the way to your own model" if config.gateway else "",
        scores=_SCORES.format(number=config.scores_per_hour) if config.hidden_validation else "",
    )


def prompt(instructions: str, description: str) -> str:
    """All that an agent has to know in one text: the instructions, then the competition's description."""
    return f"{instructions}\nThe description of the competition, as in /home/data/description.md\n\n{description}"


def hardware_in_words(config: RunConfig) -> str:
    """What one attempt has of the machine.

    >>> from types import SimpleNamespace as Config
    >>> hardware_in_words(Config(hardware={"cpus": 36, "gpus": ["NVIDIA A10", "NVIDIA A10"]}, cpus=None, gpus=2))
    '36 CPUs, 2 × NVIDIA A10'
    """
    cpus = config.cpus or config.hardware.get("cpus", "?")
    names = list(config.hardware.get("gpus") or [])[: config.gpus]
    gpus = ", ".join(f"{names.count(name)} × {name}" for name in dict.fromkeys(names)) or "no GPU"
    return f"{cpus} CPUs, {gpus}"


def warning_seconds(time_limit: float) -> float:
    """How long before the end the agent is warned: ten minutes, or a quarter of a time that is shorter than forty.

    >>> warning_seconds(86400), warning_seconds(120)
    (600.0, 30.0)
    """
    return min(600.0, time_limit / 4)


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
