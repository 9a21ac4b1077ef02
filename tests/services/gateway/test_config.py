"""Planning a gateway: models, keys, prices, limits, and the user's file."""

import json

import pytest

from mlebench.errors import UsageError
from mlebench.services.gateway import GatewayConfig, plan_gateway
from mlebench.services.gateway.models_file import read_models_file
from mlebench.services.gateway.prices import Price

KEYS = {"OPENAI_API_KEY": "sk-secret-1", "ANTHROPIC_API_KEY": "sk-secret-2", "MY_KEY": "sk-secret-3"}
FILE = """
[upstreams.mine]
url = "http://127.0.0.1:8000/v1/"
key = "MY_KEY"
dialects = ["openai-chat", "anthropic"]
[upstreams.local]
url = "http://localhost:8000"
stream_usage = false
[upstreams.openai]
url = "https://proxy.example/openai"
key = "MY_KEY"
[aliases]
solver = "mine/big/model"
[prices."mine/big/model"]
input = 1
cached_input = 0.1
output = 4.0
[prices."openai/gpt-4o"]
input = 7.0
output = 7.0
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "models.toml"
    path.write_text(FILE)
    return path


def test_models_of_the_built_in_upstreams():
    config = plan_gateway(["openai/gpt-4o-2024-08-06", "anthropic/claude-3-5-sonnet-20240620"], environ=KEYS)
    first, second = config.models
    assert (first.upstream, first.name, first.short_name) == ("openai", "gpt-4o-2024-08-06", "gpt-4o-2024-08-06")
    assert first.price == Price(input=2.5, cached_input=1.25, output=10)
    assert config.find("gw-gpt-4o-2024-08-06") == first
    assert config.find("anthropic/claude-3-5-sonnet-20240620") == second
    assert config.find("gpt-4o") is None
    assert [each.name for each in config.upstreams] == ["openai", "anthropic"]
    assert (config.prices_date, config.provider_tools) == ("2025-11-30", False)


def test_a_file_of_ones_own(file):
    config = plan_gateway(["solver", "local/x", "openai/gpt-4o"], file, environ=KEYS)
    solver, local, gpt = config.models
    assert (solver.asked, solver.full_name, solver.short_name) == ("solver", "mine/big/model", "solver")
    assert solver.price == Price(input=1, cached_input=0.1, output=4)
    assert config.find("big/model") == config.find("gw-solver") == solver
    assert (local.price, gpt.price) == (None, Price(input=7, output=7))
    mine, here, proxy = config.upstreams
    assert (mine.url, mine.key, mine.dialects) == ("http://127.0.0.1:8000", "MY_KEY", ("openai-chat", "anthropic"))
    assert (here.key, here.stream_usage) == (None, False)
    assert proxy.address("openai-chat") == "https://proxy.example/openai/v1/chat/completions"


def test_the_file_may_be_named_by_a_variable(file):
    assert plan_gateway(["solver"], environ=KEYS | {"MLEBENCH_MODELS": str(file)}).models[0].name == "big/model"


def test_it_survives_json_and_holds_no_key(file):
    config = plan_gateway(
        ["solver", "openai/gpt-4o"], file, environ=KEYS, max_dollars=1.5, max_tokens=10, max_requests=3
    )
    text = json.dumps(config.to_json())
    assert GatewayConfig.from_json(json.loads(text)) == config
    assert "sk-secret" not in text
    later = json.loads(text) | {"of_a_later_version": 1}
    later["models"][0]["more"] = later["upstreams"][0]["more"] = later["models"][0]["price"]["more"] = 1
    assert GatewayConfig.from_json(later) == config


@pytest.mark.parametrize(
    ("models", "arguments", "words"),
    [
        ([], {}, "no model was given"),
        (["gpt-4o"], {}, 'neither an alias nor upstream/name. Did you mean "openai/gpt-4o"?'),
        (["solvr"], {}, 'Did you mean "solver"?'),
        (["opnai/gpt-4o"], {}, 'no upstream "opnai" for the model "opnai/gpt-4o". Did you mean "openai"?'),
        (["openai/"], {}, "neither an alias"),
        (["google/gemini-2.5-pro"], {}, "the environment variable GEMINI_API_KEY"),
        (["local/gpt-4o", "openai/gpt-4o"], {}, 'would answer to "gpt-4o"'),
        (["openai/gpt-new"], {"max_dollars": 1}, '[prices."openai/gpt-new"]'),
        (["solver"], {"max_dollars": 0}, "max_dollars is 0"),
        (["solver"], {"max_dollars": float("nan")}, "max_dollars is nan"),
        (["solver"], {"max_tokens": -1}, "max_tokens is -1"),
        (["solver"], {"max_requests": 1.5}, "whole number"),
        (["solver"], {"max_concurrent": 0}, "max_concurrent is 0"),
        (["solver"], {"patience_seconds": -1}, "patience_seconds is -1"),
        (["openrouter/x:online"], {}, "searches the web"),
    ],
)
def test_what_can_not_be(file, models, arguments, words):
    with pytest.raises(UsageError) as caught:
        plan_gateway(models, file, environ=KEYS | {"OPENROUTER_API_KEY": "x"}, **arguments)
    assert words in str(caught.value)


def test_the_same_model_twice_is_no_conflict(file):
    config = plan_gateway(["solver", "mine/big/model", "solver"], file, environ=KEYS)
    assert [model.asked for model in config.models] == ["solver", "mine/big/model"]


@pytest.mark.parametrize("key", ["", "  ", "two words", "sk-ü", "sk\n2"])
def test_a_key_that_can_not_be_one(key):
    with pytest.raises(UsageError, match="OPENAI_API_KEY") as caught:
        plan_gateway(["openai/gpt-4o"], environ={"OPENAI_API_KEY": key})
    assert not key.strip() or key not in str(caught.value)


def test_dialects_of_an_agent(file):
    config = plan_gateway(["solver"], file, environ=KEYS)
    config.require_dialects(["google", "anthropic"])
    with pytest.raises(UsageError, match="speaks google, but the upstream of mine/big/model"):
        config.require_dialects(["google"])


UPSTREAM = '[upstreams.mine]\nurl = "http://x"\n'


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (
            "[upstream.mine]",
            "upstream: this key isn't known; there are upstreams, aliases, prices. Did you mean \"upstr",
        ),
        ("nonsense", "can't be read"),
        ("upstreams = 3", "upstreams: 3 is no table"),
        ("[upstreams]\nmine = 3", "upstreams.mine: 3 is no table"),
        ("[upstreams.mine]", "upstreams.mine.url: it is missing"),
        ('[upstreams.mine]\nurl = "localhost:8000"', 'upstreams.mine.url: "localhost:8000" is no http'),
        ('[upstreams.mine]\nurl = "http://u:p@x"', "upstreams.mine.url: a URL with a query"),
        (UPSTREAM + 'keys = "X"', "upstreams.mine.keys: this key isn't known; there are url, key"),
        (UPSTREAM + "key = 3", "upstreams.mine.key: 3 is no text"),
        (UPSTREAM + 'dialects = ["openai"]', "upstreams.mine.dialects: ['openai'] is no list of openai-chat"),
        (UPSTREAM + "dialects = []", "upstreams.mine.dialects"),
        (UPSTREAM + 'stream_usage = "no"', "upstreams.mine.stream_usage: 'no' is neither"),
        (UPSTREAM + "[upstreams.mine.options]\na = 1", "upstreams.mine.options: they are for a library"),
        ('[upstreams."a/b"]\nurl = "http://x"', "must not be empty or have a slash"),
        ('[upstreams.mine]\nlibrary = "other"', 'upstreams.mine.library: "other" isn\'t known'),
        ('[upstreams.mine]\nlibrary = "litellm"\n[upstreams.mine.options]\napi_key = "x"', "options are recorded"),
        ('[aliases]\nsolver = "mine/x"', "aliases.solver: 'mine/x' is no upstream/name"),
        ("[aliases]\nsolver = 3", "aliases.solver: 3"),
        ('[aliases]\n"a/b" = "openai/x"', "aliases.a/b: an alias must not have a slash"),
        ('[prices."openai/x"]\noutput = 1', 'prices."openai/x".input: it is missing'),
        ('[prices."openai/x"]\ninput = "1"', "prices.\"openai/x\".input: '1' is no number"),
        ('[prices."openai/x"]\ninput = -1', 'prices."openai/x".input: -1 is no number'),
        ('[prices."openai/x"]\ninput = nan', "nan is no number"),
        ('[prices."openai/x"]\ninput = 1\noutputs = 1', "outputs: this key isn't known"),
        ('[prices."x/y"]\ninput = 1', 'prices."x/y": this is no upstream/name'),
    ],
)
def test_a_faulty_file_is_told_where(tmp_path, content, words):
    path = tmp_path / "models.toml"
    path.write_text(content)
    with pytest.raises(UsageError) as caught:
        read_models_file(path)
    assert str(caught.value).startswith(f"{path}")
    assert words in str(caught.value)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(UsageError, match=r"none\.toml can't be read"):
        plan_gateway(["openai/gpt-4o"], tmp_path / "none.toml", environ=KEYS)


def test_a_library_that_is_not_installed(tmp_path):
    import importlib.util

    if importlib.util.find_spec("litellm"):
        pytest.skip("litellm is installed")
    path = tmp_path / "models.toml"
    path.write_text('[upstreams.mine]\nlibrary = "litellm"\n')
    with pytest.raises(UsageError, match=r"pip install mlebench\[litellm\]"):
        plan_gateway(["mine/bedrock/x"], path, environ={})


def test_planning_loads_no_server():
    import subprocess
    import sys

    code = (
        "import sys, mlebench.services.gateway as g; g.plan_gateway; print({'httpx', 'starlette'} & set(sys.modules))"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "set()\n"
