"""Feedback for agents that costs no test label: a part of the training rows is held back to score what they try.

For each competition of a run, once, in <run>/.hidden-validation/<id>/:

shown/<training table>      without the rows held back; stands in the place of the public one
shown/held_back/rows.csv    those rows, with the columns that test rows have
                sample_submission.csv   what a submission for them looks like
scoring/{public,private}/   the same and their answers in the form of the competition's own: what scores are made of
facts.json                  what was done, and the hash of each file; written last

Nothing of that is written by hand for a competition: it is derived from its files and tried out. Where they don't
allow it, nothing is held back, and the reason is said before the run begins.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from zipfile import BadZipFile

import numpy as np
import pandas as pd
from filelock import FileLock

from mlebench.competition import Competition
from mlebench.dataset import Dataset
from mlebench.errors import MlebenchError, UsageError
from mlebench.files import remove_tree, write_json
from mlebench.grading import DECIMALS, score_submission, validate_submission
from mlebench.preparation import progress
from mlebench.preparation.files import random_order, random_order_of_groups
from mlebench.runs.other_labels import Rows, find_other_labels
from mlebench.runs.seal import file_sha256
from mlebench.runs.store import read_object
from mlebench.submission import read_sample
from mlebench.tables import read_csv, write_csv

FOLDER = ".hidden-validation"
SEED = 0  # agents are never told the labels, so that the same rows may be held back in every run
MIN_ROWS = 5


class NotPossible(Exception):
    """Why no rows of a competition can be held back."""


class HeldBackData(Dataset):
    """The rows held back as a data set of its own, whose files stand in the folder that is its data directory."""

    @property
    def prepared(self) -> Path:
        """The folder itself."""
        return self.data_dir


@dataclass(frozen=True)
class HeldBack:
    """What is held back of one competition in one run."""

    folder: Path
    competition: Competition
    table: str  # the name of the training table

    @property
    def home_files(self) -> dict[str, Path]:
        """What an agent sees otherwise than in the public files: name below /home -> file or folder."""
        shown = self.folder / "shown"
        return {f"data/{self.table}": shown / self.table, "held_back": shown / "held_back"}

    @property
    def dataset(self) -> Dataset:
        """What submissions for these rows are validated against and scored with."""
        return HeldBackData(self.competition, self.folder / "scoring")

    @property
    def facts_path(self) -> Path:
        """There once all is built."""
        return self.folder / "facts.json"


def hold_back_all(run: Path, datasets: Sequence[Dataset], share: float) -> dict[str, str]:
    """Hold back rows of every competition; the SHA-256 of the facts by competition.

    Raises UsageError that names the competitions where it can't be done, and why; then nothing is left behind.
    """
    if not 0 < share < 1:
        raise UsageError(f"--hidden-validation {share:g}: write the share of the training rows, such as 0.2")
    found, refused = {}, []
    with progress.step("holding back training rows", len(datasets)) as done:
        for dataset in datasets:
            try:
                found[dataset.competition.id] = file_sha256(hold_back(run, dataset, share).facts_path)
            except NotPossible as error:
                refused.append(f"  {dataset.competition.id}: {error}")
            done()
    if refused:
        remove_tree(run / FOLDER)
        raise UsageError(
            f"--hidden-validation is not possible on {len(refused)} of {len(datasets)} competitions; leave these "
            "out:\n" + "\n".join(refused)
        )
    return found


def hold_back(run: Path, dataset: Dataset, share: float) -> HeldBack:
    """What is held back of a competition; it is built if it is not there yet. Raises NotPossible."""
    competition = dataset.competition
    folder = run / FOLDER / competition.id
    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(folder.parent / f".{competition.id}.lock"):
        if not (folder / "facts.json").is_file():
            work = Path(tempfile.mkdtemp(prefix=".building-", dir=folder.parent))
            try:
                work.chmod(0o755)
                _build(work, dataset, share)
                work.rename(folder)
            except (ValueError, KeyError, BadZipFile) as error:
                raise NotPossible(f"its files can't be read: {error!r}") from error
            finally:
                shutil.rmtree(work, ignore_errors=True)
    return HeldBack(folder, competition, read_object(folder / "facts.json")["table"])


def changed_files(folder: Path) -> list[str]:
    """The files of a folder made by `hold_back` that are not as its facts.json has them."""
    expected: Mapping[str, str] = read_object(folder / "facts.json")["files"]
    found = _hashes(folder)
    return sorted(name for name in {*expected, *found} if expected.get(name) != found.get(name))


# --- building


def _build(folder: Path, dataset: Dataset, share: float) -> None:
    plan = _plan(dataset)
    rows, group = _rows_to_hold_back(plan, share)
    held_back = plan.train.iloc[rows]
    ids = held_back[plan.id]
    kept = plan.train.drop(plan.train.index[rows])
    keys = set(plan.train.columns) - set(plan.asked)
    others = find_other_labels(
        dataset.public, plan.path, plan.harmless, keys, Rows(ids, kept[plan.id], plan.answers[plan.id])
    )
    if others:
        raise NotPossible(f"{others}; it might tell the labels")
    shown, scoring = folder / "shown", folder / "scoring"
    write_csv(kept, shown / plan.path.name)
    write_csv(held_back[plan.shown_columns], shown / "held_back" / "rows.csv")
    write_csv(_sample(dataset, ids), shown / "held_back" / "sample_submission.csv")
    public = scoring / "public"
    public.mkdir(parents=True)
    shutil.copyfile(shown / "held_back" / "sample_submission.csv", public / dataset.competition.sample_submission_file)
    if plan.test_path is not None:
        shutil.copyfile(shown / "held_back" / "rows.csv", public / plan.test_path.name)
    write_csv(plan.answers_of(held_back), scoring / "private" / dataset.competition.answers_file)
    _try_out(HeldBackData(dataset.competition, scoring), plan.answers_of(held_back))
    facts = {
        "competition": dataset.competition.id,
        "edition": dataset.revision,
        "table": plan.path.name,
        "share": share,
        "seed": SEED,
        "training_rows": len(plan.train),
        "held_back_rows": len(held_back),
        "kept_together_by": group,
        "files": _hashes(folder),
    }
    write_json(folder / "facts.json", facts)


def _hashes(folder: Path) -> dict[str, str]:
    paths = sorted(path for path in folder.rglob("*") if path.is_file() and path != folder / "facts.json")
    return {path.relative_to(folder).as_posix(): file_sha256(path) for path in paths}


@dataclass(frozen=True)
class _Plan:
    """How rows of the training table become rows of a test. All cells are texts, as they stand in the files."""

    competition: Competition
    path: Path
    train: pd.DataFrame
    answers: pd.DataFrame  # the competition's own
    label: str | None  # the column whose values are the names of the columns asked for; None: these stand there
    test_path: Path | None
    test: pd.DataFrame | None

    @property
    def id(self) -> str:
        return self.competition.schema.id

    @property
    def asked(self) -> list[str]:
        """The columns of the training table that are asked for."""
        return [self.label] if self.label else self.competition.schema.names[1:]

    @property
    def shown_columns(self) -> list[str]:
        """The columns that test rows have; without a table of them that is the id alone."""
        if self.test is None:
            return [self.id]
        return [name for name in self.test.columns if name in self.train.columns]

    @property
    def harmless(self) -> list[Path]:
        """Public files that tell nothing of training rows."""
        public = self.path.parent
        files = [public / "description.md", public / self.competition.sample_submission_file]
        return files if self.test_path is None else [*files, self.test_path]

    def answers_of(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Training rows in the form of the competition's answers."""
        if self.label is None:
            return rows[[name for name in self.answers.columns if name in rows.columns]]
        names = [column.name for column in self.competition.schema.columns]
        indicators = rows[self.label].to_numpy(dtype=object)[:, None] == np.asarray(names, dtype=object)
        table = pd.DataFrame(indicators.astype(np.int64), columns=names, index=rows.index)
        return pd.concat([rows[[self.id]], table], axis=1)


