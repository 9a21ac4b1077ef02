"""What tokens cost: a small dated table of list prices, which a user's own overrides."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from mlebench.services.gateway.usage import Tokens

MILLION = 1_000_000
TABLE = Path(__file__).with_name("prices.toml")


@dataclass(frozen=True)
class Price:
    """Dollars per million tokens. What has no price of its own costs what input costs.

    Requests with more than `long_above` tokens of input cost `long_input` and `long_output` instead.
    """

    input: float
    output: float = 0.0
    cached_input: float | None = None
    cache_write: float | None = None
    cache_write_1h: float | None = None
    long_above: float | None = None
    long_input: float | None = None
    long_output: float | None = None
    long_cached_input: float | None = None

    def dollars(self, tokens: Tokens) -> float:
        """What a call costs.

        >>> Price(input=2.5, cached_input=1.25, output=10).dollars(Tokens(input=1000, cached=400, output=100))
        0.003
        """
        long = self.long_above is not None and tokens.input > self.long_above
        fresh = _first(self.long_input if long else None, self.input)
        output = _first(self.long_output if long else None, self.output)
        cached = _first(self.long_cached_input, fresh) if long else _first(self.cached_input, fresh)
        write = _first(self.cache_write, fresh)
        write_1h = _first(self.cache_write_1h, write)
        plain = tokens.input - tokens.cached - tokens.cache_write
        parts = (
            (plain, fresh),
            (tokens.cached, cached),
            (tokens.cache_write - tokens.cache_write_1h, write),
            (tokens.cache_write_1h, write_1h),
            (tokens.output, output),
        )
        return round(sum(max(0, count) * price for count, price in parts) / MILLION, 10)


def _first(value: float | None, otherwise: float) -> float:
    return otherwise if value is None else value


@lru_cache(maxsize=1)
def built_in() -> tuple[str, Mapping[str, Price]]:
    """The date of the table, and the prices by `upstream/model`."""
    content: dict[str, Any] = tomllib.loads(TABLE.read_text(encoding="utf-8"))
    return content["date"], {name: Price(**entry) for name, entry in content["prices"].items()}
