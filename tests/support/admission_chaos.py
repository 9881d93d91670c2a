"""Two instances of the queue service that take turns to lead, load that never gives up, and kills."""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from random import Random
from typing import Any

import asyncpg
from google.protobuf.message import Message
from grpc import aio

from paddleflow.channel import open_channel
from paddleflow.problems import Aborted, DeadlineExceeded, GrantMismatch, Unavailable, WorkloadNotFound
from paddleflow.queue.v1 import admission_pb2, cluster_pb2, queue_pb2, workload_pb2
from support.callers import Caller
from support.queue_process import ROOT_PASSWORD, QueueProcess
from support.queue_site import node
from support.servers import PostgresServer
from support.waiting import until

CORES = 16
QUEUES = ("red", "green", "blue")
TRANSIENT = (Unavailable, Aborted, DeadlineExceeded)
PATIENCE = 60.0
"""Seconds in which any call succeeds in the end."""
OVER = (workload_pb2.RELEASE_OUTCOME_FINISHED, workload_pb2.RELEASE_OUTCOME_CANCELLED)

Key = tuple[str, int]


@dataclass
class Site:
    """The instances, and what may be killed."""

    postgres: PostgresServer
    processes: Sequence[QueueProcess]
    callers: Sequence[Caller]

    async def call(self, request: Message) -> Any:
        """The reply of whichever instance answers in the end."""
        deadline = asyncio.get_running_loop().time() + PATIENCE
        turn = 0
        while True:
            try:
                return await self.callers[turn % len(self.callers)](request)
            except TRANSIENT:
                assert asyncio.get_running_loop().time() < deadline, f"no answer to {request.DESCRIPTOR.name}"
            turn += 1
            await asyncio.sleep(0.02)

    async def kill(self, chance: Random) -> str:
        """Kills one thing, and starts it again; says what it was."""
        victim = chance.choice(["postgres", *map(str, range(len(self.processes)))])
        if victim == "postgres":
            await asyncio.to_thread(self._restart_postgres)
        else:
            process = self.processes[int(victim)]
            process.kill()
            await asyncio.to_thread(process.start)
        return victim

    def _restart_postgres(self) -> None:
        self.postgres.kill()
        self.postgres.start()


@asynccontextmanager
async def site(postgres: PostgresServer, dsn: str, redis: str) -> AsyncIterator[Site]:
    first = QueueProcess(dsn, redis)
    keys = {name: first.environment[name] for name in ("PF_QUEUE_SIGNING_KEY_FILE", "PF_QUEUE_CREDENTIAL_KEY_FILE")}
    processes = (first, QueueProcess(dsn, redis, keys))
    try:
        async with AsyncExitStack() as opened:
            for process in processes:
                await asyncio.to_thread(process.start)
            secret = first.log_in("root", ROOT_PASSWORD)
            channels: list[aio.Channel] = [
                await opened.enter_async_context(open_channel(process.address, None)) for process in processes
            ]
            made = Site(postgres, processes, [Caller(channel, secret) for channel in channels])
            await _prepare(made)
            yield made
    finally:
        for process in processes:
            process.remove()