def _plan(dataset: Dataset) -> _Plan:
    competition = dataset.competition
    if competition.schema.second_key:
        raise NotPossible("one id stands for several rows of a submission")
    if not dataset.sample_submission.suffix == ".csv" or dataset.sample_submission != dataset.public_sample:
        raise NotPossible("its sample submission is packed")
    if not competition.answers_file.endswith(".csv"):
        raise NotPossible(f"its answers are no table: {competition.answers_file}")
    answers = _texts(dataset.private / competition.answers_file)
    if competition.schema.id not in answers.columns:
        raise NotPossible(f"its answers have no column {competition.schema.id}")
    path, label = _training_table(dataset, answers)
    test_path = _test_table(dataset)
    train = _texts(path)
    if train[competition.schema.id].duplicated().any():
        raise NotPossible(f"several rows of {path.name} have one {competition.schema.id}")
    test = _texts(test_path) if test_path is not None else None
    return _Plan(competition, path, train, answers, label, test_path, test)


def _texts(path: Path) -> pd.DataFrame:
    """A table whose cells are texts just as they stand in the file; Arrow's, which take a fraction of the memory."""
    return read_csv(path, dtype="string[pyarrow]", keep_default_na=False, na_filter=False)


def _training_table(dataset: Dataset, answers: pd.DataFrame) -> tuple[Path, str | None]:
    """The only public table with ids and what is asked for; its column of labels if the answers have one a class."""
    schema = dataset.competition.schema
    found: list[tuple[Path, str | None]] = []
    for path in _tables(dataset):
        if path.name.lower().startswith("test"):
            continue
        columns = list(read_csv(path, nrows=0).columns)
        if schema.id not in columns:
            continue
        if set(schema.names) <= set(columns):
            found.append((path, None))
        elif label := _label_column(path, columns, answers, schema.names):
            found.append((path, label))
    if not found:
        raise NotPossible(f"no public table (CSV) has both {schema.id} and what is asked for")
    if len(found) > 1:
        raise NotPossible(f"several public tables have labels: {', '.join(path.name for path, _ in found)}")
    return found[0]


