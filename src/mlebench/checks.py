"""What must hold for every competition, ours and the user's: tests and `mlebench check` run the same functions.

A check is a function `check(competition, twin)` that raises CheckFailed. A competition that can't meet one says
so under `[exceptions]` in its competition.toml, with the reason; an exception that is not needed is a failure.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from mlebench.competition import Competition, covers
from mlebench.dataset import Dataset
from mlebench.errors import MlebenchError
from mlebench.grading import grade, score_submission, validate_submission
from mlebench.preparation.engine import prepare
from mlebench.preparation.files import walk
from mlebench.preparation.sources import Synthetic
from mlebench.submission import Validation, read_sample, reading_options
from mlebench.tables import read_csv, write_csv


class CheckFailed(Exception):
    """What does not hold, and where."""


@dataclass(frozen=True)
class Twin:
    """A prepared synthetic twin and a folder to write submissions to."""

    dataset: Dataset
    scratch: Path


Check = Callable[[Competition, Twin], None]


@dataclass(frozen=True)
class CheckResult:
    """How one check went: "passed", "failed" or "excepted"."""

    check: str
    status: str
    reason: str = ""


def check_competition(competition: Competition) -> Iterator[CheckResult]:
    """Prepare a twin in a temporary folder and run all checks on it, one result after the other."""
    with tempfile.TemporaryDirectory(prefix="mlebench-check-") as folder:
        dataset = Dataset(competition, Path(folder) / "data")
        if not competition.has_synthetic_twin:
            text = "there is no synthetic.py: whatever needs data is not checked"
            yield CheckResult(
                "synthetic_twin_prepares", "excepted" if not competition.schema.columns else "failed", text
            )
            return
        try:
            prepare(dataset, Synthetic())
        except MlebenchError as error:
            yield CheckResult("synthetic_twin_prepares", "failed", str(error))
            return
        yield CheckResult("synthetic_twin_prepares", "passed")
        for check in COMPETITION_CHECKS:
            yield run_check(check, competition, Twin(dataset, Path(folder)))
    unknown = set(competition.exceptions) - {check.__name__ for check in COMPETITION_CHECKS}
    if unknown:
        yield CheckResult("exceptions", "failed", f"[exceptions] names no check: {', '.join(sorted(unknown))}")


def run_check(check: Check, competition: Competition, twin: Twin) -> CheckResult:
    """One check, its failure compared with the competition's exceptions."""
    name = check.__name__
    excepted = competition.exceptions.get(name)
    try:
        check(competition, twin)
    except (CheckFailed, MlebenchError) as error:
        if excepted:
            return CheckResult(name, "excepted", excepted)
        return CheckResult(name, "failed", str(error))
    if excepted:
        return CheckResult(name, "failed", "it holds: take it out of [exceptions]")
    return CheckResult(name, "passed")


# --- facts and texts


def schema_is_complete(competition: Competition, twin: Twin) -> None:
    """The sample submission has the schema's columns, the answers the scored ones, and the metric exists."""
    sample = read_csv(twin.dataset.sample_submission, nrows=5)
    _require_same(list(sample.columns), competition.schema.names, "columns of the sample submission")
    gold = twin.dataset.private / competition.gold_submission_file
    found = read_csv(gold, nrows=5).rename(columns=competition.schema.usual_names).columns
    missing = set(competition.schema.names) - set(found)
    _require(not missing, f"{gold.name} lacks the columns {sorted(missing)}")
    if competition.metric.name != "score.py":
        from mlebench import metrics

        metrics.find(competition.metric.name)


def description_names_every_file(competition: Competition, twin: Twin) -> None:
    """Every public file is mentioned, by its name or by a folder it lies in."""
    text = competition.description
    for path in sorted(twin.dataset.public.rglob("*")):
        if not path.is_file() or path.name == "description.md":
            continue
        parts = path.relative_to(twin.dataset.public)
        names = [parts.name, *(f"{parent.as_posix()}/" for parent in parts.parents if parent != Path())]
        _require(any(name in text for name in names), f"description.md mentions neither {' nor '.join(names)}")


