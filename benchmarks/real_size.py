"""Files of real size for grading: private answers, public sample submission, and a submission that is half right.

A synthetic twin is prepared, and what grading reads of it is repeated under new ids until a submission has as many
rows as one to the real data. No picture or sound is copied. Where the twin's cells are smaller than real ones
(masks, boxes, long texts) they are made as large.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import ceil
from pathlib import Path

import numpy as np
import pandas as pd
from PIL import Image

from mlebench.cells import Column
from mlebench.competition import Competition
from mlebench.dataset import Dataset
from mlebench.files import write_json
from mlebench.preparation.engine import prepare
from mlebench.preparation.seven_zip import write_7z
from mlebench.preparation.sources import Synthetic
from mlebench.preparation.synthetic import write_zip

BLOCK = 100_000  # rows that are made at a time

# Where the number of test rows is not published: guesses, from the share that is held out.
ROWS_GUESSED = {
    "multi-modal-gesture-recognition": 100,
    "smartphone-decimeter-2022": 50_000,
    "the-icml-2013-whale-challenge-right-whale-redux": 25_000,
    "uw-madison-gi-tract-image-segmentation": 18_000,
}
# Answers that are fewer than the rows of a submission.
ANSWERS = {"h-and-m-personalized-fashion-recommendations": 69_000}
# Files besides answers and sample submission that grading reads row by row.
FURTHER_FILES = {
    "detecting-insults-in-social-commentary": "test.csv",
    "stanford-covid-vaccine": "test.json",
    "ventilator-pressure-prediction": "test.csv",
}
# Columns that hold ids, or parts of them, besides the one of the schema.
FURTHER_IDS = {"StudyInstanceUID": "rsna-2022-cervical-spine-fracture-detection", "id": "stanford-covid-vaccine"}
# Columns that are no prediction.
KEPT = {"class": "uw-madison-gi-tract-image-segmentation", "UnixTimeMillis": "smartphone-decimeter-2022"}
# So many rows of the twin become one, so that cells hold as many boxes or cells of a notebook as real ones.
JOINED = {"3d-object-detection-for-autonomous-vehicles": 10, "AI4Code": 9, "kuzushiji-recognition": 10}
TWIN_SIZE = {"3d-object-detection-for-autonomous-vehicles": 200, "AI4Code": 3_000, "kuzushiji-recognition": 400}
# Characters of texts, where the real ones are longer.
LONG_TEXTS = {
    "billion-word-imputation": {"sentence": 140},
    "bms-molecular-translation": {"InChI": 125},
    "facebook-recruiting-iii-keyword-extraction": {"Body": 1_100},
    "learning-agency-lab-automated-essay-scoring-2": {"full_text": 2_000},
    "lmsys-chatbot-arena": {"response_a": 1_500, "response_b": 1_500},
    "tensorflow2-question-answering": {"document_text": 50_000},
}


def make(dataset: Dataset, submission: Path) -> None:
    """Write the prepared files that grading reads into the empty folder of `dataset`, and a submission."""
    competition = dataset.competition
    size = TWIN_SIZE.get(competition.id, competition.synthetic_size)
    twin = Dataset(competition, dataset.data_dir / "twin")
    prepare(twin, Synthetic(rows=size))
    sample, answers, gold = _tables(twin)
    rows = competition.test_rows or ROWS_GUESSED[competition.id]
    growth = _Growth(competition, copies=ceil(rows / len(sample)), step=_step(competition, sample))
    _copy_small_files(twin, dataset)
    masks = MASKS.get(competition.id)
    if masks:
        sample = sample.assign(**{name: masks.side for name in masks.sizes if name in sample})
    growth.write(sample, dataset.sample_submission)
    _pack(dataset.sample_submission, dataset.public_sample)
    if masks:
        masks.write(dataset, growth, answers, submission)
        return
    growth.write(answers, dataset.private / competition.answers_file, most=ANSWERS.get(competition.id))
    for name in [FURTHER_FILES[competition.id]] if competition.id in FURTHER_FILES else []:
        growth.write(_read(twin.public / name), dataset.public / name)
    rng = np.random.default_rng(0)
    growth.write(gold, submission, change=partial(_damaged, competition=competition, rng=rng))


def _tables(twin: Dataset) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Sample submission, answers and perfect submission of the twin, all cells as texts."""
    competition = twin.competition
    schema = competition.schema
    sample = _read(twin.sample_submission)
    answers = _read(twin.private / competition.answers_file)
    gold = _read(twin.private / competition.gold_submission_file).rename(columns=schema.usual_names)[schema.names]
    others = sample.loc[~sample[schema.id].isin(gold[schema.id]), schema.names]  # rows that nobody scores
    tables = [sample, answers, pd.concat([gold, others], ignore_index=True)]
    for column, characters in LONG_TEXTS.get(competition.id, {}).items():
        for table in tables:
            if column in table:
                table[column] = [
                    (f"{text} " * ceil(characters / (len(text) + 1)))[:characters] for text in table[column]
                ]
    if count := JOINED.get(competition.id):
        tables = [_joined(table.sort_values(schema.id), schema.id, count) for table in tables]
    return tables[0], tables[1], tables[2]


