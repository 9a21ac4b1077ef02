"""The user's own upstreams, aliases and prices: a TOML file, read strictly."""

from __future__ import annotations

import difflib
import math
import tomllib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from mlebench.errors import UsageError
from mlebench.services.gateway.prices import Price
from mlebench.services.gateway.upstreams import BUILT_IN, DIALECTS, Upstream

LIBRARIES = ("litellm",)
UPSTREAM_KEYS = ("url", "key", "dialects", "stream_usage", "library", "options")
PRICE_KEYS = tuple(field.name for field in fields(Price))


@dataclass(frozen=True)
class OwnModels:
    """What a user's file says."""

    upstreams: Mapping[str, Upstream]
    aliases: Mapping[str, str]
    prices: Mapping[str, Price]


def read_models_file(path: Path) -> OwnModels:
    """Read the file. Raises UsageError that names it and the key for whatever is wrong in it."""
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} can't be read: {error}") from error
    top = _Table(path, "", content, ("upstreams", "aliases", "prices"))
    upstreams = {name: _upstream(top.below("upstreams", name, UPSTREAM_KEYS), name) for name in top.table("upstreams")}
    known = {**BUILT_IN, **upstreams}
    aliases = top.table("aliases")
    for name, target in aliases.items():
        if not isinstance(target, str) or target.partition("/")[0] not in known or not target.partition("/")[2]:
            top.fail(f"aliases.{name}", f"{target!r} is no upstream/name; upstreams are {', '.join(known)}")
        if "/" in name:
            top.fail(f"aliases.{name}", "an alias must not have a slash")
    prices = {name: _price(top.below("prices", name, PRICE_KEYS)) for name in top.table("prices")}
    for name in prices:
        if name.partition("/")[0] not in known or not name.partition("/")[2]:
            top.fail(f'prices."{name}"', f"this is no upstream/name; upstreams are {', '.join(known)}")
    return OwnModels(upstreams, aliases, prices)


def hint(word: str, known: Iterable[str]) -> str:
    """A similar word, as a question."""
    similar = difflib.get_close_matches(word, list(known), n=1)
    return f' Did you mean "{similar[0]}"?' if similar else ""


def _upstream(table: _Table, name: str) -> Upstream:
    if not name or "/" in name:
        table.fail("", "the name of an upstream must not be empty or have a slash")
    library = table.text("library")
    if library is not None and library not in LIBRARIES:
        table.fail("library", f'"{library}" isn\'t known; there is {", ".join(LIBRARIES)}')
    url = table.text("url")
    if url is None and library is None:
        table.fail("url", "it is missing")
    if "options" in table.content and library is None:
        table.fail("options", "they are for a library")
    dialects = ("openai-chat",) if library else DIALECTS
    for option in table.table("options"):
        if any(word in option.lower() for word in ("key", "token", "secret", "password")):
            table.fail("options", f'"{option}": options are recorded; name the variable of a key with "key"')
    return Upstream(
        name=name,
        url=_base(table, url) if url is not None else "",
        key=table.text("key"),
        dialects=table.words("dialects", dialects),
        stream_usage=table.boolean("stream_usage", True),
        library=library,
        options=table.table("options"),
    )


def _base(table: _Table, url: str) -> str:
    """The base of the URL: paths below it begin with their version."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        table.fail("url", f'"{url}" is no http or https URL')
    if parts.query or parts.fragment or parts.username or parts.password:
        table.fail("url", "a URL with a query, a fragment, a user or a password can't be used")
    return url.rstrip("/").removesuffix("/v1")


def _price(table: _Table) -> Price:
    values = {key: table.number(key) for key in table.content}
    if "input" not in values:
        table.fail("input", "it is missing (dollars per million tokens)")
    return Price(**values)


class _Table:
    """A table of the file, and the words for what is wrong in it."""

    def __init__(self, path: Path, where: str, content: Any, keys: Collection[str]) -> None:
        self.path, self.where, self.content = path, where, content
        if not isinstance(content, dict):
            self.fail("", f"{content!r} is no table")
        for key in content:
            if key not in keys:
                self.fail(key, f"this key isn't known; there are {', '.join(keys)}.{hint(key, keys)}")

    def fail(self, key: str, problem: str) -> None:
        """Raise UsageError."""
        place = ".".join(part for part in (self.where, key) if part)
        raise UsageError(f"{self.path}: {place}: {problem}")

    def below(self, table: str, name: str, keys: Collection[str]) -> _Table:
        """The table `name` in `table`."""
        place = name if name.isidentifier() else f'"{name}"'
        return _Table(self.path, f"{table}.{place}", self.content[table][name], keys)

    def table(self, key: str) -> dict[str, Any]:
        value = self.content.get(key, {})
        if not isinstance(value, dict):
            self.fail(key, f"{value!r} is no table")
        return value

    def text(self, key: str) -> str | None:
        value = self.content.get(key)
        if value is not None and (not isinstance(value, str) or not value):
            self.fail(key, f"{value!r} is no text")
        return value

    def boolean(self, key: str, default: bool) -> bool:
        value = self.content.get(key, default)
        if not isinstance(value, bool):
            self.fail(key, f"{value!r} is neither true nor false")
        return value

    def number(self, key: str) -> float:
        value = self.content[key]
        if isinstance(value, bool) or not isinstance(value, int | float) or not (value >= 0 and math.isfinite(value)):
            self.fail(key, f"{value!r} is no number from 0 on")
        return float(value)

    def words(self, key: str, allowed: Collection[str]) -> tuple[str, ...]:
        value = self.content.get(key, list(allowed))
        if not isinstance(value, list) or not value or not set(map(str, value)) <= set(allowed):
            self.fail(key, f"{value!r} is no list of {', '.join(allowed)}")
        return tuple(value)
