"""The machines of a cluster are reported at first, when they change, and when the queue may have forgotten them."""

from __future__ import annotations

from collections.abc import Sequence

from pf_job.driving.machines import MachineReports
from pf_job.runtimes.fake import FakeRuntime
from pf_job.runtimes.port import Machine
from support.job_rig import CLUSTER, FakeQueue


class Reported(FakeQueue):
    """Counts reports."""

    count = 0

    async def report_machines(self, cluster: str, machines: Sequence[Machine]) -> None:
        self.count += 1


async def test_what_is_as_it_was_is_reported_once_more_only_when_it_may_be_forgotten() -> None:
    queue = Reported()
    reports = MachineReports(CLUSTER, FakeRuntime(), queue)
    assert await reports.step()
    assert not await reports.step()
    reports.again()
    assert await reports.step()
    assert queue.count == 2
