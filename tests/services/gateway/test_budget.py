"""Limits of an attempt, and what clients are told when one is reached."""

import re
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from mlebench.services.gateway.budget import Ledger, merged
from mlebench.services.gateway.config import GatewayConfig
from mlebench.services.gateway.prices import Price, built_in
from mlebench.services.gateway.usage import Tokens, tokens_of

CALL_DOLLARS = (60 * 10 + 40 * 1 + 20 * 100) / 1e6
MESSAGES = [{"role": "user", "content": "Hi"}]
PATHS = [
    ("/v1/chat/completions", {"model": "solver", "messages": MESSAGES}, 401),
    ("/v1/responses", {"model": "solver", "input": "Hi", "stream": True}, 401),
    ("/v1/messages", {"model": "solver", "messages": MESSAGES, "stream": True}, 403),
    ("/v1beta/models/solver:generateContent", {"contents": []}, 403),
]


@pytest.mark.parametrize(
    ("limit", "calls", "words"),
    [
        ({"max_dollars": CALL_DOLLARS * 1.5}, 2, r"\$0.0053 of \$0.00396"),
        ({"max_dollars": CALL_DOLLARS}, 1, r"\$0.0026 of"),
        ({"max_tokens": 300}, 3, "360 of 300 tokens"),
        ({"max_tokens": 360}, 3, "360 of 360 tokens"),
        ({"max_requests": 2}, 2, "2 requests"),
    ],
)
def test_a_limit(start, upstream, limit, calls, words):
    with start(**limit) as running:
        for _ in range(calls):
            assert running.chat().status_code == 200
            assert running.verdict is None  # the last answer may be used in peace
        for path, body, status in PATHS:
            answer = running.post(path, body)
            assert answer.status_code == status
            assert "the budget is spent" in answer.json()["error"]["message"]
        assert running.client.get("/v1/models").status_code == 200
    end, reason = running.verdict
    assert end == "budget-spent"
    assert re.search(words, reason)
    assert len(upstream.seen) == calls
    assert (running.use.requests, running.use.refused) == (calls, len(PATHS))
    assert "the budget is spent" in running.recorded()[-1]["refused"]


def test_requests_at_once_do_not_outrun_the_limit(start, upstream):
    with start(max_requests=5) as running, ThreadPoolExecutor(8) as pool:
        states = sorted(each.status_code for each in pool.map(lambda _: running.chat(), range(12)))
    assert states == [200] * 5 + [401] * 7
    assert len(upstream.seen) == 5


def test_the_first_verdict_stands():
    ledger = Ledger(GatewayConfig((), (), "", max_requests=1))
    ledger.begin()
    ledger.begin()
    ledger.condemn("later")
    assert ledger.verdict == ("budget-spent", "all of 1 requests to the model are spent")


def test_use_is_read_and_written_by_threads():
    ledger = Ledger(GatewayConfig((), (), ""))

    def work():
        for _ in range(1000):
            ledger.begin()
            ledger.add(Tokens(input=2, output=1), 0.001)
            assert ledger.use.input_tokens <= 8000

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (ledger.use.requests, ledger.use.input_tokens, ledger.use.total_tokens) == (4000, 8000, 12000)
    assert ledger.use.dollars == pytest.approx(4)


def test_calls_without_a_price_are_counted():
    ledger = Ledger(GatewayConfig((), (), ""))
    ledger.add(Tokens(input=1), None)
    ledger.add(None, None)
    assert (ledger.use.unpriced, ledger.use.usage_unknown) == (1, 1)


def test_tool_names_that_an_agent_invents_do_not_pile_up():
    ledger = Ledger(GatewayConfig((), (), ""))
    ledger.add_removed([f"tool-{number}" for number in range(1000)] + ["tool-1"])
    assert len(ledger.use.removed_tools) == 51
    assert ledger.use.removed_tools["tool-1"] == 2
    assert sum(ledger.use.removed_tools.values()) == 1001


