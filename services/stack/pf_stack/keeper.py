"""Keeps one process running."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable
from pathlib import Path

from pf_kit.clock import Clock
from pf_kit.embedded.child import Child
from pf_kit.embedded.component import Component, serves
from pf_kit.embedded.refusal import Refusal
from pf_stack.excerpt import excerpt
from pf_stack.logs import opened
from pf_stack.process import Phase, Process, exit_reason

logger = logging.getLogger(__name__)

HOPELESS = 3
"""Deaths in a row, before it ever served, after which a start is given up."""


class Keeper:
    """Starts a component again whenever it dies."""

    def __init__(self, component: Component, log: Path, changed: Callable[[], None], clock: Clock) -> None:
        self.process = Process(component.name)
        self._component = component
        self._log = log
        self._tell = changed
        self._clock = clock
        self._child: Child | None = None
        self._refusal: Refusal | None = None
        self._news = asyncio.Event()
        self._log_begin = 0

    async def run(self) -> None:
        """Goes on until it is cancelled; what runs then goes on as well, until it is stopped."""
        while True:
            reason, ran = await self._live()
            self._child = None
            self._change(self.process.died(reason, ran, self._now()))
            await asyncio.sleep(self.process.delay)

    async def wait_ready(self) -> None:
        """Waits until it serves. Raises Refusal if it will not."""
        while self.process.phase is not Phase.READY:
            if self._refusal is not None:
                raise self._refusal
            if self.process.failures >= HOPELESS:
                raise self._hopeless()
            self._news.clear()
            await self._news.wait()

    async def stop(self) -> None:
        """Ends it in good order."""
        self._change(self.process.stopping(self._now()))
        if self._child is not None:
            status = await self._child.stop()
            self._change(self.process.died(exit_reason(status), 0.0, self._now()))

    async def _live(self) -> tuple[str, float]:
        """One life of the component: why it ended, and for how many seconds it had been serving."""
        try:
            await self._component.prepare()
            child = self._spawn()
        except Refusal as refusal:
            self._refusal = refusal
            return f"{refusal.what}. {refusal.remedy}", 0.0
        except OSError as problem:
            # A full disk or too many processes pass; the other processes must live until then.
            return str(problem), 0.0
        if not await serves(self._component, child):
            return await self._death(child), 0.0
        self._refusal = None
        self._change(self.process.serving(self._now()))
        since = self._clock.monotonic()
        status = await child.wait()
        return exit_reason(status), self._clock.monotonic() - since

    def _spawn(self) -> Child:
        with opened(self._log) as log:
            self._log_begin = os.fstat(log).st_size
            self._child = Child(self._component.program(), log=log)
        self._change(self.process.spawned(self._child.identity, self._now()))
        return self._child

    async def _death(self, child: Child) -> str:
        """Why a child did not come to serve; ends it if it was stuck."""
        stuck = child.is_running
        status = await child.stop() if stuck else await child.wait()
        return f"not ready after {self._component.start_seconds:g} s" if stuck else exit_reason(status)

    def _change(self, process: Process) -> None:
        facts = {"component": process.name, "phase": process.phase, "last_exit": process.last_exit}
        level = logging.WARNING if process.phase is Phase.WAITING else logging.INFO
        logger.log(level, "process changed", extra=facts)
        self.process = process
        self._news.set()
        self._tell()

    def _hopeless(self) -> Refusal:
        what = f"{self.process.name} does not start ({self.process.last_exit}):\n{excerpt(self._log, self._log_begin)}"
        return Refusal(what, f"Mend what it says. The whole log: {self._log}")

    def _now(self) -> float:
        return self._clock.now().timestamp()
