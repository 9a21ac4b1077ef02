"""A run as one HTML page: no script, no request, light and dark, fit for paper and phones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from mlebench.report import figure, formatting, over_time, statistics
from mlebench.report.figure import Figure, Scored
from mlebench.report.results import AttemptResult, RunResults
from mlebench.runs.store import RunConfig

_TEMPLATES = Path(__file__).parent / "templates"
LETTERS = {  # an attempt in the overview
    "gold": "G",
    "silver": "S",
    "bronze": "B",
    "no medal": "·",
    "valid": "✓",
    "invalid": "×",
    "no submission": "○",
    "not counted": "?",
    "to come": "…",
}


@dataclass(frozen=True)
class Fact:
    """Something said about `name`."""

    name: str
    value: str


@dataclass(frozen=True)
class Section:
    """What the page says about one competition."""

    anchor: str
    id: str
    known: bool
    title: str
    metric: str
    level: str
    sources: str
    synthetic: bool
    attempts: Sequence[AttemptResult]
    thresholds: dict[str, float] | None
    teams: int | None
    figure: Figure | None
    remarks: Sequence[Fact]
    issues: Sequence[str]


def render(results: RunResults, padded: bool = False) -> str:
    """The page. Everything that comes from an agent or a submission is escaped by the template."""
    splits = statistics.by_split(results, padded)
    # Autoescape is the wall between an agent's text and the reader's browser.
    environment = Environment(
        autoescape=True,
        loader=FileSystemLoader(_TEMPLATES),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(css=_css_class, clean=formatting.clean)
    return environment.get_template("report.html").render(
        run=results.run,
        results=results,
        sections=[_section(results, competition) for competition in results.competitions],
        splits=splits,
        moments=over_time.moments(results),
        headline=statistics.headline_split(splits),
        summary=_summary(results),
        facts=disclosure(results),
        measures=statistics.MEASURES,
        most_attempts=max((len(split.pass_at_k) for split in splits), default=0),
        statistics=statistics,
        show=formatting,
        letters=LETTERS,
        outcomes=[name for name in LETTERS if any(each.outcome == name for each in results.attempts)],
    )


def disclosure(results: RunResults) -> list[Fact]:
    """What must be known about a run to judge its numbers; what the run does not record says so."""
    run = results.run
    sources = sorted({source for competition in results.competitions for source in results.sources_of(competition)})
    entries = {
        "agent": " ".join([run.agent, *(f"{name}={value}" for name, value in run.agent_parameters.items())]),
        "model": run.model or "none",
        "use of the model": formatting.model_use(results.spent) or "none",
        "budget of an attempt": _budget(run.gateway) if run.gateway else "none",
        "tools of the provider": "allowed" if run.gateway.get("provider_tools") else "removed",
        "replay of": run.replay or "no run",
        "environment": run.environment or "as the agent names",
        "network": run.network,
        "sandbox": run.sandbox,
        "time limit": formatting.duration(run.time_limit_seconds),
        "memory limit": formatting.size(run.memory_bytes) if run.memory_bytes else "none",
        "disk limit": formatting.size(run.disk_bytes) if run.disk_bytes else "none",
        "process limit": f"{run.processes:,}" if run.processes else "none",
        "hardware": _hardware(run.hardware),
        "attempts at a time": str(run.workers),
        "executor": run.executor,
        "edition": run.edition,
        "description": _description(run),
        "hidden validation": formatting.hidden_validation(run.hidden_validation, run.scores_per_hour) or "none",
        "source of the data": ", ".join(sources),
        "data": run.data_dir,
        "ranks": ", ".join(results.rank_kinds) or "none",
        "seeds": str(run.seeds),
        "started": run.created,
        "versions": ", ".join(f"{name} {version}" for name, version in run.versions.items()),
        "command": " ".join(run.command),
    }
    return [Fact(name, formatting.clean(value) if value else "not recorded") for name, value in entries.items()]


def _description(run: RunConfig) -> str:
    """Which of the three texts agents read."""
    if run.obfuscated:
        return "obfuscated"
    return "original" if run.original_descriptions else "named"


def _budget(gateway: Mapping[str, Any]) -> str:
    """The limits of the model's use, in words."""
    limits = {"max_dollars": "${:,.2f}", "max_tokens": "{:,} tokens", "max_requests": "{:,} requests"}
    return ", ".join(text.format(gateway[name]) for name, text in limits.items() if gateway.get(name)) or "no limit"


def _summary(results: RunResults) -> str:
    """The disclosure in a sentence or two."""
    facts = {fact.name: fact.value for fact in disclosure(results)}
    names = ["edition", "time limit", "network", "sandbox", "hardware"]
    if results.run.hidden_validation:
        names.append("hidden validation")
    return "; ".join([f"Data: {facts['source of the data']}", *(f"{name} {facts[name]}" for name in names)]) + "."


def _hardware(hardware: Any) -> str:
    parts = []
    if hardware.get("cpus"):
        parts.append(f"{hardware['cpus']} CPUs")
    if hardware.get("memory_bytes"):
        parts.append(f"{formatting.size(hardware['memory_bytes'])} memory")
    if "gpus" in hardware:
        parts.append(", ".join(map(str, hardware["gpus"] or ())) or "no GPU")
    if hardware.get("machine"):
        parts.append(str(hardware["machine"]))
    return ", ".join(parts)


def _section(results: RunResults, competition: str) -> Section:
    known = results.catalog.get(competition)
    metric = (
        f"{known.metric.title}, {'higher' if known.metric.higher_is_better else 'lower'} is better" if known else ""
    )
    return Section(
        anchor=f"competition-{results.competitions.index(competition) + 1}",
        id=competition,
        known=known is not None,
        title=results.title(competition),
        metric=metric,
        level=known.complexity if known else statistics.UNLISTED,
        sources=", ".join(results.sources_of(competition)),
        synthetic=results.is_synthetic(competition),
        attempts=results.attempts_on(competition),
        thresholds=results.thresholds(competition),
        teams=results.teams(competition),
        figure=_figure(results, competition),
        remarks=_remarks(results, competition),
        issues=[f"{issue.kind}: {issue.summary}" for issue in known.issues] if known else [],
    )


def _remarks(results: RunResults, competition: str) -> list[Fact]:
    """Why submissions are not valid, in full, and what else is to be said about attempts; by seed."""
    remarks = []
    for attempt in results.attempts_on(competition):
        reason = attempt.grade.reason if attempt.grade and not attempt.grade.valid_submission else ""
        texts = (reason, attempt.message, formatting.memory_kills(attempt.memory_kills))
        remarks += [Fact(str(attempt.seed), formatting.clean(text)) for text in texts if text]
    return remarks


def _figure(results: RunResults, competition: str) -> Figure | None:
    """The plot; None without a leaderboard or without a score."""
    board = results.leaderboard(competition)
    scored = [
        Scored(str(attempt.seed), attempt.grade.score, _css_class(attempt.outcome))
        for attempt in results.attempts_on(competition)
        if attempt.grade is not None and attempt.grade.score is not None
    ]
    return figure.draw(board, scored) if board and scored else None


def _css_class(outcome: str) -> str:
    return outcome.replace(" ", "-")
