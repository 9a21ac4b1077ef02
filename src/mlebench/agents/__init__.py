"""The registry of agents: those built in, and folders of the user's own.

An agent is a folder with an `agent.toml` and its files. Inside every sandbox it finds the same world, named by
environment variables that are always set: DATA_DIR (public files, with description.md), SUBMISSION_DIR (where
submission.csv goes), CODE_DIR (the working directory), LOGS_DIR, AGENT_DIR (its own files), INSTRUCTIONS_FILE,
PROMPT_FILE (the instructions and the description in one text), NOTICES_DIR (time.txt appears there when time runs
short), VALIDATION_URL (POST, multipart field `file`; the answer is {"result": text, "is_valid": bool}),
COMPETITION_ID, TIME_LIMIT_SECS, SEED, HARDWARE (in words), GPUS (how many), and AGENT_<NAME> for each of its
parameters. One that needs a model also finds MLEBENCH_MODEL (the name to ask for) and, in the variables that the
providers' own libraries read (OPENAI_BASE_URL, OPENAI_API_KEY and so on), the way to it.
"""

from __future__ import annotations

import difflib
import importlib.util
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from mlebench.environments.software import Software, with_base
from mlebench.errors import UsageError

BUILT_IN = Path(__file__).parent
PARAMETER_TYPES = {"string": str, "integer": int, "number": (int, float), "boolean": bool, "model": str}
DIALECTS = ("openai-chat", "openai-responses", "openai-completions", "openai-embeddings", "anthropic", "google")
TRUSTED = ("sample", "baseline")
STARTS = {"main.py": ("python", "/home/agent/main.py"), "start.sh": ("sh", "/home/agent/start.sh")}
WARNING_SIGNALS = ("SIGUSR1", "SIGUSR2", "SIGINT", "SIGHUP")

ParameterValue = str | int | float | bool


@dataclass(frozen=True)
class Parameter:
    """A setting of an agent. It reaches the agent as the environment variable `AGENT_<NAME>`."""

    name: str
    type: str  # a key of PARAMETER_TYPES; "model" names one that the run then allows, "" being the run's own
    default: ParameterValue
    help: str

    @property
    def variable(self) -> str:
        """The environment variable that carries it."""
        return f"AGENT_{self.name.upper()}"

    def text(self, value: ParameterValue) -> str:
        """`value` as the variable holds it; a text is read as the parameter's type.

        Raises ValueError if it isn't of this type.
        """
        if self.type == "boolean":
            if str(value).lower() not in ("true", "false"):
                raise ValueError(f"{value!r} is neither true nor false")
            return str(value).lower()
        if self.type == "integer":
            return str(int(value))
        return str(float(value)) if self.type == "number" else str(value)


@dataclass(frozen=True)
class Agent:
    """A program that writes a submission. All fields are facts from `agent.toml`."""

    id: str
    folder: Path
    title: str
    summary: str
    command: tuple[str, ...]  # in terms of the sandbox's inside: ("python", "/home/agent/main.py")
    environment: Mapping[str, str]
    needs_model: bool
    packages: tuple[str, ...]  # import names that its Python environment must have
    parameters: tuple[Parameter, ...]
    dialects: tuple[str, ...] = ()  # how it talks to a model, of DIALECTS
    warning_signal: str | None = None  # what its first process gets when time runs short
    software: Software | None = None  # what it runs in; None is the Python that runs mlebench

    @property
    def built_in(self) -> bool:
        """Whether it ships with mlebench."""
        return self.folder.parent == BUILT_IN

    @property
    def trusted(self) -> bool:
        """Whether all that it runs ships with mlebench. Others run without a sandbox only if the user asks for that."""
        return self.built_in and self.id in TRUSTED

    @property
    def reference(self) -> str:
        """How `get` finds it again."""
        return self.id if self.built_in else str(self.folder)

    def software_for(self, base: str | None) -> Software | None:
        """What it runs in, with the packages of `base` instead of those it names, if `base` is given."""
        return with_base(self.software, base, self.id if self.built_in else str(self.folder))

    def models(self, given: Mapping[str, ParameterValue] | None = None) -> list[str]:
        """The models that its parameters name, beside the run's own."""
        given = given or {}
        named = [str(given.get(p.name, p.default)) for p in self.parameters if p.type == "model"]
        return list(dict.fromkeys(name for name in named if name))

    def require_packages(self) -> None:
        """Raise UsageError if this Python environment lacks a package that the agent needs."""
        missing = [name for name in self.packages if importlib.util.find_spec(name) is None]
        if not missing:
            return
        install = f'pip install "mlebench[{self.id}]"' if self.built_in else "install them"
        raise UsageError(f'the agent "{self.id}" needs {", ".join(missing)}: {install}')

    def variables(self, given: Mapping[str, ParameterValue] | None = None) -> dict[str, str]:
        """The agent's own environment: its `environment`, and each parameter as `given` or by default.

        Raises UsageError for a parameter that the agent doesn't have, or a value of the wrong type.
        """
        given = given or {}
        known = {parameter.name: parameter for parameter in self.parameters}
        for name in given:
            if name not in known:
                has = f"it has {', '.join(known)}" if known else "it has none"
                raise UsageError(f'the agent "{self.id}" has no parameter "{name}"; {has}')
        variables = dict(self.environment)
        for name, parameter in known.items():
            try:
                text = parameter.text(given.get(name, parameter.default))
                variables[parameter.variable] = name_of_model(text) if parameter.type == "model" else text
            except ValueError as error:
                raise UsageError(
                    f'parameter "{name}" of the agent "{self.id}" is a {parameter.type}: {error}'
                ) from error
        return variables


