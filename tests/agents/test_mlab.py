"""The agent `mlab`: its parts, its loop against a scripted model, and itself as a program."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from mlebench.agents.mlab.researcher import loop, prompts, reading, scripts
from mlebench.agents.mlab.researcher.actions import ACTIONS, perform
from mlebench.agents.mlab.researcher.answers import (
    ENTRIES,
    AnswerError,
    InputError,
    first_code_block,
    parse_answer,
    parse_input,
)
from mlebench.agents.mlab.researcher.bench import Bench
from mlebench.agents.mlab.researcher.model import AccessDenied, ModelError, Models
from mlebench.agents.mlab.researcher.places import PlaceError, Places, furnish
from mlebench.agents.mlab.researcher.records import Records, Step
from mlebench.agents.mlab.researcher.settings import Clock, Settings
from mlebench.testing import Fault, serve

MAIN = Path(loop.__file__).parents[1] / "main.py"
TITANIC = "spaceship-titanic"


def answer(action, given, plan="1. Look.", **more):
    """An answer in the form asked for."""
    texts = {"Reflection": "none", "Research Plan and Status": plan, "Fact Check": "-", "Thought": "go on"}
    texts |= {"Action": action, "Action Input": given if isinstance(given, str) else json.dumps(given)} | more
    return "\n".join(f"{name}: {texts[name]}" for name in ENTRIES)


FINAL = answer("Final Answer", {"final_answer": "done"})


@pytest.fixture
def variables(tmp_path):
    """The environment of an attempt, without a model."""
    for name in ("data", "submission", "code", "logs", "home"):
        (tmp_path / name).mkdir()
    (tmp_path / "data" / "description.md").write_text("# Rivers\n\nPredict the level.\n")
    (tmp_path / "prompt.txt").write_text("You have 10 minutes.\n\n# Rivers\n\nPredict the level.\n")
    return {
        "DATA_DIR": str(tmp_path / "data"),
        "SUBMISSION_DIR": str(tmp_path / "submission"),
        "CODE_DIR": str(tmp_path / "code"),
        "LOGS_DIR": str(tmp_path / "logs"),
        "PROMPT_FILE": str(tmp_path / "prompt.txt"),
        "VALIDATION_URL": "http://127.0.0.1:1/validate",  # nothing answers there
        "TIME_LIMIT_SECS": "120",
        "HOME": str(tmp_path / "home"),
        "PATH": os.environ["PATH"],
        "MLEBENCH_MODEL": "scripted",
        "OPENAI_API_KEY": "token",
        "ANTHROPIC_API_KEY": "token",
    }


def at(variables, server):
    return {**variables, "OPENAI_BASE_URL": f"{server.url}/v1", "ANTHROPIC_BASE_URL": server.url}


def make_bench(variables, **more):
    """A bench in a furnished working folder."""
    environment = {**variables, **{f"AGENT_{name.upper()}": value for name, value in more.items()}}
    settings = Settings.read(environment)
    clock = Clock(settings.seconds)
    places = Places(settings.work, settings.data, settings.submission)
    furnish(places)
    return Bench(settings, places, Models(settings.dialect, settings.temperature, clock, environment), clock)


@pytest.fixture
def bench(variables):
    bench = make_bench(variables)
    bench.entries = parse_answer(FINAL, tuple(ACTIONS))
    return bench


@pytest.fixture
def talk(variables):
    """Has the loop talk with a script; gives the reason why it ended, the bench, and what was asked."""

    def run(script, **more):
        with serve(script) as server:
            bench = make_bench(at(variables, server), **more)
            why = loop.work(bench, Records(bench.settings.logs, bench.settings.keep_workspaces))
            return why, bench, [recorded.body for recorded in server.requests]

    return run


def asked(body):
    return body["messages"][0]["content"]


def steps(bench):
    folder = bench.settings.logs / "agent_log"
    return [
        json.loads((folder / f"step_{number}.json").read_text()) for number in range(len(list(folder.glob("step_*"))))
    ]


# --- answers


def test_an_answer_has_six_entries():
    text = answer("Edit Script (AI)", {"script_name": "train.py"}, plan="1. Look.\n2. Act: now.")
    found = parse_answer("Well then.\n" + text + "\nObservation: I made this up\nAction: Final Answer", tuple(ACTIONS))
    assert tuple(name for name in ENTRIES if name in found) == ENTRIES
    assert found["Research Plan and Status"] == "1. Look.\n2. Act: now."
    assert found["Action"] == "Edit Script (AI)"
    assert found["Action Input"] == '{"script_name": "train.py"}'


@pytest.mark.parametrize(
    "action", ["Edit Script (AI)", "**edit script (ai)**", '"Edit Script (AI)".', "[Edit Script (AI)]"]
)
def test_the_name_of_an_action_is_found_in_its_disguise(action):
    assert parse_answer(answer(action, {}), tuple(ACTIONS))["Action"] == "Edit Script (AI)"


def test_bold_entries_are_entries():
    text = "\n".join(f"**{name}:** text" for name in ENTRIES).replace("**Action:** text", "**Action:** List Files")
    assert parse_answer(text, tuple(ACTIONS))["Thought"] == "text"


def test_an_entry_begins_a_line():
    plan = "1. Look.\n- Action: none yet\n2. Thought: think"
    found = parse_answer(answer("List Files", {"dir_path": "."}, plan=plan), tuple(ACTIONS))
    assert (found["Research Plan and Status"], found["Thought"]) == (plan, "go on")


@pytest.mark.parametrize("missing", ENTRIES)
def test_an_answer_without_an_entry_is_refused_by_its_name(missing):
    lines = [
        line for line in answer("List Files", {"dir_path": "."}).splitlines() if not line.startswith(f"{missing}:")
    ]
    with pytest.raises(AnswerError, match=missing):
        parse_answer("\n".join(lines), tuple(ACTIONS))


def test_an_unknown_action_is_refused_by_its_name():
    with pytest.raises(AnswerError, match="Submit To Kaggle"):
        parse_answer(answer("Submit To Kaggle", {}), tuple(ACTIONS))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{"a": "x"}', {"a": "x"}),
        ('```json\n{"a": "x"}\n```', {"a": "x"}),
        ('{"a": "two\nlines"}', {"a": "two\nlines"}),
        ('{"a": 3}', {"a": "3"}),
        ('{"a": {"b": 1}}', {"a": '{"b": 1}'}),
    ],
)
def test_inputs(text, found):
    assert parse_input(text, ("a",)) == found


@pytest.mark.parametrize(
    "text", ["", "{", "a=1", "[1]", '"a"', "{}", '{"a": "x", "b": "y"}', '{"b": "y"}', '{"a": 1} x']
)
def test_inputs_that_are_refused(text):
    with pytest.raises(InputError):
        parse_input(text, ("a",))


def test_an_action_without_arguments_takes_an_empty_input():
    assert parse_input("{}", ()) == parse_input("", ()) == {}
    with pytest.raises(InputError, match="no keys"):
        parse_input('{"file": "x"}', ())


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("Here:\n```python\nprint(1)\n```\nand\n```python\nprint(2)\n```", "print(1)\n"),
        ("```sh\nls\n```\n```py\nprint(1)\n```", "print(1)\n"),
        ("```\nprint(1)\n```", "print(1)\n"),
        ("```python\nx = '''a ``` b'''\n```", "x = '''a ``` b'''\n"),
        ("print(1)", None),
        ("```python\nprint(1)", None),  # cut off in the middle: half a script is none
    ],
)
def test_the_first_block_of_code(text, code):
    assert first_code_block(text) == code


# --- places


@pytest.mark.parametrize(
    "name", [".", "train.py", "data/description.md", "submission/submission.csv", "a/b.py", "./data"]
)
def test_names_within_the_working_folder(bench, name):
    bench.places.readable(name)


@pytest.mark.parametrize(
    "name", ["..", "../logs/x", "/etc/passwd", "data/../../logs", "~/x/../../..", "out/passwd", "a\0b", "loop"]
)
def test_names_that_lead_elsewhere(bench, name):
    (bench.places.work / "out").symlink_to("/etc")
    (bench.places.work / "loop").symlink_to("loop")
    with pytest.raises(PlaceError):
        bench.places.file(name)
    with pytest.raises(PlaceError):
        bench.places.writable(name)


def test_data_are_read_only_and_the_submission_is_not(bench):
    with pytest.raises(PlaceError, match="read-only"):
        bench.places.writable("data/description.md")
    assert bench.places.writable("submission/submission.csv") == bench.places.submission / "submission.csv"
    assert bench.places.file(str(bench.places.data / "description.md")).is_file()


def test_a_pipe_is_no_file(bench):
    os.mkfifo(bench.places.work / "pipe")
    with pytest.raises(PlaceError, match="no file"):
        bench.read("pipe")


def test_furnishing_leaves_what_is_there(bench):
    (bench.places.work / "train.py").write_text("mine")
    furnish(bench.places)
    assert (bench.places.work / "train.py").read_text() == "mine"
    assert (bench.places.work / "data" / "description.md").is_file()


# --- scripts


def test_a_script_runs_in_the_working_folder(bench):
    (bench.places.work / "src").mkdir()
    (bench.places.work / "src" / "go.py").write_text("import os, sys; print(os.getcwd(), sys.argv, sys.stdin.read())")
    ran = scripts.run_script(bench.places.work / "src" / "go.py", bench.places.work, 60)
    assert (ran.exit_code, ran.errors) == (0, "")
    assert ran.output == f"{bench.places.work} ['src/go.py'] \n"


LEAVES_CHILDREN = """
import os, pathlib, subprocess, sys, time
code = "import time; time.sleep(300)"
ordinary = subprocess.Popen([sys.executable, "-c", code])
other = subprocess.Popen([sys.executable, "-c", code], start_new_session=True)
pathlib.Path("pids").write_text(f"{ordinary.pid} {other.pid}")
print("started", flush=True)
if len(sys.argv) == 1 and os.environ.get("STAY"):
    time.sleep(300)