async def _prepare(made: Site) -> None:
    """Three queues that can each borrow all that the others leave."""
    cluster = cluster_pb2.Cluster(name="chaos", type=cluster_pb2.CLUSTER_TYPE_LOCAL)
    await made.call(cluster_pb2.CreateClusterRequest(cluster=cluster))
    machine = node("n", cpu=CORES * 1000)
    await made.call(cluster_pb2.ReportNodesRequest(cluster="chaos", revision=1, nodes=[machine]))
    for name in QUEUES:
        queue = queue_pb2.Queue(name=name, cluster="chaos")
        queue.min.amounts.update(cpu=CORES * 1000 // len(QUEUES))
        await made.call(queue_pb2.CreateQueueRequest(queue=queue))


@dataclass
class Load:
    """Submits jobs, runs what is admitted, and gives back what it is told to."""

    site: Site
    chance: Random
    submitted: set[str] = field(default_factory=set)
    cancelled: set[str] = field(default_factory=set)
    over: set[str] = field(default_factory=set)
    told: list[bytes] = field(default_factory=list)
    """What the watch has brought, in order."""
    _work: set[asyncio.Task[None]] = field(default_factory=set)

    async def submit(self, name: str, stop: asyncio.Event) -> None:
        number = 0
        while not stop.is_set():
            batch = [self._job(f"{name}-{number + offset}") for offset in range(self.chance.randint(1, 6))]
            number += len(batch)
            reply = await self.site.call(admission_pb2.SubmitWorkloadsRequest(workloads=batch))
            assert not any(result.HasField("refusal") for result in reply.results), reply
            self.submitted.update(each.key.job_id for each in batch)
            if self.chance.random() < 0.2:
                await self._cancel(batch[0].key)
            await asyncio.sleep(self.chance.uniform(0, 0.05))

    def _job(self, job: str) -> workload_pb2.Workload:
        role = workload_pb2.RoleRequest(role="w", min_replicas=self.chance.randint(1, 4))
        if self.chance.random() < 0.3:
            role.max_replicas = role.min_replicas + 3
        role.per_replica.amounts.update(cpu=1000)
        key = workload_pb2.WorkloadKey(job_id=job, attempt=1)
        return workload_pb2.Workload(
            key=key, queue=self.chance.choice(QUEUES), user="root", priority=self.chance.randint(0, 2), roles=[role]
        )

    async def _cancel(self, key: workload_pb2.WorkloadKey) -> None:
        """Cancels what waits; what has been admitted meanwhile runs on."""
        cancelled = workload_pb2.RELEASE_OUTCOME_CANCELLED
        release = admission_pb2.Release(key=key, outcome=cancelled)
        reply = await self.site.call(admission_pb2.ReleaseWorkloadsRequest(releases=[release]))
        if not reply.results[0].HasField("refusal"):
            self.cancelled.add(key.job_id)

    async def follow(self) -> None:
        """Watches through all breaks, for ever."""
        token, turn = "", 0
        while True:
            caller = self.site.callers[turn % len(self.site.callers)]
            turn += 1
            try:
                async for page in caller.watch(admission_pb2.WatchWorkloadsRequest(resume_token=token)):
                    for change in page.events:
                        self.told.append(change.event.SerializeToString(deterministic=True))
                        self._react(change.event)
                    token = page.resume_token or token
            except TRANSIENT:
                await asyncio.sleep(0.02)

    def _react(self, event: workload_pb2.WorkloadEvent) -> None:
        match event.WhichOneof("fact"):
            case "admitted" if event.admitted.grant_version == 1:
                self._do(self._run(event.admitted))
            case "evicting":
                self._do(self._leave(event.evicting))
            case "released" if event.released.outcome in OVER:
                self.over.add(event.released.key.job_id)
            case _:
                pass

    def _do(self, work: Any) -> None:
        task = asyncio.create_task(work)
        self._work.add(task)
        task.add_done_callback(self._work.discard)

    async def _run(self, admitted: workload_pb2.Admitted) -> None:
        await asyncio.sleep(self.chance.uniform(0, 0.3))
        await self._release(admitted.key, admitted.grant_id, workload_pb2.RELEASE_OUTCOME_FINISHED)

    async def _leave(self, evicting: workload_pb2.Evicting) -> None:
        if any(grant.base for grant in evicting.replicas):
            await self._release(evicting.key, evicting.grant_id, workload_pb2.RELEASE_OUTCOME_EVICTED)
            return
        request = admission_pb2.ResizeWorkloadRequest(
            key=evicting.key, grant_id=evicting.grant_id, roles=[workload_pb2.RoleGrant(role="w", surplus=0)]
        )
        # It may have ended meanwhile.
        with suppress(WorkloadNotFound, GrantMismatch):
            await self.site.call(request)

    async def _release(
        self, key: workload_pb2.WorkloadKey, grant: str, outcome: workload_pb2.ReleaseOutcome.ValueType
    ) -> None:
        release = admission_pb2.Release(key=key, grant_id=grant, outcome=outcome)
        await self.site.call(admission_pb2.ReleaseWorkloadsRequest(releases=[release]))

    async def settled(self) -> None:
        """Waits until every job is over."""
        await until(lambda: self.submitted <= self.over, PATIENCE, 0.05)

    def failures(self) -> Sequence[BaseException]:
        return [failed for task in self._work if task.done() and (failed := task.exception())]


async def logged(dsn: str) -> Sequence[tuple[str, workload_pb2.WorkloadEvent]]:
    """All events of workloads as they are stored, in order, with their job."""
    connection = await asyncpg.connect(dsn)
    try:
        found = await connection.fetch(
            "select subject, payload from queue.outbox where subject like 'workload/%' order by xid, id"
        )
        assert await connection.fetchval("select count(*) from queue.workloads") == 0, "somebody still holds something"
    finally:
        await connection.close()
    return [
        (row["subject"].removeprefix("workload/"), workload_pb2.WorkloadEvent.FromString(row["payload"]))
        for row in found
    ]


def require_exactly_once(events: Sequence[tuple[str, workload_pb2.WorkloadEvent]], load: Load) -> None:
    """No job is lost, admitted twice, or admitted after its end; the watch has told each event once and in order."""
    by_job: defaultdict[str, list[workload_pb2.WorkloadEvent]] = defaultdict(list)
    for job, event in events:
        by_job[job].append(event)
    assert load.submitted <= by_job.keys(), "a job that was acknowledged is lost"
    for job, told in by_job.items():
        _require_life(job, told)
    stored = [event.SerializeToString(deterministic=True) for _, event in events]
    assert load.told == stored, "the watch has lost, doubled or reordered something"


def _require_life(job: str, told: Sequence[workload_pb2.WorkloadEvent]) -> None:
    facts = [str(event.WhichOneof("fact")) for event in told]
    admissions: Counter[Key] = Counter()
    ended: set[Key] = set()
    for event, fact in zip(told, facts, strict=True):
        key = FACTS[fact](event)
        assert key not in ended, f"{job}: {facts}"
        if fact == "admitted" and event.admitted.grant_version == 1:
            admissions[key] += 1
        if fact == "released" and event.released.outcome:
            ended.add(key)
    assert all(count == 1 for count in admissions.values()), f"{job} was admitted twice: {facts}"
    assert facts[0] == "submitted", f"{job}: {facts}"
    assert told[-1].released.outcome in OVER, f"{job}: {facts}"


def _key(key: workload_pb2.WorkloadKey) -> Key:
    return key.job_id, key.attempt


FACTS: Mapping[str, Callable[[workload_pb2.WorkloadEvent], Key]] = {
    "submitted": lambda event: _key(event.submitted.key),
    "admitted": lambda event: _key(event.admitted.key),
    "evicting": lambda event: _key(event.evicting.key),
    "released": lambda event: _key(event.released.key),
    "requeued": lambda event: _key(event.requeued.key),
}
