"""v1's registry of competitions and its view of one."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

from mlebench import catalog
from mlebench._v1.cache import cached_file
from mlebench._v1.grader import GradeFrames, Grader
from mlebench._v1.leaderboards import leaderboard_of
from mlebench.competition import Competition as CoreCompetition
from mlebench.competition import PrepareFunction
from mlebench.dataset import Dataset, default_data_dir
from mlebench.v1_folder import V1Competition

SPLITS_DIR = Path(__file__).parent / "splits"


@dataclass(frozen=True)
class Competition:
    """A competition and where its data lie, as v1 shows them.

    Copies may name other `answers`, `sample_submission`, `leaderboard`, `raw_dir`, `grader` or `prepare_fn`, and
    are graded and prepared by those.
    """

    id: str
    name: str
    description: str  # the text that the agent reads
    grader: Grader
    answers: Path
    sample_submission: Path
    gold_submission: Path
    competition_type: str  # "simple" or "code"
    prepare_fn: PrepareFunction
    public_dir: Path
    private_dir: Path
    raw_dir: Path
    checksums: Path
    leaderboard: Path  # one row a team, best first, in a column `score`
    _dataset: Dataset = field(repr=False, compare=False)


@dataclass(frozen=True)
class Prepare:
    """A competition's `prepare`: importing it waits until it is called, and it can be pickled."""

    competition: CoreCompetition

    def __call__(self, raw: Path, public: Path, private: Path) -> None:
        """Fill the empty folders `public` and `private` from `raw`."""
        self.competition.prepare(raw=raw, public=public, private=private)


class Registry:
    """The competitions, with the data of one data directory."""

    def __init__(self, data_dir: Path | None = None) -> None:
        self._data_dir = Path(data_dir) if data_dir is not None else default_data_dir()

    def set_data_dir(self, data_dir: Path) -> Registry:
        """A new registry for `data_dir`; this one stays as it is."""
        return Registry(data_dir)

    def get_data_dir(self) -> Path:
        """The folder that holds `<id>/prepared/…`."""
        return self._data_dir

    def get_competition(self, competition_id: str) -> Competition:
        """The competition with this id, prepared or not. Raises UsageError if there is none."""
        return _adapted(Dataset(catalog.get(competition_id, catalog.own_folders()), self._data_dir))

    def list_competition_ids(self) -> list[str]:
        """All ids, sorted, those for development included."""
        return list(catalog.competitions(catalog.own_folders()))

    def get_lite_competition_ids(self) -> list[str]:
        """The ids of the split `low`."""
        return (self.get_splits_dir() / "low.txt").read_text(encoding="utf-8").split()

    def get_competitions_dir(self) -> Path:
        """The folder of the built-in competitions."""
        return catalog.BUILT_IN

    def get_splits_dir(self) -> Path:
        """The folder of the splits: `low.txt`, `medium.txt`, `high.txt`, `split75.txt`, `dev.txt`, …, an id a line."""
        return SPLITS_DIR

    def __repr__(self) -> str:
        return f"Registry({str(self._data_dir)!r})"


def _adapted(dataset: Dataset) -> Competition:
    core = dataset.competition
    return Competition(
        id=core.id,
        name=core.title,
        description=core.named_description,
        grader=Grader(core.metric.title, core.grade if isinstance(core, V1Competition) else GradeFrames(dataset)),
        answers=dataset.private / core.answers_file,
        sample_submission=dataset.sample_submission,
        gold_submission=dataset.private / core.gold_submission_file,
        competition_type=core.type,
        prepare_fn=Prepare(core),
        public_dir=dataset.public,
        private_dir=dataset.private,
        raw_dir=dataset.raw,
        checksums=_checksums_file(core),
        leaderboard=leaderboard_of(dataset),
        _dataset=dataset,
    )


def _checksums_file(core: CoreCompetition) -> Path:
    """The published md5 sums, nested by `zip`, `public`, `private`: JSON, which is YAML as well."""

    def side(name: str) -> dict[str, str]:
        return {path[len(name) :]: digest for path, digest in core.checksums.items() if path.startswith(name)}

    nested = {"zip": core.checksums.get("zip"), "public": side("public/"), "private": side("private/")}
    return cached_file(f"{core.id}-checksums", ".yaml", json.dumps(nested, indent=2) + "\n")


registry = Registry()
