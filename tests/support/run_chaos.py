"""Kills of all that takes part in runs, at every failpoint of their driving and at random, under load."""

from __future__ import annotations

import asyncio
import shutil
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import cycle, product
from pathlib import Path
from random import Random
from typing import Any
from uuid import uuid4

import psutil
from google.protobuf.message import Message

from paddleflow.auth.v1 import auth_pb2
from paddleflow.channel import open_channel_without_retries
from paddleflow.fs.v1 import fs_pb2
from paddleflow.job.v1 import job_pb2
from paddleflow.pipeline.v1 import artifact_pb2, pipeline_pb2, run_pb2, schedule_pb2
from support.callers import METHODS, Caller, methods_of
from support.databases import create_database
from support.failing_queue import Haste
from support.failpoints import Act
from support.fs_process import FsProcess
from support.job_lives import Lives, Wish
from support.job_load import TRANSIENT
from support.job_process import JobProcess
from support.pipeline_process import PipelineProcess
from support.queue_process import ROOT_PASSWORD, QueueProcess
from support.run_failpoints import DRIVING, RunPoint
from support.run_load import SETTLING, Load, wrong_components, wrongs
from support.servers import PostgresServer, ValkeyServer, short_folder
from support.waiting import eventually
from support.zygotes import Kind, Order, zygote

PATIENCE = 60.0
"""Seconds in which any call succeeds in the end."""
REACHED = 1.5
"""Seconds until somebody comes to a failpoint."""
LONGEST = 0.3
"""Seconds until a kill that is not at a failpoint."""
LOG = 6000
"""The last characters of a log, which may tell why."""
HASTE = Haste()
DISPATCH = HASTE.ttl + 2.0
"""Seconds from a death until the next one who drives runs begins a step; most do, however busy the machine is."""
TAKING_OVER = (RunPoint.RESTORE, RunPoint.RESTORED)
"""Points of an instance that begins; one that has begun does not come there."""
WORKERS = 3
EVERYTHING = {
    **METHODS,
    **methods_of(job_pb2.DESCRIPTOR.services_by_name.values()),
    **methods_of(fs_pb2.DESCRIPTOR.services_by_name.values()),
    **{
        request: method
        for file in (artifact_pb2, pipeline_pb2, run_pb2, schedule_pb2)
        for request, method in methods_of(file.DESCRIPTOR.services_by_name.values()).items()
    },
}
OPEN_JOBS = (
    job_pb2.JOB_STATE_INIT,
    job_pb2.JOB_STATE_PENDING,
    job_pb2.JOB_STATE_RUNNING,
    job_pb2.JOB_STATE_TERMINATING,
)


class Victim(StrEnum):
    """What is killed."""

    PIPELINE = "pipeline"
    JOB = "job"
    FS = "fs"
    QUEUE = "queue"
    BACKEND = "backend"
    """A process of Postgres that serves somebody; the others go down with it."""
    POSTGRES = "postgres"
    """The main process of Postgres."""


@dataclass(frozen=True)
class Blow:
    """A kill of something when runs are driven to a point, or at any time."""

    victim: Victim
    point: RunPoint | None
    passes: int = 1


def blows(chance: Random, count: int) -> Sequence[Blow]:
    """So many kills: of so many each hits the pipeline service at every point, and everybody at some and at random."""
    points: Sequence[RunPoint | None] = (*DRIVING, None)
    driver = [Blow(Victim.PIPELINE, point, chance.randint(1, 3)) for point in points]
    others = [Blow(victim, point) for victim, point in product(Victim, points) if victim != Victim.PIPELINE]
    planned: list[Blow] = []
    while len(planned) < count:
        chance.shuffle(others)
        some = [*driver, *others[: max(0, min(len(others), count - len(planned) - len(driver)))]]
        chance.shuffle(some)
        planned += some
    return planned[:count]


