"""Writes the generated pages of the documentation: `python -m mlebench.cli.reference docs`."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from mlebench import catalog
from mlebench.cli import COMMANDS, main
from mlebench.competition import REVISIONS, Competition, Issue
from mlebench.files import write_text
from mlebench.leaderboard import medal_positions

_MADE = "Made by `python -m mlebench.cli.reference docs` from {}."


def pages(docs: Path) -> dict[str, str]:
    """The text of each page by its file name; `docs` has the pages of which only parts are made."""
    own = {name: (docs / name).read_text(encoding="utf-8") for name in ("competitions.md", "data.md")}
    return {
        "cli.md": commands_page(),
        "catalog.md": catalog_page(),
        "editions.md": editions_page(),
        "competitions.md": _with_parts(
            own["competitions.md"], metrics=metrics_table(), formats=formats_table(), checks=checks_list()
        ),
        "data.md": _with_parts(own["data.md"], sizes=sizes_table()),
    }


def _with_parts(page: str, **parts: str) -> str:
    """The page with the lines between `<!-- name: … -->` and `<!-- end -->` replaced."""
    for name, text in parts.items():
        head, mark, rest = page.partition(f"<!-- {name}: ")
        comment, _, tail = rest.partition("<!-- end -->")
        page = f"{head}{mark}{comment.splitlines()[0]}\n{text}\n<!-- end -->{tail}"
    return page


def metrics_table() -> str:
    """Each metric of the library with the first line of its docstring."""
    from mlebench.metrics import METRICS, find

    rows = [f"| `{name}` | {_cell(_summary(find(name)))} |" for name in sorted(METRICS)]
    return "\n".join(["| name | function |", "| --- | --- |", *rows])


def formats_table() -> str:
    """Each type of a column with the first line of its check's docstring."""
    from mlebench.cells import FORMATS, find

    rows = [f"| `{name}` | {_cell(_summary(find(name)))} |" for name in FORMATS]
    return "\n".join(["| type | a cell is |", "| --- | --- |", *rows])


def checks_list() -> str:
    """Each check with the first line of its docstring."""
    from mlebench.checks import COMPETITION_CHECKS

    return "\n".join(f"- `{check.__name__}`: {_summary(check)}" for check in COMPETITION_CHECKS)


def sizes_table() -> str:
    """What preparing each split takes, one competition after the other."""
    rows = [
        f"| `{name}` | {' | '.join(_sizes(catalog.split(name)))} |" for name in ("lite", "medium", "high", "all", "dev")
    ]
    head = "| split | competitions | of unpublished size | download | peak | final | hours at 10 MB/s | at 50 MB/s |"
    return "\n".join([head, "| --- " * (head.count("|") - 1) + "|", *rows])


def _sizes(competitions: Sequence[Competition]) -> Iterator[str]:
    from mlebench.cli.progress_display import size
    from mlebench.preparation.disk.sizes import listed_bytes, needs_of_all

    needs = needs_of_all(competitions)
    yield f"{len(competitions)}"
    yield f"{sum(listed_bytes(each)[1] != 'published' for each in competitions)}"
    yield from map(size, (needs.download, needs.peak, needs.final))
    yield from (f"{needs.hours_at(speed * 1e6):.2g}" for speed in (10, 50))


def _summary(thing: object) -> str:
    return (thing.__doc__ or "").strip().splitlines()[0]


def commands_page() -> str:
    """The help of the program and of each command."""
    parts = ["# Commands", _MADE.format("the program's own help")]
    root = _context(main, "mlebench", None)
    parts.append(_section(root))
    for name in COMMANDS:
        command = main.get_command(root, name)
        assert command is not None
        context = _context(command, name, root)
        parts.append(_section(context))
        if isinstance(command, click.Group):
            parts += [_section(_context(each, each.name or "", context)) for each in command.commands.values()]
    return "\n\n".join(parts) + "\n"


def _context(command: click.Command, name: str, parent: click.Context | None) -> click.Context:
    settings = {**main.context_settings, "terminal_width": 100, "max_content_width": 100}
    return click.Context(command, info_name=name, parent=parent, **settings)


def _section(context: click.Context) -> str:
    lines = [line.rstrip() for line in context.get_help().splitlines()]
    return f"## {context.command_path}\n\n```text\n" + "\n".join(lines) + "\n```"


