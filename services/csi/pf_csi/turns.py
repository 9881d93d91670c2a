"""One thing at a time for each target, which is finished whoever still waits for it."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from pf_csi.refusals import Refusal, Why

T = TypeVar("T")


class Turns:
    """For the thread of one event loop."""

    def __init__(self) -> None:
        self._under_way: dict[str, asyncio.Task[Any]] = {}

    @property
    def under_way(self) -> frozenset[str]:
        return frozenset(self._under_way)

    async def take(self, target: str, work: Coroutine[Any, Any, T]) -> T:
        """What the work gives. Refusal if something is being done there; whoever stops waiting does not stop it."""
        if target in self._under_way:
            work.close()
            raise Refusal(Why.PENDING, "something is being done at this target already; try again")
        task = asyncio.ensure_future(work)
        self._under_way[target] = task
        task.add_done_callback(lambda done: self._over(target, done))
        return await asyncio.shield(task)

    def _over(self, target: str, done: asyncio.Task[Any]) -> None:
        del self._under_way[target]
        if not done.cancelled():
            # Nobody may be left to hear of it.
            done.exception()
