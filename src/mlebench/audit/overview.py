"""All competitions at once: every check in every edition, the leak probes, the baseline on every twin."""

from __future__ import annotations

import multiprocessing
import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

from mlebench import catalog
from mlebench.audit.leaks import find_probes, reach
from mlebench.checks import CheckResult, check_competition
from mlebench.competition import REVISIONS, Competition
from mlebench.dataset import Dataset
from mlebench.errors import UsageError
from mlebench.preparation.engine import prepare
from mlebench.preparation.sources import Synthetic
from mlebench.runs.runner import execute, plan_run
from mlebench.runs.store import AttemptFolder, attempts, read_config, read_object

DEFAULT_PROBES = Path(__file__).parents[3] / "tests" / "leaks"
TIME_LIMIT = 300.0  # seconds of the baseline on one twin
Job = TypeVar("Job")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Checked:
    """A competition in one edition, its checks, and the faults that are known of it."""

    competition: str
    edition: str
    results: list[CheckResult]
    faults: int
    corrected: int  # faults that edition v2 corrects


@dataclass(frozen=True)
class Probed:
    """How far a leak probe comes on both editions: shares of the way from chance to the best score."""

    competition: str
    v1: float
    v2: float
    good: bool  # near perfect on v1, no better than chance on v2


@dataclass(frozen=True)
class Attempted:
    """What the baseline left on a twin."""

    competition: str
    valid: bool
    better: bool  # than the sample submission
    score: float | None
    sample_score: float | None


@dataclass
class Overview:
    """The counts of everything that was tried."""

    competitions: int
    checked: list[Checked] = field(default_factory=list)
    probes: list[Probed] = field(default_factory=list)
    attempts: list[Attempted] = field(default_factory=list)

    @property
    def good(self) -> bool:
        """Whether no check failed, each probe shows what it should, and the baseline's submissions are valid."""
        failed = any(result.status == "failed" for item in self.checked for result in item.results)
        return not failed and all(probe.good for probe in self.probes) and all(a.valid for a in self.attempts)

    def lines(self) -> Iterator[str]:
        """The counts in words."""
        second = sum(item.edition == "v2" for item in self.checked)
        yield f"{self.competitions} competitions, {second} of which differ in edition v2"
        for check, counts in self._by_check().items():
            shown = ", ".join(f"{count} {status}" for status, count in sorted(counts.items(), reverse=True))
            yield f"  {check.replace('_', ' ')}: {shown}"
        first = [item for item in self.checked if item.edition == "v1"]
        faults, corrected = sum(item.faults for item in first), sum(item.corrected for item in first)
        yield f"known faults: {faults}, {corrected} of them corrected in edition v2, the others told"
        if self.probes:
            good = sum(probe.good for probe in self.probes)
            yield f"leak probes: {good} of {len(self.probes)} near perfect on v1 and no better than chance on v2"
            yield from (f"  {probe.competition}: v1 {probe.v1:.2f}, v2 {probe.v2:.2f}" for probe in self.probes)
        if self.attempts:
            valid, better = sum(a.valid for a in self.attempts), sum(a.better for a in self.attempts)
            yield f"baseline: {valid} of {len(self.attempts)} valid, {better} better than the sample submission"
            yield from (f"  no better: {a.competition} {a.score}" for a in self.attempts if not a.better)

    def _by_check(self) -> dict[str, Counter[str]]:
        found: dict[str, Counter[str]] = {}
        for item in self.checked:
            for result in item.results:
                found.setdefault(result.check, Counter())[result.status] += 1
        return found


def check_all(competitions: Sequence[Competition], workers: int | None = None) -> Iterator[Checked]:
    """All checks on all competitions in each edition they have, in parallel processes, in order."""
    jobs = [(competition.folder, edition) for competition in competitions for edition in competition.editions]
    yield from _in_processes(_check_job, jobs, workers)


def _check_job(job: tuple[Path, str]) -> Checked:
    folder, edition = job
    competition = catalog.load(folder).in_edition(edition)
    issues = competition.issues
    results = list(check_competition(competition))
    return Checked(competition.id, edition, results, len(issues), sum(bool(issue.v2) for issue in issues))


def try_probes(folder: Path, competitions: Sequence[Competition], workers: int | None = None) -> list[Probed]:
    """All probes of `folder` that belong to `competitions`, on twins of both editions."""
    by_id = {competition.id: competition for competition in competitions}
    jobs = [(folder, by_id[name].folder) for name in find_probes(folder) if name in by_id]
    return list(_in_processes(_probe_job, jobs, workers))


def _probe_job(job: tuple[Path, Path]) -> Probed:
    probes, folder = job
    competition = catalog.load(folder)
    exploit = find_probes(probes)[competition.id]
    with TemporaryDirectory(prefix="mlebench-probe-") as scratch:
        found = []
        for edition in REVISIONS:
            dataset = Dataset(competition.in_edition(edition), Path(scratch))
            prepare(dataset, Synthetic())
            found.append(reach(exploit, dataset))
    first, second = found
    good = first.is_near_perfect and second.is_chance
    return Probed(competition.id, round(first.share, 4), round(second.share, 4), good)


def try_baseline(competitions: Sequence[Competition], workers: int | None = None) -> list[Attempted]:
    """Run the agent `baseline` on the twins of `competitions`, in the best sandbox there is."""
    with TemporaryDirectory(prefix="mlebench-baseline-", ignore_cleanup_errors=True) as scratch:
        data_dir = Path(scratch) / "data"
        chosen = [competition for competition in competitions if competition.has_synthetic_twin]
        if not chosen:
            raise UsageError("none of these competitions has a synthetic twin")
        for competition in chosen:
            prepare(Dataset(competition, data_dir), Synthetic())
        run, _ = plan_run(
            agent="baseline",
            competitions=chosen,
            data_dir=data_dir,
            runs_dir=Path(scratch) / "runs",
            time_limit_seconds=TIME_LIMIT,
            workers=workers or os.cpu_count() or 1,
        )
        execute(run, lambda _: None)
        return [
            _attempted(attempt, Dataset(competition, data_dir))
            for attempt, competition in zip(attempts(run, read_config(run)), chosen, strict=True)
        ]


def _attempted(attempt: AttemptFolder, dataset: Dataset) -> Attempted:
    """What the attempt is worth beside the sample submission; no grade is no valid submission."""
    score = read_object(attempt.grade_path)["score"] if attempt.grade_path.is_file() else None
    sample = dataset.manifest()["sample_score"]
    sign = 1 if dataset.competition.metric.higher_is_better else -1
    better = score is not None and (sample is None or sign * score > sign * sample)
    return Attempted(dataset.competition.id, score is not None, better, score, sample)


def _in_processes(function: Callable[[Job], Result], jobs: Sequence[Job], workers: int | None) -> Iterator[Result]:
    workers = min(workers or os.cpu_count() or 1, len(jobs))
    if workers <= 1:
        yield from map(function, jobs)
        return
    with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as pool:
        yield from pool.map(function, jobs)
