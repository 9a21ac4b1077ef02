"""The one message that each request of the main loop consists of."""

from __future__ import annotations

from collections.abc import Sequence

from .actions import ACTIONS
from .answers import ENTRIES
from .bench import Bench
from .records import Step
from .settings import time_in_words

PROBLEM_FILE = "instructions.txt"  # in the working folder, where the problem is not told in the prompt

_OPENING = """\
You work on a machine-learning task, step by step. At each step you choose one of these actions, and see what comes of \
it:

"""
_TASK_FOLDER = """\
Your working folder is {work}. It holds `data`, a read-only link to the files of the task, `submission`, a link to the \
folder for your predictions, and `train.py`, to be filled. Name files by their path from there, such as \
data/description.md or submission/submission.csv; actions reach no others. Scripts run with the working folder as \
current folder.
"""
_RULES = """\
How to work:
- Begin with a plan, and keep it up to date: you see only your last {steps} steps, so whatever is to be remembered \
must stand under "Research Plan and Status".
- There, call something done or a number reached only if an observation said so; guesses are marked as guesses.
- Before you change something, know how its effect is measured; have a simple baseline first, and a valid \
submission early.
- Packages can't be installed; use what is there.
- When a script fails, read the error and change the script; do not run the same again.
- "Final Answer" ends everything at once. As long as time and steps are left, go on improving instead.

Answer each time with these six entries, in this order and with exactly these names, and nothing else:

Reflection: what the last observation means, and what to do about an error in it
Research Plan and Status: the whole plan, with what is done, what came out (with numbers), and what comes next
Fact Check: for each claim under status, whether an observation confirmed it or it is a guess
Thought: what to do now, and why
Action: the name of one action from the list
Action Input: its input, as valid JSON in the form given above

After that, stop: the observation is given to you.
"""
_LIMITS = "You are at step {step} of {steps}; {left} of {total} are left. Use them to improve the result.\n"
REMINDER = """\
Your last answer could not be used: {reason}. Answer again with all of these entries, in this order: {entries}. \
The action must be one of: {actions}.
"""


def prompt(bench: Bench, steps: Sequence[Step], reminder: str = "") -> str:
    """What the model is asked at this step, given the steps so far."""
    settings = bench.settings
    limits = _LIMITS.format(
        step=len(steps) + 1,
        steps=settings.max_steps,
        left=time_in_words(bench.clock.left()),
        total=time_in_words(settings.seconds),
    )
    told = settings.problem.strip() if settings.problem_in_prompt else f"It is described in {PROBLEM_FILE}: read it."
    parts = [
        _OPENING + "\n\n".join(_tool(name) for name in shown_actions(settings.show_hidden_actions)),
        f"The task:\n\n{told}",
        _TASK_FOLDER.format(work=settings.work),
        _RULES.format(steps=settings.steps_in_context),
        _history(steps, settings.steps_in_context, settings.observations_in_context),
        limits + reminder,
    ]
    return "\n\n".join(part.strip() for part in parts if part) + "\n"


def reminder(reason: str, show_hidden: bool) -> str:
    """What is appended after an answer that can't be used."""
    return "\n" + REMINDER.format(
        reason=reason, entries=", ".join(ENTRIES), actions=", ".join(shown_actions(show_hidden))
    )


def shown_actions(hidden_too: bool) -> list[str]:
    """The names of the actions that the model is told of."""
    return [name for name, action in ACTIONS.items() if hidden_too or not action.hidden]


def _tool(name: str) -> str:
    action = ACTIONS[name]
    return f"- {name}: {action.does}\n{action.usage()}"


def _history(steps: Sequence[Step], most: int, most_observations: int) -> str:
    """The last steps; one whose input could not be parsed is left out once a later one could be."""
    last_parsed = max((number for number, step in enumerate(steps) if step.parsed), default=-1)
    useful = [step for number, step in enumerate(steps) if step.parsed or number > last_parsed]
    shown = useful[-most:] if most else []
    if not shown:
        return "Nothing is done yet."
    texts = []
    for place, step in enumerate(shown):
        recent = len(shown) - place <= most_observations
        entries = "\n".join(f"{name}: {step.entries.get(name, '')}" for name in ENTRIES)
        texts.append(f"{entries}\nObservation:\n{step.shown if recent else '<done>'}")
    return "Your last steps:\n\n" + "\n\n".join(texts)
