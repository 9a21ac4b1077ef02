"""Start the Codex CLI on the competition. It takes this process's place, so signals and its exit code are its own.

It prints its events as JSON lines; its record of the session is in LOGS_DIR/sessions. Its exit code is 0 if it handed
in, 1 if it failed or the model was refused.
"""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Mapping
from pathlib import Path

CONFIG = """\
model_provider = "gateway"
web_search = "disabled"  # the provider would search, whatever the sandbox forbids
allow_login_shell = false  # one would forget PATH, and with it the Python of this environment
background_terminal_max_timeout = {hour}  # how long the model may wait for a command at a time
check_for_update_on_startup = false

[model_providers.gateway]
name = "gateway"
base_url = {url}
env_key = "OPENAI_API_KEY"
wire_api = "responses"
stream_idle_timeout_ms = {hour}  # an answer may be long in coming while a provider's failures are waited out

[shell_environment_policy]
inherit = "all"

[skills.bundled]
enabled = false  # they fetch things from the network

[analytics]
enabled = false
"""


def main() -> None:
    """Become `codex exec`, with the prompt as standard input."""
    home = Path(os.environ["HOME"]) / ".codex"
    write_home(home, os.environ)
    os.dup2(os.open(os.environ["PROMPT_FILE"], os.O_RDONLY), 0)
    os.execvpe("codex", command(os.environ), {**os.environ, "CODEX_HOME": str(home)})


def write_home(home: Path, environment: Mapping[str, str]) -> None:
    """The configuration, and the folder of sessions as a link into the logs."""
    sessions = Path(environment["LOGS_DIR"]) / "sessions"
    sessions.mkdir(exist_ok=True)
    home.mkdir(parents=True)
    (home / "sessions").symlink_to(sessions)
    # A text in JSON is one in TOML too.
    config = CONFIG.format(url=json.dumps(environment["OPENAI_BASE_URL"]), hour=3_600_000)
    (home / "config.toml").write_text(config, encoding="utf-8")


def command(environment: Mapping[str, str]) -> list[str]:
    """The command line; "-" stands for a prompt from standard input."""
    effort = environment["AGENT_REASONING_EFFORT"]
    return [
        "codex",
        "exec",
        "--dangerously-bypass-approvals-and-sandbox",  # we are in a sandbox already
        "--skip-git-repo-check",
        "--json",
        f"--model={environment['MLEBENCH_MODEL']}",
        f"--cd={environment['CODE_DIR']}",
        *([f"--config=model_reasoning_effort={json.dumps(effort)}"] if effort else []),
        *shlex.split(environment["AGENT_EXTRA_ARGUMENTS"]),
        "-",
    ]


if __name__ == "__main__":
    main()
