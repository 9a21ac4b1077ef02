"""What the terminal, the page and the JSON say."""

import io
import json
import re
from html.parser import HTMLParser

import pytest
from click.testing import CliRunner
from rich.console import Console

from mlebench import catalog
from mlebench.cli import main
from mlebench.errors import UsageError
from mlebench.report import render_terminal, to_json, write_html
from mlebench.report.formatting import SYNTHETIC_WARNING

HOSTILE = '<script>alert("x")</script>[bold]a[/bold][/]{{ 7 * 7 }}\x1b[2J\x1b]0;owned\x07\u202eevil'
VOID = {"meta", "link", "br", "img", "hr", "input"}


def terminal(run, width=80, **options):
    console = Console(file=io.StringIO(), width=width, **options)
    render_terminal(run, console)
    return console.file.getvalue()


def page_of(run):
    target = run / "report.html"
    assert write_html(run, target) == target
    return target.read_text(encoding="utf-8")


class Elements(HTMLParser):
    """All start tags with their attributes, the text, and a check that tags are closed in order."""

    def __init__(self, page):
        super().__init__()
        self.found, self.words, self._open = [], [], []
        self.feed(page)
        assert self._open == []

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self._open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())

    def count(self, tag):
        return sum(name == tag for name, _ in self.found)


@pytest.fixture
def run(own, make_run):
    """A medal, an invalid submission, a fault of ours, an attempt that still runs; b is synthetic."""
    own("a", title="Rivers"), own("b", "medium", scores=[*range(1, 101), 24_987_861.69584], direction="lower")
    return make_run(
        {
            ("a", 0): {"score": 85.0},
            ("a", 1): {"score": None, "reason": HOSTILE, "end": "timeout", "message": HOSTILE, "seconds": 86400.0},
            ("a", 2): {"end": "sandbox-error", "message": "no user namespaces", "reruns": 3},
            ("b", 0): {"score": 5.0, "source": "synthetic"},
            ("b", 1): {"score": 30_000_000.0, "source": "synthetic"},
            ("b", 2): {"state": "running", "end": None},
        },
        sources={"a": "local", "b": "synthetic"},
    )


def test_terminal_shows_every_attempt(run):
    text = terminal(run)
    for part in (
        "Rivers (a)",
        "accuracy, higher is better",
        "gold 91.00000 · silver 81.00000 · bronze 61.00000 · median 50.50000 · 100 teams",
        "85.00000 silver",
        " 16 of 100",
        "85.0",
        "invalid",
        "timeout",
        "24h 00m",
        "1.5 GiB",
        "sandbox-error",
        "no user namespaces",
        "below all 101",
        "running",
    ):
        assert part in text, part
    assert "not counted: 1 sandbox-error" in text
    assert "still to come: 1 of 6 attempts" in text
    assert "incomplete seeds: 2 (not padded)" in text
    assert "standard error of the mean over seeds" in text


def test_terminal_fits_80_columns_without_colour(run):
    text = terminal(run)
    assert max(map(len, text.splitlines())) <= 80
    assert "\x1b" not in text
    assert "…" not in re.sub(r"seed 1:[^–]*?seed", "seed", text)


def test_terminal_has_colour_where_it_can(own, make_run):
    own("a")
    run = make_run({("a", 0): {"score": 95.0}})
    assert "\x1b[1;33mgold " in terminal(run, force_terminal=True, color_system="standard")


def test_terminal_marks_synthetic_tables_and_rows(run):
    text = terminal(run)
    # The table of b and the totals, whose columns "all" and "medium" hold b; not the table of a.
    assert text.count(SYNTHETIC_WARNING) == 2
    first, second = text.split(SYNTHETIC_WARNING)[:2]
    assert "syn" not in first
    assert [line.split()[1] for line in second.splitlines() if re.match(r"\d ", line)] == ["syn", "syn", "syn"]


def test_terminal_without_synthetic_data_has_no_mark(own, make_run):
    own("a")
    text = terminal(make_run({("a", 0): {"score": 95.0}}))
    assert "SYNTHETIC" not in text
    assert "syn" not in text


def test_terminal_shows_an_agents_text_as_text(run):
    text = terminal(run, width=200)
    assert '<script>alert("x")</script>[bold]a[/bold][/]{{ 7 * 7 }}' in text
    assert not {"\x1b", "\x07", "\u202e"} & set(text)


