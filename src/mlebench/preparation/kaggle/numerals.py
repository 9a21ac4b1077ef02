"""Numbers as people write them: a point or a comma before the decimals, with or without groups of thousands."""

from __future__ import annotations

import re
from collections.abc import Sequence

_EMPTY = frozenset({"", "-", "–", "null", "none", "nan", "na", "n/a"})
_PLAIN = r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?|[+-]?inf(inity)?"
_POINT = rf"[+-]?[1-9]\d{{0,2}}(,\d{{3}})+(\.\d+)?|{_PLAIN}"  # 1,234.5
_COMMA = r"[+-]?[1-9]\d{0,2}([. ]\d{3})+(,\d+)?|[+-]?\d+(,\d+)?(e[+-]?\d+)?|[+-]?inf(inity)?"  # 1.234,5


def numbers(texts: Sequence[str]) -> list[float | None]:
    """The numbers of one column, None where there is none. All must be written in one style.

    Raises ValueError if they are not, or could be in two styles that mean different numbers.

    >>> numbers(["0.5", "", "1e-3"]), numbers(["1,234.5", "99"]), numbers(["0,25", "1,5"])
    ([0.5, None, 0.001], [1234.5, 99.0], [0.25, 1.5])
    """
    cleaned = [text.strip().replace("\N{MINUS SIGN}", "-").replace("\N{NO-BREAK SPACE}", " ").lower() for text in texts]
    given = [text for text in cleaned if text not in _EMPTY]
    plain = _all_like(_PLAIN, given) or _in_another_style(given)
    values = iter(plain)
    return [None if text in _EMPTY else float(next(values)) for text in cleaned]


def _all_like(pattern: str, texts: Sequence[str]) -> list[str]:
    """The texts if all of them are written like this, else none."""
    return list(texts) if all(re.fullmatch(pattern, text) for text in texts) else []


def _in_another_style(texts: Sequence[str]) -> list[str]:
    """The numbers as Python writes them."""
    with_point = [text.replace(",", "") for text in _all_like(_POINT, texts)]
    with_comma = [re.sub(r"[. ]", "", text).replace(",", ".") for text in _all_like(_COMMA, texts)]
    if with_point and with_comma:
        odd = next(text for text in texts if "," in text)
        raise ValueError(f"{odd!r} is one number with a decimal comma, and another one without")
    if texts and not with_point and not with_comma:
        odd = next(text for text in texts if not re.fullmatch(_PLAIN, text))
        raise ValueError(f"{odd!r} is no number, or is written otherwise than the rest")
    return with_point or with_comma
