"""Reading what the model answers: six entries, one of them an action, one its input."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

ENTRIES = ("Reflection", "Research Plan and Status", "Fact Check", "Thought", "Action", "Action Input")
STOP = "Observation:"  # what comes after the answer is not for the model to write

_ENTRY = re.compile(
    r"^[ \t>#]*(?:\*\*|__)?(" + "|".join(sorted(ENTRIES, key=len, reverse=True)) + r")[ \t*_]*:[ \t*_]*",
    re.MULTILINE | re.IGNORECASE,
)
_STOP = re.compile(r"^[ \t>#]*(?:\*\*|__)?Observation[ \t*_]*:", re.MULTILINE | re.IGNORECASE)
_FENCE = re.compile(r"^```[\w-]*\s*\n(.*?)\n?\s*```\s*$", re.DOTALL)


class AnswerError(Exception):
    """The answer is not in the form asked for; the message says what is missing."""


class InputError(Exception):
    """The input of an action can't be used; the message says why."""


def parse_answer(text: str, actions: Sequence[str]) -> dict[str, str]:
    """The six entries of an answer; the action under its exact name.

    Of an entry that comes more than once, as after a draft, the last one counts; what stands after `Observation:` is
    cut off. Raises AnswerError for a missing entry or an action that isn't in `actions`.
    """
    if stop := _STOP.search(text):
        text = text[: stop.start()]
    found: dict[str, str] = {}
    marks = list(_ENTRY.finditer(text))
    ends = [*(mark.start() for mark in marks[1:]), len(text)]
    for mark, end in zip(marks, ends, strict=False):
        name = next(entry for entry in ENTRIES if entry.lower() == mark[1].lower())
        found[name] = text[mark.end() : end].strip()
    missing = [name for name in ENTRIES if name not in found]
    if missing:
        raise AnswerError(f"these entries are missing: {', '.join(missing)}")
    known = {name.lower(): name for name in actions}
    named = found["Action"].strip(" \t\n*_`'\"[].").lower()
    if named not in known:
        raise AnswerError(f"there is no action {found['Action'][:100]!r}")
    return found | {"Action": known[named]}


def parse_input(text: str, names: Sequence[str]) -> dict[str, str]:
    """The arguments of an action, all as text. Raises InputError unless `text` is a JSON object of just `names`.

    >>> parse_input('{"script_name": "train.py", "start_line_number": 3}', ("script_name", "start_line_number"))
    {'script_name': 'train.py', 'start_line_number': '3'}
    """
    fenced = _FENCE.match(text.strip())
    try:
        content = json.loads(fenced[1] if fenced else text or "{}", strict=False)  # line breaks in texts are let pass
    except ValueError as error:
        raise InputError(f"the input is no valid JSON: {error}") from error
    if not isinstance(content, dict):
        raise InputError("the input is no JSON object")
    if set(content) != set(names):
        wanted = ", ".join(names) or "no keys at all"
        raise InputError(f"the input has the keys {', '.join(content) or 'none'}; it must have {wanted}")
    return {name: value if isinstance(value, str) else json.dumps(value) for name, value in content.items()}


def first_code_block(text: str) -> str | None:
    """The content of the first block of Python in an answer, else of its first block, else None."""
    for language in ("(?:python|py)", r"\w*"):
        if block := re.search(rf"^```{language}[ \t]*\n(.*?)^```", text + "\n", re.DOTALL | re.MULTILINE | re.I):
            return block[1]
    return None