def catalog_page() -> str:
    """A table of all competitions, and how the rows of each are divided."""
    found = list(catalog.competitions().values())
    counts = ", ".join(
        f"{sum(c.complexity == name for c in found)} {name}" for name in ("low", "medium", "high", "dev")
    )
    return "\n".join(
        [
            "# The competitions\n",
            _MADE.format("the competitions' facts"),
            f"\n{len(found)} competitions: {counts}. The split `lite` is `low`; `all` is all but `dev`. Medals are the "
            "scores that the last team with each medal had on the private leaderboard, with its place in brackets. "
            "Examples are the labelled ones of the real data, or the rows of its training table, before they are "
            "divided; rows are those of a submission to edition v1; some are approximate. "
            "Where edition v2 differs, [editions](editions.md) tells how; `mlebench show ID` tells everything else.\n",
            "| competition | category | complexity | metric | teams | gold | silver | bronze | GB | examples | rows | "
            "v2 differs |",
            "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
            *map(_catalog_row, found),
            "\n## How the rows are divided\n",
            "| competition | division |",
            "| --- | --- |",
            *(f"| {c.id} | {_cell(c.division)} |" for c in found),
            "",
        ]
    )


def _catalog_row(competition: Competition) -> str:
    board = competition.leaderboard
    better = "↑" if competition.metric.higher_is_better else "↓"
    medals = [""] * 3
    if board:
        places = medal_positions(board.teams)
        medals = [f"{getattr(board, name):g} ({places[name]:,})" for name in ("gold", "silver", "bronze")]
    cells = [
        competition.id,
        competition.category,
        competition.complexity,
        f"{competition.metric.title} {better}",
        f"{board.teams:,}" if board else "",
        *medals,
        "" if competition.dataset_gb is None else f"{competition.dataset_gb:g}",
        "" if competition.examples is None else f"{competition.examples:,}",
        "" if competition.test_rows is None else f"{competition.test_rows:,}",
        f"[yes](editions.md#{competition.id.lower()})" if competition.differs_in_v2 else "",
    ]
    return f"| {' | '.join(map(_cell, cells))} |"


def editions_page() -> str:
    """Every known fault, how it is exploited and what edition v2 does about it."""
    found = [competition for competition in catalog.competitions().values() if competition.issues]
    changed = sum(competition.differs_in_v2 for competition in found)
    parts = [
        "# Editions",
        _MADE.format("the `[[issues]]` in each competition.toml"),
        "Edition **v1** is the benchmark as published, byte for byte, with all its faults: published numbers compare "
        "to it. Edition **v2** corrects what can be corrected without making another task of it: leaks are closed, "
        "faulty divisions mended, graders that reward garbage or pair rows wrongly put right. It is chosen with "
        "`--edition v2` (of `prepare`, `run`, `validate`, `grade`, `grade-sample` and `show`), and carries a revision, "
        f"now `{REVISIONS['v2']}`, that changes whenever its scores stop being comparable. Scores of the two "
        "editions are never put together.",
        f"{changed} of {len(catalog.competitions())} competitions differ; their data stand in `prepared-v2/`, where "
        "files that both editions have are links to the same content. The others share one folder. Faults that v2 "
        "leaves alone are listed too, so that a reader can judge a result.",
        *map(_editions_section, found),
    ]
    return "\n\n".join(parts) + "\n"


def _editions_section(competition: Competition) -> str:
    rows = [
        "| kind | fault | how it is exploited | edition v2 |",
        "| --- | --- | --- | --- |",
        *map(_issue_row, competition.issues),
    ]
    return f"## {competition.id}\n\n" + "\n".join(rows)


def _issue_row(issue: Issue) -> str:
    fault = issue.summary + (f" (upstream's issue {issue.upstream})" if issue.upstream else "")
    return f"| {issue.kind} | {_cell(fault)} | {_cell(issue.exploit)} | {_cell(issue.v2) or 'as v1'} |"


def _cell(text: str) -> str:
    return " ".join(text.replace("|", r"\|").split())


if __name__ == "__main__":
    for file_name, content in pages(Path(sys.argv[1])).items():
        write_text(Path(sys.argv[1]) / file_name, content)
