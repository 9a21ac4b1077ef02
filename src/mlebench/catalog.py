"""Which competitions there are: built in, and in folders of the user's own; and the splits."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path

from mlebench.competition import Competition, load_competition
from mlebench.errors import UsageError

BUILT_IN = Path(__file__).parent / "competitions"
SPLITS = ("lite", "low", "medium", "high", "dev", "all")


@lru_cache(maxsize=8)
def competitions(folders: tuple[Path, ...] = ()) -> dict[str, Competition]:
    """All competitions by id, sorted; those in `folders` hide built-in ones of the same id."""
    found: dict[str, Competition] = {}
    for folder in (BUILT_IN, *folders):
        if not folder.is_dir():
            raise UsageError(f"no folder {folder} to look for competitions in")
        for path in folder.iterdir():
            if is_competition(path):
                found[path.name] = load(path)
    return dict(sorted(found.items()))


def is_competition(folder: Path) -> bool:
    """Whether the folder is a competition, in our form or in the original's."""
    return (folder / "competition.toml").is_file() or (folder / "config.yaml").is_file()


def load(folder: Path) -> Competition:
    """The competition in a folder. Raises CompetitionError if it is none."""
    if (folder / "competition.toml").is_file() or not is_competition(folder):
        return load_competition(folder)
    from mlebench.v1_folder import load_v1_folder

    return load_v1_folder(folder)


def own_folders(given: Iterable[Path] = ()) -> tuple[Path, ...]:
    """Folders of the user's own competitions: those `given`, then those in MLEBENCH_COMPETITIONS."""
    named = os.environ.get("MLEBENCH_COMPETITIONS", "")
    return (*given, *(Path(part) for part in named.split(os.pathsep) if part))


def get(competition_id: str, folders: tuple[Path, ...] = ()) -> Competition:
    """The competition with this id. Raises UsageError that suggests a similar one."""
    known = competitions(folders)
    if competition_id in known:
        return known[competition_id]
    similar = difflib.get_close_matches(competition_id, known, n=1)
    hint = f' Did you mean "{similar[0]}"?' if similar else ""
    raise UsageError(f'no competition "{competition_id}".{hint} "mlebench list" shows all {len(known)}.')


def in_all_editions(folders: tuple[Path, ...] = ()) -> list[Competition]:
    """All competitions, those that edition v2 changes in both editions."""
    known = competitions(folders).values()
    return [competition.in_edition(edition) for competition in known for edition in competition.editions]


def split(name: str, folders: tuple[Path, ...] = ()) -> list[Competition]:
    """The competitions of a split: a complexity, `lite` (= low), or `all` (everything but dev)."""
    known = competitions(folders).values()
    if name == "all":
        return [competition for competition in known if competition.complexity != "dev"]
    if name not in SPLITS:
        raise UsageError(f'no split "{name}"; there are {", ".join(SPLITS)}')
    complexity = "low" if name == "lite" else name
    return [competition for competition in known if competition.complexity == complexity]


def from_file(path: Path, folders: tuple[Path, ...] = ()) -> list[Competition]:
    """The competitions listed in a file, one id a line; empty lines and `#` comments are skipped."""
    lines: Sequence[str] = path.read_text(encoding="utf-8").splitlines()
    ids = [line.split("#")[0].strip() for line in lines]
    return [get(competition_id, folders) for competition_id in ids if competition_id]