def description_names_every_column(competition: Competition, twin: Twin) -> None:
    """Every column of a submission is explained, or at least listed; so are those of the public tables."""
    text = competition.description
    for name in competition.schema.names:
        _require(f"`{name}`" in text, f"description.md does not explain the submission's column `{name}`")
    for path in sorted(twin.dataset.public.glob("*.csv")):
        for name in read_csv(path, nrows=0).columns:
            if not re.search(r"\d", name):  # numbered families are described by a range
                _require(name in text, f"description.md does not mention the column {name} of {path.name}")


def description_tells_the_metric(competition: Competition, twin: Twin) -> None:
    """The section on the metric names it and says which direction is better."""
    section = re.search(r"^## Metric$(.*?)(?=^## |\Z)", competition.description, re.MULTILINE | re.DOTALL)
    _require(section is not None, 'description.md has no section "## Metric"')
    assert section is not None
    text = section[1].lower()
    word = "maximi" if competition.metric.higher_is_better else "minimi"
    _require(word in text, f"the section on the metric does not say that it is to be {word}sed")
    words = [word for word in re.findall(r"[a-z]+", competition.metric.title.lower()) if len(word) > 3]
    _require(
        any(word in text for word in words), f'the section on the metric does not name "{competition.metric.title}"'
    )


def description_hides_its_origin(competition: Competition, twin: Twin) -> None:
    """Neither Kaggle nor the competition nor its host is named, so that the text is the obfuscated variant as well.

    What stands in backticks is none of these names: files and columns are called what they are called.
    """
    text = re.sub(r"```.*?```|`[^`]*`", "", competition.description, flags=re.DOTALL)
    for name in ("kaggle", competition.id, competition.title, *competition.hidden_names):
        found = re.search(rf"(?<![^\W_]){re.escape(name)}(?![^\W_])", text, re.IGNORECASE)
        _require(found is None, f'description.md names "{name}"')


def description_example_is_valid(competition: Competition, twin: Twin) -> None:
    """The first csv block is a valid submission, but for its ids: real ids in their place make it one."""
    block = re.search(r"^```csv\n(.*?)^```", competition.description, re.MULTILINE | re.DOTALL)
    _require(block is not None, "description.md has no example in a csv block")
    assert block is not None
    example_path = twin.scratch / "example.csv"
    example_path.write_text(block[1], encoding="utf-8")
    types = {competition.schema.id: str}
    example = read_csv(example_path, dtype=types)
    _require_same(list(example.columns), competition.schema.names, "columns of the example")
    problems = [p for p in _validate(example, twin).problems if p.kind not in _EXAMPLE_MAY]
    _require(not problems, f"the example is invalid: {'; '.join(map(str, problems))}")


# What an example of a few rows with invented ids can't help; a cell that depends on the id is among it.
_EXAMPLE_MAY = {"unknown id", "missing id", "row order", "other cells"}


def crowded_leaderboards_are_told(competition: Competition, twin: Twin) -> None:
    """Where medals share a threshold, or gold is within a hundredth of the median, an issue says so."""
    board = competition.leaderboard
    if board is None or any(issue.kind == "leaderboard" for issue in competition.issues):
        return
    thresholds = [board.gold, board.silver, board.bronze, board.median]
    shared = len(set(thresholds)) < len(thresholds)
    close = abs(board.gold - board.median) < 0.01 * max(abs(board.gold), abs(board.median))
    _require(not shared and not close, f"no issue tells that the leaderboard is crowded: {thresholds}")


# --- grading


def sample_submission_is_valid(competition: Competition, twin: Twin) -> None:
    """The sample submission is valid and has a score."""
    report = grade(twin.dataset.sample_submission, twin.dataset)
    _require(report.valid_submission, f"the sample submission is refused: {report.reason}")


