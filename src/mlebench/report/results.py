"""What a run folder holds, as plain values. Attempts are keyed by competition and seed, never by position."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from mlebench import catalog
from mlebench.competition import Competition
from mlebench.dataset import Dataset
from mlebench.errors import ENDS, MlebenchError
from mlebench.grading import GradeReport
from mlebench.leaderboard import Leaderboard
from mlebench.runs.store import AttemptFolder, AttemptState, RunConfig, read_config, read_object, unreadable


@dataclass(frozen=True)
class AttemptResult(AttemptState):
    """One attempt as far as it got."""

    grade: GradeReport | None = None  # only of an attempt that ended in a way that is graded
    snapshots: tuple[tuple[float, GradeReport], ...] = ()  # what stood there so many seconds after the start

    def grade_at(self, seconds: float) -> GradeReport | None:
        """The grade of what was in place so long after the start; None if there was nothing yet."""
        if self.seconds is not None and self.seconds <= seconds:
            return self.grade
        earlier = [grade for at, grade in self.snapshots if at <= seconds]
        return earlier[-1] if earlier else None

    @property
    def spent(self) -> dict[str, float]:
        """Requests, tokens, dollars and lost seconds of the model, with those of tries that did not count."""
        uses = [self.model_use, *self.earlier_model_use]
        names = ("requests", "input_tokens", "output_tokens", "dollars", "lost_seconds")
        return {name: sum(use.get(name, 0) for use in uses) for name in names}

    @property
    def counts(self) -> bool:
        """Whether the attempt enters the rates."""
        known = ENDS.get(self.end or "")
        return self.state == "finished" and known is not None and known.counts and self.grade is not None

    @property
    def to_come(self) -> bool:
        """Whether the attempt, or its grade, is still awaited."""
        return self.state != "finished" or (not self.counts and _is_graded(self))

    @property
    def status(self) -> str:
        """How it ended, or how far it got."""
        if self.state != "finished":
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
class RunResults:
    """A run, its attempts (every planned one, and any other that is in the folder), and what the catalog knows."""

    folder: Path
    run: RunConfig
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
        """The attempt with this key; one that is pending if there is none."""
        return self._by_key.get((competition_id, seed), AttemptResult(competition_id, seed))

    def attempts_on(self, competition_id: str) -> list[AttemptResult]:
        """The attempts on one competition, by seed."""
        return self._by_competition.get(competition_id, [])

    def title(self, competition_id: str) -> str:
        """The title, or the id of a competition that the catalog does not know."""
        known = self.catalog.get(competition_id)
        return known.title if known else competition_id

    def leaderboard(self, competition_id: str) -> Leaderboard | None:
        """The human leaderboard, or None: the fetched one where the grades are by it and it is still there."""
        known = self.catalog.get(competition_id)
        grade = self._any_grade(competition_id)
        if known and grade and grade.leaderboard_md5:
            with suppress(MlebenchError, OSError):
                found = Dataset(known, Path(self.run.data_dir)).leaderboard
                if found and found.md5 == grade.leaderboard_md5:
                    return found
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

    @property
    def rank_kinds(self) -> tuple[str, ...]:
        """ "estimated", "exact" or both: what ranks are; empty if there are none."""
        grades = [attempt.grade for attempt in self.attempts if attempt.grade and attempt.grade.rank is not None]
        return tuple(sorted({grade.rank_kind or "estimated" for grade in grades}))

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
    def spent(self) -> dict[str, float]:
        """What all attempts used of the model."""
        each = [attempt.spent for attempt in self.attempts]
        return {name: sum(spent[name] for spent in each) for name in each[0]} if each else {}

    @property
    def synthetic(self) -> bool:
        """Whether any data of the run are made up."""
        return any(map(self.is_synthetic, self.competitions))


def read_run(folder: Path) -> RunResults:
    """Read a run folder.

    Raises UsageError if it is none, MlebenchError that names a file which is broken. Attempts that are
    pending or running are part of the result; a competition that the catalog no longer knows keeps its id.
    """
    run = read_config(folder)
    planned = [(competition, seed) for competition in run.competitions for seed in range(run.seeds)]
    keys = dict.fromkeys([*planned, *_found(folder)])
    order = {competition: place for place, competition in enumerate(dict.fromkeys(key[0] for key in keys))}
    attempts = [_attempt(folder, *key) for key in sorted(keys, key=lambda key: (order[key[0]], key[1]))]
    return RunResults(folder, run, tuple(attempts), _catalog(run.competition_folders))


def _found(folder: Path) -> Iterator[tuple[str, int]]:
    """The keys of attempts in the folder, also of those that run.json does not name."""
    for path in sorted(folder.glob("*/*/attempt.json")):
        if path.parent.name.isdecimal():
            yield path.parent.parent.name, int(path.parent.name)


def _attempt(run: Path, competition: str, seed: int) -> AttemptResult:
    folder = AttemptFolder(run, competition, seed)
    state = folder.state()
    if not _is_graded(state):
        return AttemptResult(**vars(state))
    return AttemptResult(**vars(state), grade=_grade(folder.grade_path, competition), snapshots=_snapshots(folder))


def _snapshots(folder: AttemptFolder) -> tuple[tuple[float, GradeReport], ...]:
    found = []
    for path in sorted((folder.path / "snapshots").glob("*/grade.json")):
        grade = _grade(path, folder.competition_id)
        if grade is not None and path.parent.name.isdecimal():
            found.append((float(path.parent.name), grade))
    return tuple(found)


def _is_graded(state: AttemptState) -> bool:
    """Whether the attempt ended in a way that is graded."""
    known = ENDS.get(state.end or "")
    return state.state == "finished" and known is not None and known.graded


def _grade(path: Path, competition: str) -> GradeReport | None:
    """What grade.json says; None if there is none yet."""
    try:
        grade = GradeReport.from_dict(read_object(path))
    except FileNotFoundError:
        return None
    except KeyError as error:
        raise unreadable(path, f"the key {error} is missing") from error
    except (TypeError, ValueError) as error:
        raise unreadable(path, error) from error
    if grade.competition_id != competition:
        raise unreadable(path, f"it grades {grade.competition_id}, and lies with attempts on {competition}")
    return grade


def _catalog(folders: Sequence[str]) -> Mapping[str, Competition]:
    """The competitions of the run's folders that still exist and the built-in ones; {} if they can't be read."""
    existing = tuple(Path(folder) for folder in folders if Path(folder).is_dir())
    for choice in (existing, ()):
        try:
            return catalog.competitions(choice)
        except MlebenchError:
            continue
    return {}
