"""Where the data of a competition lie below the data directory, and what their manifest says."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mlebench.competition import REVISIONS, Competition
from mlebench.errors import NotPreparedError

if TYPE_CHECKING:
    from mlebench.leaderboard import Leaderboard


def default_data_dir() -> Path:
    """MLEBENCH_DATA_DIR, else MLE_BENCH_DATA_DIR, else the user's cache folder."""
    for name in ("MLEBENCH_DATA_DIR", "MLE_BENCH_DATA_DIR"):
        if os.environ.get(name):
            return Path(os.environ[name]).expanduser()
    from platformdirs import user_cache_path

    return user_cache_path("mle-bench", appauthor=False) / "data"


def read_manifest(prepared: Path) -> dict[str, Any]:
    """The manifest of a folder of prepared files. Raises FileNotFoundError if there is none."""
    return json.loads((prepared / "manifest.json").read_text(encoding="utf-8"))


@dataclass(frozen=True)
class Dataset:
    """The data of one competition in its edition below `data_dir`: v1's layout, which other tools rely on.

    A competition that does not differ in edition v2 has one folder for both.
    """

    competition: Competition
    data_dir: Path

    @property
    def home(self) -> Path:
        """Everything of this competition: zip, raw, prepared."""
        return self.data_dir / self.competition.id

    @property
    def raw(self) -> Path:
        """The files as Kaggle ships them."""
        return self.home / "raw"

    @property
    def prepared(self) -> Path:
        """The prepared files and their manifest."""
        return self.home / ("prepared" if self._edition == "v1" else f"prepared-{self._edition}")

    @property
    def _edition(self) -> str:
        """The edition whose files these are: v1 where v2 does not differ."""
        return self.competition.edition if self.competition.differs_in_v2 else "v1"

    @property
    def revision(self) -> str:
        """The edition of the files, with its revision."""
        return REVISIONS[self._edition]

    @property
    def public(self) -> Path:
        """What an agent sees."""
        return self.prepared / "public"

    @property
    def private(self) -> Path:
        """What only the grader sees."""
        return self.prepared / "private"

    @property
    def sample_submission(self) -> Path:
        """A valid submission as a CSV file: in public or, where that has it packed only, its copy in private."""
        packed = self.public_sample.suffix in (".zip", ".7z")
        return self.private / "sample_submission.csv" if packed else self.public_sample

    @property
    def public_sample(self) -> Path:
        """The same as an agent sees it: a CSV file, or a zip or 7z archive of one."""
        return self.public / self.competition.sample_submission_file

    @property
    def manifest_path(self) -> Path:
        """Written last: its existence means that the data are whole."""
        return self.prepared / "manifest.json"

    @property
    def leaderboard_path(self) -> Path:
        """The whole private leaderboard, if it was fetched: a row for each team, best first, in a column `score`."""
        return self.home / "leaderboard.csv"

    @property
    def leaderboard(self) -> Leaderboard | None:
        """The human leaderboard: published thresholds, and exact ranks if the whole of it was fetched; None without.

        Raises UsageError if the fetched file is damaged.
        """
        published = self.competition.leaderboard
        if not self.leaderboard_path.is_file():
            return published
        from mlebench.leaderboard import with_ranks_of

        return with_ranks_of(self.leaderboard_path, published, not self.competition.metric.higher_is_better)

    @property
    def is_prepared(self) -> bool:
        """Whether the data are there and whole."""
        return self.manifest_path.is_file()

    def manifest(self) -> dict[str, Any]:
        """What `mlebench prepare` wrote about the data.

        Raises NotPreparedError if there are none, or of another revision of the edition.
        """
        option = "" if self._edition == "v1" else f" --edition {self._edition}"
        command = f"mlebench prepare -c {self.competition.id}{option} --data-dir {self.data_dir}"
        where = f"{self.competition.id} is not prepared in {self.data_dir}" + (
            f" in edition {option[-2:]}" if option else ""
        )
        try:
            manifest = read_manifest(self.prepared)
        except FileNotFoundError as error:
            raise NotPreparedError(f'{where}. "{command}" does it.') from error
        if manifest["edition"] != self.revision:
            raise NotPreparedError(
                f"{self.competition.id} in {self.data_dir} is edition {manifest['edition']}, and this version of "
                f'mlebench has {self.revision}. "{command} --force" prepares it again.'
            )
        return manifest

    @property
    def source(self) -> str:
        """Where the data came from: kaggle, local or synthetic."""
        return self.manifest()["source"]
