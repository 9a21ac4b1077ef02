"""What a gateway is told before it starts: models, where they are, prices, limits. Pinned in run.json; no keys."""

from __future__ import annotations

import importlib.util
import math
import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Self

from mlebench.errors import UsageError
from mlebench.services.gateway.models_file import OwnModels, hint, read_models_file
from mlebench.services.gateway.prices import Price, built_in
from mlebench.services.gateway.upstreams import BUILT_IN, Upstream

PREFIX = "gw-"  # for agents that choose a way of their own by a model's name


@dataclass(frozen=True)
class Model:
    """A model that may be asked for: `asked` as the user gave it, `name` as its upstream knows it."""

    asked: str
    upstream: str
    name: str
    price: Price | None = None

    @property
    def full_name(self) -> str:
        """`upstream/name`."""
        return f"{self.upstream}/{self.name}"

    @property
    def short_name(self) -> str:
        """What an agent should ask for: the alias if there is one, else the name without its upstream."""
        return self.asked.removeprefix(f"{self.upstream}/")

    @property
    def names(self) -> tuple[str, ...]:
        """All names by which an agent may ask for it."""
        plain = dict.fromkeys((self.short_name, self.name, self.full_name))
        return (*plain, *(PREFIX + name for name in plain))


@dataclass(frozen=True)
class GatewayConfig:
    """The rules of one gateway. Limits are for one attempt; None is no limit."""

    models: tuple[Model, ...]
    upstreams: tuple[Upstream, ...]
    prices_date: str
    max_dollars: float | None = None
    max_tokens: int | None = None
    max_requests: int | None = None
    max_concurrent: int = 8
    provider_tools: bool = False
    patience_seconds: float = 3600
    retry_seconds: float = 1  # before the second try; then twice as long each time, up to a minute
    timeout_seconds: float = 1200  # without a byte from the upstream
    quiet_seconds: float = 15  # until a client that waits hears something
    spoken: tuple[str, ...] = ()  # the dialects that the agent says it speaks

    def to_json(self) -> dict[str, Any]:
        """As plain data; `from_json` reads it."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """The configuration that `to_json` wrote; keys of later versions are ignored."""
        values = _known(cls, data)
        values["models"] = tuple(_model(each) for each in data["models"])
        values["upstreams"] = tuple(_upstream(each) for each in data["upstreams"])
        values["spoken"] = tuple(values.get("spoken", ()))
        return cls(**values)

    def find(self, name: str) -> Model | None:
        """The model that an agent asks for by this name."""
        return next((model for model in self.models if name in model.names), None)

    def upstream(self, model: Model) -> Upstream:
        """Where a model is."""
        return next(each for each in self.upstreams if each.name == model.upstream)

    def require_dialects(self, dialects: Collection[str]) -> None:
        """Raise UsageError if an agent that speaks these dialects can't talk to one of the models."""
        for model in self.models:
            spoken = self.upstream(model).dialects
            if not set(spoken) & set(dialects):
                raise UsageError(
                    f"the agent speaks {', '.join(dialects)}, but the upstream of {model.full_name} speaks "
                    f"{', '.join(spoken)}"
                )


def plan_gateway(
    models: Sequence[str],
    models_file: Path | None = None,
    *,
    max_dollars: float | None = None,
    max_tokens: int | None = None,
    max_requests: int | None = None,
    max_concurrent: int = 8,
    provider_tools: bool = False,
    environ: Mapping[str, str] = os.environ,
    patience_seconds: float = 3600,
) -> GatewayConfig:
    """Resolve models and pin their prices; nothing is asked of any upstream.

    `models` are `upstream/name` or aliases; `models_file` defaults to the variable MLEBENCH_MODELS. Raises
    UsageError for an upstream or alias that isn't known, a key that isn't set, a faulty file, a faulty limit, and
    for a model without a price if dollars are limited.
    """
    if models_file is None and environ.get("MLEBENCH_MODELS"):
        models_file = Path(environ["MLEBENCH_MODELS"]).expanduser()
    own = read_models_file(models_file) if models_file else OwnModels({}, {}, {})
    upstreams = {**BUILT_IN, **own.upstreams}
    date, table = built_in()
    prices = {**table, **own.prices}
    resolved = [_resolve(name, upstreams, own.aliases, prices) for name in dict.fromkeys(models)]
    if not resolved:
        raise UsageError('no model was given; name one as upstream/name, such as "openai/gpt-4o-2024-08-06"')
    _require_unambiguous(resolved)
    used = {model.upstream: upstreams[model.upstream] for model in resolved}
    for upstream in used.values():
        read_key(upstream, environ)
        require_library(upstream)
    config = GatewayConfig(
        models=tuple(resolved),
        upstreams=tuple(used.values()),
        prices_date=date,
        max_dollars=_limit("max_dollars", max_dollars),
        max_tokens=_whole("max_tokens", max_tokens),
        max_requests=_whole("max_requests", max_requests),
        max_concurrent=_whole("max_concurrent", max_concurrent) or 1,
        provider_tools=provider_tools,
        patience_seconds=_limit("patience_seconds", patience_seconds) or 0.0,
    )
    _require_prices(config)
    if not provider_tools:
        _require_offline(config)
    return config