def name_of_model(model: str) -> str:
    """What an agent calls the model `upstream/name`: its name alone.

    >>> name_of_model("openai/gpt-4o"), name_of_model("openrouter/meta-llama/llama-3.1-405b-instruct")
    ('gpt-4o', 'meta-llama/llama-3.1-405b-instruct')
    """
    return model.partition("/")[2] or model


@lru_cache(maxsize=1)
def _built_in() -> tuple[Agent, ...]:
    return tuple(load_agent(path.parent) for path in sorted(BUILT_IN.glob("*/agent.toml")))


def agents() -> dict[str, Agent]:
    """The built-in agents by id, sorted."""
    return {agent.id: agent for agent in _built_in()}


def get(name_or_path: str | Path) -> Agent:
    """The built-in agent of this name, or the one in this folder. Raises UsageError with a suggestion."""
    known = agents()
    name = str(name_or_path)
    if name in known:
        return known[name]
    folder = Path(name_or_path).expanduser()
    if (folder / "agent.toml").is_file():
        return load_agent(folder)
    from mlebench.agents import v1_folder

    if written_for_v1 := v1_folder.load(name):
        return written_for_v1
    for start, command in STARTS.items():
        if (folder / start).is_file():
            return _bare_folder(folder.resolve(), command)
    if folder.is_dir():
        expected = ", ".join(("agent.toml", "config.yaml", *STARTS))
        raise UsageError(f"the folder {folder} is no agent: it has none of {expected}")
    similar = difflib.get_close_matches(name, known, n=1)
    hint = f' Did you mean "{similar[0]}"?' if similar else ""
    raise UsageError(
        f'no agent "{name}".{hint} Built in are {", ".join(known)}; any folder with an agent.toml can be given as well.'
    )


def _bare_folder(folder: Path, command: tuple[str, ...]) -> Agent:
    """An agent of which nothing is known but how it starts."""
    summary = f"Runs {command[-1].rpartition('/')[2]}."
    return Agent(folder.name, folder, folder.name, summary, command, {}, False, (), ())


def load_agent(folder: Path) -> Agent:
    """Read `folder`/agent.toml. Raises UsageError that names file and key."""
    path = folder / "agent.toml"
    try:
        facts = tomllib.loads(path.read_text(encoding="utf-8"))
        return _from_facts(folder.resolve(), facts)
    except OSError as error:
        raise UsageError(f"{path} can't be read: {error.strerror}") from error
    except KeyError as error:
        raise UsageError(f"{path}: the key {error} is missing") from error
    except (TypeError, ValueError) as error:  # TOMLDecodeError is a ValueError
        raise UsageError(f"{path}: {error}") from error


_KEYS = {
    "title", "summary", "command", "environment", "needs_model", "packages", "parameters", "dialects",
    "warning_signal", "software",
}  # fmt: skip


def _from_facts(folder: Path, facts: Mapping[str, Any]) -> Agent:
    unknown = sorted(set(facts) - _KEYS)
    if unknown:
        raise ValueError(f"unknown key {unknown[0]!r}; there are {', '.join(sorted(_KEYS))}")
    command, environment = facts["command"], facts.get("environment", {})
    if not isinstance(command, list) or not command or not all(isinstance(part, str) for part in command):
        raise ValueError('command is a list of strings, as in ["python", "/home/agent/main.py"]')
    if not all(isinstance(value, str) for value in environment.values()):
        raise ValueError("environment is a table of strings")
    dialects = facts.get("dialects", [])
    if unknown := [name for name in dialects if name not in DIALECTS]:
        raise ValueError(f"unknown dialect {unknown[0]!r}; there are {', '.join(DIALECTS)}")
    if facts.get("needs_model", False) and not dialects:
        raise ValueError("an agent that needs a model says in dialects how it talks to it")
    warning_signal = facts.get("warning_signal")
    if warning_signal not in (None, *WARNING_SIGNALS):
        raise ValueError(f"warning_signal is one of {', '.join(WARNING_SIGNALS)}")
    return Agent(
        id=folder.name,
        folder=folder,
        title=facts["title"],
        summary=facts["summary"],
        command=tuple(command),
        environment=environment,
        needs_model=facts.get("needs_model", False),
        packages=tuple(facts.get("packages", ())),
        parameters=tuple(_parameter(entry) for entry in facts.get("parameters", ())),
        dialects=tuple(dialects),
        warning_signal=warning_signal,
        software=Software.parse(facts["software"], folder) if "software" in facts else None,
    )


def _parameter(entry: Mapping[str, Any]) -> Parameter:
    parameter = Parameter(**entry)
    if parameter.type not in PARAMETER_TYPES:
        raise ValueError(f"parameter type {parameter.type!r}; there are {', '.join(PARAMETER_TYPES)}")
    if not isinstance(parameter.default, PARAMETER_TYPES[parameter.type]):
        raise ValueError(f"the default of parameter {parameter.name!r} is no {parameter.type}")
    return parameter
