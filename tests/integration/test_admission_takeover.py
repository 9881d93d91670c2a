"""A leader that dies is followed soon, and one that was stopped for too long can store nothing any more."""

from __future__ import annotations

import asyncio
import signal
import time
from contextlib import suppress
from functools import partial
from itertools import count
from uuid import uuid4

import asyncpg
import pytest

from paddleflow.problems import Unavailable
from paddleflow.queue.v1 import admission_pb2, workload_pb2
from pf_kit.leases import MARGIN, PAUSE, TTL
from support.admission_chaos import Site, site
from support.admission_load import QUEUES, TRANSIENT
from support.callers import Caller
from support.exactly_once import history, require_one_leader
from support.failing_queue import Haste
from support.failpoints import Act, Point
from support.instances import Instance
from support.servers import PostgresServer, ValkeyServer
from support.waiting import eventually

UNHURRIED = Haste(ttl=TTL, pause=PAUSE, margin=MARGIN, idle=5.0)
"""As the service has it."""
STEADY = Haste(ttl=1.5)
"""Nobody loses the lease because the machine is busy."""
PATIENT = Haste(ttl=1.0, idle=30.0)
"""Postgres does not end a transaction that stands still."""
DELUDED = Haste(ttl=1.0, pause=3600.0, margin=-3600.0)
"""Neither renews its lease nor notices that it is over."""


def submission(job: str) -> admission_pb2.SubmitWorkloadsRequest:
    role = workload_pb2.RoleRequest(role="w", min_replicas=1)
    role.per_replica.amounts.update(cpu=1000)
    key = workload_pb2.WorkloadKey(job_id=job, attempt=1)
    workload = workload_pb2.Workload(key=key, queue=QUEUES[0], user="root", roles=[role])
    return admission_pb2.SubmitWorkloadsRequest(workloads=[workload])


async def stored(made: Site, job: str, fact: str) -> int | None:
    """The transaction that stored a fact about a job, and must have done so once."""
    found = [told.xid for told in (await history(made.dsn)).told if told.key[0] == job and told.fact == fact]
    assert len(found) <= 1, f"{job} was {fact} {len(found)} times"
    return found[0] if found else None


async def admitted(made: Site, job: str) -> int:
    """Submits a job until that is answered; the transaction that admitted it."""
    await made.call(submission(job))
    return await eventually(partial(stored, made, job, "admitted"))


async def two(made: Site) -> tuple[Instance, Instance]:
    """The leader, and who stands by."""

    async def found() -> tuple[Instance, Instance] | None:
        leader = await made.leader()
        others = [instance for instance in made.instances.alive if instance is not leader and instance.ready]
        return (leader, others[0]) if leader and others else None

    return await eventually(found)


async def test_the_standby_admits_within_the_lease_and_two_seconds(
    own_postgres: PostgresServer, own_valkey: ValkeyServer
) -> None:
    async with site(own_postgres, own_valkey, UNHURRIED) as made:
        leader, _ = await two(made)
        await admitted(made, "before")
        leader.signal(signal.SIGKILL)
        died = time.monotonic()
        await admitted(made, "after")
        assert time.monotonic() - died < TTL + 2.0


async def test_what_a_leader_has_sent_outlives_it_and_what_it_has_not_is_tried_again(
    own_postgres: PostgresServer, own_valkey: ValkeyServer
) -> None:
    async with site(own_postgres, own_valkey, STEADY) as made:
        for point, there in ((Point.COMMITTING, False), (Point.SENT, True)):
            leader, _ = await two(made)
            leader.wish(point, Act.DIE)
            with pytest.raises(Unavailable):
                await Caller(leader.channel, made.secret)(submission(point))
            if there:
                await eventually(partial(stored, made, point, "submitted"))
            else:
                assert await stored(made, point, "submitted") is None
            made.start()
            await admitted(made, point)
            assert await stored(made, point, "submitted")


async def test_a_stopped_leader_stores_nothing_once_another_one_has_taken_over(
    own_postgres: PostgresServer, own_valkey: ValkeyServer
) -> None:
    async with site(own_postgres, own_valkey, STEADY) as made:
        for point in (Point.DECIDED, Point.BEGUN, Point.FENCED, Point.WRITTEN, Point.COMMITTING):
            await overtake(made, point)


