"""What a run leaves on disk. Files are the database: readable with `cat`, each replaced atomically.

<run>/run.json                          the configuration, the disclosure and the plan: every attempt there will be
<run>/tries.jsonl                       a line whenever an agent begins, also for tries that did not count
<run>/proof.json proof.sig              hashes of all attempts once they are done, and their signature
<run>/.hidden-validation/<competition>/  training rows held back, see mlebench.runs.hidden_validation
<run>/<competition>/<seed>/attempt.json state, end, times, peaks, use of the model, seal
                          /grade.json   what the submission is worth
                          /submission/ code/ logs/ output.txt prompt.txt instructions.txt [description.md]
                          /validations.jsonl gateway.jsonl telemetry.jsonl
                          /snapshots/<seconds>/ what the submission was meanwhile, and what that is worth
                          /earlier/<n>/ records of a try that did not count
"""

from __future__ import annotations

import json
import reprlib
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import MISSING, asdict, dataclass, field, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from mlebench.errors import ENDS, MAX_RERUNS, MlebenchError, UsageError
from mlebench.files import write_json

TRIES = "tries.jsonl"


@dataclass(frozen=True)
class RunConfig:
    """One flat record: what was asked for, and what has to be disclosed with the results."""

    id: str
    created: str
    agent: str
    competitions: list[str]
    seeds: int
    time_limit_seconds: float
    sandbox: str
    executor: str
    workers: int
    data_dir: str
    agent_parameters: dict[str, str] = field(default_factory=dict)
    competition_folders: list[str] = field(default_factory=list)
    memory_bytes: int | None = None
    processes: int | None = None
    disk_bytes: int | None = None
    edition: str = "v1"
    obfuscated: bool = False  # the description names neither the competition nor its host
    original_descriptions: dict[str, str] = field(default_factory=dict)  # competition -> SHA-256 of the text
    sources: dict[str, str] = field(default_factory=dict)
    network: str | None = None  # none, gateway (to the model alone) or open
    model: str | None = None  # as upstream/name
    gateway: dict[str, Any] = field(default_factory=dict)  # see mlebench.services.gateway.GatewayConfig
    replay: str | None = None  # the run whose recorded answers stand in for the model
    environment: str | None = None  # the packages asked for instead of those that the agent names
    environment_digest: str = ""
    agent_digest: str = ""
    mlebench_digest: str = ""
    manifests: dict[str, str] = field(default_factory=dict)  # competition -> SHA-256 of its data's manifest
    leaderboards: dict[str, str] = field(default_factory=dict)  # competition -> MD5 of the fetched leaderboard
    cpus: int | None = None  # of an attempt; None is all
    gpus: int = 0  # of an attempt
    snapshot_seconds: float | None = None
    hidden_validation: float | None = None  # share of the training rows held back to score what the agent tries
    scores_per_hour: int = 0
    held_back: dict[str, str] = field(default_factory=dict)  # competition -> SHA-256 of what says which rows these are
    planned: list[str] = field(default_factory=list)  # "<competition>/<seed>"
    hardware: dict[str, Any] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    command: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class AttemptState:
    """The content of attempt.json. Times in seconds, sizes in bytes; None is "not known"."""

    competition: str
    seed: int
    state: str = "pending"  # pending, running, sealed (its end is known, its grade is not), finished
    end: str | None = None  # a name in `mlebench.errors.ENDS`
    message: str = ""
    exit_code: int | None = None
    started: str | None = None
    finished: str | None = None
    seconds: float | None = None
    peak_memory_bytes: int | None = None
    peak_disk_bytes: int | None = None
    reruns: int = 0
    validations: int = 0
    valid_validations: int = 0
    scores_asked: int = 0  # of the rows held back by --hidden-validation
    memory_kills: int = 0  # children killed because all together used too much memory
    model_use: dict[str, Any] = field(default_factory=dict)  # see mlebench.services.gateway.ModelUse
    earlier_model_use: list[dict[str, Any]] = field(default_factory=list)  # of tries that did not count
    seal: dict[str, Any] = field(default_factory=dict)  # see mlebench.runs.seal
    provenance: dict[str, Any] = field(default_factory=dict)  # what it ran on and with
    gradings: int = 0

    @property
    def is_done(self) -> bool:
        """Whether `--resume` leaves it alone; an end that only a later version knows is left alone."""
        if self.state != "finished" or self.end is None:
            return False
        end = ENDS.get(self.end)
        return end is None or not end.rerun or (end.culprit == "us" and self.reruns >= MAX_RERUNS)


