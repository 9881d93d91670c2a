"""An event loop whose time passes only when nothing else is left to do: hours in milliseconds, the same each run."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime, timedelta
from typing import Any

START = datetime(2026, 1, 1, tzinfo=UTC)


class _Selector(selectors.SelectSelector):
    def __init__(self, passed: Callable[[float], None]) -> None:
        super().__init__()
        self._passed = passed

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        assert timeout is not None, "everything waits for something that never comes"
        self._passed(timeout)
        return super().select(0)


class VirtualLoop(asyncio.SelectorEventLoop):
    """Jumps to the next timer instead of sleeping."""

    def __init__(self) -> None:
        self._now = 0.0
        super().__init__(_Selector(self._pass))

    def time(self) -> float:
        return self._now

    def _pass(self, seconds: float) -> None:
        # The smallest step that a timer counts: without it, rounding could keep a timer from ever being due.
        self._now += seconds + 1e-9 if seconds > 0 else 0.0


class VirtualClock:
    """The clock of the running loop."""

    def now(self) -> datetime:
        return START + timedelta(seconds=self.monotonic())

    def monotonic(self) -> float:
        return asyncio.get_running_loop().time()


def run_virtually(main: Coroutine[Any, Any, None]) -> None:
    """Runs to the end, in virtual time."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        runner.run(main)
