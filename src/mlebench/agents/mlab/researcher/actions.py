"""What the model can do. Each action is a function of the bench and of its arguments; it returns the observation."""

from __future__ import annotations

import json
import shutil
import signal
import urllib.error
import urllib.request
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path

from . import editing, reading
from .answers import InputError, parse_input
from .bench import ActionError, Bench
from .model import RequestRefused
from .places import PlaceError
from .scripts import run_script
from .settings import time_in_words

LISTED = 10_000  # characters
INSPECTED_LINES = 100
_MINUTE = 60.0


@dataclass(frozen=True)
class Action:
    """One thing that the model can do; hidden ones are accepted but not told of unless asked for."""

    name: str
    does: str
    arguments: Mapping[str, str]  # name -> what it is
    run: Callable[..., str]
    hidden: bool = False

    def usage(self) -> str:
        """How it is called, for the model."""
        example = ", ".join(f'"{name}": [{meaning}]' for name, meaning in self.arguments.items())
        return f"Action: {self.name}\nAction Input: {{{example}}}\nObservation: [what comes back]"


def perform(action: Action, given: str, bench: Bench) -> tuple[str, bool]:
    """The observation, and whether the input could be parsed."""
    try:
        arguments = parse_input(given, tuple(action.arguments))
    except InputError as error:
        return f"ActionInputParsingError: {error}. The action is used like this:\n\n{action.usage()}", False
    try:
        return action.run(bench, **arguments), True
    except (ActionError, PlaceError) as error:
        return f"The action failed: {error}", True
    except RequestRefused as error:
        return f"The action failed, a model could not do its part: {error}", True
    except (OSError, ValueError, RecursionError) as error:
        if isinstance(error, TimeoutError):
            raise
        return f"The action failed: {type(error).__name__}: {error}", True


def list_files(bench: Bench, dir_path: str) -> str:
    """The names in a folder."""
    folder = bench.places.readable(dir_path)
    if not folder.is_dir():
        raise ActionError(f"there is no folder {dir_path!r}")
    names = sorted(entry.name + "/" * entry.is_dir() for entry in folder.iterdir())
    text = "\n".join(names) or "(the folder is empty)"
    cut = f"\n... cut off; there are {len(names)} entries" if len(text) > LISTED else ""
    return text[:LISTED] + cut


def copy_file(bench: Bench, source: str, destination: str) -> str:
    """Copy a file; what was at the destination is overwritten."""
    target = bench.places.writable(destination)
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(bench.places.file(source), target)
    return f"{source} is copied to {destination}."


def inspect_script_lines(bench: Bench, script_name: str, start_line_number: str, end_line_number: str) -> str:
    """Some lines of a file, with their numbers."""
    lines = bench.read(script_name).splitlines()
    first, last = editing.line_range(start_line_number, end_line_number, len(lines))
    if last - first >= INSPECTED_LINES:
        raise ActionError(f"at most {INSPECTED_LINES} lines can be shown at once")
    shown = "\n".join(f"{number}: {lines[number - 1]}" for number in range(first, last + 1))
    return f"Lines {first} to {last} of the {len(lines)} of {script_name}:\n\n{shown}"


def execute_script(bench: Bench, script_name: str) -> str:
    """Run a script to its end, or until the time of the attempt is nearly over."""
    script = bench.places.file(script_name)
    ran = run_script(script, bench.places.work, bench.clock.left_for_work())
    if ran.exit_code is None:
        told = f"{ran.output}\n{ran.errors}".strip()
        return f"The script was stopped after {time_in_words(ran.seconds)}: the time is over.\n{told}"
    if ran.exit_code < 0:
        cause = "; perhaps it used too much memory" if -ran.exit_code == signal.SIGKILL else ""
        return f"The script was ended by {signal.Signals(-ran.exit_code).name}{cause}:\n{ran.errors or ran.output}"
    if ran.exit_code > 0:
        return f"The script failed with exit code {ran.exit_code}:\n{ran.errors or ran.output}"
    return f"The script ran to its end in {time_in_words(ran.seconds)}. It printed:\n{ran.output or ran.errors}"


def validate_submission(bench: Bench) -> str:
    """What the validation service says about submission/submission.csv."""
    path = bench.places.file("submission/submission.csv")
    border = uuid.uuid4().hex
    head = f'--{border}\r\nContent-Disposition: form-data; name="file"; filename="submission.csv"\r\n'
    body = f"{head}Content-Type: text/csv\r\n\r\n".encode() + path.read_bytes() + f"\r\n--{border}--\r\n".encode()
    headers = {"Content-Type": f"multipart/form-data; boundary={border}"}
    request = urllib.request.Request(bench.settings.validation_url, body, headers)
    try:
        with urllib.request.urlopen(request, timeout=max(_MINUTE, bench.clock.left_for_work())) as response:
            return str(json.load(response)["result"])
    except urllib.error.HTTPError as error:
        return f"The submission could not be validated: {error.read(2_000).decode(errors='replace')}"
    except (OSError, HTTPException, ValueError, KeyError) as error:
        return f"The validation service could not be reached: {error}"


