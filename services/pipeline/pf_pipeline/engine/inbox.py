"""What has happened to runs, until it is taken in."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from pf_pipeline.engine.core.happening import Event

MOST_RUNS = 200
"""Runs that are taken further in one commit."""
MOST_EVENTS = 500
"""Events of one run that are taken in at once, so that one with many holds up the others no longer than that."""
MOST_TOGETHER = 2000
"""Events of all runs after which no more runs are taken further in the same commit."""


class Inbox:
    """Events by run. Runs get their turns in the order in which something first happened to them."""

    def __init__(self) -> None:
        self._events: dict[str, list[Event]] = {}
        self._rung = asyncio.Event()

    def put(self, run: str, *events: Event) -> None:
        """Notes what happened to a run; without an event, that it is to be looked after."""
        self._events.setdefault(run, []).extend(events)
        self._rung.set()

    async def take(self) -> Mapping[str, Sequence[Event]]:
        """What happened to some runs; waits until something has."""
        await self._rung.wait()
        taken: dict[str, Sequence[Event]] = {}
        count = 0
        for run in list(self._events)[:MOST_RUNS]:
            events = self._events.pop(run)
            taken[run] = events[:MOST_EVENTS]
            if len(events) > MOST_EVENTS:
                self._events[run] = events[MOST_EVENTS:]
            count += len(taken[run])
            if count >= MOST_TOGETHER:
                break
        if not self._events:
            self._rung.clear()
        return taken
