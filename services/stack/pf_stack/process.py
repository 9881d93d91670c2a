"""The life of one supervised process: pure, so that every step can be tested."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from pf_kit.embedded.processes import Identity

FIRST_DELAY = 0.1
"""Seconds before the first restart."""
LONGEST_DELAY = 5.0
DOUBLINGS = 10
"""More than it takes from the first delay to the longest."""
HEALTHY_SECONDS = 30.0
"""Who ran so long has no failures to answer for."""


class Phase(StrEnum):
    """How far a process is."""

    STOPPED = "stopped"
    STARTING = "starting"
    READY = "ready"
    WAITING = "waiting"
    """It died, and is started again after a delay."""
    STOPPING = "stopping"


class Step(StrEnum):
    """What happens to a process."""

    SPAWN = "spawn"
    SERVE = "serve"
    DIE = "die"
    STOP = "stop"


TRANSITIONS: Mapping[tuple[Phase, Step], Phase] = {
    (Phase.STOPPED, Step.SPAWN): Phase.STARTING,
    (Phase.STOPPED, Step.DIE): Phase.WAITING,
    (Phase.WAITING, Step.SPAWN): Phase.STARTING,
    (Phase.STARTING, Step.SERVE): Phase.READY,
    (Phase.STARTING, Step.DIE): Phase.WAITING,
    (Phase.READY, Step.DIE): Phase.WAITING,
    (Phase.WAITING, Step.DIE): Phase.WAITING,
    (Phase.STARTING, Step.STOP): Phase.STOPPING,
    (Phase.READY, Step.STOP): Phase.STOPPING,
    (Phase.STOPPING, Step.DIE): Phase.STOPPED,
    (Phase.WAITING, Step.STOP): Phase.STOPPED,
    (Phase.STOPPED, Step.STOP): Phase.STOPPED,
}
"""All that can happen. Who dies while stopped or waiting was to be started, and could not even be that."""


@dataclass(frozen=True, slots=True)
class Process:
    """What is known of one process."""

    name: str
    phase: Phase = Phase.STOPPED
    since: float = 0.0
    """When it came into this phase, in seconds since the epoch."""
    identity: Identity | None = None
    """None while there is none."""
    restarts: int = 0
    """How often it was started again since the stack was."""
    failures: int = 0
    """Deaths in a row."""
    last_exit: str = ""
    """Why it died the last time."""

    @property
    def delay(self) -> float:
        """Seconds to wait before the next start."""
        doublings = min(max(0, self.failures - 1), DOUBLINGS)
        return min(LONGEST_DELAY, FIRST_DELAY * 2.0**doublings)

    def spawned(self, identity: Identity | None, now: float) -> Process:
        restarts = self.restarts + (self.phase is Phase.WAITING)
        return replace(self._after(Step.SPAWN, now), identity=identity, restarts=restarts)

    def serving(self, now: float) -> Process:
        return self._after(Step.SERVE, now)

    def died(self, reason: str, ran: float, now: float) -> Process:
        """After its death; it had been ready for `ran` seconds."""
        after = replace(self._after(Step.DIE, now), identity=None, last_exit=reason)
        if self.phase is Phase.STOPPING:
            return after
        return replace(after, failures=1 if ran >= HEALTHY_SECONDS else self.failures + 1)

    def stopping(self, now: float) -> Process:
        return self._after(Step.STOP, now)

    def _after(self, step: Step, now: float) -> Process:
        return replace(self, phase=TRANSITIONS[self.phase, step], since=now)


def exit_reason(status: int) -> str:
    """What an exit status says; a negative one is the signal that ended the process."""
    return f"signal {-status}" if status < 0 else f"exit status {status}"
