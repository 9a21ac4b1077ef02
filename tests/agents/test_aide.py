"""The agent `aide`: whole attempts with a scripted model, and its parts."""

import json
import re
import signal
import time
from pathlib import Path

import psutil
import pytest

from mlebench.agents.aide.search import previews
from mlebench.agents.aide.search.submissions import Submissions
from mlebench.testing import Fault, serve
from mlebench.testing.engineers import script
from mlebench.testing.engineers.styles import review

TITANIC = "spaceship-titanic"
SOLVE = script("solve")
COPY = """
import shutil
shutil.copy("input/sample_submission.csv", "working/submission.csv")
print("Validation accuracy: {metric}")
"""


def programs(*codes):
    """An engineer that gives AIDE these programs, then the last one for ever."""
    given = []

    def engineer(request):
        if request.forced_tool:
            return review(request)
        given.append(codes[min(len(given), len(codes) - 1)])
        return f"This is attempt {len(given)}.\n\n```python\n{given[-1]}\n```\n"

    return engineer


def until(condition, seconds=120):
    """Wait for what must come."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def nodes(made):
    return json.loads((made.logs / "aide" / "journal.json").read_text())["nodes"]


def submission_of(made, node):
    return (made.logs / "aide" / "submissions" / f"{node['id']}.csv").read_bytes()


def test_a_whole_attempt(attempt):
    made = attempt("aide", "solver", parameters={"steps": 2})
    assert made.state.end == "completed", made.output
    assert made.grade["valid_submission"]
    assert made.submission.read_bytes() == submission_of(made, nodes(made)[0])
    use, told = made.state.model_use, made.server.total
    assert (use["requests"], use["input_tokens"], use["output_tokens"]) == (4, told.input_tokens, told.output_tokens)
    assert psutil.Process().children(recursive=True) == []
    description = (made.folder.path / "prompt.txt").read_text().rpartition("description.md\n")[2].strip()
    for request in made.server.requests:
        text = request.request.text
        assert text.count(description) == 1
        assert text.count("- Time: 3 min") == 1
        assert text.count("# Where your programs run") == 1
    assert "temperature" in made.server.requests[0].body
    assert "DictVectorizer" in (made.folder.path / "code" / "best_solution.py").read_text()
    assert {"journal.json", "tree_plot.html", "config.yaml", "task.md"} <= {
        p.name for p in (made.logs / "aide").iterdir()
    }
    assert "step 2 of 2: draft, 0.84" in made.output


def test_the_best_nodes_file_is_handed_in_not_the_last_ones(attempt):
    made = attempt("aide", "climber", parameters={"steps": 3})
    first, second, third = nodes(made)
    assert made.state.end == "completed", made.output
    assert first["metric"]["value"] > second["metric"]["value"] > third["metric"]["value"]
    assert made.submission.read_bytes() == submission_of(made, first)
    assert submission_of(made, first) != submission_of(made, second) != submission_of(made, third)


@pytest.mark.slow
def test_replays_hand_in_the_same(attempt):
    made = attempt("aide", "climber", parameters={"steps": 3})
    again = [attempt("aide", "climber", replay=made.folder.run, parameters={"steps": 3}) for _ in range(2)]
    assert [each.submission.read_bytes() for each in again] == [made.submission.read_bytes()] * 2
    assert [each.server.requests for each in again] == [[], []]


def test_it_is_stopped_in_the_middle_of_a_step(program, place, twins):
    """The best node's file is handed in, not that of the program which runs, and no process is left."""
    write = "open('working/submission.csv', 'w').write('id\\n{number}\\n')\nprint('Validation accuracy: 0.{number}')"
    wait = "open('working/begun', 'w').close()\nimport time\ntime.sleep(1000)"
    codes = [write.format(number=8), write.format(number=3), write.format(number=9) + "\n" + wait]
    with serve(programs(*codes)) as server, program("aide", server, twins(TITANIC).public) as process:
        until((place.home / "tmp" / "aide" / "working" / "begun").exists)
        children = process.children(recursive=True)
        place.submission.write_text("by the program itself")
        process.send_signal(signal.SIGUSR1)
        until(lambda: place.submission.read_text() == "id\n8\n")
        place.submission.write_text("by the program itself")
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 128 + signal.SIGTERM
    assert place.submission.read_text() == "id\n8\n"
    assert children
    assert not any(child.is_running() for child in children)


@pytest.mark.slow
def test_a_deadline_in_the_middle_of_a_step(attempt):
    never = COPY.format(metric=0.99) + "\nimport time\nprint('x', flush=True)\ntime.sleep(1000)"
    made = attempt("aide", script=programs(SOLVE, never), seconds=60)
    assert made.state.end == "timeout"
    assert made.submission.read_bytes() == submission_of(made, nodes(made)[0])
    assert made.grade["valid_submission"]
    assert "Stopped" in made.output


