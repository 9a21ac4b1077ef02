"""Competitions in the original benchmark's form: a folder with config.yaml, prepare.py, grade.py, leaderboard.csv.

They have no schema: their grader decides what is valid, and sees the whole submission and the answers. So
validating without labels can only say whether a file is a table, and warn where it differs from the sample.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from mlebench.competition import Competition, Metric, PrepareFunction
from mlebench.errors import CompetitionError, InvalidSubmission, MlebenchError

if TYPE_CHECKING:
    import pandas as pd

    from mlebench.submission import Schema, Validation

CONFIG = "config.yaml"


@dataclass(frozen=True)
class V1Competition(Competition):
    """A competition whose preparation and grader are functions of the original form."""

    preparer: str = ""  # "module:function"
    grade_function: str = ""
    description_file: str = "description.md"

    @property
    def description_path(self) -> Path:
        """The text of the folder, wherever config.yaml thinks that the folder is."""
        return self.folder / Path(self.description_file).name

    @property
    def named_description(self) -> str:
        """The text as it is: such a folder has one variant."""
        return self.description

    @property
    def prepare(self) -> PrepareFunction:
        """The function that `preparer` names."""
        return self._import(self.preparer)

    @cached_property
    def schema(self) -> Schema:
        """An empty schema: nothing is known about columns."""
        from mlebench.submission import Schema

        return Schema(id="", columns=())

    @property
    def grade(self) -> Callable[[Any, Any], float]:
        """The function that `grade_fn` names: submission and answers, as pandas reads them, to the score."""
        return self._import(self.grade_function)

    def validate(self, path: Path, sample: Path) -> Validation:
        """Whether the file is a table; warnings say where it differs from the sample submission."""
        from mlebench.file_guard import find_fault
        from mlebench.submission import MIN_LIMIT_BYTES, Problem, Validation
        from mlebench.tables import read_csv

        fault = find_fault(path, MIN_LIMIT_BYTES + 64 * sample.stat().st_size, 1 << 30)
        if fault:
            return Validation((Problem(fault.kind, fault.message, fault.expected),))
        try:
            table = read_csv(path)
        except (ValueError, OverflowError) as error:  # pandas' parser errors are ValueErrors
            return Validation((Problem("not a table", f"the file can't be parsed: {' '.join(str(error).split())}"),))
        return Validation((), tuple(_differences(table, read_csv(sample))), table)

    def score(self, submission: pd.DataFrame, answers: Any) -> float:
        """The grader's score. Raises InvalidSubmission if it refuses the submission or fails, as the original did."""
        try:
            score = self.grade(submission, answers)
        except MlebenchError:
            raise
        except Exception as error:
            raise InvalidSubmission(f"the grader can't score it: {error!r}") from error
        if score is None:
            raise InvalidSubmission("the grader gave no score")
        return float(score)

    def read_answers(self, private: Path) -> Any:
        """A table from .csv, a list of objects from .jsonl."""
        from mlebench._v1.utils import load_answers

        return load_answers(private / self.answers_file)

    def _import(self, reference: str) -> Callable[..., Any]:
        """A function "module:function"; the last part of the module's name is a file of the folder."""
        module_name, _, name = reference.partition(":")
        module = _module(self.id, self.folder, module_name.rpartition(".")[2])
        function = getattr(module, name, None)
        if function is None:
            raise CompetitionError(f"{self.folder / CONFIG}: {reference} is no function")
        return function


def _differences(table: pd.DataFrame, sample: pd.DataFrame) -> list[str]:
    found = []
    if missing := [str(name) for name in sample.columns if name not in table.columns]:
        found.append(f"the sample submission has the columns {', '.join(missing[:8])}, this file does not")
    if len(table) != len(sample):
        found.append(f"the sample submission has {len(sample):,} rows, this file {len(table):,}")
    return [f"{text}; the grader may refuse it" for text in found]


def _module(competition_id: str, folder: Path, name: str) -> ModuleType:
    """A module of the folder as part of a package, so that its own imports find their neighbours."""
    package_name = f"mlebench.competitions.{competition_id}"
    package = sys.modules.get(package_name)
    if package is None or list(package.__path__) != [str(folder)]:
        for loaded in [key for key in sys.modules if key.startswith(f"{package_name}.")]:
            del sys.modules[loaded]
        package = ModuleType(package_name)
        package.__path__ = [str(folder)]
        sys.modules[package_name] = package
    try:
        return importlib.import_module(f"{package_name}.{name}")
    except Exception as error:
        raise CompetitionError(f"{folder / name}.py can't be imported: {error!r}") from error


def load_v1_folder(folder: Path) -> V1Competition:
    """Read `folder`/config.yaml. Raises CompetitionError that names file and key."""
    import yaml

    path = folder / CONFIG
    try:
        facts = yaml.safe_load(path.read_text(encoding="utf-8"))
        if not isinstance(facts, Mapping):
            raise CompetitionError(f"{path} holds no keys")
        return _from_facts(folder, facts)
    except KeyError as error:
        raise CompetitionError(f"{path}: the key {error} is missing") from error
    except (TypeError, ValueError, AttributeError, yaml.YAMLError) as error:
        raise CompetitionError(f"{path}: {error}") from error


def _from_facts(folder: Path, facts: Mapping[str, Any]) -> V1Competition:
    dataset = facts["dataset"]
    answers = _below(dataset["answers"], "private")
    higher = not _lower_is_better(folder)
    return V1Competition(
        id=folder.resolve().name,
        folder=folder,
        edition="v1",
        differs_in_v2=False,
        title=facts["name"],
        category=facts.get("category", "unknown"),
        complexity=facts.get("complexity", "unknown"),
        type=facts.get("competition_type", "simple"),
        year=None,
        prize_usd=0,
        dataset_gb=None,
        examples=None,
        test_rows=None,
        awards_medals=bool(facts.get("awards_medals", False)),
        hidden_names=(),
        metric=Metric(facts["grader"]["name"], higher, facts["grader"]["name"], float("inf" if higher else "-inf")),
        answers_file=answers,
        sample_submission_file=_below(dataset["sample_submission"], "public"),
        gold_submission_file=_below(dataset.get("gold_submission") or dataset["answers"], "private"),
        synthetic_size=0,
        issues=(),
        checksums={},
        exceptions={},
        preparer=facts["preparer"],
        grade_function=facts["grader"]["grade_fn"],
        description_file=facts.get("description", "description.md"),
    )


def _below(path: str, side: str) -> str:
    """The part of "<id>/prepared/<side>/test.csv" that stands below the side."""
    parts = Path(path).parts
    return str(Path(*parts[parts.index(side) + 1 :])) if side in parts else Path(path).name


def _lower_is_better(folder: Path) -> bool:
    """Whether the leaderboard's first score is below its last, as the original has it; no if there is none."""
    import csv

    path = folder / "leaderboard.csv"
    if not path.is_file():
        return False
    with path.open(encoding="utf-8", newline="") as file:
        scores = [float(row["score"]) for row in csv.DictReader(file) if row.get("score")]
    return bool(scores) and scores[0] < scores[-1]
