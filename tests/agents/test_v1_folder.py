"""Agents written for v1: what their config.yaml says, and one that runs in a container."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from mlebench.agents import v1_folder
from mlebench.environments import dockerfiles, with_base
from mlebench.environments.dockerfiles import DockerfileSoftware
from mlebench.errors import UsageError
from mlebench.grading import grade
from mlebench.sandbox import Limits, World, find_sandbox
from mlebench.services import validation
from mlebench.services.serving import serve
from mlebench.testing import ScriptedApp

CONFIG = """
defaults: &defaults
  agent.steps: 3
tiny:
  start: tiny/start.sh
  dockerfile: tiny/Dockerfile
  kwargs_type: omegaconf
  kwargs:
    <<: *defaults
    agent.note: two words & "quotes" $HOME
    agent.key: ${{ secrets.OPENAI_API_KEY }}
    agent.loud: true
    agent.none: null
  env_vars: &env
    TIME_LIMIT_SECS: 86400
    STEP_LIMIT: 500
    OPENAI_BASE_URL: https://api.openai.com/v1
    OPENAI_API_KEY: ${{ secrets.OPENAI_API_KEY }}
    OPENROUTER_API_KEY: ${{ secrets.OPENROUTER_API_KEY }}
    COLOUR: ${{ secrets.FAVOURITE_COLOUR }}
tiny/argparse:
  start: tiny/start.sh
  dockerfile: tiny/Dockerfile
  kwargs_type: argparse
  kwargs:
    steps: 3
    a note: it's
"""
DOCKERFILE = """\
FROM mlebench-env
ARG SUBMISSION_DIR
ARG LOGS_DIR
ARG CODE_DIR
ARG AGENT_DIR
ENV AGENT_DIR=${AGENT_DIR}
ARG CONDA_ENV_NAME=agent
RUN mkdir -p ${SUBMISSION_DIR} ${LOGS_DIR} ${CODE_DIR} ${AGENT_DIR}
RUN /opt/conda/bin/conda run --no-capture-output -n ${CONDA_ENV_NAME} python -c "import sys; print(sys.prefix)"
COPY . ${AGENT_DIR}
RUN echo built > ${AGENT_DIR}/built
"""
START = """\
#!/bin/bash
cd ${AGENT_DIR}
eval "$(conda shell.bash hook)"
conda activate agent
COMPETITION_ID=$COMPETITION_ID envsubst < notes.txt > full_instructions.txt
cat /home/instructions.txt >> full_instructions.txt
python work.py "$@"
"""
WORK = """\
import json, os, shutil, sys, urllib.request
from pathlib import Path

def ask(model):
    body = {"model": model, "messages": [{"role": "user", "content": "Speak."}]}
    headers = {"content-type": "application/json", "authorization": "Bearer " + os.environ["OPENROUTER_API_KEY"]}
    address = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
    request = urllib.request.Request(address, json.dumps(body).encode(), headers)
    return json.load(urllib.request.urlopen(request))["choices"][0]["message"]["content"]

