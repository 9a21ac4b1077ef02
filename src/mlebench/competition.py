"""A competition: the central noun. Reads competition.toml; finds prepare, score and make_raw when needed."""

from __future__ import annotations

import importlib.util
import sys
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Protocol

from mlebench.errors import CompetitionError

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from mlebench.leaderboard import Leaderboard
    from mlebench.submission import Schema, Validation

COMPLEXITIES = ("low", "medium", "high", "dev")
REVISIONS = {"v1": "v1", "v2": "v2.1"}  # by edition; changes whenever scores stop being comparable
_LISTED_REVISIONS = " and ".join(REVISIONS.values())


class PrepareFunction(Protocol):
    """Writes an edition's public and private files from raw ones."""

    def __call__(self, raw: Path, public: Path, private: Path) -> None:
        """Fill the empty folders `public` and `private`; change nothing in `raw`."""


class MakeRawFunction(Protocol):
    """Writes a synthetic twin of about `size` labelled examples."""

    def __call__(self, raw: Path, rng: np.random.Generator, size: int) -> None:
        """Fill the empty folder `raw`."""


@dataclass(frozen=True)
class Metric:
    """What a score is: the name of a function in `mlebench.metrics`, or "score.py" for the competition's own."""

    name: str
    higher_is_better: bool
    title: str
    best: float  # what perfect answers score
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Issue:
    """A known weakness of the competition as published."""

    kind: str  # "leak", "metric", "division", "data", "leaderboard"
    summary: str
    exploit: str = ""  # how it is exploited
    v2: str = ""  # what edition v2 does about it; empty: nothing, it is only told
    upstream: int | None = None  # the number of the original project's issue