@pytest.mark.parametrize(
    ("intervals", "expected"),
    [([], []), ([(0, 1), (1, 2)], [(0, 2)]), ([(3, 4), (0, 9)], [(0, 9)]), ([(0, 1), (2, 3)], [(0, 1), (2, 3)])],
)
def test_intervals(intervals, expected):
    assert merged(intervals) == expected


PRICE = Price(input=1, output=10, cached_input=0.1, cache_write=2, cache_write_1h=4)


@pytest.mark.parametrize(
    ("price", "tokens", "dollars"),
    [
        (PRICE, Tokens(input=1_000_000), 1),
        (PRICE, Tokens(input=1_000_000, cached=1_000_000), 0.1),
        (PRICE, Tokens(input=1_000_000, cache_write=1_000_000), 2),
        (PRICE, Tokens(input=1_000_000, cache_write=1_000_000, cache_write_1h=500_000), 3),
        (PRICE, Tokens(output=1_000_000, reasoning=900_000), 10),
        (Price(input=1), Tokens(input=1_000_000, cached=500_000, cache_write=500_000, output=7), 1),
        (Price(1, 1, long_above=10, long_input=2, long_output=3), Tokens(input=10, output=10), 20e-6),
        (Price(1, 1, long_above=10, long_input=2, long_output=3), Tokens(input=11, output=10), 52e-6),
        (Price(1, 1, 0.5, long_above=10, long_input=2, long_cached_input=1), Tokens(input=20, cached=20), 20e-6),
    ],
)
def test_what_tokens_cost(price, tokens, dollars):
    assert price.dollars(tokens) == pytest.approx(dollars)


def test_the_table_of_prices():
    date, prices = built_in()
    assert date == "2025-11-30"
    assert prices["openai/gpt-4o-2024-08-06"] == Price(input=2.5, cached_input=1.25, output=10)
    for name, price in prices.items():
        assert name.partition("/")[0] in ("openai", "anthropic", "google")
        assert price.input > 0
        assert (price.cached_input or 0) < price.input <= price.output or price.output == 0
        assert (price.long_above is None) == (price.long_input is None)


@pytest.mark.parametrize(
    ("dialect", "documents", "expected"),
    [
        ("openai-chat", [{"choices": []}], None),
        ("openai-chat", [{"usage": None}, {"usage": {}}], None),
        (
            "openai-chat",
            [None, "x", {"usage": {"prompt_tokens": 3, "completion_tokens": 2}}],
            Tokens(input=3, output=2),
        ),
        # What a model thought may be in the total only.
        (
            "openai-chat",
            [{"usage": {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 9}}],
            Tokens(3, output=6),
        ),
        ("openai-chat", [{"usage": {"prompt_tokens": 9, "prompt_cache_hit_tokens": 4}}], Tokens(9, cached=4)),
        ("openai-responses", [{"output": [], "usage": {"input_tokens": 3, "output_tokens": 2}}], Tokens(3, output=2)),
        ("openai-responses", [{"type": "response.failed", "response": {"usage": None}}], None),
        ("anthropic", [{"type": "ping"}], None),
        (
            "anthropic",
            [
                {"type": "message_start", "message": {"usage": {"input_tokens": 5, "output_tokens": 1}}},
                {
                    "type": "message_delta",
                    "usage": {"output_tokens": 8, "cache_read_input_tokens": 2, "cache_creation_input_tokens": None},
                },
            ],
            Tokens(input=7, cached=2, output=8),
        ),
        (
            "anthropic",
            [
                {
                    "usage": {
                        "input_tokens": 1,
                        "cache_creation_input_tokens": 6,
                        "cache_creation": {"ephemeral_1h_input_tokens": 4},
                        "output_tokens": 2,
                        "output_tokens_details": {"thinking_tokens": 1},
                    }
                }
            ],
            Tokens(input=7, cache_write=6, cache_write_1h=4, output=2, reasoning=1),
        ),
        ("google", [{"usageMetadata": {"promptTokenCount": 3, "toolUsePromptTokenCount": 2}}], Tokens(input=5)),
    ],
)
def test_counts_of_each_dialect(dialect, documents, expected):
    assert tokens_of(dialect, documents) == expected