def perfect_answers_score_best(competition: Competition, twin: Twin) -> None:
    """The gold submission reaches the metric's best value and beats the sample submission, if that has a score."""
    score = _score(_gold(competition, twin), twin)
    _require(score == competition.metric.best, f"perfect answers score {score}, not {competition.metric.best}")
    sample = twin.dataset.manifest()["sample_score"]
    better = sample is None or (score > sample if competition.metric.higher_is_better else score < sample)
    _require(better, f"perfect answers score {score}, the sample submission {sample}")


def row_order_is_irrelevant(competition: Competition, twin: Twin) -> None:
    """Half-right answers score the same in any order of rows, or another order is refused as such."""
    table = _half_right(competition, twin)
    shuffled = table.sample(frac=1, random_state=1)
    if competition.schema.fixed_order:
        kinds = {problem.kind for problem in _validate(shuffled, twin).problems}
        _require("row order" in kinds, f"another order of rows is not refused as such, but as {sorted(kinds)}")
        return
    expected, found = _score(table, twin), _score(shuffled, twin)
    _require(bool(np.isclose(expected, found, rtol=0, atol=1e-5)), f"score {expected}, in another order {found}")


def missing_row_is_refused_by_name(competition: Competition, twin: Twin) -> None:
    """A submission that lacks a row is refused, and the id is named; where rows may be missing, it is warned of."""
    sample = _sample(competition, twin)
    lost = sample[competition.schema.id].iloc[-1]
    rest = sample[sample[competition.schema.id] != lost]
    name = f"{lost!r:.50}".rstrip("'") if isinstance(lost, str) else str(lost)
    result = _validate(rest, twin)
    if competition.schema.ids_may_be_missing:
        _require(bool(result.warnings), "a missing row is neither refused nor warned of")
        return
    _require(any(p.kind == "missing id" and name in " ".join(p.values) for p in result.problems), "not named")


def repeated_and_unknown_rows_are_refused(competition: Competition, twin: Twin) -> None:
    """A repeated row and a row with an unknown id are refused by name, unless repeating is allowed."""
    sample = _sample(competition, twin)
    if not competition.schema.ids_may_repeat:
        twice = pd.concat([sample, sample.iloc[:1]])
        _require("repeated id" in _kinds(_validate(twice, twin)), "a repeated row is not refused")
    stranger = sample.iloc[:1].assign(**{competition.schema.id: _foreign_id(sample[competition.schema.id])})
    found = _kinds(_validate(pd.concat([sample, stranger]), twin))
    _require("unknown id" in found, "an unknown id is not refused")


def missing_columns_are_refused_by_name(competition: Competition, twin: Twin) -> None:
    """Each missing column is named."""
    sample = _sample(competition, twin)
    for name in competition.schema.names[:20]:
        problems = _validate(sample.drop(columns=name), twin).problems
        _require(any(p.kind == "missing column" and name in p.message for p in problems), f"{name} may be missing")


# --- data


def no_example_is_on_both_sides(competition: Competition, twin: Twin) -> None:
    """No id of the test stands in a public table that holds the targets, but for the sample submission."""
    schema = competition.schema
    ids = set(_sample(competition, twin)[schema.id].map(str))
    for path in sorted(twin.dataset.public.rglob("*.csv")):
        if path == twin.dataset.sample_submission:
            continue
        columns = list(read_csv(path, nrows=0).columns)
        if set(schema.names) <= set(columns):
            known = read_csv(path, usecols=[schema.id], dtype=str)[schema.id]
            both = ids & set(known)
            _require(not both, f"{len(both)} test ids stand in {path.name} with their targets: {sorted(both)[:3]}")


def answers_stay_private(competition: Competition, twin: Twin) -> None:
    """No private file has a copy in public."""
    private = {path.read_bytes() for path in twin.dataset.private.rglob("*") if path.is_file()}
    for path in twin.dataset.public.rglob("*"):
        if path.is_file() and path.stat().st_size > 0:
            _require(path.read_bytes() not in private, f"the public {path.name} is a copy of a private file")