@pytest.mark.slow
def test_a_deadline_in_the_very_first_step(attempt):
    never = COPY.format(metric=0.99) + "\nimport time\ntime.sleep(1000)"
    made = attempt("aide", script=programs(never), seconds=45)
    assert made.state.end == "timeout"
    assert made.grade["valid_submission"]  # better than nothing


def test_a_budget_that_is_spent_in_mid_run(attempt):
    made = attempt("aide", "solver", max_requests=3)
    assert made.state.end == "budget-spent", made.output
    assert made.grade["valid_submission"]
    assert made.state.model_use["requests"] == 3
    assert len(nodes(made)) == 1


@pytest.mark.slow
def test_bugs_are_mended(attempt):
    made = attempt("aide", "stumbler", parameters={"steps": 3, "num_drafts": 1})
    assert [node["is_buggy"] for node in nodes(made)] == [True, True, False]
    assert made.grade["valid_submission"]


HOSTILE = [
    "import os\nos._exit(7)",
    "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)",
    # what goes on in the background must not write into the next one's folder
    "import subprocess\nsubprocess.Popen(['bash', '-c', 'sleep 1; echo late > working/submission.csv'])\n"
    "print('Validation accuracy: 0.9')",
    "import time\ntime.sleep(2)\nprint('Validation accuracy: 0.9')",
    "open('working/submission.csv', 'w').write('no,such,columns\\n')\nprint('Validation accuracy: 0.9')",
    SOLVE,
    # overwrites what is handed in, and is worse
    "import os\nopen('/home/submission/submission.csv', 'w').write('x')\n" + COPY.format(metric=0.1),
    "import os\nos.remove('/home/submission/submission.csv')\nraise SystemExit(3)",
    "print('x' * 3_000_000)\nprint('Validation accuracy: 0.2')",
]


@pytest.mark.slow
def test_programs_that_die_or_write_nothing(attempt):
    made = attempt("aide", script=programs(*HOSTILE), parameters={"steps": 9, "num_drafts": 9})
    assert made.state.end == "completed", made.output
    found = nodes(made)
    assert [node["is_buggy"] for node in found] == [True] * 5 + [False, False, True, True]
    outputs = ["".join(node["_term_out"]) for node in found]
    assert "exit code 7" in outputs[0]
    assert "SIGKILL" in outputs[1]
    assert all("wrote no ./working/submission.csv" in outputs[number] for number in (0, 1, 2, 3, 7, 8))
    assert "Check of the submission" in outputs[4]
    assert len(outputs[8]) < 250_000
    assert outputs[8].rstrip().endswith("wrote no ./working/submission.csv.")
    assert made.submission.read_bytes() == submission_of(made, found[5])


@pytest.mark.slow
def test_programs_that_take_too_long_or_too_much_memory(attempt):
    silent = "import signal, time\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\ntime.sleep(1000)"
    hungry = (  # more than there is only together with two children, which take less
        "import os, time\nhold = lambda size: b'x' * size\nfor size in (600_000_000, 600_000_000):\n"
        "    if os.fork() == 0:\n        held = hold(size)\n        time.sleep(1000)\n"
        "held = hold(900_000_000)\ntime.sleep(1000)"
    )
    codes = ["import time\ntime.sleep(1000)", silent, hungry, COPY.format(metric=0.5)]
    made = attempt("aide", script=programs(*codes), parameters={"steps": 4, "exec_timeout": 10, "num_drafts": 4})
    assert made.state.end == "completed", made.output
    found = nodes(made)
    assert [node["exc_type"] for node in found] == ["TimeoutError", "TimeoutError", "RuntimeError", None]
    assert made.state.memory_kills
    assert "too much memory" in "".join(found[2]["_term_out"])
    assert made.grade["valid_submission"]


@pytest.mark.slow
def test_reviews_alone_decide_if_asked_for(attempt):
    made = attempt(
        "aide",
        script=programs(COPY.format(metric=0.5), "print('Validation accuracy: 0.9')"),
        parameters={"steps": 2, "require_submission": "false"},
    )
    assert [node["is_buggy"] for node in nodes(made)] == [False, False]
    assert made.submission.read_bytes() == submission_of(made, nodes(made)[0])
    assert "wrote no submission" in made.output


