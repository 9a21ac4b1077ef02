"""Writes a run in the layout of the published benchmark, for the tools made for that.

<into>/<timestamp>_run-group_<agent>/metadata.json                      the attempts, and what has to be disclosed
                                    /submission.jsonl                   for `mlebench grade --submission`
                                    /<competition>_<uuid>/metadata.json which attempt this was, and how it ended
                                                         /submission/submission.csv  code/  logs/  run.log
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from mlebench.errors import ENDS, UsageError
from mlebench.files import remove_tree, write_json, write_text
from mlebench.runs.store import AttemptFolder, AttemptState, RunConfig, attempts, read_config
from mlebench.sandbox.collect import collect_submission

_NAMES = uuid.uuid5(uuid.NAMESPACE_URL, "mlebench:run")  # the same attempt gets the same name each time


@dataclass(frozen=True)
class Exported:
    """What was written, and how many attempts were left out since nothing of them counts."""

    folder: Path
    submissions: Path  # the file submission.jsonl
    attempts: int
    left_out: int


def export_v1(run: Path, into: Path) -> Exported:
    """Write the attempts of `run` that count into a new folder below `into`.

    Attempts that have not ended, or ended through no doing of the agent, are left out. Of what an agent left, only
    plain files are taken, no links. Raises UsageError if the folder is there already or nothing would be in it.
    """
    config = read_config(run)
    everything = [(attempt, attempt.state()) for attempt in attempts(run, config)]
    counting = [(attempt, state) for attempt, state in everything if _counts(state)]
    if not counting:
        raise UsageError(f"nothing of {run} can be exported: none of its attempts has ended in a way that counts")
    group = into.absolute() / group_name(config)
    if group.exists():
        raise UsageError(f"{group} exists already; remove it, or export into another folder")
    group.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=f".{group.name}-", dir=group.parent))
    try:
        _write_group(config, counting, draft, group)
        draft.chmod(0o755)
        draft.rename(group)
    except BaseException:
        remove_tree(draft)
        raise
    return Exported(group, group / "submission.jsonl", len(counting), len(everything) - len(counting))


def group_name(config: RunConfig) -> str:
    """`<timestamp>_run-group_<agent>`, of the time at which the run was made."""
    created = datetime.fromisoformat(config.created).astimezone(UTC)
    name = config.agent.rpartition(":")[2] if ":" in config.agent else Path(config.agent).name  # FOLDER:ID or FOLDER
    agent = "".join(letter if letter.isalnum() or letter in "-._" else "-" for letter in name)
    return f"{created:%Y-%m-%dT%H-%M-%S}-UTC_run-group_{agent}"


def attempt_name(config: RunConfig, attempt: AttemptFolder) -> str:
    """`<competition>_<uuid>`."""
    key = f"{config.id}/{config.created}/{attempt.competition_id}/{attempt.seed}"
    return f"{attempt.competition_id}_{uuid.uuid5(_NAMES, key)}"


def _counts(state: AttemptState) -> bool:
    return state.state == "finished" and state.end in ENDS and ENDS[state.end].counts


def _write_group(
    config: RunConfig, counting: Sequence[tuple[AttemptFolder, AttemptState]], draft: Path, group: Path
) -> None:
    """Fill `draft`, which will be renamed to `group`."""
    lines, runs = [], {}
    for attempt, state in counting:
        name = attempt_name(config, attempt)
        submission = _write_attempt(attempt, state, draft / name)
        runs[name] = {"success": state.end == "completed", "seed": attempt.seed, "end": state.end}
        line = {
            "competition_id": attempt.competition_id,
            "submission_path": os.fspath(group / name / "submission" / "submission.csv") if submission else None,
            "logs_path": os.fspath(group / name / "logs"),
            "code_path": os.fspath(group / name / "code"),
        }
        lines.append(json.dumps(line))
    write_text(draft / "submission.jsonl", "".join(line + "\n" for line in lines))
    write_json(draft / "metadata.json", {"run_group": group.name, "runs": runs, **_disclosure(config)})


def _disclosure(config: RunConfig) -> dict[str, Any]:
    named = {name: getattr(config, name) for name in ("agent", "agent_parameters", "model", "edition", "network")}
    return {
        **named,
        "created_at": config.created,
        "seeds": config.seeds,
        "time_limit_seconds": config.time_limit_seconds,
        "sandbox": config.sandbox,
        "sources": config.sources,
        "hardware": config.hardware,
        "exported_from": config.id,
    }


def _write_attempt(attempt: AttemptFolder, state: AttemptState, folder: Path) -> bool:
    """Copy what an attempt left; whether there is a submission."""
    folder.mkdir()
    (folder / "submission").mkdir()
    submission = collect_submission(attempt.path / "submission")
    if submission:
        shutil.copyfile(submission, folder / "submission" / "submission.csv", follow_symlinks=False)
    for name in ("code", "logs"):
        copy_plain_files(attempt.path / name, folder / name)
    output = attempt.path / "output.txt"
    if output.is_file():
        shutil.copyfile(output, folder / "run.log")
    facts = {"competition_id": attempt.competition_id, "seed": attempt.seed}
    facts |= {name: getattr(state, name) for name in ("end", "message", "started", "finished", "seconds")}
    write_json(folder / "metadata.json", facts)
    return submission is not None


def copy_plain_files(source: Path, target: Path) -> None:
    """Copy a folder that an agent has written, without links, pipes and devices.

    By the programs cp and find, which cope with folders nested some hundred deep. Nothing there is an empty folder.
    """
    target.mkdir()
    if source.is_dir():
        subprocess.run(["cp", "-RPp", "--", f"{source}/.", os.fspath(target)], check=True, capture_output=True)
        kept = ["!", "-type", "f", "!", "-type", "d"]
        subprocess.run(["find", os.fspath(target), *kept, "-delete"], check=True, capture_output=True)