def preparing_twice_gives_the_same_bytes(competition: Competition, twin: Twin) -> None:
    """Twin and preparation are deterministic, and read no raw file but those that `[raw] needs` lists, if it does."""
    again = Dataset(competition, twin.scratch / "again")
    prepare(again, _OnlyNeeded(), force=True)
    first, second = twin.dataset.manifest()["files"], again.manifest()["files"]
    differ = sorted(path for path in {*first, *second} if first.get(path) != second.get(path))
    _require(not differ, f"another preparation gave other bytes: {', '.join(differ[:5])}")


COMPETITION_CHECKS: tuple[Check, ...] = (
    schema_is_complete,
    description_names_every_file,
    description_names_every_column,
    description_tells_the_metric,
    description_hides_its_origin,
    description_example_is_valid,
    crowded_leaderboards_are_told,
    sample_submission_is_valid,
    perfect_answers_score_best,
    row_order_is_irrelevant,
    missing_row_is_refused_by_name,
    repeated_and_unknown_rows_are_refused,
    missing_columns_are_refused_by_name,
    no_example_is_on_both_sides,
    answers_stay_private,
    preparing_twice_gives_the_same_bytes,
)


# --- what the checks are made of


class _OnlyNeeded(Synthetic):
    """A twin without the raw files that are not needed."""

    def fetch(self, competition: Competition, raw: Path) -> None:
        """Make the twin, then remove the others. Raises CheckFailed if a file that is needed is none of its files."""
        super().fetch(competition, raw)
        names = {path.relative_to(raw).as_posix() for path in walk(raw)}
        absent = [need for need in competition.raw_files if not any(covers(need, name) for name in names)]
        _require(not absent, f"[raw] needs {', '.join(absent)}, which the twin lacks")
        for name in names if competition.raw_files else ():
            if not any(covers(need, name) for need in competition.raw_files):
                (raw / name).unlink()


def _sample(competition: Competition, twin: Twin) -> pd.DataFrame:
    return read_sample(twin.dataset.sample_submission, competition.schema)


def _gold(competition: Competition, twin: Twin) -> pd.DataFrame:
    path = twin.dataset.private / competition.gold_submission_file
    gold = read_csv(path, **reading_options(competition.schema))
    return gold.rename(columns=competition.schema.usual_names)[competition.schema.names]


def _half_right(competition: Competition, twin: Twin) -> pd.DataFrame:
    """Answers in the first half of the rows of the gold submission, the sample's cells in the other."""
    gold, sample = _gold(competition, twin), _sample(competition, twin)
    key = competition.schema.id
    keys = [name for name in (key, competition.schema.second_key) if name]
    columns = [column.name for column in competition.schema.columns if column.name not in keys]
    wrong = gold[key].isin(gold[key].unique()[gold[key].nunique() // 2 :]) & gold[key].isin(sample[key])
    mixed = gold.astype(dict.fromkeys(columns, object))
    replacement = gold.loc[wrong, keys].merge(sample.drop_duplicates(keys), on=keys, how="left")
    mixed.loc[wrong, columns] = replacement[columns].to_numpy()
    return mixed


def _score(table: pd.DataFrame, twin: Twin) -> float:
    return score_submission(_written(table, twin), twin.dataset)


def _validate(table: pd.DataFrame, twin: Twin) -> Validation:
    return validate_submission(_written(table, twin), twin.dataset)


def _written(table: pd.DataFrame, twin: Twin) -> Path:
    path = twin.scratch / "submission.csv"
    write_csv(table, path)
    return path


def _foreign_id(ids: pd.Series) -> str | int:
    return int(ids.max()) + 1 if pd.api.types.is_integer_dtype(ids) else "no-such-id"


def _kinds(validation: Validation) -> set[str]:
    return {problem.kind for problem in validation.problems}


def _require(holds: bool, message: str) -> None:
    if not holds:
        raise CheckFailed(message)


def _require_same(found: Sequence[str], expected: Sequence[str], what: str) -> None:
    if list(found) != list(expected):
        raise CheckFailed(f"{what}: {list(found)[:12]}, expected {list(expected)[:12]}")
