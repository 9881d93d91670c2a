"""Instances of the queue service that take turns to lead, and kills of them and of Postgres at every failpoint."""

from __future__ import annotations

import asyncio
import signal
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from enum import StrEnum
from itertools import chain
from random import Random
from typing import Any

import asyncpg
from google.protobuf.message import Message

from paddleflow.auth.v1 import auth_pb2
from paddleflow.queue.v1 import admission_pb2, cluster_pb2, queue_pb2, workload_pb2
from support.admission_load import QUEUES, SETTLING, SHARE, TRANSIENT, Load
from support.callers import Caller
from support.databases import create_database
from support.exactly_once import Told, history, require_exactly_once, require_revised, require_seen
from support.failing_queue import TURNS, Haste
from support.failpoints import Act, Point
from support.instances import Instance, Instances, Reached, instances
from support.queue_process import ROOT_PASSWORD, QueueProcess
from support.queue_site import node
from support.servers import PostgresServer, ValkeyServer
from support.waiting import until

CORES = 16
PATIENCE = 60.0
"""Seconds in which any call succeeds in the end."""
REACHED = 3.0
"""Seconds until somebody comes to a failpoint."""
ATTEMPTS = 10
LOG = 4000
"""The last characters of the log, which may tell why."""
WORKERS = 3
SETTINGS = {"PF_QUEUE_ADMISSION_BACKOFF_SECONDS": "0.1", "PF_QUEUE_LOG_LEVEL": "warning"}

TURN = (
    Point.REFRESHING,
    Point.DECIDED,
    Point.BEGUN,
    Point.FENCED,
    Point.WRITTEN,
    Point.COMMITTING,
    Point.SENT,
    Point.COMMITTED,
    Point.STORED,
)
TAKING_OVER = (Point.LEASED, Point.LOADING, Point.LOADED)
STANDING_BY = (Point.WAITING, Point.FORWARDING, Point.ANSWERED)


class Victim(StrEnum):
    """What is killed."""

    INSTANCE = "instance"
    BACKEND = "backend"
    """The process of Postgres that serves the leader; the others go down with it."""
    POSTGRES = "postgres"
    """The main process of Postgres."""


@dataclass(frozen=True)
class Blow:
    """A kill of something when an instance comes to a point."""

    point: Point
    victim: Victim
    passes: int = 1


def blows(chance: Random, count: int) -> Sequence[Blow]:
    """So many kills, in rounds that each have every victim at every point."""
    planned: list[Blow] = []
    while len(planned) < count:
        planned += _round(chance)
    return planned[:count]


def _round(chance: Random) -> Sequence[Blow]:
    """Who takes over can be hit only after somebody has died who led."""
    after = [Blow(point, victim) for point in TAKING_OVER for victim in Victim]
    chance.shuffle(after)
    led = [Blow(point, Victim.INSTANCE, chance.randint(1, 4)) for point in TURN]
    groups = [list(pair) for pair in zip(led, after, strict=True)]
    groups += [[Blow(point, victim)] for point in STANDING_BY for victim in Victim]
    groups += [
        [Blow(point, victim, chance.randint(1, 4))] for point in TURN for victim in (Victim.BACKEND, Victim.POSTGRES)
    ]
    chance.shuffle(groups)
    return list(chain.from_iterable(groups))


@dataclass
class Site:
    """The instances, and what may be killed."""

    postgres: PostgresServer
    dsn: str
    instances: Instances
    starting: asyncio.TaskGroup
    secret: str = ""
    _wish: Blow | None = None
    _turn: int = 0

    def caller(self) -> Caller | None:
        """One instance after the other; None while there is none."""
        self._turn += 1
        alive = [instance for instance in self.instances.alive if instance.ready]
        return Caller(alive[self._turn % len(alive)].channel, self.secret) if alive else None

    async def call(self, request: Message) -> Any:
        """The reply of whichever instance answers in the end."""
        deadline = asyncio.get_running_loop().time() + PATIENCE
        while True:
            with suppress(*TRANSIENT):
                if (caller := self.caller()) is not None:
                    return await caller(request)
            assert asyncio.get_running_loop().time() < deadline, f"nobody answers {request.DESCRIPTOR.name}"
            await asyncio.sleep(0.02)

    async def leader(self) -> Instance | None:
        """Whose lease it is, if that one lives."""
        connection = await asyncpg.connect(self.dsn)
        try:
            address = await connection.fetchval(
                "select address from queue.leases where name = 'admission' and expires > clock_timestamp()"
            )
        finally:
            await connection.close()
        return next((instance for instance in self.instances.alive if instance.address == address), None)

    async def strike(self, blow: Blow) -> None:
        """Kills when somebody comes to the point, and starts again what was killed."""
        self._wish = blow
        self._let_go()
        for instance in self.instances.alive:
            self._arm(instance, blow)
        reached = await self._reached(blow)
        self._wish = None
        for instance in self.instances.alive:
            instance.wish_nothing()
        await self._kill(blow.victim, reached)

    async def _reached(self, blow: Blow) -> Reached:
        for _ in range(ATTEMPTS):
            with suppress(TimeoutError):
                async with asyncio.timeout(REACHED):
                    return await self.instances.reached.get()
            # The one that died last may have led no more, while another one had taken over already.
            if blow.point in TAKING_OVER and (leader := await self.leader()) is not None:
                leader.signal(signal.SIGKILL)
                self.start()
        raise AssertionError(f"nobody came to {blow}:\n{self.instances.log.read_text()[-LOG:]}")

    def start(self) -> None:
        """Starts one more instance, which is not waited for."""
        self.starting.create_task(self._start())

    async def _start(self) -> None:
        instance = await self.instances.start()
        if not instance.passed:
            # Postgres was killed while it started, so that it gave up; who runs it would start it again.
            self.start()
        elif self._wish is not None:
            self._arm(instance, self._wish)

    def _let_go(self) -> None:
        """Frees those who came to a point when another had been there already, and starts anew those that died."""
        while not self.instances.reached.empty():
            late = self.instances.reached.get_nowait()
            if late.act is Act.DIE:
                self.start()
            late.instance.go_on()

    @staticmethod
    def _arm(instance: Instance, blow: Blow) -> None:
        instance.wish(blow.point, Act.DIE if blow.victim is Victim.INSTANCE else Act.WAIT, blow.passes)

    async def _kill(self, victim: Victim, reached: Reached) -> None:
        match victim:
            case Victim.INSTANCE:
                self.start()
            case Victim.BACKEND:
                await asyncio.to_thread(self.postgres.kill_backend, reached.backend)
                reached.instance.go_on()
            case Victim.POSTGRES:
                await asyncio.to_thread(self.postgres.kill)
                reached.instance.go_on()
                await asyncio.to_thread(self.postgres.start)


