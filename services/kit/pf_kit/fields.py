"""What fields may hold, whatever they are about: functions that yield a violation for each thing wrong."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import chain, islice

from paddleflow.problems import InvalidArgument, Violation

DNS_LABEL = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
"""What DNS (RFC 1123) and Kubernetes take as a label."""
MOST_VIOLATIONS = 10
"""An answer names no more: it travels in the trailers of a call, which are small."""
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_CONTROL_BUT_LAYOUT = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
"""Tabs and line ends may be; Postgres stores no NUL, and nobody wants the rest."""


def require(*found: Iterable[Violation]) -> None:
    """Raises InvalidArgument if there is a violation."""
    if violations := tuple(islice(chain.from_iterable(found), MOST_VIOLATIONS)):
        raise InvalidArgument.of(*violations)


def shown(text: str) -> str:
    """A caller's word, as it may stand in a message: quoted and not too long."""
    return repr(text if len(text) <= 80 else f"{text[:77]}...")


def dns_label(field: str, text: str) -> Iterator[Violation]:
    """A name of DNS."""
    if not DNS_LABEL.fullmatch(text):
        rule = "lower-case letters, digits and '-', beginning and ending with a letter or digit, at most 63 characters"
        yield Violation(field, f"must be {rule}")


def one_line(field: str, text: str, longest: int) -> Iterator[Violation]:
    """A word or a few."""
    yield from _written(field, text, longest, _CONTROL)


def plain_text(field: str, text: str, longest: int) -> Iterator[Violation]:
    """Words for people, on any number of lines."""
    yield from _written(field, text, longest, _CONTROL_BUT_LAYOUT)


def within(field: str, number: int, least: int, most: int) -> Iterator[Violation]:
    """A number in a range, both ends included."""
    if not least <= number <= most:
        yield Violation(field, f"must be from {least} to {most}, and is {number}")


def _written(field: str, text: str, longest: int, unwanted: re.Pattern[str]) -> Iterator[Violation]:
    if len(text) > longest:
        yield Violation(field, f"must have at most {longest} characters, and has {len(text)}")
    elif unwanted.search(text):
        yield Violation(field, "must not contain control characters")