@dataclass
class Site:
    """The services, and what may be killed."""

    postgres: PostgresServer
    lives: Mapping[Victim, Lives]
    addresses: Mapping[str, Sequence[str]]
    """Of all instances, by the package of what is asked."""
    instances: Sequence[Lives]
    """Of the pipeline service."""
    dsn: str
    folder: Path
    """Of the filesystem of all runs."""
    secret: str = ""
    filesystem: str = field(default_factory=lambda: f"chaos-{uuid4().hex[:8]}")
    """In the command of each step, so that what is left of it is known from what is left of others."""
    missed: list[Blow] = field(default_factory=list)
    """Nobody came to the point in time."""

    async def call(self, request: Message, at: int | None = None) -> Any:
        """The reply of whoever answers in the end: an instance, or any."""
        package = request.DESCRIPTOR.full_name.split(".")[1]
        addresses = self.addresses.get(package, self.addresses["queue"])
        asked = cycle(addresses if at is None else [addresses[at]])
        deadline = asyncio.get_running_loop().time() + PATIENCE
        while True:
            # A channel that has lost its service waits longer than that takes to come back.
            async with open_channel_without_retries(next(asked), None) as channel:
                with suppress(*TRANSIENT):
                    return await Caller(channel, self.secret, "", EVERYTHING)(request)
            assert asyncio.get_running_loop().time() < deadline, f"nobody answers {request.DESCRIPTOR.name}: {self.log}"
            await asyncio.sleep(0.02)

    async def nodes(self, run: str) -> Sequence[run_pb2.Node]:
        """All nodes of a run."""
        found: Sequence[run_pb2.Node] = (await self.call(run_pb2.ListNodesRequest(run_id=run, page_size=1000))).nodes
        return found

    @property
    def log(self) -> str:
        files = [lives.order.log for lives in (*self.lives.values(), *self.instances[1:])]
        return "\n".join(f"{file}:\n{file.read_text()[-LOG:]}" for file in files if file.exists())

    async def strike(self, blow: Blow, chance: Random) -> None:
        """Kills, and starts again what does not start by itself."""
        driver = self.lives[Victim.PIPELINE]
        if blow.point is None:
            await asyncio.sleep(chance.uniform(0, LONGEST))
        else:
            act = Act.DIE if blow.victim is Victim.PIPELINE else Act.WAIT
            driver.wish(Wish(blow.point, act, 1 if blow.point in TAKING_OVER else blow.passes))
            if blow.point in TAKING_OVER:
                driver.kill()
            try:
                async with asyncio.timeout(REACHED):
                    await driver.reached.get()
            except TimeoutError:
                self.missed.append(blow)
        await self._kill(blow.victim)
        driver.go_on()
        await asyncio.to_thread(self.postgres.start)

    async def _kill(self, victim: Victim) -> None:
        match victim:
            case Victim.BACKEND:
                await asyncio.to_thread(self.postgres.kill_backend)
            case Victim.POSTGRES:
                await asyncio.to_thread(self.postgres.kill)
            case _:
                self.lives[victim].kill()


@asynccontextmanager
async def site(
    postgres: PostgresServer,
    valkey: ValkeyServer,
    *,
    instances: int = 1,
    haste: Haste = HASTE,
    settings: Mapping[str, str] | None = None,
) -> AsyncIterator[Site]:
    """All services over a database of their own, with so many instances of the pipeline service."""
    queue = QueueProcess(postgres.dsn(await create_database(postgres)), valkey.url, {"PF_QUEUE_LOG_LEVEL": "warning"})
    fs, folder = FsProcess(queue), short_folder()
    folder.chmod(0o777)
    jobs = JobProcess(queue, fs, {"PF_JOB_LOG_LEVEL": "warning"})
    runs = [PipelineProcess(jobs, {"PF_PIPELINE_LOG_LEVEL": "warning", **(settings or {})}) for _ in range(instances)]
    addresses = {process.name: [process.address] for process in (queue, fs, jobs)}
    addresses["pipeline"] = [process.address for process in runs]
    kinds = {
        Victim.QUEUE: (Kind.QUEUE, queue),
        Victim.FS: (Kind.FS, fs),
        Victim.JOB: (Kind.FAILING_JOB, jobs),
    }
    try:
        mother = zygote()
        async with asyncio.TaskGroup() as living:
            lives = {
                victim: Lives(mother, Order(kind, process.log_file, process.environment, haste))
                for victim, (kind, process) in kinds.items()
            }
            drivers = [
                Lives(mother, Order(Kind.FAILING_PIPELINE, process.log_file, process.environment, haste))
                for process in runs
            ]
            made = Site(postgres, {**lives, Victim.PIPELINE: drivers[0]}, addresses, drivers, queue.dsn, folder)
            tasks = [living.create_task(each.go_through()) for each in (*lives.values(), *drivers)]
            try:
                made.secret = (await made.call(auth_pb2.LoginRequest(user="root", password=ROOT_PASSWORD))).secret
                draft = fs_pb2.Filesystem(name=made.filesystem, url=f"local://{folder}")
                await made.call(fs_pb2.CreateFilesystemRequest(filesystem=draft))
                yield made
            finally:
                for task in tasks:
                    task.cancel()
    finally:
        for process in (*runs, jobs, fs, queue):
            process.remove()
        shutil.rmtree(folder)


