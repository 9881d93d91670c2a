"""Regular expressions that end: RE2 needs time in proportion to the text, whatever the pattern, and little memory."""

from __future__ import annotations

import re2

from pf_pipeline.conditions.problems import ConditionError, ConditionSyntaxError

MOST_MEMORY = 2**18
"""Bytes that a pattern may need. It bounds the time, too: that for each character of a text."""


def matches(pattern: str, text: str) -> bool:
    """Whether a pattern is found anywhere in a text. Raises ConditionError if it is no pattern."""
    try:
        return re2.search(pattern, text, _options()) is not None
    except re2.error as error:
        raise ConditionError(_wrong(pattern, error)) from None


def check_pattern(pattern: str, position: int) -> None:
    """Raises ConditionSyntaxError if it is no pattern."""
    try:
        re2.compile(pattern, _options())
    except re2.error as error:
        raise ConditionSyntaxError(position, _wrong(pattern, error)) from None


def _options() -> re2.Options:
    options = re2.Options()
    options.max_mem = MOST_MEMORY
    options.log_errors = False
    options.never_capture = True
    return options


def _wrong(pattern: str, error: Exception) -> str:
    reason = error.args[0].decode() if error.args and isinstance(error.args[0], bytes) else str(error)
    return f"{pattern[:40]!r} is no regular expression that can be used: {reason[:100]}"
