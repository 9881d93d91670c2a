"""Which machines a cluster has, as its queue is to know."""

from __future__ import annotations

from collections.abc import Sequence

from pf_job.driving.ports import Admission
from pf_job.runtimes.port import Machine, Runtime


class MachineReports:
    """Reports the machines of a runtime, at first and when they have changed."""

    def __init__(self, cluster: str, runtime: Runtime, admission: Admission) -> None:
        self._cluster = cluster
        self._runtime = runtime
        self._admission = admission
        self._reported: Sequence[Machine] = ()

    def again(self) -> None:
        """Has all reported once more: whoever was told may have forgotten it."""
        self._reported = ()

    async def step(self) -> int:
        """Tells how many machines were reported: none if all is as it was."""
        machines = await self._runtime.machines()
        if machines == self._reported:
            return 0
        await self._admission.report_machines(self._cluster, machines)
        self._reported = machines
        return len(machines)
