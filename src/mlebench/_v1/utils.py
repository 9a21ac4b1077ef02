"""v1's small helpers. Nothing here configures logging, prints, or writes where it was not asked to."""

from __future__ import annotations

import difflib
import importlib
import json
import logging
import os
import time
import uuid
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mlebench.errors import UsageError

if TYPE_CHECKING:
    import pandas as pd


def read_csv(*args: Any, **options: Any) -> pd.DataFrame:
    """`pandas.read_csv` with exact floats; an empty file gives an empty frame."""
    import pandas as pd

    from mlebench import tables

    try:
        return tables.read_csv(*args, **options)
    except pd.errors.EmptyDataError:
        return pd.DataFrame()


def read_jsonl(file_path: Path | str, skip_commented_out_lines: bool = True) -> list[dict[str, Any]]:
    """The objects of a JSON Lines file; empty lines, and lines that start with `#` or `//`, are skipped.

    Raises UsageError that names the first line which is no JSON object.
    """
    objects = []
    for number, line in enumerate(Path(file_path).read_text(encoding="utf-8").splitlines(), 1):
        text = line.strip()
        if not text or (skip_commented_out_lines and text.startswith(("#", "//"))):
            continue
        try:
            content = json.loads(text)
        except ValueError as error:
            raise UsageError(f"{file_path}, line {number}: {error}") from error
        if not isinstance(content, dict):
            raise UsageError(f"{file_path}, line {number}: {text[:60]} is no JSON object")
        objects.append(content)
    return objects


def load_answers(path: Path) -> Any:
    """The answers: a frame from `.csv`, a list of objects from `.jsonl`. Raises ValueError for another suffix."""
    suffix = Path(path).suffix.lower()
    if suffix == ".csv":
        return read_csv(path)
    if suffix == ".jsonl":
        return read_jsonl(path, skip_commented_out_lines=False)
    raise ValueError(f"{path}: answers are .csv or .jsonl files")


def get_logger(name: str, *_: Any, **__: Any) -> logging.Logger:
    """The logger `name`. Levels and handlers are the program's business, so further arguments change nothing."""
    return logging.getLogger(name)


def get_timestamp() -> str:
    """Now, as in `2025-01-31T12-00-00-GMT` (the zone's name is the platform's)."""
    return time.strftime("%Y-%m-%dT%H-%M-%S-%Z", time.gmtime())


def purple(text: str) -> str:
    """`text` in purple on a terminal."""
    return f"\033[35m{text}\033[0m"


def extract(compressed: Path, dst: Path, recursive: bool = False) -> None:
    """Unpack a zip into the folder `dst`; with `recursive` also the zips in it, each beside itself.

    Raises PreparationError for a damaged or hostile archive.
    """
    from mlebench.preparation.archives import unzip

    unzip(Path(compressed), Path(dst))
    if not recursive:
        return
    with zipfile.ZipFile(compressed) as archive:
        inner = [Path(dst) / name for name in archive.namelist() if name.lower().endswith(".zip")]
    for path in inner:
        if path.is_file():
            extract(path, path.with_suffix(""), recursive=True)


def compress(src: Path, compressed: Path, exist_ok: bool = False) -> None:
    """Zip a file, or all that is in a folder, its members named by their path in it.

    Raises FileExistsError if `compressed` is there, unless `exist_ok`; FileNotFoundError if `src` is missing.
    """
    src, compressed = Path(src), Path(compressed)
    if not src.exists():
        raise FileNotFoundError(f"there is no {src}")
    if compressed.exists() and not exist_ok:
        raise FileExistsError(f"{compressed} is there already")
    root = src if src.is_dir() else src.parent
    files = sorted(path for path in src.rglob("*") if path.is_file()) if src.is_dir() else [src]
    with zipfile.ZipFile(compressed, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in files:
            if path != compressed:
                archive.write(path, path.relative_to(root))


def is_empty(folder: Path) -> bool:
    """Whether there is nothing in `folder`, or no such folder."""
    return not Path(folder).is_dir() or next(Path(folder).iterdir(), None) is None


def load_yaml(path: Path, encoding: str = "utf-8") -> Any:
    """The content of a YAML file."""
    import yaml

    return yaml.safe_load(Path(path).read_text(encoding=encoding))


def import_fn(fn_import_string: str) -> Callable[..., Any]:
    """The function that "module:function" names. Raises ValueError if it is not of that form."""
    module, separator, name = fn_import_string.partition(":")
    if not separator or not module or not name:
        raise ValueError(f"{fn_import_string!r} is not of the form module:function")
    return getattr(importlib.import_module(module), name)


def get_diff(d1: Mapping[str, Any], d2: Mapping[str, Any], fromfile: str = "original", tofile: str = "modified") -> str:
    """What differs between two dictionaries: a unified diff of their JSON; empty if nothing does."""
    before, after = (json.dumps(content, indent=2, sort_keys=True, default=str).splitlines() for content in (d1, d2))
    return "\n".join(difflib.unified_diff(before, after, fromfile, tofile, lineterm=""))


def in_ci() -> bool:
    """Whether this runs in continuous integration, by the variable CI or GITHUB_ACTIONS."""
    return any(os.environ.get(name, "").lower() in ("1", "true") for name in ("CI", "GITHUB_ACTIONS"))


def authenticate_kaggle_api() -> Any:
    """An authenticated `KaggleApi` of the installed `kaggle` package.

    Raises UsageError if it is not installed or finds no credentials.
    """
    try:
        from kaggle.api.kaggle_api_extended import KaggleApi  # pyright: ignore[reportMissingImports]

        api = KaggleApi()
        api.authenticate()
    except ImportError as error:
        raise UsageError('Kaggle\'s client is not installed: "pip install kaggle"') from error
    except (OSError, ValueError, SystemExit) as error:  # it exits where it finds no credentials
        raise UsageError(f"Kaggle's client found no credentials (~/.kaggle/kaggle.json): {error}") from error
    return api


def get_runs_dir() -> Path:
    """The folder `runs` in the current one."""
    return Path.cwd() / "runs"


def generate_run_id(competition_id: str, agent_id: str | None = None, run_group: str | None = None) -> str:  # noqa: ARG001
    """`<competition>_<random uuid>`."""
    return f"{competition_id}_{uuid.uuid4()}"


def create_run_dir(
    competition_id: str | None = None, agent_id: str | None = None, run_group: str | None = None
) -> Path:
    """Make `runs/<run group>`, and in it a folder for an attempt if a competition is given; returns the inmost."""
    group = run_group or "_".join(filter(None, (get_timestamp(), "run-group", agent_id)))
    folder = get_runs_dir() / group
    if competition_id is not None:
        folder /= generate_run_id(competition_id, agent_id, run_group)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def get_module_dir() -> Path:
    """The folder of the package `mlebench`."""
    return Path(__file__).resolve().parents[1]


def get_repo_dir() -> Path:
    """The checkout that the package is part of; where it is installed elsewhere, the folder that holds it."""
    module = get_module_dir()
    return next((folder for folder in module.parents if (folder / "pyproject.toml").is_file()), module.parent)
