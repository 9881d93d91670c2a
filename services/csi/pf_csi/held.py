"""The mount of a key, as those who hold it and those who use it speak of it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from pf_csi.refusals import Why

SOURCE = "paddleflow:"
"""Before the name of its volume, in the list of mounts."""


class State(StrEnum):
    """How far a mount is."""

    BEGINNING = "beginning"
    READY = "ready"
    LOST = "lost"
    """Whoever served it is gone, and what opens it has to be told again."""
    FAILED = "failed"
    ENDING = "ending"
    """It is unmounted, and what was written is being uploaded."""


@dataclass(frozen=True, slots=True)
class Held:
    """The mount of a key."""

    key: str
    state: State
    generation: int = 0
    """How often it was made anew: what was bound of an earlier one is dead."""
    place: str = ""
    why: Why = Why.FAULT
    text: str = ""
    """Of one that failed."""
