"""Numbers and foreign text as the reports show them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mlebench.report.statistics import SplitStatistics

NOTHING = "–"
SYNTHETIC_WARNING = "SYNTHETIC DATA: says nothing about humans"

# Control characters but tab and newline (an escape sequence can rewrite a terminal), and those that turn the
# direction of text around.
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def clean(text: str) -> str:
    """Text that came from an agent, with a replacement character for what could deceive a terminal or a reader.

    >>> clean("a\\x1b[2Jb")
    'a�[2Jb'
    """
    return _UNSAFE.sub("\N{REPLACEMENT CHARACTER}", text)


def hidden_validation(share: float | None, scores_per_hour: int) -> str:
    """What agents were told of their scores while they worked; "" if nothing.

    >>> hidden_validation(0.2, 4), hidden_validation(None, 0)
    ('scores on 20 % of the training rows, held back: 4 an hour', '')
    """
    return f"scores on {share * 100:g} % of the training rows, held back: {scores_per_hour} an hour" if share else ""


def shorten(text: str, length: int) -> str:
    """The text on one line, cut to at most `length` characters.

    >>> shorten("one  two three", 9)
    'one two …'
    """
    line = " ".join(text.split())
    return line if len(line) <= length else line[: length - 1] + "…"


def score(value: float | None) -> str:
    """A score with the five decimals that are reported; fewer where it is so large that they mean nothing.

    >>> score(0.8), score(24987861.69584), score(None)
    ('0.80000', '24,987,861.7', '–')
    """
    if value is None:
        return NOTHING
    if not math.isfinite(value):
        return str(value)
    size = abs(value)
    return f"{value:,.5f}" if size < 1e5 else f"{value:,.1f}" if size < 1e12 else f"{value:.4e}"


def percent(share: float | None, sign: bool = True) -> str:
    """A share from 0 to 1 in percent, with one decimal.

    >>> percent(0.1694), percent(0.1694, sign=False), percent(None)
    ('16.9 %', '16.9', 'n/a')
    """
    if share is None:
        return "n/a"
    return f"{100 * share:.1f}" + (" %" if sign else "")


def plus_minus(share: float | None, error: float | None) -> str:
    """A share and its error in percent, without the sign.

    >>> plus_minus(0.169, 0.0108), plus_minus(0.5, None), plus_minus(None, None)
    ('16.9 ± 1.1', '50.0 ± n/a', 'n/a')
    """
    return "n/a" if share is None else f"{percent(share, sign=False)} ± {percent(error, sign=False)}"


def duration(seconds: float | None) -> str:
    """A time in the two units that matter.

    >>> duration(0.84), duration(75), duration(86399.7), duration(None)
    ('0.8s', '1m 15s', '24h 00m', '–')
    """
    if seconds is None:
        return NOTHING
    if seconds < 9.95:
        return f"{seconds:.1f}s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m {whole % 60:02}s"
    minutes = round(seconds / 60)
    return f"{minutes // 60}h {minutes % 60:02}m"


def size(count: float | None) -> str:
    """A number of bytes.

    >>> size(512), size(3 << 29), size(None)
    ('512 B', '1.5 GiB', '–')
    """
    if count is None:
        return NOTHING
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(count) < 1024:
            return f"{count:.0f} B" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:,.1f} TiB"


def place(rank: int | None, teams: int | None, kind: str | None = None) -> str:
    """A place among the humans; one that is estimated is marked.

    >>> place(123, 2288), place(123, 2288, "exact"), place(2289, 2288), place(None, None)
    ('~123 of 2,288', '123 of 2,288', 'below all 2,288', '–')
    """
    if rank is None or teams is None:
        return NOTHING
    mark = "" if kind == "exact" else "~"
    return f"below all {teams:,}" if rank > teams else f"{mark}{rank:,} of {teams:,}"


def listed(names: list[str] | tuple[str, ...]) -> str:
    """Names as a sentence lists them, or "none".

    >>> listed(["a", "b", "c"])
    'a, b and c'
    """
    if not names:
        return "none"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def split_title(split: SplitStatistics) -> str:
    """The name of a split as the reports show it."""
    return "low (lite)" if split.name == "low" else split.name


def coverage(split: SplitStatistics) -> str:
    """How many of the split's competitions the run has."""
    return f"{len(split.competitions)} of {split.size}" if split.size else str(len(split.competitions))


def caveats(split: SplitStatistics) -> Iterator[str]:
    """What must be known beside the numbers of a split, a sentence each."""
    if split.not_counted:
        ends = [f"{number} {end}" for end, number in split.not_counted.items()]
        yield f"not counted: {listed(ends)}{' (padded as failures)' if split.padded else ''}"
    if split.to_come:
        yield f"still to come: {split.to_come} of {split.planned} attempts"
    if split.incomplete_seeds:
        seeds = listed([str(seed) for seed in split.incomplete_seeds])
        yield f"incomplete seeds: {seeds} ({'padded as failures' if split.padded else 'not padded'})"
    if split.unfinished_seeds and not split.padded:
        seeds = listed([str(seed) for seed in split.unfinished_seeds])
        yield f"not in the means yet: {'seed' if len(split.unfinished_seeds) == 1 else 'seeds'} {seeds}"
    if split.without_humans:
        yield f"without a leaderboard, so not in the medal rates: {listed(split.without_humans)}"
    ranked = len(split.competitions) - len(split.without_humans)
    for estimate in split.pass_at_k:
        if estimate.competitions < ranked:
            yield f"pass@{estimate.k}: over the {estimate.competitions} of {ranked} competitions with as many attempts"
    if len(split.seeds) == 1:
        yield "one seed: an error over seeds is not defined"


def model_use(spent: Mapping[str, float]) -> str:
    """What was used of a model, in words; empty if nothing was.

    >>> model_use({"requests": 1200, "input_tokens": 5e6, "output_tokens": 2e5, "dollars": 7.5, "lost_seconds": 90})
    '1,200 requests, 5,000,000 tokens in, 200,000 out, $7.50, 1m 30s lost to errors of the provider'
    """
    if not spent.get("requests"):
        return ""
    parts = [f"{spent['requests']:,.0f} requests, {spent['input_tokens']:,.0f} tokens in"]
    parts.append(f"{spent['output_tokens']:,.0f} out")
    if spent["dollars"]:
        parts.append(f"${spent['dollars']:,.2f}")
    if spent["lost_seconds"] >= 1:
        parts.append(f"{duration(spent['lost_seconds'])} lost to errors of the provider")
    return ", ".join(parts)


def memory_kills(number: int) -> str:
    """That children of an agent were killed; empty if none was.

    >>> memory_kills(2), memory_kills(0)
    ("2 of the agent's processes were killed: together they used more memory than allowed", '')
    """
    if not number:
        return ""
    who = "1 of the agent's processes was" if number == 1 else f"{number} of the agent's processes were"
    return f"{who} killed: together they used more memory than allowed"


def thousands(number: float) -> str:
    """A large number in few signs.

    >>> thousands(950), thousands(12919), thousands(3_400_000)
    ('950', '12.9k', '3.4M')
    """
    for size, sign in ((1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:.1f}{sign}"
    return f"{number:.0f}"
