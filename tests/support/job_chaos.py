"""Kills of all that takes part in running jobs, at every failpoint of their driving and at random, under load."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import socket
import struct
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import product
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
from paddleflow.queue.v1 import admission_pb2, queue_pb2
from support.callers import METHODS, Caller, methods_of
from support.databases import create_database
from support.failing_queue import Haste
from support.failpoints import Act
from support.fs_process import FsProcess
from support.job_failpoints import JobPoint
from support.job_lives import Lives, Wish
from support.job_load import TRANSIENT, Load, wrong_ends
from support.job_process import JobProcess
from support.job_starts import Line, require_one_start_each
from support.queue_process import ROOT_PASSWORD, QueueProcess
from support.servers import PostgresServer, ValkeyServer, short_folder
from support.waiting import eventually
from support.zygotes import Kind, Order, zygote

PATIENCE = 60.0
"""Seconds in which any call succeeds in the end."""
REACHED = 1.5
"""Seconds until somebody comes to a failpoint."""
SELDOM = frozenset({JobPoint.RESIZE, JobPoint.RESIZED})
"""Points that nobody comes to before a job has grown, and somebody else needs the room."""
REACHED_SELDOM = 10.0
"""Seconds until somebody comes to one of these."""
LONGEST = 0.3
"""Seconds until a kill that is not at a failpoint."""
LOG = 6000
"""The last characters of a log, which may tell why."""
ALL = {"cpu": 2000, "memory": 2**31}
"""What both queues share, however large the machine is. The one that pushes others out is guaranteed all of it, so that
its jobs are never pushed out themselves."""
TAKING_OVER = (JobPoint.COMPARE, JobPoint.COMPARED)
"""Points of an instance that begins; one that has begun does not come there."""
WORKERS = ("a", "b", "c")
CREDENTIALS = struct.Struct("3i")
EVERYTHING = {
    **METHODS,
    **methods_of(job_pb2.DESCRIPTOR.services_by_name.values()),
    **methods_of(fs_pb2.DESCRIPTOR.services_by_name.values()),
}
SETTINGS = {"PF_QUEUE_ADMISSION_BACKOFF_SECONDS": "0.1", "PF_QUEUE_LOG_LEVEL": "warning"}


class Victim(StrEnum):
    """What is killed."""

    JOB = "job"
    QUEUE = "queue"
    FS = "fs"
    RUNNER = "runner"
    BACKEND = "backend"
    """A process of Postgres that serves somebody; the others go down with it."""
    POSTGRES = "postgres"
    """The main process of Postgres."""
    SUPERVISOR = "supervisor"
    """Of an installation: all services and Postgres go down with it, and replicas go on."""


@dataclass(frozen=True)
class Blow:
    """A kill of something when jobs are driven to a point, or at any time."""

    victim: Victim
    point: JobPoint | None
    passes: int = 1


def blows(chance: Random, count: int) -> Sequence[Blow]:
    """So many kills: the first ones hit the job service at every point, and every victim at some and at random."""
    points: Sequence[JobPoint | None] = (*JobPoint, None)
    driver = [Blow(Victim.JOB, point, chance.randint(1, 2)) for point in points]
    others = [
        Blow(victim, point, chance.randint(1, 2)) for victim, point in product(Victim, points) if victim != Victim.JOB
    ]
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
    process: JobProcess
    lives: Mapping[Victim, Lives]
    addresses: Mapping[str, str]
    """By the package of what is asked."""
    marks: Path
    """Holds a file for each job, with a line for every time that it was started."""
    secret: str = ""
    filesystem: str = field(default_factory=lambda: f"marks-{uuid4().hex[:8]}")
    """In the command of each job, so that what is left of it is known from what is left of others."""
    missed: list[Blow] = field(default_factory=list)
    """Nobody came to the point in time."""

    async def call(self, request: Message) -> Any:
        """The reply of whoever answers in the end."""
        package = request.DESCRIPTOR.full_name.split(".")[1]
        deadline = asyncio.get_running_loop().time() + PATIENCE
        while True:
            # A channel that has lost its service waits longer than that takes to come back.
            async with open_channel_without_retries(
                self.addresses.get(package, self.addresses["queue"]), None
            ) as channel:
                with suppress(*TRANSIENT):
                    return await Caller(channel, self.secret, "", EVERYTHING)(request)
            assert asyncio.get_running_loop().time() < deadline, f"nobody answers {request.DESCRIPTOR.name}: {self.log}"
            await asyncio.sleep(0.02)

    async def tasks(self, id_: str) -> Sequence[job_pb2.Task]:
        """All starts of all replicas of a job."""
        found: list[job_pb2.Task] = []
        request = job_pb2.ListTasksRequest(id=id_, attempt=-1, page_size=1000)
        while True:
            page = await self.call(request)
            found += page.tasks
            if not page.next_page_token:
                return found
            request.page_token = page.next_page_token

    @property
    def log(self) -> str:
        files = [lives.order.log for lives in self.lives.values()]
        return "\n".join(file.read_text()[-LOG:] for file in files if file.exists())

    async def strike(self, blow: Blow, chance: Random) -> None:
        """Kills, and starts again what does not start by itself."""
        driver = self.lives[Victim.JOB]
        if blow.point is None:
            await asyncio.sleep(chance.uniform(0, LONGEST))
        else:
            act = Act.DIE if blow.victim is Victim.JOB else Act.WAIT
            driver.wish(Wish(blow.point, act, 1 if blow.point in (*TAKING_OVER, *SELDOM) else blow.passes))
            if blow.point in TAKING_OVER:
                driver.kill()
            try:
                async with asyncio.timeout(REACHED_SELDOM if blow.point in SELDOM else REACHED):
                    await driver.reached.get()
            except TimeoutError:
                self.missed.append(blow)
        await self._kill(blow.victim)
        driver.go_on()
        await asyncio.to_thread(self.postgres.start)

    async def _kill(self, victim: Victim) -> None:
        match victim:
            case Victim.JOB | Victim.QUEUE | Victim.FS:
                self.lives[victim].kill()
            case Victim.RUNNER:
                self._kill_runner()
            case Victim.BACKEND:
                await asyncio.to_thread(self.postgres.kill_backend)
            case Victim.POSTGRES:
                await asyncio.to_thread(self.postgres.kill)
            case Victim.SUPERVISOR:
                for lives in self.lives.values():
                    lives.kill()
                await asyncio.to_thread(self.postgres.kill)

    def _kill_runner(self) -> None:
        with socket.socket(socket.AF_UNIX) as wire, suppress(FileNotFoundError, ConnectionError):
            wire.connect(str(self.process.folder / "replicas" / "socket"))
            credentials = wire.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, CREDENTIALS.size)
            os.kill(CREDENTIALS.unpack(credentials)[0], signal.SIGKILL)


@asynccontextmanager
async def site(postgres: PostgresServer, valkey: ValkeyServer) -> AsyncIterator[Site]:
    """All services over a database of their own; a queue that may push out what another one runs."""
    queue = QueueProcess(postgres.dsn(await create_database(postgres)), valkey.url, SETTINGS)
    fs, marks = FsProcess(queue), short_folder()
    marks.chmod(0o777)
    process = JobProcess(queue, fs, {"PF_JOB_LOG_LEVEL": "warning"})
    addresses = {"queue": queue.address, "fs": fs.address, "job": process.address}
    try:
        mother = zygote()
        async with asyncio.TaskGroup() as living:
            lives = {
                Victim.QUEUE: Lives(mother, Order(Kind.QUEUE, queue.log_file, queue.environment, Haste())),
                Victim.FS: Lives(mother, Order(Kind.FS, fs.log_file, fs.environment, Haste())),
                Victim.JOB: Lives(mother, Order(Kind.FAILING_JOB, process.log_file, process.environment, Haste())),
            }
            made = Site(postgres, process, lives, addresses, marks)
            tasks = [living.create_task(each.go_through()) for each in lives.values()]
            try:
                await _prepare(made)
                yield made
            finally:
                for task in tasks:
                    task.cancel()
    finally:
        fs.remove()
        process.remove()
        queue.remove()
        shutil.rmtree(marks)


async def _prepare(made: Site) -> None:
    made.secret = (await made.call(auth_pb2.LoginRequest(user="root", password=ROOT_PASSWORD))).secret
    draft = fs_pb2.Filesystem(name=made.filesystem, url=f"local://{made.marks}")
    await made.call(fs_pb2.CreateFilesystemRequest(filesystem=draft))
    both, low, high = (
        queue_pb2.Queue(name=name, cluster="default-cluster", parent=parent)
        for name, parent in (("both", ""), ("low", "both"), ("high", "both"))
    )
    for guaranteed in (both, high):
        guaranteed.min.amounts.update(ALL)
    both.max.amounts.update(ALL)
    for queue in (both, low, high):
        await made.call(queue_pb2.CreateQueueRequest(queue=queue))


async def endure(made: Site, planned: Sequence[Blow], chance: Random, tell: Callable[[str], None]) -> None:
    """Kills under load; in the end every job is over as it should be, was started once, and nothing is left."""
    load, stop = Load(made, made.filesystem, chance), asyncio.Event()
    begun = asyncio.get_running_loop().time()
    async with asyncio.TaskGroup() as work:
        for name in WORKERS:
            work.create_task(load.make(name, stop))
        following = work.create_task(load.follow(stop))
        for number, blow in enumerate(planned, 1):
            await made.strike(blow, chance)
            if not number % 50:
                seconds = asyncio.get_running_loop().time() - begun
                tell(f"{number} of {len(planned)} kills in {seconds:.0f} s, {len(load.jobs)} jobs")
        stop.set()
        await asyncio.wait([following], timeout=PATIENCE)
        assert following.done(), await _unfinished(made, load)
    assert not (wrong := wrong_ends(load.jobs)), "\n".join(wrong)
    await _require_one_start_each(made, load)
    await eventually(lambda: _is_idle(made), PATIENCE)
    await _require_no_process(made)
    seconds = asyncio.get_running_loop().time() - begun
    kinds = Counter(job.kind.name for job in load.jobs.values())
    points = Counter(str(blow.point) for blow in made.missed)
    missed = f"{len(made.missed)} of {len(planned)} kills not at their point ({dict(points)})"
    tell(f"{missed}, {len(load.jobs)} jobs in {seconds:.0f} s: {dict(kinds)}")


async def _unfinished(made: Site, load: Load) -> Sequence[str]:
    """Jobs that are not over, and how they and their replicas stand."""
    ids = [job.id for job in load.jobs.values() if job.over is None]
    jobs = [(await made.call(job_pb2.GetJobRequest(id=id_))).job for id_ in ids]
    tasks = [(await made.call(job_pb2.ListTasksRequest(id=id_))).tasks for id_ in ids]
    return [f"{job} {its}" for job, its in zip(jobs, tasks, strict=True)]


async def _require_one_start_each(made: Site, load: Load) -> None:
    for job in load.jobs.values():
        file = made.marks / job.id
        lines = [Line.parse(line) for line in file.read_text().splitlines()] if file.exists() else []
        if job.gone:
            assert len(lines) == 1, f"{job.id} was started {len(lines)} times"
        else:
            require_one_start_each(job, lines, await made.tasks(job.id))


async def _is_idle(made: Site) -> bool:
    """Whether no queue is charged for anybody."""
    loads = (await made.call(admission_pb2.ListLoadsRequest(cluster="default-cluster"))).loads
    return not any(each.used.amounts or each.kept.amounts or each.waiting for each in loads)


async def _require_no_process(made: Site) -> None:
    """The runner is alone."""

    async def alone() -> bool:
        return len(_processes(made)) <= 1

    await eventually(alone)


def _processes(made: Site) -> Sequence[int]:
    """All that have to do with replicas."""
    words = (str(made.process.folder / "replicas"), f": {made.filesystem}; ")
    found = []
    for process in psutil.process_iter(["cmdline"]):
        line = " ".join(process.info["cmdline"] or [])
        if any(word in line for word in words):
            found.append(process.pid)
    return found
