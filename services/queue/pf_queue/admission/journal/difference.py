"""Where a turn that was replayed is not as it was logged, in the names of its fields."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, TypeAlias

from pf_queue.admission.journal.encode import DECIDED, STANDING

Path: TypeAlias = tuple[str | int, ...]
MISSING = "nothing"
"""Stands for what is only there on the other side."""


@dataclass(frozen=True, slots=True)
class Difference:
    """The first thing that is not as it was."""

    field: str
    logged: object
    replayed: object


def first_difference(logged: Mapping[str, Any], replayed: Mapping[str, Any] | str) -> Difference:
    """Of two turns that do not have the same bytes; what was replayed may also have failed."""
    effects = logged["effects"]
    if isinstance(replayed, str):
        return Difference("effects", effects, replayed)
    again = replayed["effects"]
    if not isinstance(effects, dict):
        return Difference("effects", effects, again)
    # What was decided says most; all else follows from it.
    for part in ("decided", "changed", "facts", "added"):
        for path, one, other in _differences(effects.get(part), again[part], (part,)):
            return Difference(_named(path), one, other)
    return Difference("the order or the form of the line", MISSING, MISSING)


def _differences(one: object, other: object, path: Path) -> Iterator[tuple[Path, object, object]]:
    match one, other:
        case dict(), dict():
            for key in one.keys() | other.keys() if one.keys() != other.keys() else one:
                yield from _differences(one.get(key, MISSING), other.get(key, MISSING), (*path, key))
        case list(), list():
            for place, (left, right) in enumerate(zip_longest(one, other, fillvalue=MISSING)):
                yield from _differences(left, right, (*path, place))
        case _ if one != other:
            yield path, one, other


def _named(path: Path) -> str:
    """For example ``decided 3: kind`` or ``changed job/1: surplus``."""
    match path:
        case ("decided", int(place), int(column), *_) if column < len(DECIDED):
            return f"decided {place}: {DECIDED[column]}"
        case ("changed", str(id_), int(column), *_) if column < len(STANDING):
            return f"changed {id_}: {STANDING[column]}"
        case _:
            return " ".join(map(str, path))