def _joined(table: pd.DataFrame, key: str, count: int) -> pd.DataFrame:
    """`count` rows as one: the first id, and the cells of all that are not empty with blanks between them."""
    how = {name: "first" if name == key else _join for name in table.columns}
    return table.groupby(np.arange(len(table)) // count, as_index=False).agg(how)


def _join(cells: pd.Series) -> str:
    return " ".join(filter(None, cells))


def _step(competition: Competition, sample: pd.DataFrame) -> int:
    """How much ids that are numbers grow from copy to copy; 0 if they are texts."""
    if competition.schema.id_type != "integer":
        return 0
    largest = int(sample[competition.schema.id].map(int).max())
    return largest + 1 if largest < 2**32 else 1  # numbers of 19 digits lie far apart


@dataclass(frozen=True)
class _Growth:
    """Repeats tables under new ids: numbers become larger, texts get the number of the copy in front."""

    competition: Competition
    copies: int
    step: int

    def write(
        self,
        table: pd.DataFrame,
        path: Path,
        change: Callable[[pd.DataFrame], pd.DataFrame] | None = None,
        most: int | None = None,
    ) -> None:
        """Write all copies of `table` block by block, each changed by `change`; no more than `most` rows."""
        path.parent.mkdir(parents=True, exist_ok=True)
        together = max(1, BLOCK // len(table))
        written = 0
        with path.open("w", encoding="utf-8", newline="") as file:
            for first in range(0, self.copies, together):
                grown = self._renamed(table, range(first, min(first + together, self.copies)))
                grown = grown if most is None else grown.iloc[: most - written]
                _append(change(grown) if change else grown, file, path.suffix, header=first == 0)
                written += len(grown)

    def _renamed(self, table: pd.DataFrame, copies: range) -> pd.DataFrame:
        numbers = np.repeat(np.array(copies), len(table)).tolist()
        grown = table.iloc[np.tile(np.arange(len(table)), len(copies))].reset_index(drop=True)
        keys = [
            self.competition.schema.id,
            *(name for name, owner in FURTHER_IDS.items() if owner == self.competition.id),
        ]
        for name in (name for name in keys if name in table):
            grown[name] = [self._new_id(old, number) for old, number in zip(grown[name], numbers, strict=True)]
        return grown

    def _new_id(self, old: str, copy: int) -> str:
        if self.competition.id == "uw-madison-gi-tract-image-segmentation":
            return _new_slice(old, copy)
        if copy == 0:
            return old
        return str(int(old) + copy * self.step) if self.step else f"{copy}x{old}"


def _new_slice(old: str, copy: int) -> str:
    """The slices of 24 copies stand on top of each other, so that a scan has as many as a real one."""
    scan, _, number = old.partition("_slice_")
    return f"{copy // 24}x{scan}_slice_{int(number) + copy % 24 * 6:04d}"


def _read(path: Path) -> pd.DataFrame:
    """A CSV file with all cells as texts, or JSON lines."""
    if path.suffix in (".json", ".jsonl"):
        return pd.DataFrame([json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()])
    return pd.read_csv(path, dtype=str, keep_default_na=False)


def _append(table: pd.DataFrame, file, suffix: str, header: bool) -> None:
    if suffix in (".json", ".jsonl"):
        file.writelines(json.dumps(record) + "\n" for record in table.to_dict("records"))
    else:
        table.to_csv(file, index=False, header=header, lineterminator="\n")


def _copy_small_files(twin: Dataset, dataset: Dataset) -> None:
    """The public tables as they are, for checks that look something up in them, and a manifest."""
    dataset.public.mkdir(parents=True)
    dataset.private.mkdir()
    for path in twin.public.glob("*.csv"):
        (dataset.public / path.name).write_bytes(path.read_bytes())
    write_json(dataset.manifest_path, {"edition": "v1", "source": "synthetic", "files": {}})


def _pack(sample: Path, target: Path) -> None:
    """Pack the sample submission into `target` if agents see it as an archive."""
    if target.suffix == ".zip":
        write_zip(target, {"sample_submission.csv": sample.read_bytes()})
    elif target.suffix == ".7z":
        with sample.open("rb") as file:
            write_7z(target, [("sample_submission.csv", file)])


# --- submissions that are partly wrong


def _damaged(gold: pd.DataFrame, competition: Competition, rng: np.random.Generator) -> pd.DataFrame:
    """Each row somewhat wrong, or half of the rows wrong, in another order of rows if that is allowed."""
    schema = competition.schema
    table = gold.copy()
    columns = [column for column in schema.columns if column.name not in (schema.second_key, *KEPT)]
    numbers = [column for column in columns if _is_number(column, competition)]
    if numbers:
        table[[column.name for column in numbers]] = _noisy(table, numbers, schema.row_sum, rng)
    wrong = np.flatnonzero(rng.random(len(table)) < 0.5)
    for column in (column for column in columns if column not in numbers):
        cells = table[column.name].to_numpy(dtype=object, copy=True)
        table[column.name] = _swapped(cells, wrong, column, competition, rng)
    return table if schema.fixed_order else table.sample(frac=1, random_state=rng)


def _is_number(column: Column, competition: Competition) -> bool:
    """Whether cells are quantities: classes may be written as numbers, too."""
    return column.type in ("number", "anything") and competition.metric.name != "macro_f1"


def _noisy(table: pd.DataFrame, columns: list[Column], row_sum: float | None, rng: np.random.Generator) -> np.ndarray:
    """Numbers with noise, within their bounds and with the sum that is asked for."""
    truth = table[[column.name for column in columns]].apply(pd.to_numeric, errors="coerce").to_numpy(dtype=float)
    truth = np.where(np.isnan(truth), np.nanmean(truth, axis=0), truth)
    if row_sum is not None:
        noise = rng.random(truth.shape)
        return 0.8 * truth + 0.2 * row_sum * noise / noise.sum(axis=1, keepdims=True)
    low = np.array([-np.inf if column.minimum is None else column.minimum for column in columns])
    high = np.array([np.inf if column.maximum is None else column.maximum for column in columns])
    bounded = np.isfinite(high - low)
    inside = 0.8 * truth + 0.2 * (low + rng.random(truth.shape) * np.where(bounded, high - low, 0))
    free = truth + rng.normal(size=truth.shape) * 0.2 * (truth.std(axis=0) + 1e-6)
    return np.where(bounded, inside, np.clip(free, low, high))


def _swapped(
    cells: np.ndarray, wrong: np.ndarray, column: Column, competition: Competition, rng: np.random.Generator
) -> np.ndarray:
    """Wrong rows get cells of other rows, permutations are reversed; texts in the other rows are slightly wrong."""
    if column.type == "permutation":
        cells[wrong] = [" ".join(cell.split(" ")[::-1]) for cell in cells[wrong]]
        return cells
    if column.type == "text" and competition.id != "tensorflow2-question-answering":
        cells[:] = [cell[1:] + cell[:1] for cell in cells]
    cells[wrong] = cells[rng.permutation(wrong)]
    return cells


# --- masks


@dataclass(frozen=True)
class _Masks:
    """Discs on a grid, as run lengths: `across` times `across` of them, each of 2 · `radius` + 1 runs."""

    side: int  # pixels of a picture, up and across
    across: int
    radius: int
    column: str
    empty_code: str = ""
    sizes: tuple[str, ...] = ()  # columns of answers and sample submission with height and width

    def write(self, dataset: Dataset, growth: _Growth, answers: pd.DataFrame, submission: Path) -> None:
        """Write the answers, a submission of smaller discs nearby, and what tells the size of the pictures."""
        rng = np.random.default_rng(0)
        schema = dataset.competition.schema

        def painted(table: pd.DataFrame) -> pd.DataFrame:
            codes = [self._code(rng, self.radius) for _ in range(len(table))]
            return table.assign(**{self.column: codes}, **dict.fromkeys(self.sizes, self.side))

        path = dataset.private / dataset.competition.answers_file
        growth.write(answers, path, change=painted)
        truth = _read(path)[schema.names]
        codes = [
            self._code(rng, self.radius * 3 // 4) if code != self.empty_code else code for code in truth[self.column]
        ]
        truth[self.column] = codes
        truth = truth if schema.fixed_order else truth.sample(frac=1, random_state=rng)
        truth.to_csv(submission, index=False, quoting=csv.QUOTE_MINIMAL)
        _write_sizes(dataset, self, truth)

    def _code(self, rng: np.random.Generator, radius: int) -> str:
        """Discs around points near those of the grid; a third of the masks are empty."""
        if self.across == 1 and rng.random() < 1 / 3:
            return self.empty_code
        grid = (np.arange(self.across) + 0.5) * self.side / self.across
        x, y = (centre.ravel().astype(int) for centre in np.meshgrid(grid, grid))
        x = x + rng.integers(-2, 3, len(x))
        along = np.arange(-radius, radius + 1)
        half = np.sqrt(radius**2 - along**2).astype(int)
        starts = (x[:, None] + along) * self.side + y[:, None] - half + 1
        lengths = np.broadcast_to(2 * half + 1, starts.shape)
        order = np.argsort(starts, axis=None)
        return " ".join(map(str, np.column_stack([starts.ravel()[order], lengths.ravel()[order]]).ravel().tolist()))


def _write_sizes(dataset: Dataset, masks: _Masks, submission: pd.DataFrame) -> None:
    """The size of the pictures, where validation looks for it."""
    public, side = dataset.public, masks.side
    if dataset.competition.id == "hubmap-kidney-segmentation":
        facts = _read(public / "HuBMAP-20-dataset_information.csv").assign(width_pixels=side, height_pixels=side)
        facts.to_csv(public / "HuBMAP-20-dataset_information.csv", index=False)
    if dataset.competition.id == "vesuvius-challenge-ink-detection":
        (public / "test" / "a").mkdir(parents=True)
        Image.new("1", (side, side)).save(public / "test" / "a" / "mask.png")
    if dataset.competition.id == "uw-madison-gi-tract-image-segmentation":
        for name in submission["id"].unique():
            day, _, number = name.partition("_slice_")
            folder = public / "test" / "case" / day / "scans"
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"slice_{number}_{side}_{side}_1.50_1.50.png").touch()


MASKS = {
    "google-research-identify-contrails-reduce-global-warming": _Masks(
        256, 3, 25, "encoded_pixels", "-", ("height", "width")
    ),
    "hubmap-kidney-segmentation": _Masks(38_000, 20, 200, "predicted"),
    "tgs-salt-identification-challenge": _Masks(101, 1, 30, "rle_mask"),
    "uw-madison-gi-tract-image-segmentation": _Masks(266, 1, 30, "predicted", "", ("image_width", "image_height")),
    "vesuvius-challenge-ink-detection": _Masks(4_500, 17, 120, "Predicted", "", ("width", "height")),
}
