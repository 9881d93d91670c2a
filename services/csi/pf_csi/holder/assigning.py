"""Which client serves which mount: a function of who is there and of what has to be served."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Caller:
    """A client at the door."""

    number: int
    """In the order in which they came; names may be those of others."""
    name: str
    key: str = ""
    """Of the mount that it serves; empty: of none."""
    leaving: bool = False
    """It serves until another one follows."""


@dataclass(frozen=True, slots=True)
class Assignment:
    """A client is to serve a mount from now on."""

    number: int
    """Of the client."""
    key: str


def assignments(wanted: Collection[str], callers: Sequence[Caller]) -> list[Assignment]:
    """For mounts that nobody serves who stays; the one that came last begins, being of the newest version."""
    served = {caller.key for caller in callers if not caller.leaving}
    waiting = [key for key in wanted if key not in served]
    idle = [caller for caller in reversed(callers) if not caller.key and not caller.leaving]
    return [Assignment(caller.number, key) for caller, key in zip(idle, waiting, strict=False)]