def read_key(upstream: Upstream, environ: Mapping[str, str]) -> str | None:
    """The key of an upstream; None if it needs none. Raises UsageError that names the variable if it isn't set."""
    if upstream.key is None:
        return None
    key = environ.get(upstream.key, "").strip()
    if not key:
        raise UsageError(f"the upstream {upstream.name} needs a key: set the environment variable {upstream.key}")
    if not key.isascii() or not key.isprintable() or " " in key:
        raise UsageError(f"the value of the environment variable {upstream.key} can't be a key: it has odd characters")
    return key


def require_library(upstream: Upstream) -> None:
    """Raise UsageError if an upstream is called by a library that isn't installed."""
    if upstream.library and importlib.util.find_spec(upstream.library) is None:
        raise UsageError(
            f'the upstream {upstream.name} needs the library {upstream.library}: "pip install mlebench[litellm]"'
        )


def _resolve(
    asked: str, upstreams: Mapping[str, Upstream], aliases: Mapping[str, str], prices: Mapping[str, Price]
) -> Model:
    full = aliases.get(asked, asked)
    upstream, _, name = full.partition("/")
    if upstream in upstreams and name:
        return Model(asked, upstream, name, prices.get(full))
    if name:
        known = f"There are {', '.join(upstreams)}; your own go into the file of --models"
        raise UsageError(f'no upstream "{upstream}" for the model "{asked}".{hint(upstream, upstreams)} {known}')
    matching = [each for each in (*prices, *aliases) if each.partition("/")[2] == asked]
    similar = f' Did you mean "{matching[0]}"?' if matching else hint(asked, [*aliases, *prices])
    raise UsageError(f'"{asked}" is neither an alias nor upstream/name.{similar}')


def _require_unambiguous(models: Sequence[Model]) -> None:
    """Two models must not answer to one name, unless they are the same."""
    owners: dict[str, Model] = {}
    for model in models:
        for name in model.names:
            other = owners.setdefault(name, model)
            if other.full_name != model.full_name:
                raise UsageError(
                    f'both {other.full_name} and {model.full_name} would answer to "{name}"; '
                    "leave one out, or give it another name at its upstream"
                )


def _require_prices(config: GatewayConfig) -> None:
    if config.max_dollars is None:
        return
    for model in config.models:
        if model.price is None:
            raise UsageError(
                f"dollars are limited, but the price of {model.full_name} isn't known. Give it in the file of "
                f'--models:\n[prices."{model.full_name}"]\ninput = 1.0   # dollars per million tokens\noutput = 4.0'
            )


def _require_offline(config: GatewayConfig) -> None:
    for model in config.models:
        if model.upstream == "openrouter" and model.name.endswith(":online"):
            raise UsageError(f"{model.full_name} searches the web; only a run that allows provider tools may use it")


def _limit(name: str, value: float | None) -> float | None:
    if value is not None and not (value > 0 and math.isfinite(value)):
        raise UsageError(f"{name} is {value}; it must be a number above 0")
    return value


def _whole(name: str, value: int | None) -> int | None:
    if _limit(name, value) is not None and value != int(value or 0):
        raise UsageError(f"{name} is {value}; it must be a whole number")
    return value


def _model(data: Mapping[str, Any]) -> Model:
    values = _known(Model, data)
    if values.get("price") is not None:
        values["price"] = Price(**_known(Price, values["price"]))
    return Model(**values)


def _upstream(data: Mapping[str, Any]) -> Upstream:
    values = _known(Upstream, data)
    values["dialects"] = tuple(values["dialects"])
    return Upstream(**values)


def _known(kind: type[Any], data: Mapping[str, Any]) -> dict[str, Any]:
    names = {field.name for field in fields(kind)}
    return {name: value for name, value in data.items() if name in names}
