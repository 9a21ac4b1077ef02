"""`python -m mlebench.testing`."""

import re
import signal
import subprocess
import sys
import tomllib

import httpx
import pytest

from mlebench.services.gateway.models_file import read_models_file

COMMAND = [sys.executable, "-m", "mlebench.testing"]


@pytest.fixture
def start():
    """Start the server with these options; gives its URL and its further lines."""
    started = []

    def begin(*options):
        process = subprocess.Popen([*COMMAND, *map(str, options)], stdout=subprocess.PIPE, text=True)
        started.append(process)
        first = process.stdout.readline()
        return re.search(r"Serving at (http://\S+):", first).group(1), process

    yield begin
    for process in started:
        process.kill()
        process.communicate()


def ask(url, model="solver", **headers):
    body = {"model": model, "messages": [{"role": "user", "content": "hi"}]}
    return httpx.post(f"{url}/v1/chat/completions", json=body, headers=headers)


def test_it_serves_all_engineers_and_ends_on_an_interrupt(start):
    url, process = start()
    assert ask(url).status_code == 200
    assert ask(url, "unknown").status_code == 404
    assert httpx.get(url).json()["use"]["solver"]["requests"] == 1
    process.send_signal(signal.SIGINT)
    assert process.wait(30) == 0


def test_one_engineer_for_every_name(start):
    url, _ = start("--engineer", "looper")
    assert ask(url, "gpt-4o").status_code == 200


def test_the_models_file_names_the_server(start, tmp_path):
    path = tmp_path / "models.toml"
    url, process = start("--key", "right", "--write-models", path)
    models = tomllib.loads(path.read_text())
    assert models["upstreams"]["scripted"]["url"] == url
    assert models["upstreams"]["scripted"]["key"] == "SCRIPTED_KEY"
    assert models["aliases"]["spy"] == "scripted/spy"
    assert models["prices"]["scripted/solver"] == {"input": 1.0, "cached_input": 0.1, "output": 4.0}
    assert "SCRIPTED_KEY=right" in process.stdout.readline()
    assert f"--models {path}" in process.stdout.readline()
    assert ask(url).status_code == 401
    assert ask(url, authorization="Bearer right").status_code == 200


def test_the_models_file_is_one_that_runs_read(start, tmp_path):
    path = tmp_path / "models.toml"
    url, _ = start("--write-models", path)
    own = read_models_file(path)
    upstream = own.upstreams["scripted"]
    assert (upstream.url, upstream.key) == (url, None)
    assert own.aliases["climber"] == "scripted/climber"
    assert "scripted/solver" in own.prices


def test_an_unknown_engineer_is_a_usage_error():
    done = subprocess.run([*COMMAND, "--engineer", "solve"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert 'no engineer "solve". There are: solver, stumbler' in done.stderr


def test_importing_loads_nothing_heavy():
    heavy = ["uvicorn", "starlette", "pandas", "httpx"]
    code = f"import sys, mlebench.testing; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