@pytest.mark.slow
def test_reviews_that_turn_the_direction_round_or_cannot_be_read(attempt):
    reviews = iter(["words", '{"is_bug": false', None, {"metric": 0.1, "lower_is_better": True}])

    def engineer(request):
        answer = next(reviews, None) if request.forced_tool else None
        if isinstance(answer, str):
            return answer
        made = programs(SOLVE)(request)
        if isinstance(answer, dict):
            arguments = {**made.calls[0].parsed, **answer}
            return type(made).call("submit_review", arguments)
        return made

    made = attempt("aide", script=engineer, parameters={"steps": 2})
    assert made.state.end == "completed", made.output
    assert [node["metric"]["maximize"] for node in nodes(made)] == [True, True]
    assert made.output.count("the review can't be read") == 2
    assert "turns the metric's direction round" in made.output


def test_archives_are_unpacked_beside_links_to_read_only_data(attempt):
    read = "print('Lines:', sum(1 for _ in open('input/train_v2.txt')))\nprint('Validation accuracy: 0.5')"
    made = attempt("aide", script=programs(read), competition="billion-word-imputation", parameters={"steps": 1})
    assert re.search(r"Lines: \d+\n", "".join(nodes(made)[0]["_term_out"]))
    assert "unpacked" not in made.output


@pytest.mark.slow
def test_settings_reach_the_tool(attempt):
    given = {
        "steps": 1,
        "code_temperature": 1,
        "feedback_temperature": -1,
        "system_as_user": "true",
        "obfuscate": "true",
    }
    given |= {"tell_limits": "true"}
    made = attempt("aide", "solver", parameters=given | {"max_output_tokens": 9000, "generate_report": "true"})
    write, judge, report = (request.body for request in made.server.requests)
    assert [body.get("temperature") for body in (write, judge, report)] == [1.0, None, 1.0]
    assert [body["max_completion_tokens"] for body in (write, judge, report)] == [9000] * 3
    assert [[message["role"] for message in body["messages"]] for body in (write, judge)] == [["user"], ["user"]]
    assert "grandmaster" not in json.dumps([write, judge])
    assert "experienced machine-learning engineer" in write["messages"][0]["content"]
    assert "0.0 hours and 1 programs are left." in write["messages"][0]["content"]
    assert (made.logs / "aide" / "report.md").read_text()
    config = (made.logs / "aide" / "config.yaml").read_text()
    for line in ("max_debug_depth: 20", "debug_prob: 1.0", "num_drafts: 5", "k_fold_validation: 5", "copy_data: false"):
        assert line in config


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "given", "dialect"),
    [
        ("claude-of-the-test", "auto", "anthropic"),
        ("claude-of-the-test", "openai-chat", "openai-chat"),
        ("gpt-of-the-test", "auto", "openai-chat"),
        ("gpt-of-the-test", "openai-responses", "openai-responses"),
    ],
)
def test_models_of_known_families_are_asked_through_the_gateway(attempt, model, given, dialect):
    engineer = programs(COPY.format(metric=0.5))
    made = attempt("aide", model, script=engineer, parameters={"steps": 1, "dialect": given})
    assert made.state.end == "completed", made.output
    assert [request.request.dialect for request in made.server.requests] == [dialect] * 2
    assert made.grade["valid_submission"]
    assert [node["is_buggy"] for node in nodes(made)] == [False]


@pytest.mark.slow
def test_another_model_reviews(attempt):
    engineer = programs(COPY.format(metric=0.5))
    made = attempt("aide", "writer", script=engineer, parameters={"steps": 1, "feedback_model": "scripted/judge"})
    assert made.state.end == "completed", made.output
    assert [request.request.model for request in made.server.requests] == ["writer", "judge"]


@pytest.mark.slow
def test_faults_of_the_model_are_survived(attempt):
    faults = {2: Fault.error(400, "The request is too long."), 3: Fault.rate_limit(0.1), 5: Fault.disconnect()}
    made = attempt("aide", "solver", faults=faults, parameters={"steps": 2})
    assert made.state.end == "completed", made.output
    assert made.grade["valid_submission"]
    assert len(nodes(made)) == 2


@pytest.mark.slow
def test_a_deep_tree(program, place, twins):
    """The tool alone fails when improvements of improvements are some 180 deep."""
    codes = [f"print('x' * 4000)\nprint('Validation accuracy: {number / 1000}')" for number in range(1, 221)]
    given = {"steps": 220, "num_drafts": 1, "require_submission": "false"}
    with serve(programs(*codes)) as server, program("aide", server, twins(TITANIC).public, **given) as process:
        assert process.wait(500) == 0
    found = json.loads((place.logs / "aide" / "journal.json").read_text())
    assert len(found["nodes"]) == 220
    assert len(found["node2parent"]) == 219
    assert "can't be saved" not in (place.home / "output.txt").read_text()