def test_page_is_well_formed_and_has_every_competition(run):
    page = Elements(page_of(run))
    assert page.count("article") == 2
    assert page.count("svg") == 2
    for part in ("Rivers", "85.00000", " 16 of 100", "85.0 %", "91.00000", "below all 101", "no user namespaces"):
        assert part in page.text, part
    assert "not counted: 1 sandbox-error" in page.text


def test_page_discloses_how_it_was_run(run):
    text = Elements(page_of(run)).text
    for part in (
        "agent baseline depth=4",
        "network none",
        "sandbox bubblewrap",
        "time limit 24h 00m",
        "memory limit 8.0 GiB",
        "8 CPUs, 32.0 GiB memory, no GPU, x86_64",
        "edition v1",
        "local, synthetic",
        "python 3.11.7",
        "mlebench run --agent baseline",
    ):
        assert part in text, part


def test_page_needs_nothing_else(run):
    page = page_of(run)
    elements = Elements(page)
    assert elements.count("script") == elements.count("link") == elements.count("img") == 0
    loaded = [value for _, attrs in elements.found for name, value in attrs.items() if name in ("src", "href")]
    assert loaded
    assert all(value.startswith("#") for value in loaded)
    assert not re.search(r"url\(|@import", page)
    assert not [name for _, attrs in elements.found for name in attrs if name.startswith("on")]


def test_page_escapes_what_comes_from_an_agent(run):
    page = page_of(run)
    assert "<script" not in page
    assert "{{ 7 * 7 }}" in Elements(page).text
    assert not {"\x1b", "\x07", "\u202e"} & set(page)


@pytest.mark.parametrize("field", ["id", "agent", "model", "sandbox", "network", "edition", "data_dir"])
def test_page_escapes_the_configuration(own, make_run, field):
    own("a", title="<b>Rivers</b>")
    run = make_run({("a", 0): {"score": 95.0, "end": "<i>end</i>"}}, **{field: HOSTILE}, versions={"<u>": HOSTILE})
    page = page_of(run)
    assert not re.search(r"<(script|b|i|u)>", page)


def test_page_marks_synthetic_tables_and_plots(run):
    elements = Elements(page_of(run))
    words = " ".join(elements.words)
    # On top, at the headline, totals, overview, and plot and table of b.
    assert words.count(SYNTHETIC_WARNING) == 6
    about_b = words[words.index("lower is better") :]
    assert about_b.count(SYNTHETIC_WARNING) == 2


def test_page_marks_every_table_if_all_is_synthetic(own, make_run):
    for name in "abc":
        own(name)
    run = make_run({(name, 0): {"score": 50.0, "source": "synthetic"} for name in "abc"})
    page = page_of(run)
    for element in ("table", "svg"):
        blocks = re.findall(rf"<{element}.*?</{element}>", page, re.DOTALL)
        assert len(blocks) == {"table": 5, "svg": 3}[element]
        assert all(SYNTHETIC_WARNING in block for block in blocks)


def test_page_without_synthetic_data_has_no_mark(own, make_run):
    own("a")
    page = page_of(make_run({("a", 0): {"score": 50.0, "source": "kaggle"}}))
    assert "SYNTHETIC" not in page
    assert not re.search(r"<abbr", page)


def test_headline_names_interval_and_method(own, make_run):
    own("a")
    scores = [95.0, 85.0, 10.0, 10.0]
    text = Elements(page_of(make_run({("a", seed): {"score": score} for seed, score in enumerate(scores)}))).text
    assert "50.0 % ± 28.9 of attempts with any medal" in text  # 0.5774 / √4
    assert "Mean over seeds ± one standard error of the mean over seeds (ddof 1)" in text
    assert "50.0 ± 25.0 %" in text  # √(0.5 · 0.5 / 4)
    assert "4 of 4 attempts counted" in text


@pytest.mark.parametrize(
    "attempts",
    [
        {},
        {("a", 0): None},
        {("a", 0): {"state": "pending", "end": None}, ("a", 1): None},
        {("a", 0): {"end": "grader-error"}},
        {("a", 0): {"score": 95.0}},
        {("b", 0): {"score": 0.5}, ("b", 1): None},
        {("a", 0): {"score": float("inf")}, ("a", 1): {"score": float("-inf")}, ("a", 2): {"score": 1e300}},
    ],
    ids=["no attempts", "no file", "pending", "fault", "one seed", "no leaderboard", "infinite"],
)
def test_every_state_can_be_shown(own, make_run, attempts):
    own("a"), own("b", scores=None)
    run = make_run(attempts)
    assert terminal(run)
    assert Elements(page_of(run)).count("h1") == 1
    content = to_json(run)
    assert json.loads(json.dumps(content, allow_nan=False)) == content
    assert len(content["attempts"]) == len(attempts)


