"""What is drawn: boxes, some of which hold others, and what comes after what. It may be of a document or of a run."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """A step, a DAG, or all iterations of one."""

    name: str
    state: str = ""
    """As people read it; it also decides the colour. Empty: it has none."""
    marks: tuple[str, ...] = ()
    """What else people should see: `if …`, `for each of …`, `from the cache`."""
    seconds: float | None = None
    """How long it took, or has taken so far."""
    after: tuple[str, ...] = ()
    """Names of those beside it that come before."""
    parts: tuple[Box, ...] = ()
    """What a DAG consists of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """A whole graph."""

    title: str
    state: str = ""
    boxes: tuple[Box, ...]
    lasts: tuple[Box, ...] = ()
    """What comes when all else is over."""


def edges(boxes: Iterable[Box]) -> list[tuple[int, int]]:
    """What comes after what, by the numbers of boxes; names that are not there, and cycles of one, are left out."""
    numbered = list(boxes)
    places = {box.name: at for at, box in enumerate(numbered)}
    return [
        (places[name], at)
        for at, box in enumerate(numbered)
        for name in dict.fromkeys(box.after)
        if places.get(name, at) != at
    ]


def duration(seconds: float) -> str:
    """As people read it: `0.4s`, `12s`, `3m 05s`, `2h 00m`."""
    if seconds < 10:
        return f"{max(seconds, 0):.1f}s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m {whole % 60:02}s"
    return f"{whole // 3600}h {whole % 3600 // 60:02}m"
