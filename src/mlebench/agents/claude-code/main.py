"""Start Claude Code on the competition. It takes this process's place, so signals and its exit code are its own.

It prints its messages as JSON lines; its record of the session is in LOGS_DIR/sessions. Its exit code is 0 if it handed
in, 1 if it failed, its turns are used up or the model was refused.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from pathlib import Path


def main() -> None:
    """Become `claude --print`, with the prompt as standard input."""
    home = Path(os.environ["HOME"]) / ".claude"
    keep_sessions(home, Path(os.environ["LOGS_DIR"]) / "sessions")
    os.dup2(os.open(os.environ["PROMPT_FILE"], os.O_RDONLY), 0)
    os.execvpe("claude", command(os.environ), {**os.environ, **variables(os.environ, home)})


def keep_sessions(home: Path, sessions: Path) -> None:
    """Make the folder of sessions a link into the logs."""
    sessions.mkdir(exist_ok=True)
    home.mkdir(parents=True)
    (home / "projects").symlink_to(sessions)


def command(environment: Mapping[str, str]) -> list[str]:
    """The command line."""
    turns, effort = environment["AGENT_MAX_TURNS"], environment["AGENT_REASONING_EFFORT"]
    return [
        "claude",
        "--print",
        "--verbose",
        "--output-format=stream-json",
        "--permission-mode=bypassPermissions",  # we are in a sandbox already
        "--disallowedTools=WebSearch,WebFetch",  # the provider would search, whatever the sandbox forbids
        *([f"--max-turns={turns}"] if turns != "0" else []),
        *([f"--effort={effort}"] if effort else []),
        *shlex.split(environment["AGENT_EXTRA_ARGUMENTS"]),
    ]


def variables(environment: Mapping[str, str], home: Path) -> dict[str, str]:
    """Its settings: one model for everything, nothing sent elsewhere, commands may take all the time there is."""
    model = environment["MLEBENCH_MODEL"]
    limit = f"{float(environment['TIME_LIMIT_SECS']) * 1000:.0f}"
    tokens = environment["AGENT_MAX_OUTPUT_TOKENS"]
    return {
        "CLAUDE_CONFIG_DIR": str(home),
        "ANTHROPIC_MODEL": model,
        "ANTHROPIC_DEFAULT_OPUS_MODEL": model,
        "ANTHROPIC_DEFAULT_SONNET_MODEL": model,
        "ANTHROPIC_DEFAULT_HAIKU_MODEL": model,
        "CLAUDE_CODE_SUBAGENT_MODEL": model,
        "IS_SANDBOX": "1",  # else it refuses to go without permissions as root
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "BASH_DEFAULT_TIMEOUT_MS": limit,
        "BASH_MAX_TIMEOUT_MS": limit,
        "API_TIMEOUT_MS": "3600000",  # an answer may be long in coming while a provider's failures are waited out
        **({"CLAUDE_CODE_MAX_OUTPUT_TOKENS": tokens} if tokens != "0" else {}),
    }


if __name__ == "__main__":
    main()
