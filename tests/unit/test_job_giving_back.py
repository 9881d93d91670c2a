"""What becomes of a job that was pushed out when its queue does not know that it was."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from unittest.mock import patch

from pf_job.driving.ports import AttemptKey, GivenBack
from pf_job.jobs.life import Grant
from pf_job.jobs.states import Stage
from pf_job.specs.domain import Framework, JobSpec, Member, Role, Work
from support.job_rig import driven
from support.waiting import until

SPEC = JobSpec(
    framework=Framework.PADDLE, work=Work(command="sleep 1000"), members=(Member(role=Role.WORKER, replicas=2),)
)


async def test_it_is_submitted_again_since_it_does_not_wait_there() -> None:
    async with driven() as rig:
        job = await rig.create(SPEC)
        await rig.until_runs(2)

        async def forgetful(given: Sequence[GivenBack]) -> Mapping[AttemptKey, Grant | None]:
            return {each.key: rig.queue.held.pop(each.key, None) and None for each in given}

        with patch.object(rig.queue, "release", forgetful):
            rig.queue.evict(job)
            await until(lambda: AttemptKey("job", 2) in rig.queue.wishes)
        await rig.until_runs(2)
        again = await rig.until(Stage.WATCH)
        assert (again.life.attempt, again.life.retries) == (2, 0)