async def overtake(made: Site, point: Point) -> None:
    """Stops the leader, has the other one admit somebody, and lets the first go on."""
    overtaken = await admitted(made, f"before-{point}")
    leader, heir, losing, lost = await stopped(made, point)
    newest = await eventually(partial(through, made, heir, f"taken-{point}"))
    leader.signal(signal.SIGCONT)
    leader.wish(Point.WAITING, Act.WAIT)
    with pytest.raises(Unavailable):
        await losing
    stands_by = await made.instances.reached.get()
    stands_by.instance.go_on()
    assert await stored(made, lost, "submitted") is None
    again = await admitted(made, lost)
    found = await history(made.dsn)
    require_one_leader(found)
    assert found.fences[overtaken] < found.fences[newest] <= found.fences[again]


async def stopped(made: Site, point: Point) -> tuple[Instance, Instance, asyncio.Task[object], str]:
    """The leader, stopped amid a submission; the other one; the submission, and its job."""
    for number in count():
        leader, heir = await two(made)
        leader.wish(point, Act.STOP)
        job = f"lost-{point}-{number}"
        losing: asyncio.Task[object] = asyncio.create_task(Caller(leader.channel, made.secret)(submission(job)))
        reached = asyncio.create_task(made.instances.reached.get())
        await asyncio.wait({losing, reached}, return_when=asyncio.FIRST_COMPLETED)
        if reached.done():
            return leader, heir, losing, job
        # On a machine that is busy the other one may lead by now.
        reached.cancel()
        leader.wish_nothing()
        with suppress(Unavailable):
            await losing
    raise AssertionError


async def test_a_leader_that_believes_in_a_lease_it_has_lost_stores_nothing(
    own_postgres: PostgresServer, own_valkey: ValkeyServer
) -> None:
    async with site(own_postgres, own_valkey, DELUDED) as made:
        deluded, made.instances.haste = made.instances.alive[0], STEADY
        heir = await made.instances.start()
        await eventually(partial(leads, made, heir))
        await eventually(partial(through, made, heir, "newest"))
        with pytest.raises(Unavailable):
            await Caller(deluded.channel, made.secret)(submission("late"))
        assert await stored(made, "late", "submitted") is None
        require_one_leader(await history(made.dsn))


async def test_who_takes_over_waits_for_a_commit_under_way_and_knows_of_it(
    own_postgres: PostgresServer, own_valkey: ValkeyServer
) -> None:
    async with site(own_postgres, own_valkey, PATIENT) as made:
        leader, _ = await two(made)
        leader.wish(Point.COMMITTING, Act.STOP)
        ending = asyncio.create_task(Caller(leader.channel, made.secret)(submission("last")))
        await made.instances.reached.get()
        await eventually(partial(waits_for_the_lease, made))
        leader.signal(signal.SIGCONT)
        with suppress(Unavailable):
            await ending
        last = await eventually(partial(stored, made, "last", "submitted"))
        # Who has waited for longer than its lease lasts gives it up at once: either of the two may be next.
        await eventually(partial(overtaken, made, last), 30.0)
        await admitted(made, "last")
        assert await stored(made, "last", "submitted") == last
        require_one_leader(await history(made.dsn))


async def overtaken(made: Site, last: int) -> bool:
    """Whether a new job is admitted by somebody who began to lead after a transaction."""
    newest = await admitted(made, f"newest-{uuid4().hex}")
    found = await history(made.dsn)
    return found.fences[last] < found.fences[newest]


async def leads(made: Site, instance: Instance) -> bool:
    return await made.leader() is instance


async def waits_for_the_lease(made: Site) -> bool:
    connection = await asyncpg.connect(made.dsn)
    try:
        return bool(
            await connection.fetchval(
                "select count(*) from pg_stat_activity"
                " where wait_event_type = 'Lock' and query like '%insert into leases%'"
            )
        )
    finally:
        await connection.close()


async def through(made: Site, instance: Instance, job: str) -> int | None:
    """Submits a job to one instance; the transaction that admitted it, if it did."""
    # As long as the stopped one has the lease, the other one hands calls on to it.
    with suppress(*TRANSIENT, TimeoutError):
        async with asyncio.timeout(0.3):
            await Caller(instance.channel, made.secret)(submission(job))
    return await stored(made, job, "admitted")
