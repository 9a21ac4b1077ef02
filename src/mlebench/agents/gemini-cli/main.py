"""Start the Gemini CLI on the competition. It takes this process's place, so signals and its exit code are its own.

It prints its messages as JSON lines; its record of the session is in LOGS_DIR/sessions. Its exit code is 0 if it handed
in, 53 if its turns are used up, another one if it failed or the model was refused.
"""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

# The program itself, and the agents that come with it: each would ask for other models than the run's.
SCOPES = ("core", "generalist", "codebase_investigator", "cli_help", "browser_agent")


def main() -> None:
    """Become `gemini`, with the prompt as standard input."""
    write_home(Path(os.environ["HOME"]) / ".gemini", os.environ)
    os.dup2(os.open(os.environ["PROMPT_FILE"], os.O_RDONLY), 0)
    os.execvpe("gemini", command(os.environ), {**os.environ, "GEMINI_CLI_TRUST_WORKSPACE": "true"})


def write_home(home: Path, environment: Mapping[str, str]) -> None:
    """The settings, and the folder of sessions as a link into the logs."""
    sessions = Path(environment["LOGS_DIR"]) / "sessions"
    sessions.mkdir(exist_ok=True)
    home.mkdir(parents=True)
    (home / "tmp").symlink_to(sessions)
    (home / "settings.json").write_text(json.dumps(settings(environment), indent=2), encoding="utf-8")


def settings(environment: Mapping[str, str]) -> dict[str, Any]:
    """One model for everything, nothing sent elsewhere, commands may be silent for all the time there is."""
    model = environment["MLEBENCH_MODEL"]
    return {
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "privacy": {"usageStatisticsEnabled": False},
        "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
        "model": {
            "maxSessionTurns": int(environment["AGENT_MAX_TURNS"]) or -1,
            "disableLoopDetection": environment["AGENT_LOOP_DETECTION"] == "false",
        },
        "modelConfigs": {
            "overrides": [{"match": {"overrideScope": scope}, "modelConfig": {"model": model}} for scope in SCOPES]
        },
        "tools": {
            "exclude": ["google_web_search", "web_fetch"],  # the provider would search, whatever the sandbox forbids
            "shell": {"inactivityTimeout": int(float(environment["TIME_LIMIT_SECS"]))},
        },
    }


def command(environment: Mapping[str, str]) -> list[str]:
    """The command line."""
    return [
        "gemini",
        "--yolo",  # we are in a sandbox already
        f"--model={environment['MLEBENCH_MODEL']}",
        "--output-format=stream-json",
        *shlex.split(environment["AGENT_EXTRA_ARGUMENTS"]),
    ]


if __name__ == "__main__":
    main()
