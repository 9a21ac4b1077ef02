"""How each agent wants to be answered: a step of a plan, said so that the agent that asks understands it.

An agent is known by what it sends: the tools that it offers, or the form of answer that its prompt asks for.
How far a plan has come is read from the conversation too, so that any number of agents may talk to one engineer.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from mlebench.testing.conversation import Reply, Request, Tool, ToolCall
from mlebench.testing.engineers.plan import Check, Done, Execute, Look, Plan, Run, Step, Write, with_settings

# No command substitution: some agents refuse commands that have it.
EXECUTE = 'cd "${{CODE_DIR:-.}}" && if command -v python >/dev/null; then python {0}; else python3 {0}; fi'
LOOK = (
    'echo "CODE_DIR=${CODE_DIR:-$PWD}"; echo "DATA_DIR=${DATA_DIR:-/home/data}"; '
    'echo "SUBMISSION_DIR=${SUBMISSION_DIR:-/home/submission}"; ls -la "${DATA_DIR:-/home/data}" | head -50'
)
CHECK = (
    'told="${INSTRUCTIONS_FILE:-/home/instructions.txt}"; sh "${told%/*}/validate_submission.sh" '
    '"${SUBMISSION_DIR:-/home/submission}/submission.csv"'
)
SUBMIT_ECHO = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
REASONING = "Thinking about what to do next."


class Style(Protocol):
    """One way of acting."""

    def fits(self, request: Request) -> bool:
        """Whether the agent that asks acts in this way."""
        ...

    def reply(self, plan: Plan, request: Request) -> Reply:
        """The next move of the plan, or the answer to a question beside it."""
        ...


def answer(plan: Plan, request: Request) -> Reply:
    """The next move, in the way of acting of the agent that asks."""
    return style_of(request).reply(plan, request)


def style_of(request: Request) -> Style:
    """How the agent that asks acts; a plain chat where nothing else fits."""
    return next(style for style in STYLES if style.fits(request))


def nth(moves: Sequence[Sequence[Reply]], turn: int) -> Reply:
    """The move number `turn` (from 0) of a plan whose last step is repeated for ever."""
    flat = [move for step in moves for move in step]
    last = moves[-1]
    return flat[turn] if turn < len(flat) else last[(turn - len(flat)) % len(last)]


# --- AIDE: code in a markdown block, reviews by a forced function


class Aide:
    """A plan in words and one block of Python; `submit_review` judges what came of it."""

    def fits(self, request: Request) -> bool:
        """AIDE offers no tool but its review, and asks for a markdown code block beside ./input and ./working."""
        if request.forced_tool == "submit_review":
            return True
        return not request.tools and "code block" in request.text and '"./working"' in request.text

    def reply(self, plan: Plan, request: Request) -> Reply:
        """The review that is asked for, or the next node."""
        if request.forced_tool:
            return review(request)
        turn = aide_turn(request.text)
        node = plan.scripts[min(turn, len(plan.scripts) - 1)]
        code = numbered(node.code, turn + 1)
        text = f"{node.text} This is attempt {turn + 1}. It prints the metric on held-out rows."
        return Reply(f"{text}\n\n```python\n{code}```\n", reasoning=REASONING)


def aide_turn(text: str) -> int:
    """How many attempts there were: those remembered as good, or the number in the code that is shown."""
    good = len(re.findall(r"^Validation Metric: ", text, re.MULTILINE))
    shown = [int(number) for number in re.findall(r"^ATTEMPT = (\d+)$", text, re.MULTILINE)]
    return max([good, *shown])


def numbered(code: str, attempt: int) -> str:
    """`code` with its number in it, if it has a place for that."""
    return with_settings(code, {"ATTEMPT": attempt}) if re.search(r"^ATTEMPT = ", code, re.MULTILINE) else code


def review(request: Request) -> Reply:
    """What the execution output says: a traceback or no metric is a bug."""
    output = request.text.rpartition("Execution output")[2]
    metrics = re.findall(r"Validation (\w+): (-?[\d.]+(?:[eE][-+]?\d+)?)", output)
    is_bug = "Traceback (most recent call last)" in output or not metrics
    name, value = metrics[-1] if metrics else ("metric", "0")
    arguments = {
        "is_bug": is_bug,
        "summary": "The code failed." if is_bug else f"The code ran; its validation {name} is {value}.",
        "metric": None if is_bug else float(value),
        "lower_is_better": any(word in name.lower() for word in ("loss", "error", "rmse", "mae")),
    }
    return Reply.call(request.forced_tool or "submit_review", arguments)


# --- the ResearchAgent protocol: six entries of text, and questions beside them

_SCRIPT = re.compile(r"<<<SCRIPT\n(.*?)SCRIPT>>>", re.DOTALL)
_PROGRESS = re.compile(r"Plan step (\d+) of")


class ResearchAgent:
    """Reflection, Research Plan and Status, Fact Check, Thought, Action, Action Input."""

    def fits(self, request: Request) -> bool:
        """Its prompt names the entries."""
        return not request.tools and "Research Plan and Status" in request.text and "Action Input" in request.text

    def reply(self, plan: Plan, request: Request) -> Reply:
        """The entries of the next move. The second entry is the memory: it says how far the plan has come."""
        steps = [self._actions(step, request.text) for step in plan.steps]
        steps = [step for step in steps if step]
        turn = max([0, *map(int, _PROGRESS.findall(request.text))])
        moves = [[self._entries(action, turn + 1) for action in step] for step in steps]
        return nth(moves, turn)

    def _entries(self, action: tuple[str, str, Mapping[str, Any]], number: int) -> Reply:
        thought, name, arguments = action
        entries = {
            "Reflection": "What was seen is as expected." if number > 1 else "Nothing was done yet.",
            "Research Plan and Status": f"Look, write a script, execute it, hand in. Plan step {number} of many.",
            "Fact Check": "Nothing is claimed that was not observed.",
            "Thought": thought,
            "Action": name,
            "Action Input": json.dumps(dict(arguments)),
        }
        text = "\n".join(f"{entry}: {content}" for entry, content in entries.items())
        return Reply(f"{text}\nObservation:", reasoning=REASONING)

    def _actions(self, step: Step, prompt: str) -> list[tuple[str, str, Mapping[str, Any]]]:
        match step:
            case Look():
                return [(step.text, "List Files", {"dir_path": "."})]
            case Write():
                return [(step.text, *self._writing(step.name, step.code, prompt))]
            case Execute():
                return [(step.text, "Execute Script", {"script_name": step.name})]
            case Run():
                return self._actions_of_command(step, prompt)
            case Check():
                return [(step.text, "Validate Submission", {})] if "Validate Submission" in prompt else []
            case Done():
                return [(step.text, "Final Answer", {"final_answer": step.text})]

    def _writing(self, name: str, code: str, prompt: str) -> tuple[str, Mapping[str, Any]]:
        """By its own hand if it may, else by a request to the model that edits, with the script in it."""
        if "Write File" in prompt:
            return "Write File", {"file_name": name, "content": code}
        instruction = f"Replace the whole script by the following one.\n<<<SCRIPT\n{code}SCRIPT>>>"
        return "Edit Script (AI)", {"script_name": name, "edit_instruction": instruction, "save_name": name}

    def _actions_of_command(self, step: Run, prompt: str) -> list[tuple[str, str, Mapping[str, Any]]]:
        code = f"import subprocess\n\nsubprocess.run({step.command!r}, shell=True)\n"
        return [
            (step.text, *self._writing("command.py", code, prompt)),
            (step.text, "Execute Script", {"script_name": "command.py"}),
        ]


# --- agents with tools


@dataclass(frozen=True)
class Toolbox:
    """An agent with a tool that runs commands, perhaps one that writes files and one that ends the work.

    Each tool: the names that it may have, and its arguments, made from the command, from path and content, or
    from the last words. Arguments that an offered tool requires besides are filled in by their types.
    """

    run: Sequence[str]
    run_arguments: Callable[[str], Mapping[str, Any]] = lambda command: {"command": command}
    write: str = ""
    write_arguments: Callable[[str, str], Mapping[str, Any]] = lambda path, content: {"path": path, "content": content}
    finish: str = ""

    def fits(self, request: Request) -> bool:
        """It offers the tool that runs commands."""
        return request.tool(*self.run) is not None

    def reply(self, plan: Plan, request: Request) -> Reply:
        """The next move; the turns of the conversation say how far the plan has come."""
        return nth([self._moves(step, request) for step in plan.steps], request.turns)

    def _moves(self, step: Step, request: Request) -> list[Reply]:
        match step:
            case Look():
                return [self._command(LOOK, step.text, request)]
            case Write():
                return [self._writing(step, request)]
            case Execute():
                return [self._command(EXECUTE.format(step.name), step.text, request)]
            case Run():
                return [self._command(step.command, step.text, request)]
            case Check():
                return [self._command(CHECK, step.text, request)]
            case Done():
                return [self._ending(step, request)]

    def _command(self, command: str, text: str, request: Request) -> Reply:
        tool = request.tool(*self.run)
        assert tool is not None
        return _calling(tool, self.run_arguments(command), text)

    def _writing(self, step: Write, request: Request) -> Reply:
        """By the tool for it, once the look has told the folder's path; else by the shell."""
        folders = re.findall(r"CODE_DIR=(/[^\s\"'\\<]+)", request.text)
        tool = request.tool(self.write)
        if tool is None or not folders:
            command = f"cat > \"${{CODE_DIR:-.}}/{step.name}\" <<'END_OF_SCRIPT'\n{step.code}END_OF_SCRIPT"
            return self._command(command, step.text, request)
        return _calling(tool, self.write_arguments(f"{folders[-1]}/{step.name}", step.code), step.text)

    def _ending(self, step: Done, request: Request) -> Reply:
        if SUBMIT_ECHO.split()[1] in request.text:
            return self._command(SUBMIT_ECHO, step.text, request)
        tool = request.tool(self.finish)
        return _calling(tool, {"message": step.text}, "") if tool else Reply(step.text, reasoning=REASONING)


