"""A run on the terminal: every attempt, then the totals by split. Readable on 80 columns and without colour."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from mlebench.report import formatting as show
from mlebench.report import over_time, statistics
from mlebench.report.results import AttemptResult, RunResults
from mlebench.report.statistics import SplitStatistics

MARK = "syn"  # on every row whose data are made up
REASON_LENGTH = 200
_STYLES = {
    "gold": "bold yellow",
    "silver": "bold",
    "bronze": "bold dark_orange3",
    "invalid": "red",
    "no submission": "red",
    "not counted": "dim",
    "to come": "dim",
}
_LOUD = "bold white on red"
_LABEL_WIDTH, _RATE_WIDTH = 20, 14  # columns of the totals


def render(results: RunResults, console: Console, padded: bool = False) -> None:
    """Print the whole report. Text from agents is shown as text: no markup, no escape sequences."""
    console.print(_run_line(results))
    for competition in results.competitions:
        console.print()
        console.print(_heading(_about(results, competition), results.is_synthetic(competition)))
        console.print(_attempts(results, competition, console.width))
        for line in _remarks(results, competition):
            console.print(Padding(line, (0, 0, 0, 4)))
    splits = statistics.by_split(results, padded)
    if told := show.model_use(results.spent):
        console.print(Text(f"\nModel {show.clean(str(results.run.model))}: {told}"))
    if when := over_time.moments(results):
        console.print()
        console.print(_heading("Had the attempts ended earlier, in percent", results.synthetic))
        console.print(_over_time(when))
    if not splits:
        console.print("The run has no attempts.")
        return
    fitting = max(1, (console.width - _LABEL_WIDTH) // _RATE_WIDTH)
    for first in range(0, len(splits), fitting):
        some = splits[first : first + fitting]
        console.print()
        console.print(_heading("Totals by split, in percent", any(split.synthetic for split in some)))
        console.print(_totals(some))
    for line in _footnotes(splits):
        console.print(Text(line, style="dim"))


def _run_line(results: RunResults) -> Text:
    run = results.run
    facts = [f"run {run.id}", run.agent, f"edition {run.edition}", f"seeds {len(results.seeds)}"]
    if told := show.hidden_validation(run.hidden_validation, run.scores_per_hour):
        facts.append(told)
    return Text(show.clean(" · ".join(facts)), style="bold")


def _heading(text: str, synthetic: bool) -> Text:
    """What stands above a table: its name, and a loud line if anything in it is made up."""
    heading = Text(show.clean(text))
    heading.stylize("bold", 0, text.find("\n") if "\n" in text else len(text))
    return Text("\n").join([Text(f" {show.SYNTHETIC_WARNING} ", style=_LOUD), heading]) if synthetic else heading


def _about(results: RunResults, competition: str) -> str:
    known = results.catalog.get(competition)
    if known is None:
        return f"{competition} (not in the catalog)\n{_thresholds(results, competition)}"
    direction = "higher" if known.metric.higher_is_better else "lower"
    name = f"{known.title} ({competition})"
    return f"{name}\n{known.metric.title}, {direction} is better\n{_thresholds(results, competition)}"


def _attempts(results: RunResults, competition: str, width: int) -> Table:
    table = Table(box=None, pad_edge=False, collapse_padding=True, padding=(0, 1 if width < 100 else 2))
    for name in ("seed", "score", "medal", "rank", "pct.", "end", "time", "memory"):
        numeric = name in ("score", "rank", "pct.", "time", "memory")
        table.add_column(name, justify="right" if numeric else "left", overflow="fold", no_wrap=name != "end")
    for attempt in results.attempts_on(competition):
        table.add_row(*_cells(attempt, results.is_synthetic(competition)))
    return table


def _thresholds(results: RunResults, competition: str) -> str:
    thresholds = results.thresholds(competition)
    if thresholds is None:
        return "no leaderboard: no medals, ranks or percentiles"
    parts = [f"{name} {show.score(thresholds[name])}" for name in ("gold", "silver", "bronze", "median")]
    teams = results.teams(competition)
    return " · ".join([*parts, *([f"{teams:,} teams"] if teams else [])])


def _cells(attempt: AttemptResult, synthetic: bool) -> list[Text | str]:
    grade, outcome = attempt.grade, attempt.outcome
    return [
        f"{attempt.seed} {MARK}" if synthetic else str(attempt.seed),
        show.score(grade.score) if grade else show.NOTHING,
        Text(outcome, style=_STYLES.get(outcome, "")),
        show.place(grade.rank, grade.num_teams, grade.rank_kind) if grade else show.NOTHING,
        show.NOTHING if grade is None or grade.percentile is None else show.percent(grade.percentile, sign=False),
        Text(show.clean(attempt.status)),
        show.duration(attempt.seconds),
        show.size(attempt.peak_memory_bytes),
    ]


def _remarks(results: RunResults, competition: str) -> Iterator[Text]:
    """Why a submission is not valid, and what else is to be said about an attempt; shortened."""
    for attempt in results.attempts_on(competition):
        reason = attempt.grade.reason if attempt.grade and not attempt.grade.valid_submission else ""
        for text in (reason, attempt.message, show.memory_kills(attempt.memory_kills)):
            if text:
                line = show.shorten(show.clean(text), REASON_LENGTH)
                yield Text(f"seed {attempt.seed}: {line}", style="dim", overflow="fold")


def _over_time(moments: list[over_time.Moment]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 1))
    for name in ("after", "any medal", "valid submission"):
        table.add_column(name, justify="right")
    for moment in moments:
        shares = (show.percent(share, sign=False) for share in (moment.any_medal, moment.valid))
        table.add_row(show.duration(moment.seconds), *shares)
    return table


def _totals(splits: list[SplitStatistics]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 1))
    table.add_column("", no_wrap=True, min_width=_LABEL_WIDTH - 2)
    for split in splits:
        table.add_column(
            show.split_title(split) + (f"\n{MARK}" if split.synthetic else ""), justify="right", no_wrap=True
        )
    for measure in statistics.MEASURES:
        rates = [split.estimate(measure.name) for split in splits]
        style = "bold" if measure.name == "any_medal" else ""
        table.add_row(measure.title, *(show.plus_minus(rate.mean, rate.sem) for rate in rates), style=style)
    rates = [split.headline for split in splits]
    table.add_row("any medal, pooled", *(show.plus_minus(rate.pooled, rate.pooled_error) for rate in rates))
    for k in range(1, max(len(split.pass_at_k) for split in splits) + 1):
        cells = [show.plus_minus(found.value, found.sem) if (found := split.pass_at(k)) else "n/a" for split in splits]
        table.add_row(f"pass@{k}", *cells)
    table.add_row("competitions", *(show.coverage(split) for split in splits))
    table.add_row("attempts counted", *(f"{split.counted} of {split.planned}" for split in splits))
    table.add_row("seeds in the means", *(f"{split.headline.seeds} of {len(split.seeds)}" for split in splits))
    return table


def _footnotes(splits: list[SplitStatistics]) -> Iterator[str]:
    yield f"Rates: {statistics.OVER_SEEDS}."
    yield f"pooled: {statistics.POOLED}."
    yield f"pass@k: {statistics.OVER_COMPETITIONS}."
    for split in statistics.widest(splits):
        yield from (f"{show.split_title(split)}: {line}" for line in show.caveats(split))