async def endure(made: Site, planned: Sequence[Blow], chance: Random, tell: Callable[[str], None]) -> None:
    """Kills under load; in the end every run is over as it should be, and nothing is left."""
    load, stop = Load(made, made.filesystem, made.folder, chance), asyncio.Event()
    begun = asyncio.get_running_loop().time()
    async with asyncio.TaskGroup() as work:
        for _ in range(WORKERS):
            work.create_task(load.make(stop))
        following = work.create_task(load.follow(stop))
        for number, blow in enumerate(planned, 1):
            await made.strike(blow, chance)
            if not number % 50:
                seconds = asyncio.get_running_loop().time() - begun
                tell(f"{number} of {len(planned)} kills in {seconds:.0f} s, {len(load.runs)} runs")
        stop.set()
        await asyncio.wait([following], timeout=SETTLING)
        assert following.done(), await _unfinished(made, load)
    nodes = {id_: await made.nodes(id_) for id_ in load.runs}
    wrong = [*wrongs(load, nodes)]
    wrong += [each for run in load.runs.values() for each in wrong_components(load, run, nodes[run.id])]
    assert not wrong, "\n".join([*wrong, made.log])
    await eventually(lambda: _is_idle(made), PATIENCE)
    _tell_all(made, load, planned, asyncio.get_running_loop().time() - begun, tell)


async def _unfinished(made: Site, load: Load) -> str:
    """Runs that are not over, with their nodes, and what was logged."""
    ids = [run.id for run in load.runs.values() if run.over is None]
    runs = [(await made.call(run_pb2.GetRunRequest(id=id_))).run for id_ in ids]
    nodes = [await made.nodes(id_) for id_ in ids]
    return f"{list(zip(runs, nodes, strict=True))}\n{made.log}"


async def _is_idle(made: Site) -> bool:
    """Whether no job is open, and nothing of one is left."""
    jobs = (await made.call(job_pb2.ListJobsRequest(states=OPEN_JOBS))).jobs
    lines = [" ".join(process.info["cmdline"] or []) for process in psutil.process_iter(["cmdline"])]
    return not jobs and not any(f": {made.filesystem}; " in line for line in lines)


def _tell_all(made: Site, load: Load, planned: Sequence[Blow], seconds: float, tell: Callable[[str], None]) -> None:
    firsts = made.lives[Victim.PIPELINE].firsts
    late = sorted(after for point, after in firsts if point == RunPoint.CREATE)
    kinds, points = Counter(str(run.kind) for run in load.runs.values()), Counter(str(b.point) for b in made.missed)
    tell(f"{len(made.missed)} of {len(planned)} kills not at their point ({dict(points)})")
    tell(f"{len(load.runs)} runs in {seconds:.0f} s: {dict(kinds)}")
    assert late[len(late) // 2] <= DISPATCH, late
    tell(f"first dispatch after a death: {late[len(late) // 2]:.2f} s, at most {late[-1]:.2f} s, {len(late)} lives")
