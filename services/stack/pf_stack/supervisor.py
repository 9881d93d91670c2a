"""Runs a stack: starts its processes in order, keeps them running, stops them in order."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from pathlib import Path

from pf_kit.clock import Clock
from pf_kit.embedded.component import Component
from pf_kit.embedded.processes import Identity
from pf_stack.keeper import Keeper
from pf_stack.layout import Layout
from pf_stack.logs import rotate
from pf_stack.messages import Ready, Report, Starting
from pf_stack.state import State, write_state

logger = logging.getLogger(__name__)

ROTATE_SECONDS = 30.0
REWRITE_SECONDS = 2.0
"""After which a state that could not be written is tried again."""


class Supervisor:
    """One running stack. Levels start one after the other, the members of a level together."""

    def __init__(
        self, layout: Layout, levels: Sequence[Sequence[Component]], identity: Identity, report: Report, clock: Clock
    ) -> None:
        self._layout = layout
        self._identity = identity
        self._report = report
        self._clock = clock
        self._started = clock.now().timestamp()
        self._rewriting: asyncio.TimerHandle | None = None
        self._levels = [[self._keeper(component) for component in level] for level in levels]

    async def run(self, served: Callable[[], None]) -> None:
        """Runs the stack until it is cancelled; tells when all is ready. Raises Refusal if it cannot be started."""
        self._write_state()
        try:
            async with asyncio.TaskGroup() as tasks:
                for level in self._levels:
                    async with asyncio.TaskGroup() as starts:
                        for keeper in level:
                            tasks.create_task(keeper.run())
                            starts.create_task(self._watch_start(keeper))
                served()
                tasks.create_task(self._rotate_logs())
        except ExceptionGroup as group:
            raise _first(group) from group
        finally:
            for level in reversed(self._levels):
                await asyncio.gather(*(keeper.stop() for keeper in level))

    def _keeper(self, component: Component) -> Keeper:
        return Keeper(component, self._layout.log(component.name), self._write_state, self._clock)

    async def _watch_start(self, keeper: Keeper) -> None:
        begin = self._clock.monotonic()
        self._report(Starting(keeper.process.name))
        await keeper.wait_ready()
        self._report(Ready(keeper.process.name, self._clock.monotonic() - begin))

    def _write_state(self) -> None:
        processes = tuple(keeper.process for level in self._levels for keeper in level)
        if self._rewriting is not None:
            self._rewriting.cancel()
        try:
            write_state(self._layout.state, State(self._identity, self._started, processes))
        except OSError as problem:
            # The disk is full; what runs goes on, and once there is room it is seen again.
            logger.warning("state not written", extra={"why": str(problem)})
            self._rewriting = asyncio.get_running_loop().call_later(REWRITE_SECONDS, self._write_state)

    async def _rotate_logs(self) -> None:
        while True:
            for log in self._layout.logs.glob("*.log"):
                _rotate(log)
            await asyncio.sleep(ROTATE_SECONDS)


def _rotate(log: Path) -> None:
    try:
        rotate(log)
    except OSError as problem:
        # The disk is full; the log grows on, and what runs goes on.
        logger.warning("log not put aside", extra={"file": str(log), "why": str(problem)})


def _first(group: ExceptionGroup[Exception]) -> Exception:
    """The first of the problems that came together."""
    found = group.exceptions[0]
    return _first(found) if isinstance(found, ExceptionGroup) else found
