"""Long texts go through the fast model block by block."""

from __future__ import annotations

from .bench import Bench

BLOCK = 10_000  # characters
UNDERSTOOD_BLOCKS = 10  # of a file
SUMMARISED_BLOCKS = 100  # of an observation
LONG = 5_000  # characters of an observation that is shown as it is

_UNDERSTAND = """\
Below is part {number} of {total} of the file {name}. Describe in detail what it holds, and in particular: {question}
Say only what the text itself shows, with exact names and numbers; if it does not answer something, say so.

--- part {number} of {name} ---
{block}
--- end of the part ---
"""
_JOIN = """\
These are descriptions of the parts of {name}, in order. Write one description of the whole, which answers: {question}
Add nothing that they do not say.

{parts}
"""
_SUMMARISE = """\
An engineer took the action "{action}" with this thought: {thought}
Below is part {number} of {total} of what came back. Report in short what matters for the plan: results and numbers, \
errors in their exact words, names of files and columns. Only what stands there; no advice.

The plan:
{plan}

--- part {number} ---
{block}
--- end of the part ---
"""


def understand_file(bench: Bench, file_name: str, things_to_look_for: str) -> str:
    """What the fast model finds in a file, read block by block."""
    text = bench.read(file_name, UNDERSTOOD_BLOCKS * BLOCK + 1)
    parts = blocks(text[: UNDERSTOOD_BLOCKS * BLOCK])
    found = [
        bench.ask_fast(
            _UNDERSTAND.format(
                number=number, total=len(parts), name=file_name, question=things_to_look_for, block=block
            )
        )
        for number, block in enumerate(parts, 1)
    ]
    answer = found[0]
    if len(found) > 1:
        named = "\n\n".join(f"Part {number}:\n{text}" for number, text in enumerate(found, 1))
        answer = bench.ask_fast(_JOIN.format(name=file_name, question=things_to_look_for, parts=named))
    cut = len(text) > UNDERSTOOD_BLOCKS * BLOCK
    return answer + f"\n(Only the first {UNDERSTOOD_BLOCKS * BLOCK} characters were read.)" * cut


def summarised(bench: Bench, observation: str) -> str:
    """The observation if it is short, else what the fast model makes of its blocks."""
    if len(observation) <= LONG:
        return observation
    parts = blocks(observation)[:SUMMARISED_BLOCKS]
    found = [
        bench.ask_fast(
            _SUMMARISE.format(
                action=bench.entries["Action"],
                thought=shortened(bench.entries["Thought"], 2_000),
                plan=shortened(bench.entries["Research Plan and Status"], LONG),
                number=number,
                total=len(parts),
                block=block,
            )
        )
        for number, block in enumerate(parts, 1)
    ]
    summary = found[0]
    if len(found) > 1:
        named = "\n\n".join(found)
        summary = bench.ask_fast(
            _JOIN.format(name="what came back", question="what matters for the plan?", parts=named)
        )
    return f"The observation was too long to be shown; this is a summary of it:\n{summary}"


def blocks(text: str) -> list[str]:
    """The text in blocks; an empty text is one empty block."""
    return [text[start : start + BLOCK] for start in range(0, len(text), BLOCK)] or [""]


def shortened(text: str, most: int) -> str:
    """The text, its middle left out if it is longer than `most`.

    >>> shortened("abcdefghij", 4)
    'ab\\n... 6 characters left out ...\\nij'
    """
    if len(text) <= most:
        return text
    half = most // 2
    return f"{text[:half]}\n... {len(text) - 2 * half} characters left out ...\n{text[-half:]}"