def _tables(dataset: Dataset) -> list[Path]:
    return [path for path in sorted(dataset.public.glob("*.csv")) if path != dataset.public_sample]


def _label_column(path: Path, columns: Sequence[str], answers: pd.DataFrame, names: Sequence[str]) -> str | None:
    """The column that names one of the classes in each row, where the answers have 0 or 1 in a column for each."""
    classes = list(names[1:])
    if len(classes) < 2 or not set(classes) <= set(answers.columns):
        return None
    values = answers[classes].astype(float)
    if not values.isin([0, 1]).all(axis=None) or not (values.sum(axis=1) == 1).all():
        return None
    table = _texts(path)
    return next((name for name in columns if name != names[0] and table[name].isin(classes).all()), None)


def _test_table(dataset: Dataset) -> Path | None:
    """The public table of the test rows, which has their ids."""
    schema = dataset.competition.schema
    named = [path for path in _tables(dataset) if path.name.lower().startswith("test")]
    return next((path for path in named if schema.id in read_csv(path, nrows=0).columns), None)


# --- which rows


def _rows_to_hold_back(plan: _Plan, share: float) -> tuple[np.ndarray, str | None]:
    """The numbers of the rows, and the column that keeps rows together, if the test is divided so.

    In random order, but for rows that belong together: a table may be sorted by its labels.
    """
    group = _group(plan)
    try:
        if group is None:
            order, count = random_order(len(plan.train), share, SEED)
        else:
            order, count = random_order_of_groups(plan.train[group], share, SEED)
    except MlebenchError as error:
        raise NotPossible(str(error)) from error
    if count < MIN_ROWS:
        raise NotPossible(f"only {count} of {len(plan.train)} training rows would be held back, at least {MIN_ROWS}")
    return order[:count], group


def _group(plan: _Plan) -> str | None:
    """The coarsest column that several training rows share a value in and no test row has a value of.

    None if there is no such column: then rows are divided one by one, as the test's were.
    """
    best, fewest = None, len(plan.train)
    for name in plan.train.columns:
        others = [table[name] for table in (plan.test, plan.answers) if table is not None and name in table.columns]
        if name == plan.id or name in plan.asked or not others:
            continue
        values = plan.train[name].unique()
        if 1 < len(values) < min(fewest, 0.9 * len(plan.train)) and not others[0].isin(values).any():
            best, fewest = name, len(values)
    return best


# --- what a submission for them looks like, and whether it works


def _sample(dataset: Dataset, ids: pd.Series) -> pd.DataFrame:
    """A submission for the rows held back, filled with the values of the competition's sample in turn."""
    sample = _texts(dataset.public_sample)
    schema = dataset.competition.schema
    if list(read_sample(dataset.public_sample, schema).columns) != [n for n in sample.columns if n in schema.names]:
        raise NotPossible("its sample submission has columns under other names")
    filled = sample.iloc[np.arange(len(ids)) % len(sample)].reset_index(drop=True)
    return filled.assign(**{schema.id: ids.to_numpy()})


def _try_out(dataset: Dataset, answers: pd.DataFrame) -> None:
    """The sample must be valid, and the answers must reach the metric's best value. Raises NotPossible."""
    competition = dataset.competition
    with tempfile.TemporaryDirectory(prefix="mlebench-") as folder:
        perfect = Path(folder, "submission.csv")
        write_csv(answers[competition.schema.names], perfect)
        try:
            sample = validate_submission(dataset.public_sample, dataset)
            best = score_submission(perfect, dataset)
        except MlebenchError as error:
            raise NotPossible(f"its grader does not work on training rows: {error}") from error
        except Exception as error:
            raise NotPossible(f"its validation does not work on training rows: {error!r}") from error
    if not sample.valid:
        raise NotPossible(f"no sample submission could be made for training rows: {sample.message()}")
    if best != round(competition.metric.best, DECIMALS):
        raise NotPossible(f"its training labels score {best:g} as answers, not {competition.metric.best:g}")
