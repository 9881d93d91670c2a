"""When a crontab says, as pure arithmetic on the calendars of time zones.

Five fields choose minutes of the local clock. What chooses a minute that the clock leaves out, because summer begins,
does nothing on that day; what chooses one that the clock has twice, because summer ends, does it twice.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from types import MappingProxyType
from zoneinfo import ZoneInfo

from pf_pipeline.schedules.fields import DAY, HOUR, MINUTE, MONTH, WEEKDAY, Chosen, CrontabError, read_field
from pf_pipeline.schedules.zones import UTC_NAME, UnknownZone, zone_of

LONGEST = 256
"""Characters of a crontab."""
_NAMED: Mapping[str, str] = MappingProxyType(
    {
        "@yearly": "0 0 1 1 *",
        "@annually": "0 0 1 1 *",
        "@monthly": "0 0 1 * *",
        "@weekly": "0 0 * * 0",
        "@daily": "0 0 * * *",
        "@midnight": "0 0 * * *",
        "@hourly": "0 * * * *",
    }
)
_ZONED = re.compile(r"(?:CRON_)?TZ=(\S*)\s+(.*)", re.DOTALL)
_EVERY = re.compile(r"@every\s+(?P<length>(?:\d+(?:\.\d*)?(?:h|m|s|ms))+)", re.ASCII)
_LENGTH = re.compile(r"(\d+(?:\.\d*)?)(h|ms|m|s)", re.ASCII)
_SECONDS: Mapping[str, float] = MappingProxyType({"h": 3600, "m": 60, "s": 1, "ms": 0.001})
_FURTHEST = timedelta(days=366 * 9)
"""How far ahead is looked: the 29th of February comes back after eight years at the latest."""
_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Calendar:
    """Minutes of the local clock."""

    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    days: Chosen
    months: frozenset[int]
    weekdays: Chosen
    zone: ZoneInfo

    def after(self, moment: datetime) -> datetime | None:
        """The first tick after a moment, in UTC; None if there is none in the next nine years."""
        day = moment.astimezone(self.zone).date() - _DAY
        last = day + _FURTHEST
        while day <= last:
            if day.month not in self.months:
                day = _next_month(day)
                continue
            if found := self._first_of(day, moment):
                return found
            day += _DAY
        return None

    def _first_of(self, day: date, moment: datetime) -> datetime | None:
        """The first tick after a moment on a day. The clock may go back from the day behind it into this one."""
        found = [tick for each in (day, day + _DAY) for tick in self._ticks_of(each, moment)]
        return min(found, default=None)

    def _ticks_of(self, day: date, moment: datetime) -> Iterator[datetime]:
        """The first tick after a moment on a day, if there is one; on a day with a change of the clock, all of them."""
        if not self._chooses(day):
            return
        begin, end = self._at(day, time.min), self._at(day, time(23, 59))
        if any(offset != begin.utcoffset() for offset in (begin.replace(fold=1).utcoffset(), *_offsets(end))):
            yield from self._changing(day, moment)
        elif end > moment:
            yield from self._even(day, moment)

    def _chooses(self, day: date) -> bool:
        in_month, in_week = day.day in self.days.values, day.isoweekday() % 7 in self.weekdays.values
        both = self.days.every or self.weekdays.every
        return day.month in self.months and (in_month and in_week if both else in_month or in_week)

    def _even(self, day: date, moment: datetime) -> Iterator[datetime]:
        local = moment.astimezone(self.zone)
        begun = local.date() == day
        for hour in self.hours:
            for minute in self.minutes:
                if not begun or (hour, minute) > (local.hour, local.minute):
                    yield self._at(day, time(hour, minute)).astimezone(UTC)
                    return

    def _changing(self, day: date, moment: datetime) -> Iterator[datetime]:
        for hour in self.hours:
            for minute in self.minutes:
                for fold in (0, 1):
                    wanted = time(hour, minute, fold=fold)
                    tick = self._at(day, wanted).astimezone(UTC)
                    back = tick.astimezone(self.zone)
                    if tick > moment and (back.date(), back.hour, back.minute) == (day, hour, minute):
                        yield tick

    def _at(self, day: date, clock: time) -> datetime:
        return datetime.combine(day, clock, self.zone)


@dataclass(frozen=True, slots=True)
class Interval:
    """Ticks that are equally far apart."""

    period: timedelta
    anchor: datetime
    """The zeroth tick, which is none."""

    def after(self, moment: datetime) -> datetime | None:
        """The first tick after a moment."""
        gone = max((moment - self.anchor) // self.period, 0)
        return (self.anchor + (gone + 1) * self.period).astimezone(UTC)


Timetable = Calendar | Interval


@dataclass(frozen=True, slots=True)
class Crontab:
    """A crontab that has been read."""

    text: str
    """Without its time zone."""
    zone_name: str
    """Empty: it names none."""


def split(text: str) -> Crontab:
    """A crontab and the time zone that stands before it."""
    zoned = _ZONED.fullmatch(text.strip())
    return Crontab(zoned[2].strip(), zoned[1] or UTC_NAME) if zoned else Crontab(text.strip(), "")


def timetable(text: str, zone_name: str, anchor: datetime) -> Timetable:
    """When a crontab says, in a time zone that counts if it names none. Intervals are counted from the anchor.

    Raises CrontabError, or UnknownZone.
    """
    if len(text) > LONGEST:
        raise CrontabError(f"it has more than {LONGEST} characters")
    crontab = split(text)
    zone = zone_of(crontab.zone_name or zone_name)
    if crontab.text.startswith("@every"):
        return Interval(_period(crontab.text), anchor.replace(microsecond=0))
    if crontab.text.startswith("@") and crontab.text not in _NAMED:
        raise CrontabError(f"{crontab.text[:40]!r} is none of {', '.join(_NAMED)}, and @every 90s")
    return _calendar(_NAMED.get(crontab.text, crontab.text).split(), zone)


def _calendar(fields: list[str], zone: ZoneInfo) -> Calendar:
    if len(fields) != 5:
        raise CrontabError(
            f"it has {len(fields)} fields and must have 5: minute, hour, day of the month, month, day of the week"
        )
    minute, hour, day, month, weekday = (
        read_field(text, bounds) for text, bounds in zip(fields, (MINUTE, HOUR, DAY, MONTH, WEEKDAY), strict=True)
    )
    return Calendar(tuple(sorted(minute.values)), tuple(sorted(hour.values)), day, month.values, weekday, zone)


def _period(text: str) -> timedelta:
    found = _EVERY.fullmatch(text)
    if not found:
        raise CrontabError(f"{text[:40]!r} is no interval; write for example @every 90s or @every 1h30m")
    seconds = sum(float(number) * _SECONDS[unit] for number, unit in _LENGTH.findall(found["length"]))
    if not 1 <= seconds <= _FURTHEST.total_seconds():
        raise CrontabError(f"{text[:40]!r} must be from one second to nine years")
    return timedelta(seconds=int(seconds))


def _next_month(day: date) -> date:
    return date(day.year + day.month // 12, day.month % 12 + 1, 1)


def _offsets(end: datetime) -> tuple[timedelta | None, timedelta | None]:
    return end.utcoffset(), end.replace(fold=1).utcoffset()


__all__ = ["Calendar", "Crontab", "CrontabError", "Interval", "Timetable", "UnknownZone", "split", "timetable"]