def final_answer(bench: Bench, final_answer: str) -> str:
    """End the work."""
    bench.final_answer = final_answer
    return "The work is over."


def read_file(bench: Bench, file_name: str) -> str:
    """The content of a file, as much of it as could be summarised."""
    return bench.read(file_name, reading.SUMMARISED_BLOCKS * reading.BLOCK)


def reflect(bench: Bench, things_to_reflect_on: str) -> str:
    """What the fast model thinks about the notes and the plan."""
    plan = bench.entries["Research Plan and Status"]
    return bench.ask_fast(
        f"Below are an engineer's notes and plan. Reflect on this: {things_to_reflect_on}\n"
        "Rely only on what they say.\n\n"
        f"Notes:\n{_notes(bench)}\n\nPlan and status:\n{plan}\n"
    )


def retrieve_from_log(bench: Bench, current_plan: str) -> str:
    """What the notes say that matters for a plan."""
    return bench.ask_fast(
        "Below are an engineer's notes. Say in short what in them matters for this plan, and nothing else: "
        f"{current_plan}\n\nNotes:\n{_notes(bench)}\n"
    )


def append_to_log(bench: Bench, content: str) -> str:
    """Keep a note."""
    with bench.research_log.open("a", encoding="utf-8") as file:
        file.write(content + "\n\n")
    return "The note is kept."


def _notes(bench: Bench) -> str:
    path: Path = bench.research_log
    return reading.shortened(path.read_text(encoding="utf-8"), 40_000) if path.is_file() else "(none yet)"


_SCRIPT = "name of a script, with its path below the working folder"
_FILE = "name of a file, with its path below the working folder"
ACTIONS: Mapping[str, Action] = {
    action.name: action
    for action in (
        Action(
            "List Files",
            "Shows what is in a folder. The working folder itself is named by a dot.",
            {"dir_path": "path of a folder, as in . or data"},
            list_files,
        ),
        Action(
            "Copy File",
            "Copies a file.",
            {"source": _FILE, "destination": "name of the copy, with its path"},
            copy_file,
        ),
        Action(
            "Undo Edit Script",
            "Takes back the latest edit of a script.",
            {"script_name": _SCRIPT},
            editing.undo_edit_script,
        ),
        Action(
            "Execute Script",
            "Runs a Python script that is there, to its end, and shows what it prints. Use nothing else to run code.",
            {"script_name": _SCRIPT},
            execute_script,
        ),
        Action(
            "Validate Submission",
            "Says whether submission/submission.csv has the right form, and if not, why. It does not know the score, "
            "and can be used as often as you like.",
            {},
            validate_submission,
        ),
        Action(
            "Final Answer",
            "Ends the work for good: nothing can be done afterwards. While time is left, better use it to improve.",
            {"final_answer": "what was done and reached, in words"},
            final_answer,
        ),
        Action(
            "Understand File",
            "Has a file read and described; good for long files. Ask precisely.",
            {"file_name": _FILE, "things_to_look_for": "what should be found out, in detail"},
            reading.understand_file,
        ),
        Action(
            "Inspect Script Lines",
            f"Shows lines of a script or another text, at most {INSPECTED_LINES} at once.",
            {
                "script_name": _SCRIPT,
                "start_line_number": "number of the first line",
                "end_line_number": "number of the last line",
            },
            inspect_script_lines,
        ),
        Action(
            "Edit Script (AI)",
            "Has a language model write or change a Python script by your instruction, and shows the difference. It "
            "sees only the script and the instruction, so say all that it has to know; a script that does not exist "
            "yet starts empty.",
            {
                "script_name": _SCRIPT,
                "edit_instruction": "what to change, in detail",
                "save_name": "name under which the result is saved; may be the same",
            },
            editing.edit_script,
        ),
        Action("Read File", "Shows a file.", {"file_name": _FILE}, read_file, hidden=True),
        Action(
            "Write File",
            "Writes a file as you give it; what it held is replaced.",
            {"file_name": _FILE, "content": "its whole content"},
            editing.write_file,
            hidden=True,
        ),
        Action(
            "Append File",
            "Adds text to the end of a file.",
            {"file_name": _FILE, "content": "what is added"},
            editing.append_file,
            hidden=True,
        ),
        Action(
            "Edit Script Segment (AI)",
            "Has a language model change some lines of a script by your instruction, and shows the difference.",
            {
                "script_name": _SCRIPT,
                "start_line_number": "number of the first line",
                "end_line_number": "number of the last line",
                "edit_instruction": "what to change, in detail",
                "save_name": "name under which the result is saved; may be the same",
            },
            editing.edit_script_segment,
            hidden=True,
        ),
        Action(
            "Retrieval from Research Log",
            "Says what in your notes matters for a plan.",
            {"current_plan": "the plan"},
            retrieve_from_log,
            hidden=True,
        ),
        Action(
            "Append Summary to Research Log",
            "Keeps a note.",
            {"content": "the note"},
            append_to_log,
            hidden=True,
        ),
        Action(
            "Reflection",
            "Has your notes and your plan thought over.",
            {"things_to_reflect_on": "a question"},
            reflect,
            hidden=True,
        ),
    )
}
