"""Jobs of users who were deleted end and are forgotten; those of whoever has the name next go on."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from paddleflow.problems import UserNotFound
from pf_job.driving.leaving import is_gone
from pf_job.jobs.domain import Job, Owner
from pf_job.jobs.ports import QueueInfo
from pf_job.jobs.sight import Sight
from pf_job.jobs.states import Stage
from pf_job.specs.domain import Framework, JobSpec, Member, Role, Work
from pf_kit.principal import Principal, PrincipalKind
from pf_kit.unit import AuditFilter
from support.job_rig import FakeUsers, Rig, driven
from support.waiting import eventually

FIRST = datetime(2030, 1, 1, tzinfo=UTC)
NEXT = FIRST + timedelta(microseconds=1)
SPEC = JobSpec(
    framework=Framework.PADDLE,
    work=Work(command="sleep 1000"),
    members=(Member(role=Role.WORKER, replicas=2),),
)


async def forgotten(rig: Rig, id_: str) -> None:
    async def is_forgotten() -> bool:
        return not await rig.store.jobs(rig.database.newest, [id_])

    await eventually(is_forgotten)


async def running(rig: Rig, id_: str, since: datetime | None) -> Job:
    await rig.create(SPEC, id_, since)

    async def runs() -> Job | None:
        (job,) = await rig.store.jobs(rig.database.newest, [id_])
        return job if job.life.stage is Stage.WATCH and job.life.start_time else None

    return await eventually(runs)


async def test_who_leaves_takes_its_jobs_along_and_no_others() -> None:
    async with driven() as rig:
        rig.users.known = {"alice": FIRST}
        await running(rig, "old", FIRST)
        rig.users.known = {"alice": NEXT}
        rig.left.set()
        new, service = await running(rig, "new", NEXT), await running(rig, "service", None)
        await forgotten(rig, "old")
        assert [key.job for key in rig.queue.over] == ["old"]
        records = await rig.database.audit_records(AuditFilter(actor="service/job"), None, 10)
        assert [record.entry.subject for record in records] == ["job/old"]
        assert await rig.store.jobs(rig.database.newest, ["new", "service"]) == [new, service]


async def test_a_user_nobody_told_of_is_missed_anyway() -> None:
    async with driven() as rig:
        rig.users.known = {"alice": FIRST}
        await running(rig, "old", FIRST)
        rig.users.known = {}
        await forgotten(rig, "old")


@pytest.mark.parametrize(
    ("owner", "known", "gone"),
    [
        (Owner("alice", FIRST), {"alice": FIRST}, False),
        (Owner("alice", FIRST), {"alice": NEXT}, True),
        (Owner("alice", FIRST), {}, True),
        (Owner("alice", NEXT), {"alice": FIRST}, False),
        (Owner("alice", FIRST), {"bobby": FIRST}, True),
    ],
)
def test_who_is_gone_is_told_by_more_than_a_name(owner: Owner, known: dict[str, datetime], gone: bool) -> None:
    assert is_gone(owner, known) is gone


class Queues:
    """Fulfils `Queues`: one is granted to everybody."""

    async def queue(self, caller: Principal, name: str) -> QueueInfo:
        raise NotImplementedError

    async def flavours(self, names: object) -> dict[str, dict[str, int]]:
        raise NotImplementedError

    async def granted(self, user: str) -> frozenset[str]:
        return frozenset({"granted"})


async def test_nobody_sees_what_a_namesake_had() -> None:
    sight = Sight(queues=Queues(), users=FakeUsers({"alice": NEXT}))
    by_token = Principal(PrincipalKind.USER, "alice", since=NEXT)
    by_service = Principal(PrincipalKind.USER, "alice", acting_service="pipeline")
    for caller in (by_token, by_service):
        assert await sight.sees(caller, Owner("alice", NEXT), "q")
        for queue in ("q", "granted"):
            assert not await sight.sees(caller, Owner("alice", FIRST), queue)
            assert not await sight.sees(caller, Owner("alice"), queue)
        assert await sight.sees(caller, Owner("bobby", FIRST), "granted")
        assert not await sight.sees(caller, Owner("bobby", FIRST), "q")
    gone = Principal(PrincipalKind.USER, "carol", acting_service="pipeline")
    with pytest.raises(UserNotFound):
        await sight.sees(gone, Owner("carol", FIRST), "q")
