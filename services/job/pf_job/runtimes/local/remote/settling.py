"""Tells that replicas have ended only when all that they wrote to filesystems is uploaded."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from pf_job.runtimes.local.layout import leaf_of
from pf_job.runtimes.local.remote.keeper import Keeper
from pf_job.runtimes.port import Phase, Sighting

NOT_UPLOADED = 74
"""The exit status of a replica that ended well, and wrote what could not be uploaded: an error of input or output."""
Told = Mapping[str, Any]


class Settling:
    """Of what a runner tells, holds back the ends of those that may have written."""

    def __init__(self, keeper: Keeper, sighting: Callable[[Told], Sighting]) -> None:
        """`sighting` reads what the runner tells of a replica."""
        self._keeper = keeper
        self._sighting = sighting
        self._seen: asyncio.Queue[Sequence[Sighting] | None] = asyncio.Queue()
        self._tasks: set[asyncio.Task[None]] = set()

    async def among(self, told: AsyncIterator[Sequence[Told]]) -> AsyncIterator[Sequence[Sighting]]:
        """What is seen. Raises what whoever tells does."""
        reading = asyncio.create_task(self._read(told))
        self._tasks.add(reading)
        reading.add_done_callback(lambda _: self._seen.put_nowait(None))
        try:
            while (found := await self._seen.get()) is not None:
                yield found
            await reading
        finally:
            for task in [*self._tasks]:
                task.cancel()
            with suppress(asyncio.CancelledError):
                await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _read(self, told: AsyncIterator[Sequence[Told]]) -> None:
        async for many in told:
            self._seen.put_nowait([self._shown(each) for each in many])

    def _shown(self, told: Told) -> Sighting:
        sighting = self._sighting(told)
        if not told.get("holds") or sighting.phase not in (Phase.ENDED, Phase.LOST):
            return sighting
        settling = asyncio.create_task(self._settle(told, sighting))
        self._tasks.add(settling)
        settling.add_done_callback(self._tasks.discard)
        return replace(sighting, phase=Phase.RUNNING, ended=None, status=None, signal=None, message="")

    async def _settle(self, told: Told, sighting: Sighting) -> None:
        trouble = await self._keeper.settle(told["holds"], leaf_of(told["name"]))
        self._seen.put_nowait([failed(sighting, trouble) if trouble else sighting])
        self._keeper.sweep()


def failed(sighting: Sighting, trouble: str) -> Sighting:
    """What was written is not where it should be: that is no success."""
    message = "; ".join(filter(None, (sighting.message, trouble)))
    status = NOT_UPLOADED if sighting.status == 0 else sighting.status
    return replace(sighting, status=status, message=message)
