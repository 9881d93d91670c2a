"""When crontabs say, also where clocks are changed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import islice
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pf_pipeline.schedules.cron import Calendar, timetable
from pf_pipeline.schedules.fields import CrontabError
from pf_pipeline.schedules.ticks import ticks_from
from pf_pipeline.schedules.zones import UnknownZone

ZONES = ["UTC", "America/Los_Angeles", "Europe/Berlin", "Australia/Lord_Howe", "Asia/Kolkata", "America/St_Johns"]
MINUTE = timedelta(minutes=1)


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def local_ticks(crontab: str, zone: str, begin: str, count: int) -> list[str]:
    """The first ticks after a local time, as the local clock shows them."""
    moment = datetime.fromisoformat(begin).replace(tzinfo=ZoneInfo(zone)).astimezone(UTC)
    plan = timetable(crontab, zone, moment)
    found = islice(ticks_from(plan, plan.after(moment), datetime.max.replace(tzinfo=UTC)), count)
    return [tick.astimezone(ZoneInfo(zone)).strftime("%m-%d %H:%M %Z") for tick in found]


@pytest.mark.parametrize(
    ("crontab", "after", "tick"),
    [
        ("* * * * *", "2024-05-06 07:08:00", "2024-05-06 07:09"),
        ("* * * * *", "2024-05-06 07:08:59.9", "2024-05-06 07:09"),
        ("*/20 * * * *", "2024-05-06 07:41", "2024-05-06 08:00"),
        ("5/20 * * * *", "2024-05-06 07:26", "2024-05-06 07:45"),
        ("10-12,50 8 * * *", "2024-05-06 08:12", "2024-05-06 08:50"),
        ("0 0 1 * *", "2024-05-01", "2024-06-01 00:00"),
        ("0 0 31 * *", "2024-04-01", "2024-05-31 00:00"),
        ("0 0 29 2 *", "2024-03-01", "2028-02-29 00:00"),
        ("0 0 29 feb *", "2096-03-01", "2104-02-29 00:00"),
        ("30 6 * * MON-fri", "2024-05-03 06:30", "2024-05-06 06:30"),
        ("0 12 * * 0", "2024-05-06", "2024-05-12 12:00"),
        ("0 12 13 * fri", "2024-05-06", "2024-05-10 12:00"),
        ("0 12 */13 * fri", "2024-05-11", "2024-05-14 12:00"),
        ("0 12 ? * fri", "2024-05-11", "2024-05-17 12:00"),
        ("@hourly", "2024-05-06 07:00", "2024-05-06 08:00"),
        ("@daily", "2024-05-06 07:00", "2024-05-07 00:00"),
        ("@midnight", "2024-12-31 07:00", "2025-01-01 00:00"),
        ("@weekly", "2024-05-06", "2024-05-12 00:00"),
        ("@monthly", "2024-05-06", "2024-06-01 00:00"),
        ("@yearly", "2024-05-06", "2025-01-01 00:00"),
        ("TZ=Asia/Kolkata 0 9 * * *", "2024-05-06", "2024-05-06 03:30"),
        ("CRON_TZ=America/New_York @daily", "2024-05-06", "2024-05-06 04:00"),
        ("CRON_TZ=America/New_York @daily", "2024-01-06", "2024-01-06 05:00"),
    ],
)
def test_the_next_tick(crontab: str, after: str, tick: str) -> None:
    assert timetable(crontab, "", utc(after)).after(utc(after)) == utc(tick)


def test_a_zone_counts_where_the_crontab_names_none() -> None:
    assert timetable("0 9 * * *", "Asia/Tokyo", utc("2024-05-06")).after(utc("2024-05-06 00:00")) == utc(
        "2024-05-07 00:00"
    )


def test_intervals_are_counted_from_the_anchor() -> None:
    plan = timetable("@every 1h30m", "", utc("2024-05-06 00:10"))
    assert plan.after(utc("2024-05-06 00:00")) == utc("2024-05-06 01:40")
    assert plan.after(utc("2024-05-06 01:40")) == utc("2024-05-06 03:10")
    assert plan.after(utc("2024-05-07 00:09:59")) == utc("2024-05-07 00:10")
    assert timetable("@every 1500ms", "", utc("2024-05-06")).after(utc("2024-05-06")) == utc("2024-05-06 00:00:01")


def test_an_hour_that_the_clock_leaves_out_has_no_ticks() -> None:
    assert local_ticks("30 2 * * *", "America/Los_Angeles", "2020-03-07 00:00", 2) == [
        "03-07 02:30 PST",
        "03-09 02:30 PDT",
    ]
    assert local_ticks("*/30 1-3 * * *", "America/Los_Angeles", "2020-03-08 01:00", 3) == [
        "03-08 01:30 PST",
        "03-08 03:00 PDT",
        "03-08 03:30 PDT",
    ]
    assert local_ticks("15 2 * * *", "Europe/Berlin", "2021-03-27 12:00", 1) == ["03-29 02:15 CEST"]


def test_an_hour_that_the_clock_has_twice_has_its_ticks_twice() -> None:
    assert local_ticks("30 1 * * *", "America/Los_Angeles", "2020-10-31 12:00", 3) == [
        "11-01 01:30 PDT",
        "11-01 01:30 PST",
        "11-02 01:30 PST",
    ]
    assert local_ticks("0 * * * *", "Europe/Berlin", "2021-10-31 01:00", 4) == [
        "10-31 02:00 CEST",
        "10-31 02:00 CET",
        "10-31 03:00 CET",
        "10-31 04:00 CET",
    ]


def test_a_day_of_25_hours_has_one_midnight() -> None:
    assert local_ticks("@daily", "America/Los_Angeles", "2020-10-31 12:00", 2) == ["11-01 00:00 PDT", "11-02 00:00 PST"]


def test_half_an_hour_can_be_left_out_or_come_twice() -> None:
    assert local_ticks("15,45 1,2 * * *", "Australia/Lord_Howe", "2020-10-04 01:20", 2) == [
        "10-04 01:45 +1030",
        "10-04 02:45 +11",
    ]
    assert local_ticks("45 1 * * *", "Australia/Lord_Howe", "2020-04-05 00:00", 3) == [
        "04-05 01:45 +11",
        "04-05 01:45 +1030",
        "04-06 01:45 +1030",
    ]
    # Hours behind the change begin when the clock says so.
    assert local_ticks("0 4 * * *", "Australia/Lord_Howe", "2020-10-04 00:00", 1) == ["10-04 04:00 +11"]


def test_a_midnight_that_the_clock_leaves_out_has_no_tick() -> None:
    assert local_ticks("0 0 * * *", "America/Sao_Paulo", "2018-11-03 00:00", 1) == ["11-05 00:00 -02"]
    assert local_ticks("30 23 * * *", "America/Sao_Paulo", "2018-02-17 12:00", 2) == [
        "02-17 23:30 -02",
        "02-17 23:30 -03",
    ]


@pytest.mark.parametrize(
    ("crontab", "message"),
    [
        ("", "it has 0 fields and must have 5"),
        ("* * * *", "it has 4 fields and must have 5"),
        ("0 0 * * * *", "it has 6 fields and must have 5"),
        ("60 * * * *", "the minute '60' must be from 0 to 59"),
        ("* 24 * * *", "the hour '24' must be from 0 to 23"),
        ("* * 0 * *", "the day of the month '0' must be from 1 to 31"),
        ("* * * 13 *", "the month '13' must be from 1 to 12"),
        ("* * * * 7", "the day of the week '7' must be from 0 to 6, with 0 for Sunday"),
        ("* * * sept *", "'sept' in the month is no number, and none of jan, feb"),
        ("-1 * * * *", "'' in the minute is no number"),
        ("1.5 * * * *", "'1.5' in the minute is no number"),
        ("30-10 * * * *", "ends before it begins; write 10-30, or two parts"),
        ("*/0 * * * *", "the step of the minute in '*/0' is 0"),
        (", * * * *", "the minute is empty"),
        ("@Daily", "'@Daily' is none of @yearly"),
        ("@every", "is no interval; write for example @every 90s"),
        ("@every 90", "is no interval; write for example @every 90s"),
        ("@every 10ms", "must be from one second to nine years"),
        ("* " * 200, "it has more than 256 characters"),
    ],
)
def test_what_is_no_crontab_is_refused(crontab: str, message: str) -> None:
    with pytest.raises(CrontabError) as caught:
        timetable(crontab, "", utc("2024-01-01"))
    assert message in str(caught.value)


@pytest.mark.parametrize("zone", ["Mars/Olympus", "Europe", "../etc/passwd", "/etc/localtime", "zone.tab", "a" * 100])
def test_what_is_no_zone_is_refused(zone: str) -> None:
    with pytest.raises(UnknownZone, match="no time zone is called"):
        timetable("@daily", zone, utc("2024-01-01"))


def test_a_day_that_never_comes_has_no_tick() -> None:
    assert timetable("0 0 30 2 *", "", utc("2024-01-01")).after(utc("2024-01-01")) is None


def field(lowest: int, highest: int) -> st.SearchStrategy[str]:
    numbers = st.integers(lowest, highest)
    spans = st.tuples(numbers, numbers).map(sorted).map(lambda ends: f"{ends[0]}-{ends[1]}")
    return st.just("*") | numbers.map(str) | spans | st.integers(1, 20).map("*/{}".format) | spans.map("{}/7".format)


CHANGES = [utc("2020-03-08 10:00"), utc("2020-11-01 09:00"), utc("2020-10-03 15:30"), utc("2020-04-04 15:00")]


@settings(max_examples=60)
@given(
    st.tuples(field(0, 59), field(0, 23), field(1, 31), st.just("*") | field(1, 12), field(0, 6)).map(" ".join),
    st.sampled_from(ZONES),
    st.sampled_from(CHANGES),
    st.integers(-90, 90),
)
def test_the_next_tick_is_the_first_minute_that_is_chosen(
    crontab: str, zone: str, change: datetime, minutes: int
) -> None:
    begin = change + minutes * MINUTE
    plan = timetable(crontab, zone, begin)
    assert isinstance(plan, Calendar)
    walked = (begin + number * MINUTE for number in range(1, 36 * 60))
    chosen = next((minute for minute in walked if is_chosen(plan, minute)), None)
    found = plan.after(begin)
    assert found == chosen if chosen else found is None or found >= begin + 36 * 60 * MINUTE


def is_chosen(plan: Calendar, minute: datetime) -> bool:
    clock = minute.astimezone(plan.zone)
    days, weekdays = clock.day in plan.days.values, clock.isoweekday() % 7 in plan.weekdays.values
    day = days and weekdays if plan.days.every or plan.weekdays.every else days or weekdays
    return day and clock.minute in plan.minutes and clock.hour in plan.hours and clock.month in plan.months
