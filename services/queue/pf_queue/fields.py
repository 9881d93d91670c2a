"""What fields may hold: functions that yield a violation for each thing wrong."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, islice

from paddleflow.problems import InvalidArgument, Violation
from pf_queue.resources import LARGEST, MOST_NAMES, NAME

DNS_LABEL = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
"""What DNS (RFC 1123) and Kubernetes take as a label."""
FILTER_LENGTH = 255
"""Characters of a word to list by."""
MOST_LABELS = 64
LABEL_LENGTH = 256
MOST_VIOLATIONS = 10
"""An answer names no more: it travels in the trailers of a call, which are small."""
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
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


def plain_text(field: str, text: str, longest: int) -> Iterator[Violation]:
    """Words for people."""
    if len(text) > longest:
        yield Violation(field, f"must have at most {longest} characters, and has {len(text)}")
    elif _CONTROL.search(text):
        yield Violation(field, "must not contain control characters")


def within(field: str, number: int, least: int, most: int) -> Iterator[Violation]:
    """A number in a range, both ends included."""
    if not least <= number <= most:
        yield Violation(field, f"must be from {least} to {most}, and is {number}")


def amounts(field: str, resources: Mapping[str, int]) -> Iterator[Violation]:
    """Names and amounts of resources."""
    if len(resources) > MOST_NAMES:
        yield Violation(field, f"must name at most {MOST_NAMES} resources, and names {len(resources)}")
        return
    for name, amount in resources.items():
        if not NAME.fullmatch(name):
            rule = "a resource's name is 1 to 128 letters, digits and './-_'"
            yield Violation(f"{field}.amounts", f"{rule}, and this is {shown(name)}")
        elif not 0 <= amount <= LARGEST:
            yield Violation(f"{field}.amounts.{name}", f"must be from 0 to 10^18, and is {amount}")


def labels(field: str, pairs: Mapping[str, str]) -> Iterator[Violation]:
    """Free words on a thing."""
    if len(pairs) > MOST_LABELS:
        yield Violation(field, f"must have at most {MOST_LABELS} pairs, and has {len(pairs)}")
        return
    for key, value in pairs.items():
        if not key or len(key) > LABEL_LENGTH or not key.isprintable():
            yield Violation(field, f"a key is 1 to {LABEL_LENGTH} printable characters, and this is {shown(key)}")
        else:
            yield from plain_text(f"{field}.{key}", value, LABEL_LENGTH)