@asynccontextmanager
async def site(postgres: PostgresServer, valkey: ValkeyServer, haste: Haste) -> AsyncIterator[Site]:
    """Two instances, of which one leads, over a database of their own."""
    dsn = postgres.dsn(await create_database(postgres))
    connection = await asyncpg.connect(dsn)
    await connection.execute(TURNS)
    await connection.close()
    keys = QueueProcess(dsn, valkey.url, SETTINGS)
    try:
        async with instances(keys.environment, haste) as started, asyncio.TaskGroup() as starting:
            made = Site(postgres, dsn, started, starting)
            await started.start()
            made.start()
            await _prepare(made)
            yield made
    finally:
        keys.remove()


async def _prepare(made: Site) -> None:
    """Three queues that can each borrow all that the others leave."""
    made.secret = (await made.call(auth_pb2.LoginRequest(user="root", password=ROOT_PASSWORD))).secret
    cluster = cluster_pb2.Cluster(name="chaos", type=cluster_pb2.CLUSTER_TYPE_LOCAL)
    await made.call(cluster_pb2.CreateClusterRequest(cluster=cluster))
    machine = node("n", cpu=CORES * 1000)
    await made.call(cluster_pb2.ReportNodesRequest(cluster="chaos", revision=1, nodes=[machine]))
    for name in QUEUES:
        queue = queue_pb2.Queue(name=name, cluster="chaos")
        queue.min.amounts.update(cpu=SHARE * 1000)
        await made.call(queue_pb2.CreateQueueRequest(queue=queue))


async def endure(made: Site, planned: Sequence[Blow], chance: Random, tell: Callable[[str], None]) -> None:
    """Kills under load; what is stored in the end must tell of everything once."""
    load = Load(made, chance)
    async with asyncio.TaskGroup() as watching:
        following = watching.create_task(load.follow())
        await _kill_under(load, made, planned, tell)
        await load.settled()
        found = await history(made.dsn)
        stored = [told.event.SerializeToString(deterministic=True) for told in found.told]
        # What was answered may be told a moment later.
        await until(lambda: len(load.told) >= len(stored), SETTLING, told=lambda: _untold(load.told, stored))
        following.cancel()
    assert not load.failures()
    require_exactly_once(found, submitted=load.submitted, cancelled=load.cancelled, capacity=CORES)
    require_seen(load.seen, found.told)
    require_revised(load.revised, found.told)
    assert load.told == stored, "the watch has lost, doubled or reordered something"
    await _require_idle(made)
    tell(f"{len(found.told)} events of {len(load.submitted)} jobs: {_summary(found.told)}")


def _untold(told: Sequence[bytes], stored: Sequence[bytes]) -> str:
    """Where the watch has left what is stored."""
    known = set(told)
    lost = [(place, event) for place, event in enumerate(stored) if event not in known]
    first = [f"{place}: {workload_pb2.WorkloadEvent.FromString(event)}" for place, event in lost[:3]]
    return f"{len(told)} of {len(stored)} events are told, and not {len(lost)}, of which the first are {first}"


async def _kill_under(load: Load, made: Site, planned: Sequence[Blow], tell: Callable[[str], None]) -> None:
    stop, begun = asyncio.Event(), asyncio.get_running_loop().time()
    async with asyncio.TaskGroup() as work:
        work.create_task(load.stir(stop))
        work.create_task(load.look(stop))
        for number in range(WORKERS):
            work.create_task(load.submit(f"w{number}", stop))
        for number, blow in enumerate(planned, 1):
            if blow.point not in TAKING_OVER:
                await load.goes_on()
            await made.strike(blow)
            if not number % 50:
                seconds = asyncio.get_running_loop().time() - begun
                tell(f"{number} of {len(planned)} kills in {seconds:.0f} s, {len(load.over)} jobs over")
        stop.set()


async def _require_idle(made: Site) -> None:
    """No queue is charged for anybody."""
    loads = (await made.call(admission_pb2.ListLoadsRequest(cluster="chaos"))).loads
    assert {each.queue for each in loads} >= set(QUEUES)
    for each in loads:
        assert not each.used.amounts, f"{each.queue} has leaked"
        assert not each.kept.amounts, f"{each.queue} keeps room for nobody"
        assert not each.waiting, f"somebody waits in {each.queue}"


def _summary(told: Sequence[Told]) -> str:
    return ", ".join(f"{times} {fact}" for fact, times in sorted(Counter(each.fact for each in told).items()))
