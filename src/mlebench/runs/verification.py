"""Whether a run is complete and nothing of it was changed: every hash is computed anew.

What is compared with what: run.json with what every attempt sealed of it; the folders with the plan; what an
attempt left with the seal in its attempt.json; each attempt.json with proof.json; the data with the manifest, and
that with run.json; with `regrade`, the grades with the submissions. See `mlebench.runs.signing` for what rules out
that all of it was written anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

from mlebench import catalog
from mlebench.dataset import Dataset
from mlebench.errors import ENDS, MlebenchError, UsageError
from mlebench.grading import grade
from mlebench.preparation import progress
from mlebench.preparation.files import walk
from mlebench.runs.hidden_validation import FOLDER, changed_files
from mlebench.runs.proof import PROOF, name_of, proof_changes
from mlebench.runs.seal import RECORDS, TREES, file_sha256, mlebench_digest, tree_digest
from mlebench.runs.store import AttemptFolder, AttemptState, RunConfig, attempts, read_config, read_object, tries
from mlebench.sandbox.collect import collect_submission

KINDS = ("plan", "attempts", "submissions", "grades", "records", "times", "data", "proof")
DIGESTS = {"mlebench_digest": "mlebench", "agent_digest": "the agent", "environment_digest": "the environment"}
LIMITS = {"seconds": "time_limit_seconds", **{name: name for name in ("memory_bytes", "processes", "disk_bytes")}}
OVERTIME_SECONDS = 120  # for the grace after SIGTERM, and for ending a sandbox on a busy machine
CLOCK = timedelta(seconds=1)  # times are rounded, some to seconds
NOT_COMPARED = {"created_at", "submission_path", "reason"}  # of two gradings: time, and places on this machine
OF_THE_LEADERBOARD = {"rank", "percentile", "num_teams", "rank_kind", "leaderboard_md5"}  # that was fetched, or was not


@dataclass(frozen=True)
class Finding:
    """One thing that is not as it should be."""

    kind: str  # one of KINDS
    where: str  # a file or folder, as a path within the run or the data directory
    message: str
    expected: str = ""
    found: str = ""


@dataclass
class Verification:
    """What was found. The run is complete if nothing is to come and there is no problem."""

    run: str
    planned: int
    to_come: list[str] = field(default_factory=list)
    problems: list[Finding] = field(default_factory=list)
    warnings: list[Finding] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)  # what this verification can't show, or did not look at

    @property
    def complete(self) -> bool:
        """Whether every planned attempt is there, and all is as it was recorded."""
        return not self.problems and not self.to_come

    def problem(self, kind: str, where: str, message: str, expected: object = "", found: object = "") -> None:
        """Add a problem."""
        self.problems.append(Finding(kind, where, message, str(expected), str(found)))

    def warn(self, kind: str, where: str, message: str, expected: object = "", found: object = "") -> None:
        """Add what is worth a look and no fault."""
        self.warnings.append(Finding(kind, where, message, str(expected), str(found)))


@dataclass(frozen=True)
class _Tried:
    """An attempt that has ended, as it is on disk."""

    folder: AttemptFolder
    state: AttemptState

    @property
    def name(self) -> str:
        return name_of(self.folder)

    @property
    def is_graded(self) -> bool:
        end = ENDS.get(self.state.end or "")
        return end is not None and end.graded


def verify_run(
    run: Path,
    *,
    data_dir: Path | None = None,
    regrade: bool = False,
    data: bool = True,
    sizes_only: bool = False,
    public_key: Path | None = None,
) -> Verification:
    """Compute every hash of a run anew.

    `data_dir` is where the data are now, if not where they were. Without `data` they are left out; with `sizes_only`
    public files are not read. `regrade` grades every sealed submission again. `public_key` is the key that must have
    signed the run. Raises UsageError if `run` is no run or the key none, MlebenchError if run.json is broken.
    """
    config = read_config(run)
    planned = attempts(run, config)
    result = Verification(run.name, len(planned))
    _check_plan(result, run, config, planned)
    tried = list(_ended(result, planned))
    _check_run_json(result, run, tried)
    with progress.step("verifying attempts", len(tried)) as done:
        for attempt in tried:
            try:
                _check_attempt(result, attempt, config)
            except (AttributeError, KeyError, TypeError, ValueError) as error:
                where = f"{attempt.name}/attempt.json"
                result.problem("attempts", where, f"its seal is none that mlebench wrote: {error!r}")
            done()
    _check_tries(result, run, tried)
    _check_digests(result, tried, config)
    _check_proof(result, run, planned, public_key)
    datasets = dict(_datasets(result, config, data_dir))
    _check_held_back(result, run, config)
    if data:
        for dataset in datasets.values():
            _check_data(result, dataset, config, tried, sizes_only)
    else:
        result.notes.append("The data were not looked at.")
    if regrade:
        _regrade(result, tried, datasets)
    result.problems.sort(key=lambda finding: KINDS.index(finding.kind))
    return result


# --- the plan


def _check_plan(result: Verification, run: Path, config: RunConfig, planned: Sequence[AttemptFolder]) -> None:
    names = {name_of(attempt) for attempt in planned}
    every = {f"{competition}/{seed}" for competition in config.competitions for seed in range(config.seeds)}
    for name in sorted(names ^ every):
        said = "its list of attempts" if name in names else "its competitions and seeds"
        result.problem("plan", "run.json", f"{name} is named by {said} alone")
    if len(names) != len(planned):
        result.problem("plan", "run.json", "its list names an attempt twice", len(names), len(planned))
    for path in _strangers(run, planned):
        result.problem("plan", str(path.relative_to(run)), "is not in the plan of run.json")


def _strangers(run: Path, planned: Sequence[AttemptFolder]) -> Iterable[Path]:
    """Attempts, or what lies among them, that nobody planned."""
    ours = {attempt.path for attempt in planned}
    competitions = {path.parent for path in ours}
    for folder in sorted(path for path in run.iterdir() if path.is_dir() and not path.name.startswith(".")):
        if folder in competitions:
            yield from sorted(path for path in folder.iterdir() if path not in ours)
        else:
            yield from sorted(path.parent for path in folder.glob("*/attempt.json"))


def _ended(result: Verification, planned: Sequence[AttemptFolder]) -> Iterable[_Tried]:
    """The attempts that have ended for good; the others are to come."""
    for folder in planned:
        try:
            state = folder.state()
        except MlebenchError as error:
            result.problem("attempts", f"{name_of(folder)}/attempt.json", str(error))
            continue
        if state.is_done:
            yield _Tried(folder, state)
        else:
            result.to_come.append(name_of(folder))


def _check_run_json(result: Verification, run: Path, tried: Sequence[_Tried]) -> None:
    """run.json must be what every attempt began with and sealed."""
    found = file_sha256(run / "run.json")
    others: dict[str, list[str]] = {}
    for attempt in tried:
        said = {attempt.state.seal.get("run.json", found), attempt.state.provenance.get("run_sha256", found)}
        for other in said - {found}:
            others.setdefault(str(other), []).append(attempt.name)
    for said, names in others.items():
        result.problem("plan", "run.json", f"changed since attempts began: {_listed(names)}", said, found)


# --- one attempt


def _check_attempt(result: Verification, attempt: _Tried, config: RunConfig) -> None:
    state = attempt.state
    end = ENDS.get(state.end or "")
    if end is None or not end.counts:
        why = f": {state.message.splitlines()[-1]}" if state.message else ""
        result.problem("attempts", attempt.name, f"does not count, it ended as {state.end}{why}")
    if not state.seal:
        if attempt.is_graded:
            result.problem("attempts", f"{attempt.name}/attempt.json", "has no seal")
        return
    if state.end not in (state.seal.get("end"), "grader-error"):
        result.problem(
            "attempts",
            f"{attempt.name}/attempt.json",
            "has another end than its seal",
            state.seal.get("end"),
            state.end,
        )
    grade = _grade_content(result, attempt)
    _check_submission(result, attempt)
    _check_grades(result, attempt, config, grade)
    _check_records(result, attempt)
    _check_times(result, attempt, config, grade)


def _check_submission(result: Verification, attempt: _Tried) -> None:
    path = collect_submission(attempt.folder.path / "submission")
    sealed = attempt.state.seal.get("submission") or {}
    expected, found = sealed.get("sha256", ""), file_sha256(path) if path else ""
    where = f"{attempt.name}/submission/submission.csv"
    if expected != found:
        result.problem("submissions", where, _change(expected, found), expected, found)
    elif path and path.stat().st_size != sealed.get("bytes"):
        result.problem("submissions", where, "its size was edited", path.stat().st_size, sealed.get("bytes"))


def _grade_content(result: Verification, attempt: _Tried) -> Mapping[str, Any]:
    """grade.json; {} if there is none, or none to read."""
    try:
        return read_object(attempt.folder.grade_path)
    except FileNotFoundError:
        return {}
    except MlebenchError as error:
        result.problem("grades", f"{attempt.name}/grade.json", str(error))
        return {}


def _check_grades(result: Verification, attempt: _Tried, config: RunConfig, grade: Mapping[str, Any]) -> None:
    """The files must be those that the grader wrote, once."""
    folder, state = attempt.folder, attempt.state
    found = {name: file_sha256(folder.path / name) for name in _grade_names(folder)}
    expected = dict(state.seal.get("grades") or {})
    if attempt.is_graded:
        expected.setdefault("grade.json", "a hash, since it is graded")
    _compare(result, "grades", attempt, expected, found)
    if attempt.is_graded and state.gradings != 1:
        result.problem("grades", f"{attempt.name}/grade.json", "was not graded once", 1, state.gradings)
    facts = {
        "competition_id": folder.competition_id,
        "edition": config.edition,
        "source": config.sources.get(folder.competition_id, grade.get("source")),
    }
    for key, fact in facts.items():
        if grade and grade.get(key) != fact:
            result.problem("grades", f"{attempt.name}/grade.json", f"speaks of another {key}", fact, grade.get(key))


def _grade_names(folder: AttemptFolder) -> list[str]:
    paths = [path for path in (folder.grade_path,) if path.is_file()]
    paths += sorted((folder.path / "snapshots").glob("*/grade.json"))
    return [path.relative_to(folder.path).as_posix() for path in paths]


def _check_records(result: Verification, attempt: _Tried) -> None:
    """Logs, texts and folders must be those that were sealed."""
    path, seal = attempt.folder.path, attempt.state.seal
    records = {name: file_sha256(path / name) for name in RECORDS if (path / name).is_file()}
    _compare(result, "records", attempt, seal.get("records") or {}, records)
    graded = {Path(name).relative_to("snapshots").as_posix() for name in _grade_names(attempt.folder) if "/" in name}
    trees = {
        name: tree_digest(path / name, without=graded if name == "snapshots" else ())
        for name in TREES
        if (path / name).is_dir()
    }
    expected = dict(seal.get("trees") or {})
    if any(finding.where == f"{attempt.name}/submission/submission.csv" for finding in result.problems):
        trees.pop("submission", None)  # it is named already
        expected.pop("submission", None)
    _compare(result, "records", attempt, expected, trees)


def _compare(
    result: Verification, kind: str, attempt: _Tried, expected: Mapping[str, str], found: Mapping[str, str]
) -> None:
    for name in sorted({*expected, *found}):
        before, now = expected.get(name, ""), found.get(name, "")
        if before != now:
            result.problem(kind, f"{attempt.name}/{name}", _change(before, now), before, now)


def _change(expected: str, found: str) -> str:
    if not found:
        return "was removed"
    return "was changed" if expected else "was added"


def _check_times(result: Verification, attempt: _Tried, config: RunConfig, grade: Mapping[str, Any]) -> None:
    """What followed must be later, and no attempt may have taken longer than it was allowed."""
    state = attempt.state
    said = {
        "run.json's created": config.created,
        "started": state.started,
        "finished": state.finished,
        "sealed": state.seal.get("sealed"),
        "grade.json's created_at": grade.get("created_at"),
    }
    times = {name: _time(text) for name, text in said.items() if text is not None}
    where = f"{attempt.name}/attempt.json"
    for name in (name for name, time in times.items() if time is None):
        result.problem("times", where, f"{name} is no time with a zone", found=said[name])
    known = [(name, time) for name, time in times.items() if time is not None]
    for (earlier, before), (later, after) in pairwise(known):
        if after + CLOCK < before:
            result.problem("times", where, f"{later} is before {earlier}", f"after {before}", after)
    seconds = state.seconds or 0.0
    started, finished = times.get("started"), times.get("finished")
    if started and finished and (finished - started + CLOCK).total_seconds() < seconds:
        result.problem("times", where, "started and finished are nearer than seconds", seconds, finished - started)
    if seconds > config.time_limit_seconds + OVERTIME_SECONDS:
        result.problem("times", where, "took longer than allowed", config.time_limit_seconds, seconds)


def _time(text: object) -> datetime | None:
    try:
        time = datetime.fromisoformat(str(text))
    except ValueError:
        return None
    return time if time.tzinfo else None


# --- all attempts beside each other


def _check_tries(result: Verification, run: Path, tried: Sequence[_Tried]) -> None:
    """Tries that did not count are named, and must not have been removed: else the best of several could be kept."""
    begun = tries(run)
    for attempt in tried:
        earlier = sorted((attempt.folder.path / "earlier").glob("*/attempt.json"))
        if begun[attempt.name] > 1 + len(earlier):
            message = "was begun more often than its folder says: a try was removed"
            result.problem("attempts", attempt.name, message, 1 + len(earlier), begun[attempt.name])
        ends = [_end_of(path) for path in earlier]
        if ends:
            result.warn(
                "attempts", attempt.name, f"was tried {len(ends) + 1} times: before, it ended as {_listed(ends)}"
            )


def _end_of(path: Path) -> str:
    try:
        content = read_object(path)
    except MlebenchError:
        return "unreadable"
    return str(content.get("end") or content.get("state"))


def _check_digests(result: Verification, tried: Sequence[_Tried], config: RunConfig) -> None:
    """All attempts should have run on and with the same as run.json says."""
    with_provenance = [attempt for attempt in tried if attempt.state.provenance]
    for key, whose in DIGESTS.items():
        expected = getattr(config, key)
        for found, names in _others(with_provenance, key, expected).items():
            result.warn("plan", _listed(names), f"{whose} is another than in run.json", expected, found)
    for key in ("sandbox", "network"):
        for found, names in _others(with_provenance, key, getattr(config, key)).items():
            result.problem("plan", _listed(names), f"ran with another {key}", getattr(config, key), found)
    for attempt in with_provenance:
        limits = attempt.state.provenance.get("limits") or {}
        for name, key in LIMITS.items():
            if limits.get(name) != getattr(config, key):
                where = f"{attempt.name}/attempt.json"
                result.problem("plan", where, f"its limit of {name} is another", getattr(config, key), limits.get(name))
    machines = {str(attempt.state.provenance.get("hardware")) for attempt in with_provenance}
    if len(machines) > 1:
        result.warn("plan", result.run, f"its attempts ran on {len(machines)} kinds of machines")


def _others(tried: Sequence[_Tried], key: str, expected: object) -> dict[Any, list[str]]:
    """The attempts by what their provenance has under `key`, without those that have what is expected."""
    found: dict[Any, list[str]] = {}
    for attempt in tried:
        value = attempt.state.provenance.get(key)
        if value != expected:
            found.setdefault(value, []).append(attempt.name)
    return found


# --- the proof


def _check_proof(result: Verification, run: Path, planned: Sequence[AttemptFolder], public_key: Path | None) -> None:
    try:
        changes = proof_changes(run)
        proof = read_object(run / PROOF)
    except FileNotFoundError:
        if not result.to_come:
            result.problem("proof", PROOF, "is missing: without it nobody sees that an attempt.json was edited")
    except MlebenchError as error:
        result.problem("proof", PROOF, str(error))
    else:
        for name, (expected, found) in changes.items():
            kind = "plan" if name == "run.json" else "attempts"
            result.problem(kind, name, f"{_change(expected, found)} after {PROOF} was written", expected, found)
        for name in sorted({name_of(attempt) for attempt in planned} ^ set(proof["attempts"])):
            result.problem("proof", PROOF, f"{name} stands only in {'it' if name in proof['attempts'] else 'run.json'}")
    _check_signature(result, run, public_key)


def _check_signature(result: Verification, run: Path, public_key: Path | None) -> None:
    if not (run / "proof.sig").exists():
        if public_key is not None:
            result.problem("proof", "proof.sig", f"is missing: the run was not signed, with {public_key} or at all")
        elif (run / PROOF).is_file():
            result.notes.append(
                "Not signed: whoever can write these files could have written others, with hashes that fit them. A "
                f"signature (mlebench sign), or the SHA-256 of {PROOF} published elsewhere, rules that out for what "
                f"happens later: {file_sha256(run / PROOF)}"
            )
        return
    from mlebench.runs.signing import fingerprint, read_public_key, signed_by

    expected = read_public_key(public_key) if public_key else None
    try:
        key = signed_by(run)
    except MlebenchError as error:
        result.problem("proof", "proof.sig", str(error))
        return
    assert key is not None
    found = fingerprint(key)
    if expected is None:
        result.notes.append(
            f"Signed with the key {found}, which came with the run: ask its owner whether it is theirs, or name the "
            "key with --public-key."
        )
    elif fingerprint(expected) != found:
        result.problem("proof", "proof.sig", "is of another key", fingerprint(expected), found)
    else:
        result.notes.append(f"Signed with the key {found}, as expected.")


# --- the data


def _datasets(result: Verification, config: RunConfig, data_dir: Path | None) -> Iterable[tuple[str, Dataset]]:
    for competition_id in config.competitions:
        try:
            competition = catalog.get(competition_id, tuple(map(Path, config.competition_folders)))
            competition = competition.in_edition(config.edition)
        except MlebenchError as error:
            result.problem("data", competition_id, str(error))
        else:
            yield competition_id, Dataset(competition, data_dir or Path(config.data_dir))


def _check_data(
    result: Verification, dataset: Dataset, config: RunConfig, tried: Sequence[_Tried], sizes_only: bool
) -> None:
    """The manifest must be the one that run.json and the attempts name, and the files those that it names."""
    name = dataset.competition.id
    try:
        files = dict(dataset.manifest()["files"])
    except UsageError as error:
        advice = "--data-dir says where the data are, --no-data leaves them out."
        result.problem("data", name, f"{error} {advice}")
        return
    except (KeyError, TypeError, ValueError) as error:
        result.problem("data", name, f"{dataset.manifest_path} can't be read: {error!r}")
        return
    where = str(dataset.manifest_path.relative_to(dataset.data_dir))
    found = file_sha256(dataset.manifest_path)
    if config.manifests.get(name, found) != found:
        result.problem("data", where, "is another than in run.json", config.manifests[name], found)
    ran = [attempt for attempt in tried if attempt.folder.competition_id == name and attempt.state.provenance]
    for said, names in _others(ran, "manifest_sha256", found).items():
        result.problem("data", where, f"is another than when these began: {_listed(names)}", said, found)
    _check_files(result, dataset, files, sizes_only)


def _check_held_back(result: Verification, run: Path, config: RunConfig) -> None:
    """The training rows held back, and their answers, must be those that run.json names."""
    for competition_id, expected in config.held_back.items():
        folder = run / FOLDER / competition_id
        where = str(folder.relative_to(run))
        facts = folder / "facts.json"
        found = file_sha256(facts) if facts.is_file() else ""
        if found != expected:
            result.problem("data", f"{where}/facts.json", _change(expected, found), expected, found)
            continue
        for name in changed_files(folder):
            result.problem("data", f"{where}/{name}", "is not as facts.json has it")


def _check_files(
    result: Verification, dataset: Dataset, expected: Mapping[str, Mapping[str, Any]], sizes_only: bool
) -> None:
    found = {path.relative_to(dataset.prepared).as_posix(): path for path in walk(dataset.prepared)}
    found.pop("manifest.json", None)
    at = dataset.prepared.relative_to(dataset.data_dir)
    to_read = []
    for name in sorted({*expected, *found}):
        if name not in found or name not in expected:
            result.problem("data", f"{at}/{name}", "was removed" if name in expected else "was added")
        elif (size := found[name].stat().st_size) != expected[name]["size"]:
            result.problem("data", f"{at}/{name}", "has another size", expected[name]["size"], size)
        elif not sizes_only or name.startswith("private/"):
            to_read.append(name)
    hashes = progress.in_threads(f"{dataset.competition.id}: hashing", lambda name: _blake3(found[name]), to_read)
    for name, digest in zip(to_read, hashes, strict=True):
        if digest != expected[name]["blake3"]:
            result.problem("data", f"{at}/{name}", "was changed", expected[name]["blake3"], digest)


def _blake3(path: Path) -> str:
    from blake3 import blake3

    return (blake3().update_mmap(path) if path.stat().st_size else blake3()).hexdigest()


# --- the grades, once more


def _regrade(result: Verification, tried: Sequence[_Tried], datasets: Mapping[str, Dataset]) -> None:
    """Grade what was sealed again; everything but times and places must be as it was."""
    jobs = [
        (attempt, name)
        for attempt in tried
        if attempt.folder.competition_id in datasets and attempt.state.seal
        for name in _grade_names(attempt.folder)
    ]
    used = {attempt.state.provenance.get("mlebench_digest") for attempt, _ in jobs} - {mlebench_digest()}
    if used:
        result.notes.append("Graded again by another version of mlebench than the one that graded first.")
    with progress.step("grading again", len(jobs)) as done:
        for attempt, name in jobs:
            _regrade_one(result, attempt, name, datasets[attempt.folder.competition_id])
            done()


def _regrade_one(result: Verification, attempt: _Tried, name: str, dataset: Dataset) -> None:
    path, where = attempt.folder.path / name, f"{attempt.name}/{name}"
    folder = path.parent if path.parent != attempt.folder.path else attempt.folder.path / "submission"
    try:
        before = read_object(path)
        after = grade(collect_submission(folder), dataset).to_dict()
    except MlebenchError as error:
        result.problem("grades", where, f"can't be graded again: {error}")
        return
    compared = after.keys() - NOT_COMPARED
    if before.get("leaderboard_md5", "") != after["leaderboard_md5"]:
        compared -= OF_THE_LEADERBOARD
        result.warn("grades", where, *_other_leaderboard(before, after, dataset))
    elif "rank_kind" not in before:  # of an earlier version
        compared -= {"rank_kind", "leaderboard_md5"}
    for key in sorted(compared):
        if before.get(key) != after[key]:
            result.problem("grades", where, f"another {key} when graded again", after[key], before.get(key))


def _other_leaderboard(before: Mapping[str, Any], after: Mapping[str, Any], dataset: Dataset) -> tuple[str, str, str]:
    """What there is to say of ranks that were taken from another leaderboard; medals don't depend on it."""
    message = "rank and percentile were not compared, as they are of another fetched leaderboard (by its MD5)"
    if not after["leaderboard_md5"]:
        message += f"; mlebench leaderboard {dataset.competition.id} --fetch gets one"
    return message, after["leaderboard_md5"] or "none", before.get("leaderboard_md5") or "none"


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(names[:8])
    return shown + (f" and {len(names) - 8} more" if len(names) > 8 else "")
