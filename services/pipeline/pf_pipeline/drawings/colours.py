"""The colours of states. Whoever sees none reads the state: it always stands beside."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class Colour:
    """Of a box."""

    fill: str
    line: str


PLAIN = Colour("#f6f8fa", "#57606a")
STATES: Mapping[str, Colour] = MappingProxyType(
    {
        "succeeded": Colour("#dafbe1", "#1a7f37"),
        "failed": Colour("#ffebe9", "#cf222e"),
        "running": Colour("#ddf4ff", "#0969da"),
        "terminating": Colour("#fff1e5", "#bc4c00"),
        "terminated": Colour("#fff1e5", "#bc4c00"),
        "cancelled": Colour("#eaeef2", "#6e7781"),
        "skipped": Colour("#ffffff", "#8c959f"),
        "pending": Colour("#fff8c5", "#9a6700"),
        "initiating": Colour("#fff8c5", "#9a6700"),
    }
)


def colour(state: str) -> Colour:
    """The colour of a state; the plain one if it has none of its own."""
    return STATES.get(state, PLAIN)
