"""What runs, and what it costs."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

from pf_kit.embedded.processes import Identity
from pf_stack.endpoints import Endpoint, read_endpoints
from pf_stack.footprint import NOTHING, Footprint, measure
from pf_stack.layout import Layout
from pf_stack.process import Phase, Process
from pf_stack.state import State, running_state


@dataclass(frozen=True, slots=True)
class Line:
    """One process, with its children."""

    name: str
    phase: Phase
    pid: int | None
    seconds: float
    """For how long it has been in this phase."""
    restarts: int
    last_exit: str
    """Why it died the last time; empty if it never did."""
    footprint: Footprint
    endpoint: Endpoint | None
    """Where it takes calls; None if it is reached over its Unix socket only."""

    cpu_percent: float
    """Of one core, on average since it was started."""


@dataclass(frozen=True, slots=True)
class Status:
    """One stack."""

    layout: Layout
    is_ready: bool
    lines: tuple[Line, ...]
    """Empty if nothing runs; else the supervisor, and then its processes in the order of their start."""

    @property
    def total(self) -> Footprint:
        return sum((line.footprint for line in self.lines), NOTHING)


def read_status(layout: Layout) -> Status:
    """What runs now."""
    state = running_state(layout.state)
    if state is None:
        return Status(layout, is_ready=False, lines=())
    return Status(layout, state.is_ready, tuple(_lines(layout, state, time.time())))


def _lines(layout: Layout, state: State, now: float) -> Iterator[Line]:
    endpoints = read_endpoints(layout)
    supervisor = Process("supervisor", Phase.READY, state.started, state.supervisor)
    # Its children are the other processes.
    yield _line(supervisor, now, measure(state.supervisor, alone=True), endpoint=None)
    for process in state.processes:
        yield _line(process, now, _cost(process.identity), endpoints.get(process.name))


def _line(process: Process, now: float, footprint: Footprint, endpoint: Endpoint | None) -> Line:
    return Line(
        name=process.name,
        phase=process.phase,
        pid=process.identity.pid if process.identity is not None else None,
        seconds=now - process.since,
        restarts=process.restarts,
        last_exit=process.last_exit,
        footprint=footprint,
        cpu_percent=100 * footprint.cpu_seconds / process.identity.age if process.identity is not None else 0.0,
        endpoint=endpoint,
    )


def _cost(identity: Identity | None) -> Footprint:
    return measure(identity, alone=False) if identity is not None else NOTHING
