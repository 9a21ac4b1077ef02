"""How much disk and how many hours a preparation needs, told before it begins.

All figures are estimates. A competition's raw files have the size that Kaggle lists (`dataset_gb` of its
competition.toml) or, where none is known, the one that sizes.toml estimates; the true size of the download, once it is
known, takes the place of both where it is larger. What happens on the way (archives are unpacked, tables written anew,
pictures linked, those of the test copied) follows from ratios that were measured on synthetic twins, where all files
take blocks of their own: a file system that can share blocks (btrfs, xfs) needs less.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

from mlebench.competition import Competition

Keep = Literal["nothing", "zip", "raw"]
Basis = Literal["published", "estimated", "download", "unknown"]
_WEAKEST_FIRST: tuple[Basis, ...] = ("unknown", "estimated", "published", "download")
_FAR_LESS = 10  # times smaller than listed: not the files that are listed
_GB = 1_000_000_000
_OF_A_STRANGER = {
    "download": 1.0,
    "peak": 2.0,
    "kept": 1.0,
    "prepared": 1.0,
}  # all files copied once, nothing compressed


@dataclass(frozen=True)
class Needs:
    """Bytes of one competition, or of several together."""

    download: int  # comes over the network
    peak: int  # the most that is on disk at once
    final: int  # what stays on disk
    basis: Basis  # where the size of the raw files is from; of several, the weakest
    unknown: tuple[str, ...] = ()  # ids of competitions of whose size nothing is known: they count 0

    def hours_at(self, bytes_per_second: float) -> float:
        """How long the download takes at this speed."""
        return self.download / bytes_per_second / 3600


def needs(competition: Competition, download_bytes: int | None = None, keep: Keep = "nothing") -> Needs:
    """What preparing one edition of a competition from a zip of `download_bytes` needs, or from one of the usual size.

    At the peak, zip, raw and prepared files are there together. In the end there are the prepared files and, if `keep`
    says so, the zip or the raw files, which share their bytes with prepared ones.
    """
    edition = competition.edition if competition.differs_in_v2 else "v1"
    ratio = _facts()["ratios"][edition].get(competition.id, _OF_A_STRANGER)
    listed, basis = listed_bytes(competition)
    if download_bytes is not None:
        found = int(download_bytes / ratio["download"])
        if download_bytes > listed or _FAR_LESS * found < listed:
            listed, basis = found, "download"
    if basis == "unknown":
        return Needs(0, 0, 0, "unknown", (competition.id,))
    download = int(listed * ratio["download"]) if download_bytes is None else download_bytes
    prepared = int(listed * ratio["prepared"])
    final = {"nothing": prepared, "zip": prepared + download, "raw": int(listed * ratio["kept"])}[keep]
    return Needs(download, download + int(listed * ratio["peak"]), final, basis)


def needs_of_all(
    competitions: Iterable[Competition],
    downloads: Mapping[str, int] | None = None,
    keep: Keep = "nothing",
    jobs: int = 1,
) -> Needs:
    """What preparing several needs, `jobs` at a time; `downloads` are the true sizes of zips by id.

    The peak comes in the worst order: the largest ones last, when all others are there already.
    """
    each = [needs(competition, (downloads or {}).get(competition.id), keep) for competition in competitions]
    on_top = sorted((one.peak - one.final for one in each), reverse=True)
    final = sum(one.final for one in each)
    return Needs(
        download=sum(one.download for one in each),
        peak=final + sum(on_top[:jobs]),
        final=final,
        basis=_weakest([one.basis for one in each]),
        unknown=tuple(name for one in each for name in one.unknown),
    )


def _weakest(bases: list[Basis]) -> Basis:
    return min(bases, key=_WEAKEST_FIRST.index) if bases else "download"


def listed_bytes(competition: Competition) -> tuple[int, Basis]:
    """The size of the raw files as far as it is known without asking Kaggle."""
    published = int((competition.dataset_gb or 0) * _GB)
    estimated = int(_facts()["estimated_gb"].get(competition.id, 0) * _GB)
    if published >= estimated:
        return published, "published" if published else "unknown"
    return estimated, "estimated"


@cache
def _facts() -> dict[str, Any]:
    return tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
