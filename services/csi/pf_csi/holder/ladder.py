"""What is done about a client that lives and does not answer, step by step: a function of how long it has not."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Step(StrEnum):
    """Each is harder on programs than the one before."""

    WAIT = "wait"
    REPLACE = "replace"
    """Another client goes on with the same mount: what was asked is asked again."""
    BREAK_OFF = "break off"
    """What was asked fails, and the mount is made anew."""


@dataclass(frozen=True, slots=True)
class Silence:
    """Of one client."""

    since: float | None = None
    """When it was first noticed, or something was done about it; None: it answers."""
    steps: int = 0
    """How often something was done."""


def next_step(silence: Silence, *, answers: bool, now: float, patience: float) -> tuple[Silence, Step]:
    if answers:
        return Silence(), Step.WAIT
    if silence.since is None:
        return Silence(now), Step.WAIT
    if now - silence.since < patience:
        return silence, Step.WAIT
    return Silence(now, silence.steps + 1), Step.BREAK_OFF if silence.steps else Step.REPLACE
