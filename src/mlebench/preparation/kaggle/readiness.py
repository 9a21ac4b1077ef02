"""What stands between a user and prepared data: an account at Kaggle, access, room on the disk, time."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from mlebench.dataset import Dataset, read_manifest
from mlebench.errors import UsageError
from mlebench.files import nearest_existing
from mlebench.preparation.disk.sizes import Needs, needs_of_all
from mlebench.preparation.kaggle.access import Access
from mlebench.preparation.kaggle.client import Client
from mlebench.preparation.kaggle.credentials import find_credentials
from mlebench.preparation.kaggle.download import begun_bytes
from mlebench.preparation.kaggle.errors import BadCredentials, KaggleError, Transient
from mlebench.preparation.kaggle.preflight import PATIENCE, Speed, check, measure_speed, not_asked
from mlebench.preparation.kaggle.source import Kaggle
from mlebench.preparation.sources import holds_strangers_files


@dataclass(frozen=True)
class Account:
    """The user's account at Kaggle. `user` is empty if the server was not asked, or did not tell."""

    kind: str = ""  # "access token" or "legacy key"; empty if none was found
    source: str = ""  # where it was found
    user: str = ""
    problem: str = ""  # why Kaggle can't be asked, and what to do about it
    calls: int = 0
    refusals: int = 0  # how many of these were answered by asking for fewer


@dataclass(frozen=True)
class Readiness:
    """What is there, what can be had, and what it takes."""

    prepared: tuple[str, ...]
    synthetic: tuple[str, ...]  # of the prepared ones
    strange: tuple[str, ...]  # prepared files without a manifest are here, which `prepare` will take over or refuse
    delivered: tuple[str, ...]  # their zips, or the files that they need, are here: nothing to ask for
    wanted: tuple[str, ...]  # to be downloaded
    account: Account
    access: Mapping[str, Access]  # to those that are wanted; empty without credentials that Kaggle accepts
    needs: Needs  # of all that is not prepared, one after the other: so it is done where room is short
    folder: Path  # where data are kept
    free: int  # bytes there
    speed: Speed | None

    @property
    def barred(self) -> tuple[Access, ...]:
        """What can't be downloaded, or not be asked about."""
        return tuple(each for each in self.access.values() if not each.is_open)

    @property
    def fits(self) -> bool:
        """Whether the disk has room for all, as far as sizes are known."""
        return self.needs.peak <= self.free

    @property
    def is_ready(self) -> bool:
        """Whether nothing is known that keeps all from being prepared."""
        return not self.barred and len(self.access) == len(self.wanted) and self.fits

    @property
    def pages(self) -> tuple[str, ...]:
        """The pages on which the user can open what is barred, in order, each once."""
        return tuple(dict.fromkeys(each.page for each in self.barred if each.state in ("rules", "phone")))


def look(datasets: Sequence[Dataset], *, fresh: bool = False) -> Readiness:
    """Look at what is here, and ask Kaggle about the rest.

    Datasets are those of one data directory. The network is used only if something has to be downloaded; what was open
    in the last days is asked again only if `fresh`.
    """
    strange = [each for each in datasets if holds_strangers_files(each)]
    missing = [each for each in datasets if not each.is_prepared and each not in strange]
    here = {
        each.competition.id: size
        for each in missing
        if (size := Kaggle(each.data_dir).bytes_here(each.competition)) is not None
    }
    wanted = [each.competition.id for each in missing if each.competition.id not in here]
    account, access, speed = _ask(wanted, fresh)
    told = {name: each.bytes for name, each in access.items() if each.bytes is not None}
    begun = sum(begun_bytes(_zip(each)) for each in missing if each.competition.id in wanted)
    of_all = needs_of_all((each.competition for each in missing), {**told, **here})
    folder = datasets[0].data_dir.absolute()
    return Readiness(
        prepared=tuple(each.competition.id for each in datasets if each.is_prepared),
        synthetic=tuple(each.competition.id for each in datasets if each.is_prepared and _is_synthetic(each)),
        strange=tuple(each.competition.id for each in strange),
        delivered=tuple(here),
        wanted=tuple(wanted),
        account=account,
        access=access,
        needs=_without(sum(here.values()) + begun, of_all),
        folder=folder,
        free=shutil.disk_usage(nearest_existing(folder)).free,
        speed=speed,
    )


def _is_synthetic(dataset: Dataset) -> bool:
    return read_manifest(dataset.prepared).get("source") == "synthetic"


def _zip(dataset: Dataset) -> Path:
    return dataset.home / f"{dataset.competition.id}.zip"


def _without(there: int, needs: Needs) -> Needs:
    """The needs without so many bytes that are on the disk already."""
    return replace(needs, download=max(needs.download - there, 0), peak=max(needs.peak - there, needs.final))


def _ask(wanted: Sequence[str], fresh: bool) -> tuple[Account, dict[str, Access], Speed | None]:
    try:
        credentials = find_credentials()
    except UsageError as error:
        return Account(problem=str(error)), {}, None
    account = Account(credentials.kind, credentials.source)
    if not wanted:
        return account, {}, None
    with Client(credentials, patience=PATIENCE) as client:
        try:
            account = replace(account, user=_user(client))
            access = check(client, wanted, sizes=True, fresh=fresh)
            speed = _speed(client, access)
        except BadCredentials as error:
            account, access, speed = replace(account, problem=str(error)), {}, None
        except Transient as error:
            account, access, speed = replace(account, problem=str(error)), not_asked(wanted, error), None
        return replace(account, calls=client.calls, refusals=client.refusals), access, speed


def _user(client: Client) -> str:
    try:
        return client.confirmed_username()
    except Transient:
        raise
    except KaggleError:  # no failure of the user's: this server does not tell
        return ""


def _speed(client: Client, access: Mapping[str, Access]) -> Speed | None:
    """By the largest zip that can be had."""
    sizes = {name: each.bytes for name, each in access.items() if each.bytes is not None}
    return measure_speed(client, max(sizes, key=lambda name: sizes[name])) if sizes else None
