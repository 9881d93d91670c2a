"""Patterns of names and paths, as shells have them; judged in linear time, whoever wrote them."""

from __future__ import annotations

import re
from collections.abc import Callable

import re2

_TOKENS = re.compile(r"\*\*/?|\*|\?|\[!?[^]/]+\]|.", re.DOTALL)


def matcher(pattern: str) -> Callable[[str], bool]:
    """Tells whether a path, relative to the folder that is listed, is like a pattern. Raises ValueError."""
    if not pattern:
        return lambda _path: True
    try:
        compiled = re2.compile("".join(map(_translated, _TOKENS.findall(pattern))))
    except re2.error:
        raise ValueError("is no pattern") from None
    if "/" in pattern:
        return lambda path: compiled.fullmatch(path) is not None
    return lambda path: compiled.fullmatch(path.rpartition("/")[2]) is not None


def _translated(token: str) -> str:
    match token:
        case "**/":
            return "(?:[^/]*/)*"
        case "**":
            return "(?s:.*)"
        case "*":
            return "[^/]*"
        case "?":
            return "[^/]"
        case _ if len(token) > 1:
            return _letters(token[1:-1])
        case _:
            return str(re2.escape(token))


def _letters(inner: str) -> str:
    negated, rest = inner.startswith("!"), inner.removeprefix("!")
    escaped = "".join(f"\\{letter}" if letter in r"\^[]&~" else letter for letter in rest)
    return f"[{'^/' if negated else ''}{escaped}]"