@dataclass(frozen=True)
class Competition:
    """One task in one edition. All fields are facts from `competition.toml`; code beside it is imported on first use.

    `competition.toml` describes edition v1. Where v2 differs, its table `[v2]` says how: `[v2.metric]` and
    `[v2.files]` replace single keys, `[v2.submission]` and `[v2.exceptions]` those tables whole. Functions whose
    name ends in `_v2`, and `description_v2.md`, take the place of the others in v2.
    """

    id: str
    folder: Path
    edition: str  # "v1" or "v2"
    differs_in_v2: bool  # if not, both editions are the same files and the same grader
    title: str
    category: str
    complexity: str
    type: str  # "simple" or "code", as on Kaggle
    year: int | None
    prize_usd: float
    dataset_gb: float | None
    examples: int | None  # labelled examples of the real data, or rows of its training table
    test_rows: int | None  # rows of a submission to edition v1 prepared from the real data
    awards_medals: bool
    hidden_names: tuple[str, ...]  # of host and contest, which the description does not tell
    metric: Metric
    answers_file: str
    sample_submission_file: str
    gold_submission_file: str
    synthetic_size: int
    issues: tuple[Issue, ...]
    checksums: Mapping[str, str]  # published md5 by path: "zip", "public/train.csv", …
    exceptions: Mapping[str, str]  # checks that can't be met, with the reason
    raw_files: tuple[str, ...] = ()  # what `prepare` reads in any edition, folders with "/" at the end; none: all
    _submission: Mapping[str, Any] = field(repr=False, default_factory=dict)

    @cached_property
    def schema(self) -> Schema:
        """What a valid submission looks like. Raises CompetitionError if the facts are none."""
        try:
            return self._read_schema()
        except (TypeError, KeyError) as error:
            raise CompetitionError(f"{self.folder / 'competition.toml'}, [submission]: {error}") from error

    def _read_schema(self) -> Schema:
        from mlebench.submission import Column, Schema

        facts = dict(self._submission)
        columns = []
        for entry in facts.pop("columns"):
            settings = dict(entry)
            names = settings.pop("names", None) or [settings.pop("name")]
            if "allowed" in settings:
                settings["allowed"] = tuple(settings["allowed"])
            columns += [Column(name=name, **settings) for name in names]
        return Schema(columns=tuple(columns), **facts)

    @cached_property
    def leaderboard(self) -> Leaderboard | None:
        """The human private leaderboard, or None if there is none."""
        from mlebench.leaderboard import find_leaderboard

        return find_leaderboard(self.id, self.folder, not self.metric.higher_is_better)

    @property
    def editions(self) -> tuple[str, ...]:
        """The editions that differ: all of them, or v1 alone."""
        return tuple(REVISIONS) if self.differs_in_v2 else ("v1",)

    @property
    def revision(self) -> str:
        """The edition with its revision, as results name it: "v1", "v2.1"."""
        return REVISIONS[self.edition]

    def in_edition(self, edition: str) -> Competition:
        """The same competition in another edition: "v1", "v2", or one with its revision, "v2.1".

        Raises CompetitionError if there is no such edition, or no longer this revision of it.
        """
        name = edition.partition(".")[0]
        if edition not in (name, REVISIONS.get(name)):
            raise CompetitionError(f"there is no edition {edition}; this version of mlebench has {_LISTED_REVISIONS}")
        if name == self.edition:
            return self
        return load_competition(self.folder, name) if self.differs_in_v2 else replace(self, edition=name)

    @property
    def description_path(self) -> Path:
        """The file with the text that the agent reads."""
        own = self.folder / f"description_{self.edition}.md"
        return own if own.is_file() else self.folder / "description.md"

    @property
    def description(self) -> str:
        """What is asked, told without naming the competition or its host: the obfuscated variant."""
        return self.description_path.read_text(encoding="utf-8")

    @property
    def named_description(self) -> str:
        """The same under a header with title and origin: what agents read unless a run is obfuscated."""
        return f"{self.heading}\n\n{self.description}"

    @property
    def heading(self) -> str:
        """Title and origin."""
        year = f" of {self.year}" if self.year else ""
        origin = f"This is the competition{year} at https://www.kaggle.com/c/{self.id}" if self.is_built_in else self.id
        return f"Title: {self.title}\n\nOrigin: {origin}"

    @property
    def division(self) -> str:
        """How the rows are divided into train and test: what `prepare.py` says of itself in its first line."""
        import ast

        path = self.folder / "prepare.py"
        text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) if path.is_file() else None
        return (text or "").partition("\n\n")[0].replace("\n", " ")

    @property
    def is_built_in(self) -> bool:
        """Whether it ships with the package."""
        return self.folder.parent == Path(__file__).parent / "competitions"

    @property
    def has_synthetic_twin(self) -> bool:
        """Whether the competition can make synthetic raw data."""
        return (self.folder / "synthetic.py").is_file()

    @property
    def prepare(self) -> PrepareFunction:
        """Its `prepare.py:prepare`, or `prepare_v2`."""
        return self._function("prepare.py", "prepare")

    @property
    def make_raw(self) -> MakeRawFunction:
        """Its `synthetic.py:make_raw`."""
        return self._function("synthetic.py", "make_raw")

    @property
    def check_submission(self) -> Callable[[pd.DataFrame, Path], Any] | None:
        """Its `score.py:check_submission(table, public)`, for what a schema can't say; None if it has none."""
        return self._own_function("check_submission")

    def validate(self, path: Path, sample: Path) -> Validation:
        """Validate the file `path` against the public sample submission `sample`; no label is read."""
        from mlebench.submission import validate

        return validate(path, self.schema, sample, self.check_submission)

    def score(self, submission: pd.DataFrame, answers: pd.DataFrame) -> float:
        """The unrounded score of a valid submission.

        `submission`: the schema's columns in file order; `answers`: the answers file as it is read by
        `read_answers`. Raises InvalidSubmission where a fault shows only beside the answers.
        """
        if self.metric.name == "score.py":
            return float(self._function("score.py", "score")(submission, answers))
        from mlebench import metrics

        y_true, y_pred = self.pair(submission, answers)
        return float(metrics.find(self.metric.name)(y_true, y_pred, **self.metric.options))

    def pair(self, submission: pd.DataFrame, answers: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
        """Truth and prediction, rows paired by id and sorted by it, columns in the schema's order.

        Both of shape (rows,) for one column, else (rows, columns).
        """
        from mlebench.tables import places_of

        columns = [column.name for column in self.schema.columns]
        ordered = answers.sort_values(self.schema.id, kind="stable")
        places = places_of(ordered[self.schema.id], submission[self.schema.id])
        if (places < 0).any():
            raise KeyError(f"{int((places < 0).sum())} ids of the answers are not in the submission")
        paired = submission.iloc[places]
        names = columns[0] if len(columns) == 1 else columns
        return ordered[names].to_numpy(), paired[names].to_numpy()

    def read_answers(self, private: Path) -> pd.DataFrame:
        """The answers from the folder `private`; ids and verbatim columns as the schema has them.

        A `score.py` may read them its own way with `read_answers(path)`.
        """
        from mlebench.submission import verbatim_options
        from mlebench.tables import read_csv

        path = private / self.answers_file
        if own := self._own_function("read_answers"):
            return own(path)
        return read_csv(path, **verbatim_options(self.schema))

    def _own_function(self, name: str) -> Callable[..., Any] | None:
        """The function of its `score.py`, if it has both."""
        return self._find("score.py", name) if (self.folder / "score.py").is_file() else None

    def _function(self, file: str, name: str) -> Callable[..., Any]:
        function = self._find(file, name)
        if function is None:
            raise CompetitionError(f"{self.folder / file} has no function {name}")
        return function

    def _find(self, file: str, name: str) -> Callable[..., Any] | None:
        """The edition's own function, else the one for all editions."""
        module = self._module(file)
        return getattr(module, f"{name}_{self.edition}", None) or getattr(module, name, None)

    def _module(self, file: str) -> ModuleType:
        return _load_module(self.id, self.folder / file)


_MODULES: dict[Path, ModuleType] = {}


def _load_module(competition_id: str, path: Path) -> ModuleType:
    """Import a competition's file by its path: ids are no Python names."""
    if path not in _MODULES:
        if not path.is_file():
            raise CompetitionError(f"competition {competition_id} has no {path.name} in {path.parent}")
        name = f"mlebench_competition_{competition_id.replace('-', '_')}_{path.stem}"
        _MODULES[path] = import_file(path, name)
    return _MODULES[path]


def import_file(path: Path, name: str) -> ModuleType:
    """Run the Python file `path` as the module `name`."""
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look there for the names in annotations
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def load_competition(folder: Path, edition: str = "v1") -> Competition:
    """Read `folder`/competition.toml. Raises CompetitionError that names file and key."""
    path = folder / "competition.toml"
    try:
        facts = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise CompetitionError(f"{folder} is no competition: it has no competition.toml") from error
    except tomllib.TOMLDecodeError as error:
        raise CompetitionError(f"{path}: {error}") from error
    try:
        return _from_facts(folder, _in_edition(facts, edition), edition)
    except KeyError as error:
        raise CompetitionError(f"{path}: the key {error} is missing") from error
    except (TypeError, ValueError) as error:
        raise CompetitionError(f"{path}: {error}") from error


def _in_edition(facts: Mapping[str, Any], edition: str) -> dict[str, Any]:
    """The facts with those that an edition changes in their place."""
    if edition not in REVISIONS:
        raise ValueError(f"there is no edition {edition}; this version of mlebench has {_LISTED_REVISIONS}")
    if unknown := set(facts.get("v2", {})) - {"metric", "files", "submission", "exceptions"}:
        raise ValueError(f"[v2] can't change {', '.join(sorted(unknown))}")
    changes = facts.get(edition, {})
    merged = {name: {**facts.get(name, {}), **changes.get(name, {})} for name in ("metric", "files")}
    whole = {name: changes[name] for name in ("submission", "exceptions") if name in changes}
    return {**facts, **merged, **whole}


def _from_facts(folder: Path, facts: Mapping[str, Any], edition: str) -> Competition:
    if facts["complexity"] not in COMPLEXITIES:
        raise ValueError(f"complexity is {facts['complexity']!r}; it is one of {', '.join(COMPLEXITIES)}")
    metric, size = facts["metric"], facts.get("size", {})
    if metric["direction"] not in ("higher", "lower"):
        raise ValueError(f"metric.direction is {metric['direction']!r}; it is higher or lower")
    files = facts["files"]
    return Competition(
        id=folder.resolve().name,
        folder=folder,
        edition=edition,
        differs_in_v2="v2" in facts,
        title=facts["title"],
        category=facts["category"],
        complexity=facts["complexity"],
        type=facts.get("type", "simple"),
        year=facts.get("year"),
        prize_usd=facts.get("prize_usd", 0),
        dataset_gb=facts.get("dataset_gb"),
        examples=size.get("examples"),
        test_rows=size.get("test_rows"),
        awards_medals=facts.get("awards_medals", False),
        hidden_names=tuple(facts.get("hidden_names", ())),
        metric=Metric(
            name=metric["name"],
            higher_is_better=metric["direction"] == "higher",
            title=metric["title"],
            best=float(metric["best"]),
            options=metric.get("options", {}),
        ),
        answers_file=files["answers"],
        sample_submission_file=files.get("sample_submission", "sample_submission.csv"),
        gold_submission_file=files.get("gold_submission", files["answers"]),
        raw_files=_names(facts.get("raw", {}).get("needs", [])),
        synthetic_size=facts.get("synthetic", {}).get("size", 200),
        issues=tuple(Issue(**issue) for issue in facts.get("issues", ())),
        checksums=facts.get("checksums", {}),
        exceptions=facts.get("exceptions", {}),
        _submission=facts["submission"],
    )


def covers(need: str, name: str) -> bool:
    """Whether an entry of `raw_files` stands for the raw file `name`: it is that file, or a folder around it.

    >>> covers("train/", "train/a/1.png"), covers("train.csv", "train.csv.zip")
    (True, False)
    """
    return name.startswith(need) if need.endswith("/") else name == need


def _names(names: object) -> tuple[str, ...]:
    """Names of raw files. Raises TypeError if they are none."""
    if not isinstance(names, list) or not all(isinstance(name, str) and name for name in names):
        raise TypeError(f"raw.needs is {names!r}; it is a list of names of raw files")
    return tuple(names)
