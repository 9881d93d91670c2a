"""Places in the life of a service at which a test may have something happen."""

from __future__ import annotations

import json
import os
import signal
import socket
import threading
from collections.abc import Iterator
from enum import StrEnum
from typing import Generic, TypeVar


class Point(StrEnum):
    """Where an instance of the queue service is."""

    WAITING = "waiting"
    """It would like to lead, and another one does."""
    FORWARDING = "forwarding"
    """It is about to hand a call on to the leader."""
    ANSWERED = "answered"
    """The leader has answered the call; the caller has not heard."""
    LEASED = "leased"
    """The lease is its own, and it has done nothing with it."""
    LOADING = "loading"
    """Whoever led before can store no more; nothing is read yet."""
    LOADED = "loaded"
    """All that is stored is read, and nothing decided."""
    REFRESHING = "refreshing"
    """Queues or machines have changed; it has read how they are now."""
    DECIDED = "decided"
    """Calls are applied and decisions made, in memory only."""
    BEGUN = "begun"
    """The transaction has begun, without its fence."""
    FENCED = "fenced"
    """Nobody can take over before the transaction ends; nothing is written yet."""
    WRITTEN = "written"
    """Workloads and decisions are written, events are not."""
    COMMITTING = "committing"
    """All is written, and COMMIT about to be sent."""
    SENT = "sent"
    """COMMIT is on its way."""
    COMMITTED = "committed"
    """Postgres has committed; nobody was told."""
    STORED = "stored"
    """The instance knows that it is committed; callers do not."""


class Act(StrEnum):
    """What happens there."""

    DIE = "die"
    """The process kills itself."""
    WAIT = "wait"
    """All of the process stands still until the test tells it to go on."""
    STOP = "stop"
    """The process is stopped by its signal until the test continues it."""


P = TypeVar("P", bound=StrEnum)


class Failpoints(Generic[P]):
    """The end of the wire in the instance: tells what is passed, and does what was wished for."""

    def __init__(self, wire: socket.socket, points: type[P]) -> None:
        self._wire = wire
        self._points = points
        self._passed: set[P] = set()
        self._wish: tuple[P, Act] | None = None
        self._passes = 0
        self._go_on = threading.Event()
        self.backend = 0
        """The process of Postgres that serves the leader's transaction; 0 outside of one."""

    def listen(self, wishes: Iterator[bytes]) -> None:
        """Heeds wishes until the test is gone, and ends the process then."""
        for line in wishes:
            match json.loads(line):
                case [point, act, passes]:
                    self._passes, self._wish = passes, (self._points(point), Act(act))
                case "nothing":
                    self._wish = None
                case "go on":
                    self._go_on.set()
        os.kill(os.getpid(), signal.SIGKILL)

    def passed(self, point: P) -> None:
        """The instance is at a point."""
        if point not in self._passed:
            self._passed.add(point)
            self._tell("passed", point, "")
        wish = self._wish
        if wish is None or wish[0] is not point:
            return
        self._passes -= 1
        if self._passes <= 0:
            self._wish = None
            self._act(point, wish[1])

    def _act(self, point: P, act: Act) -> None:
        self._go_on.clear()
        self._tell("at", point, act)
        match act:
            case Act.DIE:
                os.kill(os.getpid(), signal.SIGKILL)
            case Act.STOP:
                os.kill(os.getpid(), signal.SIGSTOP)
            case Act.WAIT:
                self._go_on.wait()

    def _tell(self, what: str, point: P, act: str) -> None:
        self._wire.sendall(json.dumps([what, point, act, self.backend]).encode() + b"\n")
