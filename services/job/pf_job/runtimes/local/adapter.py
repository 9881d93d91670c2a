"""Runs replicas as processes of this machine."""

from __future__ import annotations

import asyncio
import os
import platform
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import TypeVar

from paddleflow.problems import FailedPrecondition, InvalidArgument, Unavailable
from pf_job.runtimes.local import layout, logs, translate, usage
from pf_job.runtimes.local.client import COMMAND, PASSED_ON, Client
from pf_job.runtimes.local.frames import FrameTooLong, Message
from pf_job.runtimes.local.noticing import Notices
from pf_job.runtimes.local.remote.domain import Cache, Wanted
from pf_job.runtimes.local.remote.keeper import Keeper
from pf_job.runtimes.local.remote.reporting import REPORT_SECONDS, Reports
from pf_job.runtimes.local.remote.settling import Settling
from pf_job.runtimes.local.settings import RunnerSettings
from pf_job.runtimes.port import (
    Launch,
    LogRange,
    Machine,
    Mount,
    Refused,
    ReplicaKey,
    Sighting,
    Usage,
)

BATCH = 16
"""Replicas that the runner starts, or stops, before it looks at anything else."""
LEAST_CPU, LEAST_MEMORY = 20_000, 20 * 2**30
"""What a smaller machine counts as: what jobs take is their share of it, and no wall. The queue that an installation
begins with may have as much, and all that it admits can start."""

SWEEP_SECONDS = 5.0
"""Between two looks for mounts that nobody needs any more."""
REST_SECONDS = 10.0
"""That taking away all of these may hold up whoever ends."""

Item = TypeVar("Item")


