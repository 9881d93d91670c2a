"""Dates in quotes, which compare as times. Dates without a zone are in UTC."""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Mapping
from datetime import date

LONGEST = 100
"""Characters of a date: nothing longer is looked at."""

_MINUTES = r"(?P<hour>\d{1,2}):(?P<minute>\d\d)"
_SECONDS = rf"{_MINUTES}:(?P<second>\d\d)(?:[.,]\d+)?"
_DAY = r"(?P<year>\d{4})-(?P<month>\d\d)-(?P<day>\d\d)"
_ZONE = r"(?:Z|(?P<offset>[+-]\d\d:?\d\d))"
_NAMED_DAY = r"(?i:mon|tue|wed|thu|fri|sat|sun) +(?i:(?P<name>jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec))"
_NAMED_ZONE = r"(?:[A-Z]{3}|[A-Z]{3,4}T|WITA|ChST|MeST|GMT[+-]\d{1,2}|[+-]\d{1,2})"
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")

_FORMS = tuple(
    re.compile(form, re.ASCII)
    for form in (
        _DAY,
        rf"{_DAY} +{_MINUTES}",
        rf"{_DAY} +{_SECONDS}(?P<offset>[+-]\d\d:\d\d)?",
        rf"{_DAY}T(?P<hour>\d{{1,2}}){_ZONE}",
        rf"{_DAY}T{_MINUTES}{_ZONE}",
        rf"{_DAY}T{_SECONDS}{_ZONE}",
        rf"{_NAMED_DAY} +(?P<day>\d{{1,2}}) +{_SECONDS} +(?:{_NAMED_ZONE} +)?(?P<year>\d{{4}})",
        rf"{_NAMED_DAY} +(?P<day>\d\d) +{_SECONDS} +(?P<offset>[+-]\d{{4}}) +(?P<year>\d{{4}})",
        r"(?P<hour>\d{1,2}):(?P<minute>\d\d)(?P<half>AM|PM)",
    )
)
_CYCLE_YEARS, _CYCLE_DAYS = 400, 146_097
"""After so many years the calendar repeats itself."""
_EPOCH = date(1970, 1, 1).toordinal()


def seconds_of(text: str) -> float | None:
    """Seconds since the epoch of a text that is a date; None if it is none. Parts of a second are left out."""
    if len(text) > LONGEST:
        return None
    for form in _FORMS:
        if found := form.fullmatch(text):
            return _seconds(found.groupdict())
    return None


def _seconds(parts: Mapping[str, str | None]) -> float | None:
    year, month = int(parts.get("year") or 0), _month(parts)
    day, hour = int(parts.get("day") or 1), _hour(parts)
    minute, second = int(parts.get("minute") or 0), int(parts.get("second") or 0)
    offset = _offset(parts.get("offset") or "+0000")
    if not 1 <= month <= len(_MONTHS) or hour is None or offset is None or minute > 59 or second > 59:
        return None
    if not 1 <= day <= monthrange(year + _CYCLE_YEARS, month)[1]:
        return None
    return float(((_days(year, month, day) * 24 + hour) * 60 + minute) * 60 + second - offset)


def _month(parts: Mapping[str, str | None]) -> int:
    name = parts.get("name")
    return _MONTHS.index(name.lower()) + 1 if name else int(parts.get("month") or 1)


def _hour(parts: Mapping[str, str | None]) -> int | None:
    hour, half = int(parts.get("hour") or 0), parts.get("half")
    if half is None:
        return hour if hour < 24 else None
    if hour > 12:
        return None
    return hour % 12 + (12 if half == "PM" else 0)


def _offset(written: str) -> int | None:
    """Seconds east of UTC."""
    hours, minutes = int(written[1:3]), int(written[-2:])
    if hours > 24 or minutes > 60:
        return None
    seconds = (hours * 60 + minutes) * 60
    return -seconds if written[0] == "-" else seconds


def _days(year: int, month: int, day: int) -> int:
    """Days since the epoch. Python's calendar begins with the year 1, and ends with 9999."""
    cycles, rest = divmod(year, _CYCLE_YEARS)
    return date(rest + _CYCLE_YEARS, month, day).toordinal() + (cycles - 1) * _CYCLE_DAYS - _EPOCH
