"""What the doctor says about data: the account at Kaggle, access to competitions, room and time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from rich.filesize import decimal

from mlebench.doctor import Finding, Section
from mlebench.errors import UsageError
from mlebench.preparation.kaggle.errors import SETTINGS, which_tab

if TYPE_CHECKING:
    from mlebench.preparation.kaggle.access import Access, State
    from mlebench.preparation.kaggle.readiness import Readiness

USUAL_SPEED = 10_000_000  # bytes a second, where none could be measured

_BARRED: dict[State, str] = {  # what to do, in this order
    "rules": "Open each page, join and accept the rules; --open opens them for you.",
    "phone": "Verify it once, then run this again.",
    "closed": "Look at the page. Where the data are gone for good, get the zip in another way and give it: "
    "`mlebench prepare --source FILE.zip`.",
    "missing": "Data of your own competitions come from a folder or zip: `mlebench prepare --source PATH`.",
    "unknown": "Run this again later.",
}


def credentials(environment: Mapping[str, str]) -> Finding:
    """Which credentials for Kaggle are there; nobody is asked whether they are good."""
    from mlebench.preparation.kaggle.credentials import NoCredentials, find_credentials

    try:
        found = find_credentials(environment)
    except NoCredentials:
        advice = "They are needed to download data; `mlebench doctor --split lite` says how to get some."
        return Finding("credentials", None, "none found", advice)
    except UsageError as error:
        return Finding("credentials", False, str(error))
    advice = "Not tried: `mlebench doctor --split lite` asks Kaggle about them, and about each competition."
    return Finding("credentials", True, f"{found.kind} from {found.source}", advice)


def sections(data: Readiness) -> tuple[Section, ...]:
    """Three sections."""
    return (
        Section("Kaggle", tuple(_kaggle(data))),
        Section("Competitions", tuple(_competitions(data))),
        Section("Room and time", tuple(_room_and_time(data))),
    )


def _kaggle(data: Readiness) -> Iterator[Finding]:
    account = data.account
    what = f"{account.kind} from {account.source}" if account.kind else "none found"
    if not data.wanted:
        advice = "Not tried: nothing is to be downloaded."
        yield Finding("credentials", True if account.kind else None, what, advice)
    elif account.problem and data.access:  # they may be good
        yield Finding("credentials", None, what)
        yield Finding("server", False, account.problem)
    elif account.problem:
        yield Finding("credentials", False, what, account.problem[0].upper() + account.problem[1:])
    else:
        is_known = account.user or any(each.state != "unknown" for each in data.access.values())
        yield Finding("credentials", True if is_known else None, what)
        yield Finding("user", True if account.user else None, account.user or "Kaggle tells no name")
        slowed = f"asked {account.refusals} times to slow down" if account.refusals else "never asked to slow down"
        yield Finding("rate limit", None, f"{slowed}, in {account.calls} calls")
        words = f"Kaggle does not tell whether it is verified; if a refusal mentions it: {SETTINGS}"
        yield Finding("phone number", None, words)


def _competitions(data: Readiness) -> Iterator[Finding]:
    total = len(data.prepared) + len(data.strange) + len(data.delivered) + len(data.wanted)
    if data.prepared:
        twins = f" ({len(data.synthetic)} of them synthetic)" if data.synthetic else ""
        yield Finding("prepared", True, f"{len(data.prepared)} of {total}{twins}: nothing to do")
    if data.strange:
        text = f"{len(data.strange)} of {total}, by another program: `mlebench prepare` checks and takes them over"
        yield Finding("prepared before", None, text, "", (", ".join(data.strange),))
    if data.delivered:
        yield Finding("downloaded", True, f"{len(data.delivered)} of {total}: the files are here")
    opened = [each for each in data.access.values() if each.is_open]
    if opened:
        remembered = sorted(each.remembered for each in opened if each.remembered)
        since = f" ({len(remembered)} remembered since {remembered[0][:10]}; --fresh asks anew)" if remembered else ""
        yield Finding("open", True, f"{len(opened)} of {total}{since}: can be downloaded")
    if data.account.problem and data.wanted:
        yield Finding("not asked", False, f"{len(data.wanted)} of {total}: see above")
        return
    for state, advice in _BARRED.items():
        yield from _barred([each for each in data.barred if each.state == state], state, advice, total)


def _barred(found: Sequence[Access], state: State, advice: str, total: int) -> Iterator[Finding]:
    """One finding for each reason, with a line for each competition."""
    alike: dict[str, list[Access]] = {}
    for each in found:
        alike.setdefault(each.reason, []).append(each)
    for reason, those in alike.items():
        yield Finding(state, False, f"{len(those)} of {total}: {reason}", advice, _lines(those))


def _lines(found: Sequence[Access]) -> tuple[str, ...]:
    """A line for each page, and one with all that have none."""
    pages = dict.fromkeys(each.page + _remark(each) for each in found if each.page)
    without = [each.competition for each in found if not each.page]
    return (*pages, *([", ".join(without)] if without else []))


def _remark(access: Access) -> str:
    return which_tab(access.competition) if access.state == "rules" else ""


def _room_and_time(data: Readiness) -> Iterator[Finding]:
    needs, all_of_them = data.needs, len(data.wanted)
    if not (data.wanted or data.delivered):
        yield Finding("disk", None, "nothing is to be prepared")
        return
    if data.wanted:
        told = sum(each.bytes is not None for each in data.access.values())
        some = f"{told} of {all_of_them} sizes as Kaggle tells them, the others estimated" if told else "estimated"
        basis = "sizes as Kaggle tells them" if told == all_of_them else some
        yield Finding("download", None, f"{decimal(needs.download)} ({basis})")
    yield Finding("disk", None, f"about {decimal(needs.peak)} at the peak, of which {decimal(needs.final)} stay")
    missing = f"{decimal(needs.peak - data.free)} are missing: make room, name another folder (--data-dir), or fewer"
    advice = "" if data.fits else f"{missing} competitions."
    yield Finding("free", data.fits, f"{decimal(data.free)} at {data.folder}", advice)
    if needs.unknown:
        yield Finding(
            "not counted", None, f"{len(needs.unknown)}, as nothing is known of their size", "", needs.unknown
        )
    if data.wanted:
        yield _time(data)


def _time(data: Readiness) -> Finding:
    if data.speed is None:
        why = "Kaggle was not asked" if data.account.problem else "no zip was large enough to measure the speed with"
        hours = _hours(data.needs.hours_at(USUAL_SPEED))
        return Finding("time", None, f"no estimate, as {why}; at {decimal(USUAL_SPEED)} a second, {hours} to download")
    speed = data.speed.bytes_per_second
    sample = f"{decimal(data.speed.bytes)} of {data.speed.competition}"
    how = f"{decimal(round(speed))} a second, measured just now by one download of {sample}"
    return Finding("time", None, f"about {_hours(data.needs.hours_at(speed))} to download at {how}")


def _hours(hours: float) -> str:
    """As one says it.

    >>> _hours(0.001), _hours(0.4), _hours(1.55), _hours(100)
    ('a minute', '24 minutes', '1.6 hours', '4.2 days')
    """
    if hours < 1.5 / 60:
        return "a minute"
    if hours < 1:
        return f"{hours * 60:.0f} minutes"
    return f"{hours:.1f} hours" if hours < 48 else f"{hours / 24:.1f} days"