class LocalRuntime:
    """The runtime of this machine. Replicas outlive it, and the runner that it speaks to."""

    def __init__(
        self,
        data: Path,
        settings: RunnerSettings,
        *,
        machine: str = "",
        command: Sequence[str] = COMMAND,
        cache: Cache | None = None,
        reports: Reports | None = None,
    ) -> None:
        """Without a cache, what is read of filesystems behind servers is kept below the data folder."""
        self._data = data.resolve()
        self._client = Client(self._data, settings, command)
        self._machine = machine or platform.node()
        self._notices = Notices()
        passed = {name: os.environ[name] for name in (*PASSED_ON, "HOME") if name in os.environ}
        self._keeper = Keeper(self._data, cache or Cache([self._data / "pages"]), passed, self._machine, reports)
        self._users: dict[str, int] = {}
        """Whom replicas of tenants run as."""

    async def start(self, launches: Sequence[Launch]) -> Sequence[Refused]:
        refused: list[Refused] = []
        orders = []
        for launch in launches:
            try:
                orders.append(await self._order(launch))
            except (InvalidArgument, FailedPrecondition, Unavailable) as problem:
                refused.append(Refused(launch.key, problem))
        for part in _parts(orders):
            refused += await self._start(part)
        return refused

    async def _start(self, orders: Sequence[Message]) -> Sequence[Refused]:
        """Starts them by one message, or by several if that is too long."""
        try:
            told = await self._client.ask({"do": "start", "orders": orders})
        except FrameTooLong as problem:
            if len(orders) == 1:
                return [Refused(translate.key_of(orders[0]["name"]), InvalidArgument(f"asks for too much: {problem}"))]
            middle = len(orders) // 2
            return [*await self._start(orders[:middle]), *await self._start(orders[middle:])]
        return [Refused(translate.key_of(name), translate.problem(*why)) for name, *why in told["refused"]]

    async def stop(self, keys: Sequence[ReplicaKey], grace: int) -> Sequence[ReplicaKey]:
        unbegun: list[ReplicaKey] = []
        for part in _parts([translate.name_of(key) for key in keys]):
            told = await self._client.ask({"do": "stop", "names": part, "grace": grace})
            unbegun += map(translate.key_of, told["unbegun"])
        return unbegun

    async def watch(self) -> AsyncIterator[Sequence[Sighting]]:
        wire = await self._client.own_wire()
        tending: asyncio.Task[None] | None = None
        try:
            settling = Settling(self._keeper, lambda told: translate.sighting(told, self._machine))
            async for sightings in settling.among(wire.listen({"do": "watch"})):
                if not sightings and tending is None:
                    tending = asyncio.create_task(self._tend())
                yield sightings
        finally:
            if tending is not None:
                tending.cancel()
            await wire.close()

    async def _tend(self) -> None:
        """Takes away for ever what no replica has mounted any more, and tells what is mounted."""
        async with self._keeper.answering():
            due = 0.0
            while True:
                self._keeper.sweep()
                if monotonic() >= due or self._keeper.made.is_set():
                    await self._keeper.report()
                    due = monotonic() + REPORT_SECONDS
                with suppress(TimeoutError):
                    async with asyncio.timeout(SWEEP_SECONDS):
                        await self._keeper.made.wait()

    async def forget(self, keys: Sequence[ReplicaKey]) -> None:
        await self._ask("forget", keys)

    async def read_log(self, key: ReplicaKey, offset: int, size: int) -> LogRange:
        return await asyncio.to_thread(logs.read, self._folder(key), offset, size)

    async def log_offset(self, key: ReplicaKey, time: int) -> int:
        return await asyncio.to_thread(logs.offset_at, self._folder(key), time)

    async def wait_log(self, key: ReplicaKey, offset: int, patience: int) -> None:
        folder = self._folder(key)
        with self._notices.of([folder / layout.LOG, folder / layout.RECORD]) as change, suppress(TimeoutError):
            async with asyncio.timeout(patience / 1e6):
                while logs.size(folder) <= offset and not logs.is_over(folder):
                    await change()

    async def usage(self, key: ReplicaKey) -> Usage:
        return await asyncio.to_thread(usage.read, self._folder(key))

    async def drop_logs(self, keys: Sequence[ReplicaKey]) -> None:
        await self._ask("drop", keys)

    async def machines(self) -> Sequence[Machine]:
        told = await self._client.ask({"do": "hello"})
        return [Machine(name=self._machine, capacity=_capacity(told["accelerators"]))]

    async def retire(self) -> None:
        """Ends the runner. Replicas go on, and the next runner takes them on."""
        await self._client.retire()

    async def rest(self) -> None:
        """Ends the runner if no replica runs; whoever needs one later starts one."""
        await self._client.rest()
        await self._keeper.rest(REST_SECONDS)

    async def close(self) -> None:
        """Lets go of the runner. Replicas go on."""
        self._notices.close()
        self._keeper.close()
        await self._client.close()

    async def _order(self, launch: Launch) -> Message:
        """Raises InvalidArgument, FailedPrecondition if something cannot be mounted, and Unavailable if not yet."""
        mounts, holds = list[Mount](), list[str]()
        for mount in launch.mounts:
            if isinstance(mount, Mount):
                mounts.append(mount)
            else:
                wanted = Wanted(mount.remote, launch.tenant, await self._user(launch.tenant))
                mounts.append(await self._keeper.mount(wanted, mount))
                holds.append(self._keeper.lock_of(wanted))
        return translate.order(launch, mounts, holds)

    async def _user(self, tenant: str) -> int:
        if tenant not in self._users:
            self._users[tenant] = (await self._client.ask({"do": "user", "tenant": tenant}))["user"]
        return self._users[tenant]

    async def _ask(self, what: str, keys: Sequence[ReplicaKey]) -> None:
        for part in _parts([translate.name_of(key) for key in keys]):
            await self._client.ask({"do": what, "names": part})

    def _folder(self, key: ReplicaKey) -> Path:
        return self._data / layout.folder_of(translate.name_of(key))


def _parts(whole: Sequence[Item]) -> list[Sequence[Item]]:
    return [whole[start : start + BATCH] for start in range(0, len(whole), BATCH)]


def _capacity(accelerators: int) -> Mapping[str, int]:
    capacity = {
        "cpu": max(LEAST_CPU, len(os.sched_getaffinity(0)) * 1_000),
        "memory": max(LEAST_MEMORY, os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")),
    }
    return {**capacity, "nvidia.com/gpu": accelerators} if accelerators else capacity
