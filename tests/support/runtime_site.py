"""Runtimes as the conformance suite sees them, and replicas to run there."""

from __future__ import annotations

import asyncio
import itertools
import os
import shutil
import signal
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from paddleflow.problems import Unavailable
from pf_job.runtimes.local import layout
from pf_job.runtimes.local.adapter import LocalRuntime
from pf_job.runtimes.local.client import COMMAND, Client
from pf_job.runtimes.local.settings import RunnerSettings
from pf_job.runtimes.port import Launch, Phase, ReplicaKey, Runtime, Sighting
from support.servers import short_folder
from support.waiting import until

NUMBERS = itertools.count(1)


def key(role: str = "main", index: int = 0, restart: int = 0) -> ReplicaKey:
    """Of a job of its own."""
    return ReplicaKey(f"job-{os.getpid()}-{next(NUMBERS)}", 1, role, index, restart)


def launch(script: str = "exit 0", **more: Any) -> Launch:
    """A replica that runs a few commands of a shell."""
    given = {"key": key(), "tenant": "ada", "argv": ["sh", "-c", script], "env": {}, "cwd": "/"}
    return Launch(**{**given, **more})


@dataclass
class Watched:
    """What a watch has told, and what it tells."""

    runtime: Runtime
    seen: dict[ReplicaKey, Sighting] = field(default_factory=dict)
    told: list[Sighting] = field(default_factory=list)
    complete: asyncio.Event = field(default_factory=asyncio.Event)

    async def follow(self) -> None:
        """Watches, and watches anew when a watch breaks."""
        while True:
            with suppress(Unavailable):
                async for sightings in self.runtime.watch():
                    self._hear(sightings)
            await asyncio.sleep(0.01)

    def _hear(self, sightings: Sequence[Sighting]) -> None:
        if not sightings:
            self.complete.set()
        for sighting in sightings:
            self.seen[sighting.key] = sighting
            self.told.append(sighting)

    async def over(self, *keys: ReplicaKey, patience: float = 20) -> list[Sighting]:
        """How replicas ended, once all have."""
        await until(lambda: all(self.is_over(key) for key in keys), patience)
        return [self.seen[key] for key in keys]

    async def running(self, *keys: ReplicaKey) -> None:
        await until(lambda: all(key in self.seen for key in keys))

    def is_over(self, key: ReplicaKey) -> bool:
        return key in self.seen and self.seen[key].phase in (Phase.ENDED, Phase.LOST)


@asynccontextmanager
async def watched(runtime: Runtime) -> AsyncIterator[Watched]:
    watch = Watched(runtime)
    following = asyncio.create_task(watch.follow())
    try:
        async with asyncio.timeout(20):
            await watch.complete.wait()
        yield watch
    finally:
        following.cancel()
        with suppress(asyncio.CancelledError):
            await following


async def ended(runtime: Runtime, *launches: Launch) -> list[Sighting]:
    """Runs replicas to their end."""
    async with watched(runtime) as watch:
        assert await runtime.start(launches) == []
        return await watch.over(*(launch.key for launch in launches))


async def output(runtime: Runtime, key: ReplicaKey) -> str:
    return (await runtime.read_log(key, 0, 2**20)).data.decode()


async def said(runtime: Runtime, script: str = "", **more: Any) -> str:
    """What a replica writes until it ends, in good order."""
    replica = launch(script, **more)
    (seen,) = await ended(runtime, replica)
    text = await output(runtime, replica.key)
    assert (seen.phase, seen.status) == (Phase.ENDED, 0), (seen, text)
    return text


@dataclass(frozen=True)
class LocalSite:
    """A data folder, and the runners that work in it."""

    data: Path
    settings: RunnerSettings

    def runtime(self, command: Sequence[str] = COMMAND) -> LocalRuntime:
        return LocalRuntime(self.data, self.settings, command=command)

    @property
    def runner(self) -> int | None:
        """The process of the runner, if one holds the folder."""
        return next(iter(_holders(self.data / layout.LOCK)), None)

    def kill_runner(self) -> None:
        runner = self.runner
        assert runner is not None
        os.kill(runner, signal.SIGKILL)

    def folder(self, key: ReplicaKey) -> Path:
        return self.data / layout.folder_of(f"{key.job}/{key.attempt}/{key.role}-{key.index}-{key.restart}")

    def processes(self) -> list[int]:
        """The runner, and all inits of its replicas."""
        return [pid for pid in _processes() if str(self.data).encode() in _command_line(pid)]


def _processes() -> list[int]:
    return [int(path.name) for path in Path("/proc").iterdir() if path.name.isdecimal()]


def _command_line(pid: int) -> bytes:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    return b""


def _holders(file: Path) -> Iterator[int]:
    for pid in _processes():
        with suppress(OSError):
            if any(handle.resolve() == file for handle in Path(f"/proc/{pid}/fd").iterdir()):
                yield pid


def local_site(**settings: Any) -> LocalSite:
    return LocalSite(short_folder(), RunnerSettings(**{"first_uid": 1_750_000_000, **settings}))


async def close(site: LocalSite, runtime: LocalRuntime) -> None:
    """Ends all replicas and the runner; nothing is left."""
    keys = [sighting.key for sighting in await everything(runtime)]
    await runtime.stop(keys, 0)
    async with watched(runtime) as watch:
        await watch.over(*keys)
    await runtime.forget(keys)
    await runtime.drop_logs(keys)
    await runtime.retire()
    await runtime.rest()
    await runtime.close()
    assert str(site.data) not in Path("/proc/self/mountinfo").read_text()
    await until(lambda: site.processes() == [])
    assert not list(Path("/sys/fs/cgroup").glob(f"*/paddleflow-{site.data.stat().st_ino:x}"))
    shutil.rmtree(site.data)


@asynccontextmanager
async def opened(**settings: Any) -> AsyncIterator[tuple[LocalSite, LocalRuntime]]:
    """A site with a runtime; nothing is left of it in the end."""
    site = local_site(**settings)
    runtime = site.runtime()
    try:
        yield site, runtime
    finally:
        await close(site, runtime)


async def obstacle(site: LocalSite) -> str:
    """Why the runner cannot contain replicas; empty if it can."""
    client = Client(site.data, site.settings)
    try:
        told = await client.ask({"do": "hello"})
    finally:
        await client.close()
    return str(told["obstacle"])


async def everything(runtime: Runtime) -> list[Sighting]:
    """All replicas that the runtime knows."""
    async with watched(runtime) as watch:
        return list(watch.seen.values())
