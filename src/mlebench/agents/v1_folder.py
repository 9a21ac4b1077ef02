"""Agents written for v1: folders with a config.yaml, a start.sh and a Dockerfile, taken as they are.

config.yaml holds one or more agents by their ids, each with `start` and `dockerfile` (paths from the folder above),
`kwargs` and `kwargs_type` (what start.sh is called with), `env_vars` and `privileged`. They run in containers. A key
for a language model never enters the sandbox: the token of the gateway takes its place.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mlebench.agents import Agent, Parameter, ParameterValue
from mlebench.environments.dockerfiles import AGENT_DIR, DockerfileSoftware
from mlebench.errors import UsageError

FURTHER_MODELS = "further_models"
DIALECTS = ("openai-chat", "openai-responses", "anthropic", "google")
TOKEN = "OPENAI_API_KEY"  # one of the variables in which the runner puts the gateway's token
FROM_GATEWAY = frozenset({"OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY"})
OURS = frozenset(  # what the runner says, whatever config.yaml does: the limits are those of the run
    {
        "AGENT_DIR", "ANTHROPIC_BASE_URL", "CODE_DIR", "COMPETITION_ID", "DATA_DIR", "GOOGLE_GEMINI_BASE_URL",
        "INSTRUCTIONS_FILE", "LOGS_DIR", "OPENAI_API_BASE", "OPENAI_BASE_URL", "SUBMISSION_DIR", "TIME_LIMIT_SECS",
    }
)  # fmt: skip
_SECRET = re.compile(r"\s*\$\{\{\s*secrets\.(\w+)\s*\}\}\s*")
_LIKELY_KEY = re.compile(r".*API_?KEY", re.IGNORECASE)

# v1's start scripts write beside themselves, so they work on a copy; $1 is the script's path in the agent's folder.
_START = f"""\
set -e
source={AGENT_DIR}
[ -e "$source/$1" ] || source=/home/agent
export AGENT_DIR="${{TMPDIR:-/tmp}}/agent"
mkdir -p "$AGENT_DIR"
cp -R "$source/." "$AGENT_DIR"
for name in $V1_MODEL_KEYS; do export "$name=${TOKEN}"; done
cd "$AGENT_DIR"
eval "exec bash $(printf %q "$1") $V1_ARGUMENTS"
"""


@dataclass(frozen=True)
class V1Agent(Agent):
    """An agent out of a config.yaml. Its parameters are the `kwargs`; secrets are filled in when it starts."""

    entry: str = ""  # its id in config.yaml
    kwargs_type: str = "omegaconf"

    @property
    def reference(self) -> str:
        """How it is found again."""
        return f"{self.folder}:{self.entry}"

    def models(self, given: Mapping[str, ParameterValue] | None = None) -> list[str]:
        """The models that the parameter `further_models` names, beside the run's own."""
        named = str((given or {}).get(FURTHER_MODELS, ""))
        return list(dict.fromkeys(name.strip() for name in named.split(",") if name.strip()))

    def variables(self, given: Mapping[str, ParameterValue] | None = None) -> dict[str, str]:
        """Its `env_vars`, and its arguments for start.sh in a variable.

        Raises UsageError for a parameter that it doesn't have, and for a secret that is not set on this machine.
        """
        super().variables(given)  # refuses unknown ones
        found: dict[str, str] = {}
        keys = []
        for name, text in self.environment.items():
            if (value := self._filled_in(name, text)) is None:
                keys.append(name)
            elif name not in OURS:
                found[name] = value
        values = {
            p.name: str((given or {}).get(p.name, p.default)) for p in self.parameters if p.name != FURTHER_MODELS
        }
        arguments = " ".join(self._argument(name, text) for name, text in values.items())
        missing = " ".join(name for name in keys if name not in FROM_GATEWAY)
        return {**found, "V1_ARGUMENTS": arguments, "V1_MODEL_KEYS": missing}

    def _argument(self, name: str, text: str) -> str:
        """One keyword argument, as a shell reads it."""
        value = self._filled_in(name, text)
        quoted = f'"${TOKEN}"' if value is None else shlex.quote(value)
        return f"{shlex.quote(name)}={quoted}" if self.kwargs_type == "omegaconf" else f"--{shlex.quote(name)} {quoted}"

    def _filled_in(self, name: str, text: str) -> str | None:
        """The text, or the secret that it names; None for a key of a language model."""
        secret = _SECRET.fullmatch(text)
        if secret is None:
            if "${{" in text:
                raise UsageError(f"{self._named(name)}: {text!r} is neither plain text nor ${{{{ secrets.NAME }}}}")
            return None if name in FROM_GATEWAY else text
        value = os.environ.get(secret[1])
        if name in FROM_GATEWAY or is_model_key(secret[1], value):
            return None
        if value is None and name not in OURS:
            raise UsageError(f"{self._named(name)} needs the environment variable {secret[1]}, which is not set")
        return value or ""

    def _named(self, name: str) -> str:
        return f"{name} of the agent {self.entry} in {self.folder / 'config.yaml'}"


def is_model_key(name: str, value: str | None, environment: Mapping[str, str] = os.environ) -> bool:
    """Whether a secret opens a language model: by its name, or since another of that kind has the same value."""
    keys = _keys_of_upstreams(environment)
    if name in keys or _LIKELY_KEY.fullmatch(name):
        return True
    return bool(value) and any(
        value == other for key, other in environment.items() if key in keys or _LIKELY_KEY.fullmatch(key)
    )


