"""What fields may hold: functions that yield a violation for each thing wrong."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from paddleflow.problems import Violation
from pf_kit.fields import plain_text, shown
from pf_queue.resources import LARGEST, MOST_NAMES, NAME

FILTER_LENGTH = 255
"""Characters of a word to list by."""
MOST_LABELS = 64
LABEL_LENGTH = 256


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