def _calling(tool: Tool, arguments: Mapping[str, Any], text: str) -> Reply:
    return Reply(text, (ToolCall(tool.name, complete(arguments, tool.parameters)),), REASONING)


_BY_TYPE: Mapping[str, Any] = {"boolean": False, "integer": 1, "number": 1, "array": [], "object": {}}


def complete(arguments: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """`arguments`, and some value for whatever else the tool's schema requires."""
    properties = schema.get("properties") or {}
    filled = {name: _some_value(properties.get(name) or {}) for name in schema.get("required") or []}
    return {**filled, **arguments}


def _some_value(schema: Mapping[str, Any]) -> Any:
    if schema.get("enum"):
        return schema["enum"][0]
    return _BY_TYPE.get(str(schema.get("type", "string")).lower(), "as the plan says")


def _claude_write(path: str, content: str) -> Mapping[str, Any]:
    return {"file_path": path, "content": content}


def _openhands_write(path: str, content: str) -> Mapping[str, Any]:
    return {"command": "create", "path": path, "file_text": content}


CLAUDE_CODE = Toolbox(run=["Bash"], write="Write", write_arguments=_claude_write)
OPENHANDS = Toolbox(
    run=["terminal", "execute_bash"], write="file_editor", write_arguments=_openhands_write, finish="finish"
)
GEMINI = Toolbox(run=["run_shell_command"], write="write_file", write_arguments=_claude_write)
CODEX = Toolbox(run=["exec_command"], run_arguments=lambda command: {"cmd": command, "yield_time_ms": 30_000})
CODEX_SHELL = Toolbox(run=["shell"], run_arguments=lambda command: {"command": ["bash", "-c", command]})
BASH = Toolbox(run=["bash", "shell_command", "execute", "run_command"])  # mini-swe-agent, and many others


# --- no tools at all


class PlainChat:
    """Whoever asks in words gets words, and code if that is asked for."""

    def fits(self, request: Request) -> bool:  # noqa: ARG002 - as the other styles
        """Always."""
        return True

    def reply(self, plan: Plan, request: Request) -> Reply:
        """The forced function, the script that is asked for, or a few words on what was said last."""
        if request.forced_tool and (tool := request.tool(request.forced_tool)):
            return _calling(tool, {}, "")
        text = request.text
        if found := _SCRIPT.search(_unquoted(text)):
            return Reply(f"The script as it was asked for:\n\n```python\n{found.group(1)}```\n")
        if re.search(r"```python|\bpython (script|code|program|file|block)|\bscript\b", text, re.IGNORECASE):
            number = min(request.turns, len(plan.scripts) - 1)
            return Reply(f"{plan.scripts[number].text}\n\n```python\n{plan.scripts[number].code}```\n")
        return Reply("In short: " + " ".join(request.last.split()[-40:]), reasoning=REASONING)


def _unquoted(text: str) -> str:
    """`text`, or what it says if the script stands in it as JSON."""
    if "<<<SCRIPT\\n" not in text:
        return text
    start, end = text.index("<<<SCRIPT\\n"), text.rindex("SCRIPT>>>") + len("SCRIPT>>>")
    return json.loads(f'"{text[start:end]}"')


STYLES: tuple[Style, ...] = (
    Aide(),
    ResearchAgent(),
    CLAUDE_CODE,
    OPENHANDS,
    GEMINI,
    CODEX,
    CODEX_SHELL,
    BASH,
    PlainChat(),
)
