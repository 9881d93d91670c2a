"""A watch of jobs begins with all that are not over, and holds up nobody while it looks for them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from unittest.mock import Mock, patch

import pf_job.jobs.watching
from pf_job.jobs.convert import encode
from pf_job.jobs.domain import Job
from pf_job.jobs.life import Life
from pf_job.jobs.memory import MemoryJobStore
from pf_job.jobs.sight import Sight
from pf_job.jobs.watching import Teller
from pf_job.specs.domain import JobSpec, JobType
from pf_kit.clock import SystemClock
from pf_kit.memory import MemoryDatabase
from pf_kit.principal import Principal, PrincipalKind

ROOT = Principal(PrincipalKind.USER, "root", root=True)
COUNT = 5


async def told(store: MemoryJobStore) -> Sequence[str]:
    """The ids of jobs as a watch begins."""
    database = MemoryDatabase(encode=encode, clock=SystemClock())
    life = Life(accept_time=datetime.now(UTC))
    async with database.change() as change:
        for at in range(COUNT):
            spec = JobSpec(id=f"job-{at}")
            await store.add(change, [Job(id=spec.id, owner="alice", type=JobType.SINGLE, spec=spec, life=life)])
    teller = Teller(store=store, sight=Mock(spec=Sight), caller=ROOT, queue="", id_="")
    async with database.snapshot() as snapshot:
        return [event.job.id for event in await teller.existing(snapshot)]


async def test_it_tells_all_jobs_in_order_though_it_reads_few_at_once() -> None:
    store = MemoryJobStore()
    page = Mock(wraps=store.page)
    with patch.object(pf_job.jobs.watching, "PAGE", 2), patch.object(store, "page", page):
        assert await told(store) == [f"job-{at}" for at in range(COUNT)]
    assert {call.args[3] for call in page.call_args_list} == {2}
