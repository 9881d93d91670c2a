"""What options and arguments hold: quantities, pairs, durations, files."""

from __future__ import annotations

import getpass
import re
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any, TypeVar

import click

from paddleflow.original import member
from paddleflow.problems import InvalidArgument, Violation
from paddleflow.quantity import CPU, MEMORY, parse_amount, parse_pairs, resource_name, within

E = TypeVar("E", bound=StrEnum)
F = TypeVar("F", bound=Callable[..., Any])

INHERITED = ("", "-")
"""What stands in place of a quantity to say: none of its own."""

LARGEST_COUNT = 2**31 - 1
"""The largest number of the API where it counts things."""

_DURATION = re.compile(r"([0-9]{1,9})([smhdw])")
_EPOCH = re.compile(r"[0-9]{9,11}")
_DURATIONS = re.compile(r"([0-9]+[a-z])+", re.ASCII)
_SHOWN_UNITS = 2
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}


def paging(function: F) -> F:
    """The options of a list that comes in pages."""
    size = click.option(
        "-m",
        "--maxsize",
        "--maxkeys",
        "maxsize",
        type=click.IntRange(min=1, max=LARGEST_COUNT),
        default=100,
        show_default=True,
        help="The most to list at once.",
    )
    marker = click.option("-mk", "--marker", default="", help="The marker that ended the page before.")
    return size(marker(function))


def words(text: str) -> list[str]:
    """What a list with commas holds."""
    return [word.strip() for word in text.split(",") if word.strip()]


def states(kind: type[E], field: str, text: str, groups: Mapping[str, Sequence[E]]) -> list[E]:
    """The states that a list with commas names, of which some words stand for several."""
    return [state for word in words(text) for state in groups.get(word.lower()) or (member(kind, word, field),)]


def amounts(what: str, cpu: str | None, memory: str | None, scalars: str | None) -> dict[str, int | None]:
    """Amounts by resource of what is given: None for a resource that is to have none of its own."""
    with within(what):
        given = {CPU: cpu, MEMORY: memory, **_scalars(scalars)}
        told = {name: text for name, text in given.items() if text is not None}
        return {name: None if text in INHERITED else parse_amount(name, text) for name, text in told.items()}


def _scalars(text: str | None) -> dict[str, str]:
    pairs = {resource_name(name): value for name, value in parse_pairs("scalar", text or "").items()}
    for name in (CPU, MEMORY):
        if name in pairs:
            raise InvalidArgument.of(Violation(name, "has an option of its own"))
    return pairs


def duration(field: str, text: str) -> timedelta:
    """The time that ``90m``, ``12h``, ``30d`` or ``1h30m`` lasts, given in this field."""
    parts = _DURATION.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        raise InvalidArgument.of(Violation(field, f"{text!r} is not a duration such as 90s, 12h or 30d"))
    try:
        return timedelta(seconds=sum(int(number) * _SECONDS[unit] for number, unit in parts))
    except OverflowError as error:
        raise InvalidArgument.of(Violation(field, f"{text!r} is longer than can be counted")) from error


def lasting(time: timedelta) -> str:
    """A time as `duration` reads it, in at most two units."""
    left, parts = round(time.total_seconds()), list[str]()
    for unit, seconds in sorted(_SECONDS.items(), key=lambda each: -each[1]):
        if (count := left // seconds) and len(parts) < _SHOWN_UNITS:
            parts.append(f"{count}{unit}")
            left -= count * seconds
    return "".join(parts) or "0s"


def moment(field: str, text: str, now: datetime) -> datetime:
    """The moment of ``2026-05-01``, ``2026-05-01T12:00:00+02:00``, or so long ago as ``2h`` says; of this field."""
    try:
        if _DURATIONS.fullmatch(text):
            return now - duration(field, text)
        told = datetime.fromisoformat(text)
        return told if told.tzinfo else told.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise InvalidArgument.of(
            Violation(field, f"{text!r} is neither a moment such as 2026-05-01T12:00:00 nor a duration such as 2h")
        ) from error


def epoch_moment(field: str, text: str, now: datetime) -> datetime:
    """As `moment`, and in seconds since the epoch."""
    return datetime.fromtimestamp(int(text), UTC) if _EPOCH.fullmatch(text) else moment(field, text, now)


def password(given: str | None, prompt: str, *, confirm: bool) -> str:
    """The password given, read from the input if it is ``-``, asked for on a terminal if there is none."""
    if given == "-":
        return sys.stdin.readline().rstrip("\n")
    if given is not None:
        return given
    with warnings.catch_warnings():
        # Else getpass would only warn that the password shows, and read it from wherever the input comes.
        warnings.simplefilter("error", getpass.GetPassWarning)
        try:
            return str(click.prompt(prompt, hide_input=True, confirmation_prompt=confirm, err=True))
        except getpass.GetPassWarning as warning:
            raise click.UsageError(
                f"{prompt}: there is no terminal to ask on; `-` reads it from the input."
            ) from warning
