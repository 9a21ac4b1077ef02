"""Where the data of a competition lie below the data directory, and what their manifest says."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mlebench.competition import Competition
from mlebench.errors import NotPreparedError


def default_data_dir() -> Path:
    """MLEBENCH_DATA_DIR, else MLE_BENCH_DATA_DIR, else the user's cache folder."""
    for name in ("MLEBENCH_DATA_DIR", "MLE_BENCH_DATA_DIR"):
        if os.environ.get(name):
            return Path(os.environ[name]).expanduser()
    from platformdirs import user_cache_path

    return user_cache_path("mle-bench", appauthor=False) / "data"


@dataclass(frozen=True)
class Dataset:
    """The data of one competition below `data_dir`: edition v1's layout, which other tools rely on."""

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
        return self.home / "prepared"

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
        """A valid submission, in public."""
        return self.public / self.competition.sample_submission_file

    @property
    def manifest_path(self) -> Path:
        """Written last: its existence means that the data are whole."""
        return self.prepared / "manifest.json"

    @property
    def is_prepared(self) -> bool:
        """Whether the data are there and whole."""
        return self.manifest_path.is_file()

    def manifest(self) -> dict[str, Any]:
        """What `mlebench prepare` wrote about the data. Raises NotPreparedError if there are none."""
        try:
            return json.loads(self.manifest_path.read_text(encoding="utf-8"))
        except FileNotFoundError as error:
            raise NotPreparedError(
                f"{self.competition.id} is not prepared in {self.data_dir}. "
                f'"mlebench prepare -c {self.competition.id} --data-dir {self.data_dir}" does it.'
            ) from error

    @property
    def source(self) -> str:
        """Where the data came from: kaggle, local or synthetic."""
        return self.manifest()["source"]