@pytest.mark.slow
def test_data_that_cannot_be_previewed(program, tmp_path):
    data = tmp_path / "public"
    data.mkdir()
    (data / "description.md").write_text("# Rivers\n")
    (data / "good.csv").write_text("id,level\n1,2\n")
    (data / "latin.csv").write_bytes("id,stra\u00dfe\n1,h\u00f6he\n".encode("latin-1"))
    (data / "lines.json").write_text('{"a": 1}\n{"a": 2}\n')
    with (
        serve(programs("print('Validation accuracy: 0.5')")) as server,
        program("aide", server, data, steps=1, require_submission="false") as process,
    ):
        assert process.wait(120) == 0
        told = server.requests[0].request.text
    assert "input/good.csv has 1 rows and 2 columns" in told
    assert "input/latin.csv can't be previewed: UnicodeDecodeError" in told
    assert "input/lines.json can't be previewed: JSONDecodeError" in told
    assert "# Rivers" not in told


# --- parts


@pytest.fixture
def kept(tmp_path):
    (tmp_path / "working").mkdir()
    return Submissions(
        tmp_path / "working" / "submission.csv", tmp_path / "kept", tmp_path / "out" / "submission.csv", keep_bytes=100
    )


def write(submissions: Submissions, node: str, text: str) -> str:
    submissions.clear()
    submissions.written.write_text(text)
    return submissions.keep(node)


def test_the_latest_file_counts_until_there_is_a_best_one(kept):
    for node in "ab":
        assert write(kept, node, node) == ""
        assert kept.hand_in(None) == node
    assert kept.handed_in.read_text() == "b"
    assert kept.hand_in("a") == "a"
    assert kept.handed_in.read_text() == "a"


def test_an_invalid_file_is_the_last_choice(kept):
    write(kept, "valid", "v")
    write(kept, "invalid", "i")
    kept.valid["invalid"] = False
    assert kept.hand_in(None) == "valid"


def test_a_program_inherits_no_file(kept):
    write(kept, "a", "a")
    kept.clear()
    assert kept.keep("b") != ""
    assert "b" not in kept.valid


def test_a_file_that_is_handed_in_by_a_program_itself_is_its_own(kept):
    write(kept, "a", "a")
    kept.hand_in("a")
    kept.clear()
    kept.handed_in.write_text("by the program")
    assert kept.keep("b") == ""
    assert kept.handed_in.read_text() == "a"
    assert kept.hand_in("b") == "b"
    assert kept.handed_in.read_text() == "by the program"


def test_folders_and_links_are_no_trouble(kept, tmp_path):
    kept.clear()
    kept.written.mkdir()
    assert kept.keep("a") != ""
    kept.clear()
    (tmp_path / "sample.csv").write_text("s")
    kept.written.symlink_to(tmp_path / "sample.csv")
    assert kept.keep("b") == ""
    kept.handed_in.mkdir(parents=True)
    kept.hand_in("b")
    assert kept.handed_in.read_text() == "s"
    kept.clear()
    assert (tmp_path / "sample.csv").read_text() == "s"


def test_old_files_make_room_but_not_the_best(kept):
    for number in range(6):
        write(kept, str(number), "x" * 40)
        kept.hand_in("0")
    assert sorted(path.name for path in kept.kept.iterdir()) == ["0.csv", "5.csv"]


def test_what_the_model_is_told_of_many_files_is_bounded(tmp_path):
    for folder in range(30):
        (tmp_path / "input" / f"{folder:02}").mkdir(parents=True)
        for name in range(20):
            (tmp_path / "input" / f"{folder:02}" / f"{name:02}.txt").write_text("x")
    (tmp_path / "input" / "description.md").write_text("x")
    found = list(previews._walk(tmp_path))
    assert len(found) == previews.FILES
    assert sum(path.parent.name == "00" for path in found) == previews.FILES_PER_FOLDER
    assert not any(path.name == "description.md" for path in found)


def test_a_table_that_cannot_be_read_is_no_end(tmp_path):
    def fails(path: Path, name: str) -> str:
        raise ValueError

    (tmp_path / "a.csv").write_text("x")
    guarded = previews._guarded(fails, previews._large_table)
    assert guarded(tmp_path / "a.csv", "a.csv") == "-> a.csv can't be previewed: ValueError"


def test_large_tables_are_not_read_whole(tmp_path, monkeypatch):
    monkeypatch.setattr(previews, "LARGE_BYTES", 10)
    (tmp_path / "a.csv").write_text("id,level\n1,2\n")
    guarded = previews._guarded(str, previews._large_table)
    assert guarded(tmp_path / "a.csv", "a.csv") == "-> a.csv has 2 lines. The columns are: id, level"