def _keys_of_upstreams(environment: Mapping[str, str]) -> set[str]:
    """The variables in which the gateway looks for keys."""
    from mlebench.services.gateway.models_file import read_models_file
    from mlebench.services.gateway.upstreams import BUILT_IN

    upstreams = dict(BUILT_IN)
    if own := environment.get("MLEBENCH_MODELS"):
        upstreams |= read_models_file(Path(own).expanduser()).upstreams
    return {upstream.key for upstream in upstreams.values() if upstream.key}


def load(given: str | Path) -> V1Agent | None:
    """The agent at `FOLDER`, `FOLDER:ID` or `FOLDER/ID`; None if no such folder has a config.yaml.

    Without an id it is the one of the folder's name, or the only one. Raises UsageError that names file and key.
    """
    found = _find(str(given))
    if found is None:
        return None
    folder, asked = found
    path = folder / "config.yaml"
    entries = _read(path)
    candidates = [asked, f"{folder.name}/{asked}"] if asked else [folder.name]
    entry = next((name for name in candidates if name in entries), None)
    if entry is None and not asked and len(entries) == 1:
        entry = next(iter(entries))
    if entry is None:
        wrong = f'no agent "{asked}"' if asked else "several agents; name one as FOLDER:ID"
        raise UsageError(f"{path} has {wrong}; there are {', '.join(entries)}")
    try:
        return _agent(folder, entry, entries[entry])
    except ValueError as error:
        raise UsageError(f'{path}, agent "{entry}": {error}') from error


def _find(text: str) -> tuple[Path, str] | None:
    """The folder, and the id that is named beside it."""
    path = Path(text).expanduser()
    if (path / "config.yaml").is_file():
        return path.resolve(), ""
    before, _, after = text.rpartition(":")
    if before and (folder := Path(before).expanduser()).joinpath("config.yaml").is_file():
        return folder.resolve(), after
    for parent in path.parents:
        if (parent / "config.yaml").is_file():
            return parent.resolve(), path.relative_to(parent).as_posix()
    return None


def _read(path: Path) -> dict[str, dict[str, Any]]:
    """The agents of a config.yaml; entries that are only there to be merged into others are no agents."""
    import yaml

    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise UsageError(f"{path} can't be read: {error}") from error
    if not isinstance(content, dict):
        raise UsageError(f"{path} holds no agents: it is no table of ids")
    entries = {str(name): entry for name, entry in content.items() if isinstance(entry, dict) and "start" in entry}
    if not entries:
        raise UsageError(f"{path} holds no agents: none of its entries has a key `start`")
    return entries


def _agent(folder: Path, entry: str, facts: Mapping[str, Any]) -> V1Agent:
    if facts.get("privileged"):
        raise ValueError(
            "it asks for a privileged container, which could read the answers and everything else of this machine. "
            "Set `privileged: false`; one that starts containers itself can do so under sysbox: "
            "--sandbox docker:sysbox-runc"
        )
    start = _file(folder, facts, "start")
    if not start.is_relative_to(folder):
        raise ValueError(f"start is {start}, which is not in {folder}")
    kwargs, variables = _table(facts, "kwargs"), _table(facts, "env_vars")
    kwargs_type = facts.get("kwargs_type", "omegaconf")
    if kwargs_type not in ("omegaconf", "argparse"):
        raise ValueError(f"kwargs_type is {kwargs_type!r}; there are omegaconf (key=value) and argparse (--key value)")
    parameters = [Parameter(name, "string", text, "an argument of start.sh") for name, text in kwargs.items()]
    further = Parameter(FURTHER_MODELS, "string", "", "further models that it asks for: upstream/name, with commas")
    secrets = [found[1] for text in (*kwargs.values(), *variables.values()) if (found := _SECRET.fullmatch(text))]
    agent = V1Agent(
        id=entry.replace("/", "-"),
        folder=folder,
        title=entry,
        summary="An agent written for v1.",
        command=("bash", "-c", _START, "start", start.relative_to(folder).as_posix()),
        environment=variables,
        needs_model=any(is_model_key(name, os.environ.get(name)) for name in secrets),
        packages=(),
        parameters=(*parameters, further),
        dialects=DIALECTS,
        software=DockerfileSoftware(agent=f"{folder}:{entry}", dockerfile=_file(folder, facts, "dockerfile")),
        entry=entry,
        kwargs_type=kwargs_type,
    )
    agent.variables()  # says at once if a secret is missing
    return agent


def _file(folder: Path, facts: Mapping[str, Any], key: str) -> Path:
    """A file that is named from the folder above, as in v1, or from the agent's own."""
    name = facts.get(key)
    if not isinstance(name, str):
        raise ValueError(f"the key `{key}` is missing, or no text")
    for place in (folder.parent / name, folder / name):
        if place.is_file():
            return place.resolve()
    raise ValueError(f"{key} is {name!r}, and there is no file {folder.parent / name}")


def _table(facts: Mapping[str, Any], key: str) -> dict[str, str]:
    """A table of plain values, as text."""
    found = facts.get(key) or {}
    if not isinstance(found, dict):
        raise ValueError(f"`{key}` is no table")
    wrong = [name for name, value in found.items() if isinstance(value, dict | list)]
    if wrong:
        raise ValueError(f"{wrong[0]} of `{key}` is no plain value")
    return {str(name): "null" if value is None else str(value) for name, value in found.items()}
