"""A leader that stood still undoes nothing that another one has decided, and who is deleted runs nothing any more."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from uuid import uuid4

import pytest

from paddleflow.auth.v1 import auth_pb2
from paddleflow.fs.v1 import fs_pb2
from paddleflow.job.v1 import job_pb2
from paddleflow.pipeline.v1 import pipeline_pb2, run_pb2
from support import run_documents
from support.failing_queue import Haste
from support.failpoints import Act
from support.job_lives import Lives, Wish
from support.queue_site import PASSWORD
from support.run_chaos import OPEN_JOBS, Site, site
from support.run_failpoints import RunPoint
from support.run_load import OVER, SUCCEEDED, TERMINATED
from support.run_pair import until_led
from support.servers import PostgresServer, ValkeyServer
from support.waiting import eventually

STEADY = Haste(ttl=1.5, margin=0.3)
"""Nobody loses the lease because the machine is busy."""
PATIENCE = 30.0
SETTLED = 1.0
"""Seconds in which whoever goes on after it stood still has done all that it was about to do."""


@dataclass
class World:
    """Two instances, one of which leads."""

    made: Site
    runs: list[str] = field(default_factory=list)

    async def create(self, document: str, at: int, owner: str = "") -> str:
        """A new run."""
        filesystem = f"root/{self.made.filesystem}"
        source = pipeline_pb2.Source(document=document, filesystem=filesystem)
        request = run_pb2.CreateRunRequest(source=source, owner=owner, request_id=uuid4().hex)
        self.runs.append((await self.made.call(request, at)).run.id)
        return self.runs[-1]

    async def steady(self, at: int) -> str:
        """A run with a step that goes on until it is stopped, and has begun."""
        id_ = await self.create(run_documents.stopped(self.made.filesystem), at)
        await eventually(lambda: self.has_begun(id_, "sleep"), PATIENCE)
        return id_

    async def has_begun(self, run: str, step: str) -> bool:
        return any(line.startswith(f"job-{run}-{step}-") for line in self.lines())

    async def over(self, id_: str, at: int) -> run_pb2.Run:
        """The run, once it is over."""

        async def found() -> run_pb2.Run | None:
            run: run_pb2.Run = (await self.made.call(run_pb2.GetRunRequest(id=id_), at)).run
            return run if run.state in OVER else None

        return await eventually(found, PATIENCE)

    async def stop(self, id_: str, at: int) -> None:
        await self.made.call(run_pb2.StopRunRequest(id=id_, force=True), at)

    def lines(self) -> Sequence[str]:
        """Jobs that were started, once for each time."""
        file = self.made.folder / run_documents.LINES
        return file.read_text().split() if file.exists() else []

    async def jobs_of(self, run: str) -> Sequence[job_pb2.Job]:
        request = job_pb2.ListJobsRequest(page_size=1000, labels={"paddleflow/run": run})
        jobs: Sequence[job_pb2.Job] = (await self.made.call(request)).jobs
        return jobs

    async def idle(self, run: str) -> tuple[Sequence[str], Sequence[str]] | None:
        """The jobs of a run, and those that were started; None as long as one is not over."""
        jobs = await self.jobs_of(run)
        if any(job.state in OPEN_JOBS for job in jobs):
            return None
        return [f"{job.id}: {job.state}" for job in jobs], [line for line in self.lines() if f"-{run}-" in line]

    async def halted(self, at: int, point: RunPoint, act: Act, begin: Callable[[], Awaitable[object]]) -> Lives:
        """An instance that stands still at a point because of something that is begun."""
        instance = self.made.instances[at]
        instance.wish(Wish(point, act, 1))
        await begin()
        async with asyncio.timeout(PATIENCE):
            await instance.reached.get()
        return instance


@pytest.mark.timeout(180)
async def test_what_was_decided_meanwhile_holds(postgres_server: PostgresServer, valkey_server: ValkeyServer) -> None:
    async with site(postgres_server, valkey_server, instances=2, haste=STEADY) as made:
        world = World(made)
        await nothing_is_made_that_was_stopped_meanwhile(world)
        await nothing_is_stopped_that_somebody_else_drives(world)
        await nothing_is_written_by_who_was_overtaken(world)
        assert len(set(world.lines())) == len(world.lines()), world.lines()
        for id_ in (False, True):
            await who_is_deleted_runs_nothing(world, another=id_)


async def nothing_is_made_that_was_stopped_meanwhile(world: World) -> None:
    """Stands still with the jobs of a step on its lips, whose run somebody else stops."""
    old = await until_led(world.made)
    heir = 1 - old
    document = run_documents.stopped(world.made.filesystem)
    stopped = await world.halted(old, RunPoint.OWNED, Act.STOP, lambda: world.create(document, heir))
    id_ = world.runs[-1]
    await world.stop(id_, heir)
    await until_led(world.made, by=heir)
    assert (await world.over(id_, heir)).state == TERMINATED
    # The other one may have made it before it heard of the stop.
    before = await eventually(lambda: world.idle(id_), PATIENCE)
    stopped.send(signal.SIGCONT)
    await asyncio.sleep(SETTLED)
    assert await world.idle(id_) == before
    assert await until_led(world.made) == heir


async def nothing_is_stopped_that_somebody_else_drives(world: World) -> None:
    """Stands still about to stop a job, whose run ends and is tried again."""
    old = await until_led(world.made)
    heir = 1 - old
    first, other = await world.steady(heir), await world.steady(heir)
    stopped = await world.halted(old, RunPoint.STOP, Act.STOP, lambda: world.stop(first, heir))
    await until_led(world.made, by=heir)
    assert (await world.over(first, heir)).state == TERMINATED
    request = run_pb2.RetryRunRequest(id=first, request_id=uuid4().hex)
    again = (await world.made.call(request, heir)).run.id
    await eventually(lambda: world.has_begun(again, "sleep"), PATIENCE)
    stopped.send(signal.SIGCONT)
    await asyncio.sleep(SETTLED)
    for id_ in (again, other):
        run = (await world.made.call(run_pb2.GetRunRequest(id=id_), heir)).run
        assert run.state == run_pb2.RUN_STATE_RUNNING, run
        await world.stop(id_, old)
        assert (await world.over(id_, old)).state == TERMINATED


async def nothing_is_written_by_who_was_overtaken(world: World) -> None:
    """Stands still about to commit what happened to a run; and leads again when the other one stands still."""
    old = await until_led(world.made)
    heir = 1 - old
    document = run_documents.text({"entry_points": {"one": {"command": run_documents.line(world.made.filesystem)}}})
    stopped = await world.halted(old, RunPoint.WRITTEN, Act.STOP, lambda: world.create(document, heir))
    await until_led(world.made, by=heir)
    assert (await world.over(world.runs[-1], heir)).state == SUCCEEDED
    stopped.send(signal.SIGCONT)
    await asyncio.sleep(SETTLED)
    world.made.instances[heir].send(signal.SIGSTOP)
    await until_led(world.made, by=old)
    id_ = await world.create(document, old)
    assert (await world.over(id_, old)).state == SUCCEEDED
    world.made.instances[heir].send(signal.SIGCONT)


async def who_is_deleted_runs_nothing(world: World, *, another: bool) -> None:
    """A user is deleted when its job is about to be made, and another one may be given the name."""
    made, name = world.made, f"gone{uuid4().hex[:8]}"
    await add_user(made, name)
    document = run_documents.text({"entry_points": {"one": {"command": run_documents.line(made.filesystem)}}})
    at = await until_led(made)
    halted = await world.halted(at, RunPoint.OWNED, Act.WAIT, lambda: world.create(document, 1 - at, name))
    id_ = world.runs[-1]
    await made.call(auth_pb2.DeleteUserRequest(name=name))
    if another:
        await add_user(made, name)
    halted.go_on()

    async def is_forgotten() -> bool:
        return not (await made.call(run_pb2.ListRunsRequest(ids=[id_]))).runs

    await eventually(is_forgotten, PATIENCE)
    assert not await world.jobs_of(id_)
    assert not any(id_ in line for line in world.lines())


async def add_user(made: Site, name: str) -> None:
    await made.call(auth_pb2.CreateUserRequest(user=auth_pb2.User(name=name), password=PASSWORD))
    grant = auth_pb2.Grant(user=name, kind=auth_pb2.RESOURCE_KIND_QUEUE, resource="default-queue")
    await made.call(auth_pb2.CreateGrantRequest(grant=grant))
    key = fs_pb2.FilesystemKey(owner="root", name=made.filesystem)
    access = fs_pb2.FILESYSTEM_ACCESS_READ_WRITE
    await made.call(fs_pb2.GrantFilesystemRequest(filesystem=key, user=name, access=access))
