"""What a run folder holds, as plain values. Attempts are keyed by competition and seed, never by position."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import Any

from mlebench import catalog
from mlebench.competition import Competition
from mlebench.errors import ENDS, End, MlebenchError, UsageError
from mlebench.grading import GradeReport
from mlebench.leaderboard import Leaderboard

MISSING = "missing"  # the state of an attempt that has no attempt.json yet
FINISHED = "finished"


@dataclass(frozen=True)
class AttemptResult:
    """One attempt as far as it got. Times in seconds, sizes in bytes; None is "not known"."""

    competition: str
    seed: int
    state: str = MISSING  # missing, pending, running or finished
    end: str | None = None  # a name in `mlebench.errors.ENDS`
    message: str | None = None
    exit_code: int | None = None
    started: str | None = None
    finished: str | None = None
    seconds: float | None = None
    peak_memory_bytes: float | None = None
    peak_disk_bytes: float | None = None
    reruns: int = 0
    validations: int | None = None
    valid_validations: int | None = None
    grade: GradeReport | None = None  # only of an attempt that ended in a way that is graded

    @property
    def counts(self) -> bool:
        """Whether the attempt enters the rates."""
        known = ENDS.get(self.end or "")
        return self.state == FINISHED and known is not None and known.counts and self.grade is not None

    @property
    def to_come(self) -> bool:
        """Whether the attempt, or its grade, is still awaited."""
        return self.state != FINISHED or (not self.counts and _is_graded(self.end))

    @property
    def status(self) -> str:
        """How it ended, or how far it got."""
        if self.state != FINISHED:
            return self.state
        return f"{self.end}, not graded yet" if self.to_come else self.end or "unknown end"

    @property
    def outcome(self) -> str:
        """gold, silver, bronze, "no medal", "valid" (there is no leaderboard), invalid, "not counted" or "to come"."""
        if self.to_come:
            return "to come"
        if not self.counts or self.grade is None:
            return "not counted"
        if not self.grade.valid_submission:
            return "invalid" if self.grade.submission_exists else "no submission"
        return self.grade.medal or ("valid" if self.grade.gold_threshold is None else "no medal")


@dataclass(frozen=True)
class Run:
    """The configuration and disclosure of a run, from `run.json`; sizes in bytes."""

    id: str
    competitions: tuple[str, ...]
    seeds: int
    created: str | None = None
    agent: str | None = None
    agent_parameters: Mapping[str, Any] = field(default_factory=dict)
    competition_folders: tuple[str, ...] = ()
    time_limit_seconds: float | None = None
    memory_bytes: int | None = None
    processes: int | None = None
    disk_bytes: int | None = None
    sandbox: str | None = None
    executor: str | None = None
    workers: int | None = None
    data_dir: str | None = None
    edition: str | None = None
    sources: Mapping[str, str] = field(default_factory=dict)
    network: str | None = None
    model: str | None = None
    hardware: Mapping[str, Any] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    command: tuple[str, ...] = ()


@dataclass(frozen=True)
class RunResults:
    """A run, its attempts (every planned one, and any other that is in the folder), and what the catalog knows."""

    folder: Path
    run: Run
    attempts: tuple[AttemptResult, ...]
    catalog: Mapping[str, Competition]

    @property
    def competitions(self) -> tuple[str, ...]:
        """All ids, in the order of the plan."""
        return tuple(self._by_competition)

    @cached_property
    def seeds(self) -> tuple[int, ...]:
        """All seeds, ascending."""
        return tuple(sorted({attempt.seed for attempt in self.attempts}))

    @cached_property
    def _by_key(self) -> dict[tuple[str, int], AttemptResult]:
        return {(attempt.competition, attempt.seed): attempt for attempt in self.attempts}

    @cached_property
    def _by_competition(self) -> dict[str, list[AttemptResult]]:
        groups: dict[str, list[AttemptResult]] = {}
        for attempt in self.attempts:
            groups.setdefault(attempt.competition, []).append(attempt)
        return groups

    def attempt(self, competition_id: str, seed: int) -> AttemptResult:
        """The attempt with this key; one that is missing if there is none."""
        return self._by_key.get((competition_id, seed), AttemptResult(competition_id, seed))

    def attempts_on(self, competition_id: str) -> list[AttemptResult]:
        """The attempts on one competition, by seed."""
        return self._by_competition.get(competition_id, [])

    def title(self, competition_id: str) -> str:
        """The title, or the id of a competition that the catalog does not know."""
        known = self.catalog.get(competition_id)
        return known.title if known else competition_id

    def leaderboard(self, competition_id: str) -> Leaderboard | None:
        """The human leaderboard, or None."""
        known = self.catalog.get(competition_id)
        return known.leaderboard if known else None

    def thresholds(self, competition_id: str) -> dict[str, float] | None:
        """The scores that gold, silver, bronze and the median take: as graded, else as the catalog has them."""
        names = ("gold", "silver", "bronze", "median")
        grade = self._any_grade(competition_id)
        if grade is not None:
            values = {name: getattr(grade, f"{name}_threshold") for name in names}
            return values if None not in values.values() else None
        board = self.leaderboard(competition_id)
        return {name: getattr(board, name) for name in names} if board else None

    def teams(self, competition_id: str) -> int | None:
        """The number of human teams: as graded, else as the catalog has it."""
        grade = self._any_grade(competition_id)
        if grade is not None:
            return grade.num_teams
        board = self.leaderboard(competition_id)
        return board.teams if board else None

    def has_medals(self, competition_id: str) -> bool:
        """Whether a medal can be earned; True if neither grades nor catalog know."""
        if self._any_grade(competition_id) is None and competition_id not in self.catalog:
            return True
        return self.thresholds(competition_id) is not None

    def _any_grade(self, competition_id: str) -> GradeReport | None:
        return next((attempt.grade for attempt in self.attempts_on(competition_id) if attempt.grade), None)

    def sources_of(self, competition_id: str) -> tuple[str, ...]:
        """Where the data came from, as the run and the grades say; usually one."""
        grades = [attempt.grade for attempt in self.attempts_on(competition_id)]
        said = {self.run.sources.get(competition_id, ""), *(grade.source for grade in grades if grade)}
        return tuple(sorted(said - {""}))

    def is_synthetic(self, competition_id: str) -> bool:
        """Whether any of its scores come from made-up data."""
        return "synthetic" in self.sources_of(competition_id)

    @property
    def synthetic(self) -> bool:
        """Whether any data of the run are made up."""
        return any(map(self.is_synthetic, self.competitions))


def read_run(folder: Path) -> RunResults:
    """Read a run folder.

    Raises UsageError if it is none, MlebenchError that names a file which is broken. Attempts that are missing,
    pending or running are part of the result; a competition that the catalog no longer knows keeps its id.
    """
    path = folder / "run.json"
    if not path.is_file():
        raise UsageError(f"{folder} is no run: it has no run.json")
    run = _run(path)
    planned = [(competition, seed) for competition in run.competitions for seed in range(run.seeds)]
    keys = dict.fromkeys([*planned, *_found(folder)])
    order = {competition: place for place, competition in enumerate(dict.fromkeys(key[0] for key in keys))}
    attempts = [_attempt(folder, *key) for key in sorted(keys, key=lambda key: (order[key[0]], key[1]))]
    return RunResults(folder, run, tuple(attempts), _catalog(run.competition_folders))


def _run(path: Path) -> Run:
    content = _read_json(path)
    known = {entry.name for entry in fields(Run)}
    values = {key: value for key, value in content.items() if key in known and value is not None}
    try:
        for key in ("competitions", "competition_folders", "command"):
            if key in values:
                values[key] = tuple(map(str, values[key]))
        values["seeds"] = int(values["seeds"])
        return Run(**{"id": path.parent.name, **values})
    except (KeyError, TypeError, ValueError) as error:
        raise _broken(path, error) from error


def _found(folder: Path) -> Iterator[tuple[str, int]]:
    """The keys of attempts in the folder, also of those that run.json does not name."""
    for path in sorted(folder.glob("*/*/attempt.json")):
        if path.parent.name.isdecimal():
            yield path.parent.parent.name, int(path.parent.name)


def _attempt(folder: Path, competition: str, seed: int) -> AttemptResult:
    home = folder / competition / str(seed)
    path = home / "attempt.json"
    if not path.is_file():
        return AttemptResult(competition, seed)
    content = _read_json(path)
    known = {entry.name for entry in fields(AttemptResult)} - {"competition", "seed", "grade"}
    values = {key: value for key, value in content.items() if key in known and value is not None}
    said = content.get("competition", competition), content.get("seed", seed)
    try:
        if said != (competition, seed):
            raise ValueError(f"it speaks of seed {said[1]} of {said[0]}, and lies where another attempt belongs")
        for key in ("seconds", "peak_memory_bytes", "peak_disk_bytes"):
            if key in values:
                values[key] = float(values[key])
        graded = values.get("state") == FINISHED and _is_graded(values.get("end"))
        return AttemptResult(competition, seed, **values, grade=_grade(home, competition) if graded else None)
    except (TypeError, ValueError) as error:
        raise _broken(path, error) from error


def _grade(home: Path, competition: str) -> GradeReport | None:
    path = home / "grade.json"
    if not path.is_file():
        return None
    try:
        grade = GradeReport.from_dict(_read_json(path))
        if grade.competition_id != competition:
            raise ValueError(f"it grades {grade.competition_id}, and lies with attempts on {competition}")
    except (KeyError, TypeError, ValueError) as error:
        raise _broken(path, error) from error
    return grade


def _is_graded(end: str | None) -> bool:
    known: End | None = ENDS.get(end or "")
    return known is not None and known.graded


def _catalog(folders: tuple[str, ...]) -> Mapping[str, Competition]:
    """The competitions of the run's folders that still exist and the built-in ones; {} if they can't be read."""
    existing = tuple(Path(folder) for folder in folders if Path(folder).is_dir())
    for choice in (existing, ()):
        try:
            return catalog.competitions(choice)
        except MlebenchError:
            continue
    return {}


def _read_json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise _broken(path, error) from error
    if not isinstance(content, dict):
        raise _broken(path, f"it holds a {type(content).__name__}, not an object")
    return content


def _broken(path: Path, reason: object) -> MlebenchError:
    text = f"the key {reason} is missing" if isinstance(reason, KeyError) else str(reason)
    return MlebenchError(f"{path} can't be read: {text}")