@dataclass(frozen=True)
class AttemptFolder:
    """One agent on one competition with one seed."""

    run: Path
    competition_id: str
    seed: int

    @property
    def path(self) -> Path:
        """<run>/<competition>/<seed>."""
        return self.run / self.competition_id / str(self.seed)

    @property
    def grade_path(self) -> Path:
        """There once the attempt is graded."""
        return self.path / "grade.json"

    @property
    def stop_path(self) -> Path:
        """There once a person asked this attempt to stop."""
        return self.path / "stop-requested"

    def state(self) -> AttemptState:
        """What attempt.json says; pending if there is none yet.

        Raises MlebenchError that names the file if it is broken or speaks of another attempt.
        """
        path = self.path / "attempt.json"
        try:
            state = _read(AttemptState, path, competition=self.competition_id, seed=self.seed)
        except FileNotFoundError:
            return AttemptState(self.competition_id, self.seed)
        if (state.competition, state.seed) != (self.competition_id, self.seed):
            whose = f"seed {state.seed} of {state.competition}"
            raise unreadable(path, f"it speaks of {whose}, and lies where another attempt belongs")
        return state

    def write_state(self, state: AttemptState) -> None:
        """Replace attempt.json."""
        write_json(self.path / "attempt.json", asdict(state))


def note_try(attempt: AttemptFolder) -> None:
    """Append to tries.jsonl that an agent begins: a try leaves a trace even if its folder is removed."""
    entry = {
        "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "attempt": f"{attempt.competition_id}/{attempt.seed}",
    }
    with (attempt.run / TRIES).open("a", encoding="utf-8") as file:
        file.write(json.dumps(entry) + "\n")


def tries(run: Path) -> Counter[str]:
    """How often an agent began each attempt, as tries.jsonl has it."""
    try:
        lines = (run / TRIES).read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return Counter()
    found: Counter[str] = Counter()
    for line in lines:
        with suppress(ValueError, KeyError, TypeError):  # one that broke off
            found[json.loads(line)["attempt"]] += 1
    return found


def write_config(run: Path, config: RunConfig) -> None:
    """Write run.json."""
    write_json(run / "run.json", asdict(config))


def read_config(run: Path) -> RunConfig:
    """Read run.json. Raises UsageError if `run` is no run, MlebenchError that names the file if it is broken."""
    try:
        return _read(RunConfig, run / "run.json", id=run.name)
    except FileNotFoundError as error:
        raise UsageError(f"{run} is no run: it has no run.json") from error


def attempts(run: Path, config: RunConfig) -> list[AttemptFolder]:
    """All attempts of a run, seed by seed, so that early results cover all competitions."""
    if config.planned:
        pairs = [text.rpartition("/") for text in config.planned]
        return [AttemptFolder(run, name, int(seed)) for name, _, seed in pairs]
    return [AttemptFolder(run, name, seed) for seed in range(config.seeds) for name in config.competitions]


def read_object(path: Path) -> dict[str, Any]:
    """The JSON object in a file. Raises FileNotFoundError, and MlebenchError that names the file if it is broken."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise
    except (OSError, ValueError) as error:
        raise unreadable(path, error) from error
    if not isinstance(content, dict):
        raise unreadable(path, f"it holds a {type(content).__name__}, not an object")
    return content


def unreadable(path: Path, reason: object) -> MlebenchError:
    """The error that says which file is broken, and why."""
    return MlebenchError(f"{path} can't be read: {reason}")


Record = TypeVar("Record", RunConfig, AttemptState)


def _read(kind: type[Record], path: Path, **defaults: object) -> Record:
    """A file as a record. Keys of later versions are ignored, null is the default.

    Raises what `read_object` raises, also for a value of the wrong type or a key that is missing.
    """
    content = defaults | {name: value for name, value in read_object(path).items() if value is not None}
    values: dict[str, Any] = {}
    for entry in fields(kind):
        wanted = str(entry.type).removesuffix(" | None")
        if entry.name in content:
            try:
                values[entry.name] = _FROM_JSON[wanted](content[entry.name])
            except (TypeError, ValueError, OverflowError) as error:
                found = reprlib.repr(content[entry.name])
                raise unreadable(path, f"{entry.name} is {found}, not of type {wanted}") from error
        elif entry.default is MISSING and entry.default_factory is MISSING:
            raise unreadable(path, f"the key {entry.name!r} is missing")
    return kind(**values)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _texts(value: Any) -> list[str]:
    if not isinstance(value, list):
        raise TypeError
    return [_text(each) for each in value]


def _mapping(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise TypeError
    return value


_FROM_JSON: dict[str, Callable[[Any], object]] = {  # by the annotation of a field
    "str": _text,
    "bool": bool,
    "int": int,
    "float": float,
    "list[str]": _texts,
    "dict[str, str]": lambda value: {name: _text(each) for name, each in _mapping(value).items()},
    "dict[str, Any]": _mapping,
    "list[dict[str, Any]]": lambda value: [_mapping(each) for each in value],
}