"""
RUNS_IT = """
import pathlib, sys
from mlebench.agents.mlab.researcher import scripts
scripts.adopt_orphans()
ran = scripts.run_script(pathlib.Path("go.py"), pathlib.Path.cwd(), float(sys.argv[1]))
print(ran.exit_code, ran.output)
"""


@pytest.mark.parametrize(("stay", "seconds", "said"), [("", 60, "0 started"), ("1", 3, "None started")])
def test_nothing_that_a_script_starts_outlives_it(tmp_path, stay, seconds, said):
    (tmp_path / "go.py").write_text(LEAVES_CHILDREN)
    done = subprocess.run(  # a process of its own, since orphans are adopted by it
        [sys.executable, "-c", RUNS_IT, str(seconds)],
        cwd=tmp_path,
        env={**os.environ, "STAY": stay},
        capture_output=True,
        text=True,
        timeout=100,
        check=True,
    )
    assert done.stdout.strip() == said
    for number in (tmp_path / "pids").read_text().split():
        assert not psutil.pid_exists(int(number))


def test_processes_that_were_there_before_are_spared(bench):
    other = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)"])
    try:
        (bench.places.work / "go.py").touch()
        scripts.run_script(bench.places.work / "go.py", bench.places.work, 60)
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()


def test_of_a_long_output_both_ends_are_kept(bench):
    script = bench.places.work / "go.py"
    script.write_text("print('first'); print('x' * 3_000_000); print('last')")
    ran = scripts.run_script(script, bench.places.work, 60)
    assert ran.output.startswith("first\nxxx")
    assert ran.output.endswith("xxx\nlast\n")
    assert "2000012 bytes left out" in ran.output
    assert len(ran.output) < 2 * scripts.KEPT + 100


# --- actions


def do(bench, name, **arguments):
    return perform(ACTIONS[name], json.dumps(arguments), bench)[0]


def test_listing(bench):
    assert do(bench, "List Files", dir_path=".").split() == ["data/", "submission/", "train.py"]
    assert do(bench, "List Files", dir_path="data") == "description.md"
    assert "no folder" in do(bench, "List Files", dir_path="train.py")


def test_a_long_listing_is_cut_off(bench):
    for number in range(1000):
        (bench.places.work / f"a_rather_long_name_{number}").touch()
    listed = do(bench, "List Files", dir_path=".")
    assert "1003 entries" in listed
    assert 10_000 < len(listed) < 10_100


def test_copying(bench):
    assert "is copied" in do(bench, "Copy File", source="data/description.md", destination="notes/d.md")
    assert "Rivers" in (bench.places.work / "notes" / "d.md").read_text()
    assert "read-only" in do(bench, "Copy File", source="train.py", destination="data/train.py")
    assert "outside" in do(bench, "Copy File", source="/etc/passwd", destination="p")
    assert not (bench.places.data / "train.py").exists()


def test_executing(bench):
    (bench.places.work / "go.py").write_text("import sys; print('out'); print('err', file=sys.stderr)")
    assert do(bench, "Execute Script", script_name="go.py").endswith("It printed:\nout\n")
    (bench.places.work / "go.py").write_text("import sys; print('err', file=sys.stderr)")
    assert do(bench, "Execute Script", script_name="go.py").endswith("It printed:\nerr\n")
    (bench.places.work / "go.py").write_text("print('out'); raise RuntimeError('no such river')")
    failed = do(bench, "Execute Script", script_name="go.py")
    assert "exit code 1" in failed
    assert "RuntimeError: no such river" in failed
    assert "out\n" not in failed
    assert "no file" in do(bench, "Execute Script", script_name="gone.py")


def test_a_script_that_is_killed(bench):
    (bench.places.work / "go.py").write_text("import os, signal; os.kill(os.getpid(), signal.SIGKILL)")
    assert "ended by SIGKILL; perhaps it used too much memory" in do(bench, "Execute Script", script_name="go.py")
    (bench.places.work / "go.py").write_text("import os, signal; os.kill(os.getpid(), signal.SIGTERM)")
    assert "ended by SIGTERM:" in do(bench, "Execute Script", script_name="go.py")


def test_a_script_ends_before_the_time_does(variables):
    bench = make_bench({**variables, "TIME_LIMIT_SECS": "3"})
    (bench.places.work / "go.py").write_text("print('begun', flush=True); import time; time.sleep(300)")
    observation = do(bench, "Execute Script", script_name="go.py")
    assert "time is over" in observation
    assert "begun" in observation
    assert bench.clock.left() < 3
    assert bench.clock.left_for_work() <= 0


def test_inspecting_lines(bench):
    (bench.places.work / "long.py").write_text("".join(f"line {number}\n" for number in range(1, 301)))
    lines = do(bench, "Inspect Script Lines", script_name="long.py", start_line_number=201, end_line_number="300")
    assert lines.splitlines()[2:4] == ["201: line 201", "202: line 202"]
    assert lines.endswith("300: line 300")
    for first, last in ((1, 101), (301, 400), (5, 4), ("a", "b")):
        refused = do(
            bench, "Inspect Script Lines", script_name="long.py", start_line_number=first, end_line_number=last
        )
        assert refused.startswith("The action failed")


def test_an_input_that_cannot_be_parsed_is_answered_by_the_usage(bench):
    observation, parsed = perform(ACTIONS["Copy File"], '{"source": "train.py"}', bench)
    assert not parsed
    assert observation.startswith("ActionInputParsingError")
    assert '"destination"' in observation


def test_writing_appending_and_undoing(bench):
    path = bench.places.work / "train.py"
    stub = path.read_text()
    do(bench, "Write File", file_name="train.py", content="a = 1\n")
    do(bench, "Append File", file_name="train.py", content="b = 2\n")
    assert do(bench, "Read File", file_name="train.py") == "a = 1\nb = 2\n"
    do(bench, "Undo Edit Script", script_name="train.py")
    assert path.read_text() == "a = 1\n"
    do(bench, "Undo Edit Script", script_name="train.py")
    assert path.read_text() == stub
    assert "no edits" in do(bench, "Undo Edit Script", script_name="train.py")
    assert "read-only" in do(bench, "Write File", file_name="data/x.py", content="")


def test_a_submission_may_be_written_and_undone(bench):
    do(bench, "Write File", file_name="submission/submission.csv", content="id\n1\n")
    do(bench, "Write File", file_name="submission/submission.csv", content="id\n2\n")
    do(bench, "Undo Edit Script", script_name="submission/submission.csv")
    assert (bench.places.submission / "submission.csv").read_text() == "id\n1\n"
    assert [entry.name for entry in bench.places.submission.iterdir()] == ["submission.csv"]


def test_the_final_answer(bench):
    do(bench, "Final Answer", final_answer="0.8 in cross-validation")
    assert bench.final_answer == "0.8 in cross-validation"


def test_without_a_submission_or_a_service_validation_says_so(bench):
    assert "no file" in do(bench, "Validate Submission")
    (bench.places.submission / "submission.csv").write_text("id\n")
    assert "could not be reached" in do(bench, "Validate Submission")


def test_editing_by_the_edit_model(variables):
    code = "import pandas\n\nprint('level')\n"
    with serve([f"Here you are.\n```python\n{code}```\nGood luck.", "I would rather not."]) as server:
        bench = make_bench(at(variables, server), edit_script_model="editor", temperature="0.7")
        arguments = {"script_name": "new/go.py", "edit_instruction": "print level", "save_name": "new/went.py"}
        observation = do(bench, "Edit Script (AI)", **arguments)
        assert (bench.places.work / "new" / "went.py").read_text() == code
        assert "+++ new/went.py" in observation
        assert "+print('level')" in observation
        body = server.requests[0].body
        assert (body["model"], body["temperature"]) == ("editor", 0.7)
        assert "print level" in asked(body)
        refused = do(
            bench, "Edit Script (AI)", **{**arguments, "script_name": "new/went.py", "save_name": "new/went.py"}
        )
        assert "no block of code" in refused
        assert code in asked(server.requests[1].body)
        assert (bench.places.work / "new" / "went.py").read_text() == code


def test_editing_a_segment(variables):
    with serve(["```python\nb = 20\n```"]) as server:
        bench = make_bench(at(variables, server))
        (bench.places.work / "go.py").write_text("a = 1\nb = 2\nc = 3\n")
        given = {"script_name": "go.py", "start_line_number": 2, "end_line_number": 2, "edit_instruction": "times ten"}
        observation = do(bench, "Edit Script Segment (AI)", **given, save_name="go.py")
        assert (bench.places.work / "go.py").read_text() == "a = 1\nb = 20\nc = 3\n"
        assert "-b = 2\n+b = 20\n" in observation
        assert "a = 1" not in asked(server.requests[0].body)


def test_understanding_a_file_block_by_block(variables):
    with serve(lambda request: f"said {request.number}") as server:
        bench = make_bench(at(variables, server), fast_model="quick")
        (bench.places.work / "long.txt").write_text("x" * 95_000 + "y" * 95_000)
        found = do(bench, "Understand File", file_name="long.txt", things_to_look_for="letters")
        bodies = [recorded.body for recorded in server.requests]
        assert len(bodies) == reading.UNDERSTOOD_BLOCKS + 1
        assert {(body["model"], body["temperature"]) for body in bodies} == {("quick", 0.01)}
        assert all("letters" in asked(body) for body in bodies)
        assert "said 10" in asked(bodies[-1])
        assert found.startswith("said 11")
        assert "Only the first 100000 characters" in found


def test_understanding_a_short_file_is_one_request(variables):
    with serve(["It is a task about rivers."]) as server:
        bench = make_bench(at(variables, server))
        found = do(bench, "Understand File", file_name="data/description.md", things_to_look_for="the task")
        assert found == "It is a task about rivers."


def test_long_observations_are_summarised(variables):
    with serve(lambda request: f"summary {request.number}") as server:
        bench = make_bench(at(variables, server))
        bench.entries = parse_answer(answer("List Files", {"dir_path": "."}), tuple(ACTIONS))
        assert reading.summarised(bench, "x" * reading.LONG) == "x" * reading.LONG
        assert not server.requests
        assert "summary 1" in reading.summarised(bench, "x" * (reading.LONG + 1))
        assert "summary 5" in reading.summarised(bench, "x" * (2 * reading.BLOCK + 1))
        before = len(server.requests)
        reading.summarised(bench, "x" * (2 * reading.SUMMARISED_BLOCKS * reading.BLOCK))
        assert len(server.requests) - before == reading.SUMMARISED_BLOCKS + 1


def test_notes(variables):
    with serve(lambda request: "noted" if "level rises" in request.text else "nothing there") as server:
        bench = make_bench(at(variables, server))
        bench.entries = parse_answer(FINAL, tuple(ACTIONS))
        assert do(bench, "Retrieval from Research Log", current_plan="p") == "nothing there"
        do(bench, "Append Summary to Research Log", content="The level rises with rain.")
        assert do(bench, "Retrieval from Research Log", current_plan="p") == "noted"
        assert do(bench, "Reflection", things_to_reflect_on="rain") == "noted"


# --- prompts


def step(number, parsed=True, observation="seen"):
    entries = parse_answer(answer("List Files", {"dir_path": f"folder{number}"}), tuple(ACTIONS))
    return Step(number, entries, observation, f"{observation} {number}", parsed, 0, 1.0, 1, 1, 1)


def test_the_prompt_tells_the_task_once_and_what_is_left(bench):
    text = prompts.prompt(bench, [])
    assert text.count("Predict the level.") == 1
    assert text.count("You have 10 minutes.") == 1
    assert "at step 1 of 2000" in text
    assert "of 2 min are left" in text
    assert "Nothing is done yet" in text
    assert all(f"- {name}:" in text for name, action in ACTIONS.items() if not action.hidden)
    assert not any(f"- {name}:" in text for name, action in ACTIONS.items() if action.hidden)


def test_the_hidden_actions_can_be_shown(variables):
    text = prompts.prompt(make_bench(variables, show_hidden_actions="true"), [])
    assert all(f"- {name}:" in text for name in ACTIONS)


def test_the_task_can_be_in_a_file_instead(variables):
    text = prompts.prompt(make_bench(variables, problem_in_prompt="false"), [])
    assert "Predict the level." not in text
    assert prompts.PROBLEM_FILE in text


def test_only_the_last_steps_are_in_context(variables):
    bench = make_bench(variables, observations_in_context="2")
    text = prompts.prompt(bench, [step(number) for number in range(5)])
    assert [number for number in range(5) if f"folder{number}" in text] == [2, 3, 4]
    assert [number for number in range(5) if f"seen {number}" in text] == [3, 4]
    assert text.count("<done>") == 1
    assert "at step 6 of 2000" in text


def test_steps_that_could_not_be_parsed_go_once_a_later_one_could(bench):
    steps = [step(0), step(1, parsed=False), step(2, parsed=False)]
    assert "folder1" in prompts.prompt(bench, steps)
    text = prompts.prompt(bench, [*steps, step(3), step(4, parsed=False)])
    assert [number for number in range(5) if f"folder{number}" in text] == [0, 3, 4]


# --- the loop


def test_a_run_from_the_first_look_to_the_final_answer(talk, tmp_path):
    script = [
        answer("List Files", {"dir_path": "data"}),
        answer(
            "Write File", {"file_name": "go.py", "content": "open('submission/submission.csv', 'w').write('id\\n')"}
        ),
        answer("Execute Script", {"script_name": "go.py"}),
        FINAL,
    ]
    why, bench, bodies = talk(script)
    assert why == "final answer"
    assert (tmp_path / "submission" / "submission.csv").read_text() == "id\n"
    assert "Observation:\ndescription.md" in asked(bodies[1])
    assert [kept["entries"]["Action"] for kept in steps(bench)] == [
        "List Files",
        "Write File",
        "Execute Script",
        "Final Answer",
    ]
    summary = json.loads((bench.settings.logs / "agent_log" / "summary.json").read_text())
    assert (summary["state"], summary["steps"], summary["requests"]) == ("final answer", 4, 4)
    assert summary["output_tokens"] == bench.models.use.output_tokens > 0
    assert "Step 3" in (bench.settings.logs / "agent_log" / "main_log").read_text()
    body = bodies[0]
    assert (body["temperature"], body["max_tokens"], body["stop"]) == (0.2, 16384, ["\nObservation:"])
    assert [message["role"] for message in body["messages"]] == ["user"]


def test_a_useless_answer_is_thrown_away_and_asked_for_again(talk):
    why, bench, bodies = talk(["I can not.", answer("Hire Somebody", {}), FINAL])
    assert why == "final answer"
    assert len(steps(bench)) == 1
    assert steps(bench)[0]["retries"] == 2
    assert "entries are missing: Reflection" in asked(bodies[1])
    assert "no action 'Hire Somebody'" in asked(bodies[2])
    assert "I can not" not in asked(bodies[1])


def test_after_the_last_retry_the_error_is_the_observation(talk):
    why, bench, bodies = talk(["No.", "No!", "Never.", FINAL], max_retries="2")
    assert why == "final answer"
    assert steps(bench)[0]["observation"].startswith("The answer could not be used")
    assert "Never." in asked(bodies[3])
    assert len(steps(bench)) == 2


def test_the_number_of_steps_is_limited(talk):
    why, bench, bodies = talk(lambda _: answer("List Files", {"dir_path": "."}), max_steps="4")
    assert why == "the steps are used up"
    assert len(steps(bench)) == len(bodies) == 4


def test_a_model_that_never_answers_does_not_hold_the_end_up(variables):
    with serve([Fault.hang()]) as server:
        bench = make_bench({**at(variables, server), "TIME_LIMIT_SECS": "2"})
        assert loop.work(bench, Records(bench.settings.logs, False)) == "the time is over"
        assert bench.clock.left() < 2


@pytest.mark.parametrize("fault", [Fault.error(503), Fault.rate_limit(), Fault.disconnect(), Fault.wrong_json()])
def test_a_failure_in_passing_is_outlived(talk, fault):
    why, _, bodies = talk([fault, FINAL])
    assert why == "final answer"
    assert len(bodies) == 2


@pytest.mark.parametrize(
    ("fault", "error"),
    [(Fault.unauthorized(), AccessDenied), (Fault.error(403), AccessDenied), (Fault.error(404), ModelError)],
)
def test_a_lasting_failure_ends_the_run(talk, tmp_path, fault, error):
    with pytest.raises(error, match=fault.message):
        talk([answer("List Files", {"dir_path": "."}), fault])
    assert fault.message in (tmp_path / "logs" / "agent_log" / "summary.json").read_text()


def test_a_request_that_is_refused_for_its_length_is_only_an_observation(talk):
    edit = {"script_name": "train.py", "edit_instruction": "x", "save_name": "train.py"}
    why, bench, _ = talk([answer("Edit Script (AI)", edit), Fault.error(400, "maximum context length is 10"), FINAL])
    assert why == "final answer"
    assert "context length" in steps(bench)[0]["observation"]


def test_parameters_that_a_model_refuses_are_left_out_from_then_on(talk):
    def script(request):
        for name, other in (("temperature", ""), ("stop", ""), ("max_tokens", " Use 'max_completion_tokens' instead.")):
            if name in request.body:
                return Fault.error(400, f"Unsupported parameter: '{name}' is not supported with this model.{other}")
        return FINAL if request.number > 4 else answer("List Files", {"dir_path": "."})

    why, bench, bodies = talk(script)
    assert why == "final answer"
    assert len(bodies) == 3 + len(steps(bench))
    assert bodies[-1]["max_completion_tokens"] == 16384


@pytest.mark.parametrize("name", ["claude-fable-9", "gw-claude-fable-9"])
def test_claude_is_asked_in_its_dialect(variables, name):
    with serve([FINAL]) as server:
        bench = make_bench({**at(variables, server), "MLEBENCH_MODEL": name})
        loop.work(bench, Records(bench.settings.logs, False))
        asked_for = server.requests[0]
        assert asked_for.path == "/v1/messages"
        assert asked_for.headers["x-api-key"] == "token"
        assert (asked_for.body["temperature"], asked_for.body["stop_sequences"]) == (0.5, ["\nObservation:"])
        assert bench.models.use.output_tokens == server.total.output_tokens > 0


def test_workspaces_are_kept_once_each(talk):
    script = [answer("List Files", {"dir_path": "."})] * 3 + [FINAL]
    _, bench, _ = talk(script, keep_workspaces="true")
    kept = bench.settings.logs / "env_log"
    traces = [json.loads(path.read_text()) for path in sorted((kept / "traces").iterdir())]
    assert [list(trace) for trace in traces] == [["train.py"]] * 4
    assert [path.name for path in (kept / "files").iterdir()] == [traces[0]["train.py"]]


# --- the program


def start(variables):
    return subprocess.Popen(
        [sys.executable, str(MAIN)],
        env=variables,
        cwd=variables["CODE_DIR"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_the_program_ends_well_after_the_final_answer(variables):
    with serve([answer("Read File", {"file_name": "instructions.txt"}), FINAL]) as server:
        process = start({**at(variables, server), "AGENT_PROBLEM_IN_PROMPT": "false"})
        output, errors = process.communicate(timeout=100)
        assert (process.returncode, errors) == (0, "")
        assert "Predict the level." in output
        assert "The end: final answer." in output
        assert server.requests[0].headers["authorization"] == "Bearer token"


def test_the_program_ends_with_a_message_when_the_budget_is_spent(variables):
    with serve([Fault.error(401, "the budget of 5 dollars is spent")]) as server:
        process = start(at(variables, server))
        _, errors = process.communicate(timeout=100)
    assert process.returncode == 3
    assert errors == "the model is no longer to be had (status 401): the budget of 5 dollars is spent\n"


def test_without_a_model_the_program_says_so(variables):
    process = start(variables)
    _, errors = process.communicate(timeout=100)
    assert process.returncode == 1
    assert errors == "there is no model to ask: OPENAI_BASE_URL is not set\n"


def test_an_unknown_dialect_is_refused(variables):
    process = start({**variables, "AGENT_DIALECT": "esperanto"})
    _, errors = process.communicate(timeout=100)
    assert process.returncode == 2
    assert errors == "there is no dialect 'esperanto'; there are auto, openai-chat, anthropic\n"


def test_sigterm_stops_the_script_too(variables, tmp_path):
    code = "import os, time; open('pid', 'w').write(str(os.getpid())); time.sleep(300)"
    script = [
        answer("Write File", {"file_name": "go.py", "content": code}),
        answer("Execute Script", {"script_name": "go.py"}),
    ]
    with serve(script) as server:
        process = start(at(variables, server))
        number = tmp_path / "code" / "pid"
        while not (number.exists() and number.read_text()):
            assert process.poll() is None
            time.sleep(0.05)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=100)
    assert process.returncode == 143
    assert not psutil.pid_exists(int(number.read_text()))
    assert "SystemExit" in (tmp_path / "logs" / "agent_log" / "summary.json").read_text()


# --- whole attempts


def test_a_whole_attempt(attempt):
    made = attempt("mlab", "solver")
    assert made.state.end == "completed", made.output
    assert made.grade["valid_submission"]
    assert (made.state.validations, made.state.valid_validations) == (1, 1)
    use, told = made.state.model_use, made.server.total
    assert use["requests"] == told.requests > 5
    assert (use["input_tokens"], use["output_tokens"]) == (told.input_tokens, told.output_tokens)
    assert psutil.Process().children(recursive=True) == []
    description = (made.folder.path / "prompt.txt").read_text().rpartition("description.md\n")[2].strip()
    main_loop = [each.request.text for each in made.server.requests if "Action Input" in each.request.text]
    assert len(main_loop) == 5
    for text in main_loop:
        assert text.count(description) == 1
        assert text.count("- Time: 3 min") == 1
    assert "+++ solution.py" in (made.logs / "agent_log" / "step_1.json").read_text()
    assert "DictVectorizer" in (made.folder.path / "code" / "solution.py").read_text()


def test_a_budget_that_is_spent_in_mid_run(attempt):
    made = attempt("mlab", "looper", max_requests=6)
    assert (made.state.end, made.state.exit_code) == ("budget-spent", 3)
    assert made.server.total.requests == 6
    assert "budget is spent" in made.output


@pytest.mark.slow
def test_a_model_of_anthropics(attempt):
    made = attempt("mlab", "solver", parameters={"dialect": "anthropic"}, faults={2: Fault.overloaded()})
    assert made.state.end == "completed", made.output
    assert made.grade["valid_submission"]
    assert {each.path for each in made.server.requests} == {"/v1/messages"}
    assert "retries" in (made.logs / "agent_log" / "summary.json").read_text()


@pytest.mark.slow
@pytest.mark.parametrize("model", ["stumbler", "climber", "forbidden", "spy", "babbler", "fumbler"])
def test_engineers_of_all_kinds(attempt, model):
    made = attempt("mlab", model)
    assert made.state.end == "completed", made.output
    assert made.grade["valid_submission"]
    if model in ("spy", "forbidden"):
        seen = "\n".join(line for line in made.output.splitlines() if line.startswith(("network", "folder /private")))
        assert "REACHED" not in seen


@pytest.mark.slow
def test_the_time_is_over(attempt):
    made = attempt("mlab", "looper", seconds=30)
    assert made.state.end in ("completed", "timeout"), made.output  # the latter where starting took long
    assert (made.state.end == "completed") == ("The end: the time is over." in made.output)
    assert made.grade["valid_submission"]


@pytest.mark.slow
def test_a_replay_hands_in_the_same(attempt):
    made = attempt("mlab", "climber")
    again = attempt("mlab", "climber", replay=made.folder.run)
    assert again.submission.read_bytes() == made.submission.read_bytes()
    assert again.server.requests == []


@pytest.mark.slow
def test_a_script_that_takes_too_much_memory_is_only_an_observation(attempt):
    code = "import time\nheld = []\nwhile True:\n    held.append(bytearray(b'x' * 50_000_000))\n    time.sleep(0.1)\n"
    script = [
        answer("Write File", {"file_name": "greedy.py", "content": code}),
        answer("Execute Script", {"script_name": "greedy.py"}),
        FINAL,
    ]
    made = attempt("mlab", script=script)
    assert made.state.end == "completed", made.output
    assert made.state.memory_kills == 1
    assert "perhaps it used too much memory" in (made.logs / "agent_log" / "step_1.json").read_text()
