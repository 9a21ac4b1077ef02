"""What an attempt has used of its models, what it may use, and the verdict when that is over."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from mlebench.services.gateway.config import GatewayConfig
from mlebench.services.gateway.usage import Tokens

SPENT = "budget-spent"
BROKEN = "gateway-error"
MAX_NAMES = 50


@dataclass(frozen=True)
class ModelUse:
    """What an attempt has used.

    cached_tokens and cache_write_tokens are part of input_tokens, reasoning_tokens of output_tokens.
    lost_seconds: of the clock, while at least one call waited because its upstream failed.
    usage_unknown: calls that were made but whose tokens the upstream didn't tell; unpriced: calls whose tokens are
    known, but not what they cost. Neither is in dollars. failed_tries: tries that had to be repeated; what they cost
    isn't known. replayed, replayed_next: answers out of a recording, and those of them to a request that was similar.
    """

    requests: int = 0
    input_tokens: int = 0
    cached_tokens: int = 0
    cache_write_tokens: int = 0
    output_tokens: int = 0
    reasoning_tokens: int = 0
    dollars: float = 0.0
    lost_seconds: float = 0.0
    refused: int = 0
    usage_unknown: int = 0
    unpriced: int = 0
    failed_tries: int = 0
    replayed: int = 0
    replayed_next: int = 0
    removed_tools: Mapping[str, int] = field(default_factory=dict)

    @property
    def total_tokens(self) -> int:
        """Input and output."""
        return self.input_tokens + self.output_tokens


class Ledger:
    """Adds up what is used. Any thread may look at it at any time."""

    def __init__(self, config: GatewayConfig) -> None:
        self._config = config
        self._lock = threading.Lock()
        self._use = ModelUse()
        self._verdict: tuple[str, str] | None = None
        self._lost: list[tuple[float, float]] = []

    @property
    def use(self) -> ModelUse:
        """What has been used up to now."""
        with self._lock:
            return self._use

    @property
    def verdict(self) -> tuple[str, str] | None:
        """How the attempt has to end, and why; None as long as it may go on."""
        with self._lock:
            return self._verdict

    def begin(self) -> None:
        """Count a request, or give the verdict if there is nothing left for it."""
        with self._lock:
            spent = self._spent()
            if self._verdict is None and spent:
                self._verdict = (SPENT, spent)
            if self._verdict is None:
                self._use = replace(self._use, requests=self._use.requests + 1)

    def add(self, tokens: Tokens | None, dollars: float | None) -> None:
        """Count what a call used; None if it isn't known."""
        with self._lock:
            use = self._use
            if tokens is None:
                self._use = replace(use, usage_unknown=use.usage_unknown + 1)
                return
            self._use = replace(
                use,
                input_tokens=use.input_tokens + tokens.input,
                cached_tokens=use.cached_tokens + tokens.cached,
                cache_write_tokens=use.cache_write_tokens + tokens.cache_write,
                output_tokens=use.output_tokens + tokens.output,
                reasoning_tokens=use.reasoning_tokens + tokens.reasoning,
                dollars=round(use.dollars + (dollars or 0.0), 10),
                unpriced=use.unpriced + (dollars is None),
            )

    def add_refused(self) -> None:
        """Count a request that was not relayed."""
        with self._lock:
            self._use = replace(self._use, refused=self._use.refused + 1)

    def add_failed_try(self) -> None:
        """Count a try that has to be repeated."""
        with self._lock:
            self._use = replace(self._use, failed_tries=self._use.failed_tries + 1)

    def add_removed(self, names: Iterable[str]) -> None:
        """Count tools that were taken out of a request."""
        with self._lock:
            counts = dict(self._use.removed_tools)
            for name in names:
                known = name if name in counts or len(counts) < MAX_NAMES else "others"  # the agent may invent names
                counts[known] = counts.get(known, 0) + 1
            self._use = replace(self._use, removed_tools=counts)

    def add_replayed(self, exact: bool) -> None:
        """Count an answer out of a recording."""
        with self._lock:
            use = self._use
            self._use = replace(use, replayed=use.replayed + 1, replayed_next=use.replayed_next + (not exact))

    def add_lost(self, start: float, end: float) -> None:
        """Count an interval of the clock as lost; those that overlap count once."""
        with self._lock:
            self._lost = merged([*self._lost, (start, end)])
            self._use = replace(self._use, lost_seconds=round(sum(end - start for start, end in self._lost), 3))

    def condemn(self, reason: str) -> None:
        """Give the verdict that the way to the model failed; the first verdict stands."""
        with self._lock:
            self._verdict = self._verdict or (BROKEN, reason)

    def _spent(self) -> str:
        config, use = self._config, self._use
        if config.max_dollars is not None and use.dollars >= config.max_dollars:
            return f"${use.dollars:.4f} of ${config.max_dollars:g} for the model are spent"
        if config.max_tokens is not None and use.total_tokens >= config.max_tokens:
            return f"{use.total_tokens:,} of {config.max_tokens:,} tokens are spent"
        if config.max_requests is not None and use.requests >= config.max_requests:
            return f"all of {config.max_requests:,} requests to the model are spent"
        return ""


def merged(intervals: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
    """The same points of time in intervals that don't overlap.

    >>> merged([(5, 6), (0, 2), (1, 3)])
    [(0, 3), (5, 6)]
    """
    result: list[tuple[float, float]] = []
    for start, end in sorted(intervals):
        if result and start <= result[-1][1]:
            result[-1] = (result[-1][0], max(result[-1][1], end))
        else:
            result.append((start, end))
    return result