def test_one_seed_says_that_it_has_no_error(own, make_run):
    own("a")
    run = make_run({("a", 0): {"score": 95.0}})
    assert "100.0 ± n/a" in terminal(run)
    assert "one seed: an error over seeds is not defined" in terminal(run)
    assert "100.0 % ± n/a" in Elements(page_of(run)).text


def test_no_leaderboard_says_so(own, make_run):
    own("b", scores=None)
    run = make_run({("b", 0): {"score": 0.5}})
    for text in (terminal(run), Elements(page_of(run)).text):
        assert "o leaderboard: no medals, ranks or percentiles" in text
        assert "without a leaderboard, so not in the medal rates: b" in text
        assert "valid" in text


def test_a_competition_that_is_gone_is_reported(own, make_run, tmp_path):
    own("a", title="Rivers")
    run = make_run({("a", 0): {"score": 85.0}, ("a", 1): {"score": None, "reason": "no such column"}})
    own.folder.rename(tmp_path / "elsewhere")
    catalog.competitions.cache_clear()
    for text in (terminal(run), Elements(page_of(run)).text):
        assert "Rivers" not in text
        assert "not in the catalog" in text
        for part in ("a ", "85.00000", "silver", "91.00000", "no such column", "unlisted"):
            assert part in text, part
    assert list(to_json(run)["splits"]) == ["unlisted"]


def test_json_has_the_numbers(run):
    content = to_json(run)
    assert json.loads(json.dumps(content, allow_nan=False)) == content
    assert content["synthetic"] is True
    assert content["headline"] == "all"
    low = content["splits"]["low"]
    assert low["estimates"]["any_medal"]["mean"] == pytest.approx(1 / 2)
    assert low["estimates"]["any_medal"]["pooled_error"] == pytest.approx((0.25 / 2) ** 0.5)
    assert low["not_counted"] == {"sandbox-error": 1}
    keyed = {(each["competition"], each["seed"]): each for each in content["attempts"]}
    assert keyed["a", 0]["grade"]["score"] == 85.0
    assert keyed["a", 1]["grade"]["reason"] == HOSTILE
    assert [keyed["b", seed]["synthetic"] for seed in range(3)] == [True] * 3
    assert keyed["b", 2]["outcome"] == "to come"


def test_json_keeps_an_infinite_score(own, make_run):
    own("a")
    content = to_json(make_run({("a", 0): {"score": float("inf")}}))
    assert content["attempts"][0]["grade"]["score"] == "inf"


def test_padding_is_named(run):
    console = Console(file=io.StringIO(), width=100)
    render_terminal(run, console, padded=True)
    assert "(padded as failures)" in console.file.getvalue()
    assert "padded as failures" in write_html(run, run / "padded.html", padded=True).read_text()
    assert to_json(run, padded=True)["splits"]["low"]["estimates"]["any_medal"]["attempts"] == 3


def test_padding_is_an_option_of_the_command(run):
    attempts = {}
    for options in ((), ("--padded",)):
        result = CliRunner().invoke(main, ["report", str(run), "--json", *options])
        assert result.exit_code == 0, result.output
        low = json.loads(result.stdout)["splits"]["low"]
        attempts[options] = low["estimates"]["any_medal"]["attempts"]
        assert low["padded"] is bool(options)
        assert ("padded as failures)" in (run / "report.html").read_text()) is bool(options)
        shown = CliRunner().invoke(main, ["report", str(run), *options]).stdout
        assert ("(padded as failures)" in shown) is bool(options)
    assert attempts == {(): 2, ("--padded",): 3}


def test_what_is_not_recorded_is_not_guessed(own, make_run):
    own("a")
    run = make_run({("a", 0): None, ("a", 1): {"state": "running", "end": None}}, network=None)
    text = Elements(page_of(run)).text
    assert "network not recorded" in text
    assert "to come – – pending – – –" in text


def test_what_is_no_run_is_refused(tmp_path):
    with pytest.raises(UsageError, match="is no run"):
        write_html(tmp_path, tmp_path / "report.html")
    assert not (tmp_path / "report.html").exists()