seen = {"arguments": sys.argv[1:], "environment": dict(os.environ), "user": os.getuid()}
seen |= {"built": Path("built").read_text(), "instructions": Path("full_instructions.txt").read_text()}
seen["said"] = ask("scripted")
Path(os.environ["LOGS_DIR"], "seen.json").write_text(json.dumps(seen))
shutil.copy("/home/data/sample_submission.csv", os.environ["SUBMISSION_DIR"] + "/submission.csv")
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder written for v1, and an environment with its secrets."""
    for name in ("OPENAI_API_KEY", "OPENROUTER_API_KEY", "MLEBENCH_MODELS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("FAVOURITE_COLOUR", "blue")
    folder = tmp_path / "agents" / "tiny"
    folder.mkdir(parents=True)
    texts = {"config.yaml": CONFIG, "Dockerfile": DOCKERFILE, "start.sh": START, "work.py": WORK}
    for name, text in {**texts, "notes.txt": "This is ${COMPETITION_ID}.\n"}.items():
        (folder / name).write_text(text)
    return folder


def arguments(agent, given=None):
    """What start.sh is called with, as a shell expands it."""
    text = agent.variables(given)["V1_ARGUMENTS"]
    environment = {"OPENAI_API_KEY": "token", "HOME": "/nowhere", "PATH": os.environ["PATH"]}
    command = f'for each in {text}; do printf "%s\\n" "$each"; done'
    done = subprocess.run(["bash", "-c", command], env=environment, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def test_what_is_no_such_folder_is_none(tmp_path):
    assert v1_folder.load(tmp_path) is None
    assert v1_folder.load("baseline") is None
    assert v1_folder.load(f"{tmp_path}:x") is None


@pytest.mark.parametrize(
    ("beside", "entry"),
    [
        ("", "tiny"),
        (":tiny", "tiny"),
        ("/tiny", "tiny"),
        (":tiny/argparse", "tiny/argparse"),
        (":argparse", "tiny/argparse"),
        ("/argparse", "tiny/argparse"),
    ],
)
def test_how_agents_are_named(folder, beside, entry):
    agent = v1_folder.load(f"{folder}{beside}")
    assert agent.entry == entry
    assert agent.folder == folder.resolve()
    assert agent.id == entry.replace("/", "-")
    assert v1_folder.load(agent.reference) == agent
    assert not agent.built_in


def test_an_agent_that_is_not_there(folder):
    with pytest.raises(UsageError, match=r'no agent "big"; there are tiny, tiny/argparse'):
        v1_folder.load(f"{folder}:big")


def test_several_agents_must_be_told_apart(folder):
    (folder / "config.yaml").write_text(CONFIG.replace("\ntiny:", "\nsmall:"))
    with pytest.raises(UsageError, match="several agents"):
        v1_folder.load(folder)


def test_omegaconf(folder):
    agent = v1_folder.load(folder)
    assert arguments(agent) == [
        "agent.steps=3",
        'agent.note=two words & "quotes" $HOME',
        "agent.key=token",
        "agent.loud=True",
        "agent.none=null",
    ]


def test_argparse(folder):
    assert arguments(v1_folder.load(f"{folder}:argparse")) == ["--steps", "3", "--a note", "it's"]


def test_arguments_can_be_set(folder):
    agent = v1_folder.load(f"{folder}:argparse")
    assert arguments(agent, {"steps": "$(id)"})[:2] == ["--steps", "$(id)"]
    with pytest.raises(UsageError, match='no parameter "stepz"'):
        agent.variables({"stepz": "1"})


def test_keys_of_models_stay_outside(folder, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-true")
    monkeypatch.setenv("OPENROUTER_API_KEY", "or-true")
    monkeypatch.setenv("FAVOURITE_COLOUR", "sk-true")  # the same key by another name
    agent = v1_folder.load(folder)
    variables = agent.variables()
    assert "true" not in " ".join(variables.values()).replace("True", "")
    assert agent.needs_model
    assert variables["V1_MODEL_KEYS"].split() == ["OPENROUTER_API_KEY", "COLOUR"]
    assert not {"OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENROUTER_API_KEY", "TIME_LIMIT_SECS"} & set(variables)
    assert variables["STEP_LIMIT"] == "500"
    assert "true" not in repr(agent).replace("True", "")


def test_other_secrets_come_from_the_environment(folder, monkeypatch):
    assert v1_folder.load(folder).variables()["COLOUR"] == "blue"
    monkeypatch.delenv("FAVOURITE_COLOUR")
    with pytest.raises(
        UsageError, match=r"COLOUR of the agent tiny in .* needs the environment variable FAVOURITE_COLOUR"
    ):
        v1_folder.load(folder)


def test_keys_of_the_users_own_upstreams_are_keys(folder, tmp_path, monkeypatch):
    models = tmp_path / "models.toml"
    models.write_text(
        '[upstreams.mine]\nurl = "http://localhost:1"\nkey = "FAVOURITE_COLOUR"\ndialects = ["openai-chat"]\n'
    )
    monkeypatch.setenv("MLEBENCH_MODELS", str(models))
    assert "COLOUR" in v1_folder.load(folder).variables()["V1_MODEL_KEYS"]


def test_an_agent_without_keys_needs_no_model(folder):
    assert not v1_folder.load(f"{folder}:argparse").needs_model


def test_further_models(folder):
    agent = v1_folder.load(folder)
    assert agent.models() == []
    assert agent.models({"further_models": "openai/gpt-4o, openai/o3"}) == ["openai/gpt-4o", "openai/o3"]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("steps: 3\n    a", "steps: [3]\n    a", "steps of `kwargs` is no plain value"),
        ("argparse\n  kwargs", "yaml\n  kwargs", "kwargs_type is 'yaml'"),
        ("kwargs_type: argparse", "privileged: true", "privileged container"),
        ("argparse:\n  start: tiny/start.sh", "argparse:\n  start: tiny/stop.sh", "there is no file"),
        ("argparse:\n  start: tiny/start.sh", "argparse:\n  start: other.sh", "is not in"),
        ("dockerfile: tiny/Dockerfile\n  kwargs_type: argparse", "kwargs_type: argparse", "`dockerfile`"),
        ("a note: it's", "note: a ${{ secrets.X }}", "neither plain text nor"),
        ("defaults:", "{", "can't be read"),
    ],
)  # fmt: skip
def test_what_is_refused(folder, old, new, message):
    assert old in CONFIG
    (folder.parent / "other.sh").touch()
    (folder / "config.yaml").write_text(CONFIG.replace(old, new))
    with pytest.raises(UsageError, match=message):
        v1_folder.load(f"{folder}:argparse")


def test_it_runs_in_containers_only(folder):
    software = v1_folder.load(folder).software
    for method in (software.find, lambda sandbox: software.build(sandbox, print)):
        with pytest.raises(UsageError, match="--sandbox docker can"):
            method("bubblewrap")


def test_an_image_that_is_not_built_is_named(folder, tmp_path, monkeypatch):
    monkeypatch.setenv("MLEBENCH_ENVIRONMENTS_DIR", str(tmp_path / "environments"))
    with pytest.raises(UsageError, match=r"mlebench agents build .*agents/tiny:tiny --sandbox docker"):
        v1_folder.load(folder).software.find("docker")


def test_every_file_decides_what_the_image_is(folder):
    agent = v1_folder.load(folder)
    before = agent.software.wish
    assert agent.software.wish == before
    assert with_base(agent.software, "light").wish != before
    (folder / "work.py").write_text("print(1)")
    assert agent.software.wish != before


def test_arguments_are_for_every_stage():
    text = "ARG X\nFROM a AS b\nRUN c\n  from b\nRUN d FROM e\n"
    found = dockerfiles.with_arguments(text, ["P", "Q"])
    assert found == "ARG X\nFROM a AS b\nARG P\nARG Q\nRUN c\n  from b\nARG P\nARG Q\nRUN d FROM e\n"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('eval "$(conda shell.bash hook)"; conda activate agent; conda run -n agent echo works', "works"),
        ("source CONDA/etc/profile.d/conda.sh; conda activate agent; conda deactivate; echo works", "works"),
        ("CONDA/bin/conda run --no-capture-output -n agent --cwd / pwd", "/"),
        ("source activate agent && echo works", "works"),
        ("conda run -n agent bash -c 'exit 7' || echo $?", "7"),
        ("conda create -n mine python=3.9 || echo $?", "1"),
    ],
)
def test_what_stands_in_for_conda(tmp_path, line, said):
    source, conda = Path(dockerfiles.__file__).with_name("v1_base"), tmp_path / "conda"
    for name, place in {"conda": "bin", "activate": "bin", "conda.sh": "etc/profile.d"}.items():
        (conda / place).mkdir(parents=True, exist_ok=True)
        (conda / place / name).write_text((source / name).read_text().replace("/opt/conda", str(conda)))
        (conda / place / name).chmod(0o755)
    command = ["bash", "-c", line.replace("CONDA", str(conda))]
    environment = {"PATH": f"{conda}/bin:{os.environ['PATH']}"}
    assert subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.strip() == said


# --- in a container


@pytest.fixture
def docker():
    """The back-end, or a skip; the tests need an image of Debian, named by MLEBENCH_TEST_IMAGE."""
    sandbox = find_sandbox("docker")
    reason = sandbox.unavailable()
    if reason is None and "MLEBENCH_TEST_IMAGE" not in os.environ:
        reason = "MLEBENCH_TEST_IMAGE names no image"
    if reason:
        (pytest.fail if "docker" in os.environ.get("MLEBENCH_REQUIRE_SANDBOXES", "").split() else pytest.skip)(reason)
    return sandbox


@pytest.mark.slow
def test_an_agent_written_for_v1_runs_as_it_is(folder, tmp_path, monkeypatch, docker, twins):
    monkeypatch.setenv("MLEBENCH_ENVIRONMENTS_DIR", str(tmp_path / "environments"))
    monkeypatch.setenv("OPENROUTER_API_KEY", "or-true")
    agent = v1_folder.load(folder)
    software = with_base(agent.software, "light")
    assert isinstance(software, DockerfileSoftware)
    built = software.build("docker", print, base_image=os.environ["MLEBENCH_TEST_IMAGE"])
    assert software.find("docker") == built
    said = []
    assert software.build("docker", said.append) == built
    assert "there already" in said[-1]
    files = sorted(path.name for path in folder.iterdir())
    assert files == ["Dockerfile", "config.yaml", "notes.txt", "start.sh", "work.py"]

    dataset, app = twins("spaceship-titanic"), ScriptedApp(["I speak."])
    for name in ("submission", "code", "logs"):
        (tmp_path / name).mkdir()
    (tmp_path / "instructions.txt").write_text("Do it well.")
    checker = validation.make_app(dataset.competition, dataset.public, tmp_path / "validations.jsonl")
    sockets = {5000: Path("/tmp", f"mlebench-v1-{os.getpid()}-v"), 5100: Path("/tmp", f"mlebench-v1-{os.getpid()}-g")}
    with serve(checker, sockets[5000]), serve(app, sockets[5100]):
        world = World(
            data=dataset.public,
            submission=tmp_path / "submission",
            code=tmp_path / "code",
            logs=tmp_path / "logs",
            agent=agent.folder,
            home_files={"instructions.txt": tmp_path / "instructions.txt"},
            sockets=sockets,
            environment={
                "COMPETITION_ID": dataset.competition.id,
                "OPENAI_BASE_URL": "http://localhost:5100/v1",
                "OPENAI_API_KEY": "token",
                **agent.variables({"agent.steps": "4"}),
            },
            image=built.image,
        )
        outcome = docker.run(world, agent.command, Limits(100), tmp_path / "output.txt")
    assert outcome.end == "completed", (tmp_path / "output.txt").read_text()
    assert grade(tmp_path / "submission" / "submission.csv", dataset).valid_submission
    seen = json.loads((tmp_path / "logs" / "seen.json").read_text())
    assert seen["arguments"][0] == "agent.steps=4"
    assert seen["arguments"][2] == "agent.key=token"
    assert seen["environment"]["OPENROUTER_API_KEY"] == "token"
    assert seen["environment"]["STEP_LIMIT"] == "500"
    assert "or-true" not in json.dumps(seen)
    assert seen["user"] != 0
    assert seen["built"] == "built\n"
    assert seen["instructions"] == "This is spaceship-titanic.\nDo it well."
    assert seen["said"] == "I speak."
    assert app.requests[0].headers["authorization"] == "Bearer token"
