"""The fields of a crontab."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field


class CrontabError(ValueError):
    """A text is no crontab; the message says what is wrong with it, and what to write."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """What may stand in a field."""

    name: str
    lowest: int
    highest: int
    words: Mapping[str, int] = field(default_factory=dict)


_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
MINUTE = Bounds("minute", 0, 59)
HOUR = Bounds("hour", 0, 23)
DAY = Bounds("day of the month", 1, 31)
MONTH = Bounds("month", 1, 12, {name: at for at, name in enumerate(_MONTHS, 1)})
WEEKDAY = Bounds("day of the week", 0, 6, {name: at for at, name in enumerate(_DAYS)})


@dataclass(frozen=True, slots=True)
class Chosen:
    """What a field says."""

    values: frozenset[int]
    every: bool
    """It says ``*``, and does not count if the other field for days says something."""


def read_field(text: str, bounds: Bounds) -> Chosen:
    """What a field says. Raises CrontabError."""
    parts = [_part(part, bounds) for part in text.split(",") if part]
    if not parts:
        raise CrontabError(f"the {bounds.name} is empty; write * for every one")
    return Chosen(frozenset().union(*(part.values for part in parts)), any(part.every for part in parts))


def _part(text: str, bounds: Bounds) -> Chosen:
    """A number, a range or all, with or without a step."""
    span, slash, step = text.partition("/")
    every = span in ("*", "?")
    size = _number(step, bounds) if slash else 1
    if size == 0:
        raise CrontabError(f"the step of the {bounds.name} in {text!r} is 0; write at least 1")
    first, last = (bounds.lowest, bounds.highest) if every else _span(span, bool(slash), bounds)
    return Chosen(frozenset(range(first, last + 1, size)), every and size == 1)


def _span(text: str, stepped: bool, bounds: Bounds) -> tuple[int, int]:
    low, hyphen, high = text.partition("-")
    first = _value(low, bounds)
    last = _value(high, bounds) if hyphen else bounds.highest if stepped else first
    if first > last:
        raise CrontabError(f"the {bounds.name} {text!r} ends before it begins; write {high}-{low}, or two parts")
    return first, last


def _value(text: str, bounds: Bounds) -> int:
    value = bounds.words.get(text.lower())
    value = _number(text, bounds) if value is None else value
    if not bounds.lowest <= value <= bounds.highest:
        hint = ", with 0 for Sunday" if bounds is WEEKDAY else ""
        raise CrontabError(f"the {bounds.name} {text!r} must be from {bounds.lowest} to {bounds.highest}{hint}")
    return value


def _number(text: str, bounds: Bounds) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) <= 4):
        raise CrontabError(f"{text[:40]!r} in the {bounds.name} is no number{''.join(_known(bounds))}")
    return int(text)


def _known(bounds: Bounds) -> Iterator[str]:
    if bounds.words:
        yield f", and none of {', '.join(bounds.words)}"
