"""A replica is killed in the middle: each framework does what it says of itself."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from fixtures_jobs import JobSite
from paddleflow.fs.v1 import fs_pb2
from paddleflow.job.v1 import job_pb2, spec_pb2
from support.job_harm import found
from support.job_logs import SMALL, over

VICTIM = "if mkdir struck 2> /dev/null; then kill -9 $$; fi; touch again; exit 0"
"""Of all replicas that run this, the first is killed. Who comes after it, or instead of it, ends well."""
SERVES = "sleep 1000"
WAITS = "until [ -e again ]; do sleep 0.02; done"
"""Ends well when one came after the victim."""
WELL, BADLY = job_pb2.JOB_STATE_SUCCEEDED, job_pb2.JOB_STATE_FAILED
AGAIN = "OnFailure"


@dataclass(frozen=True)
class Loss:
    """A job of which one replica is killed."""

    framework: str
    victim: str
    others: tuple[tuple[str, str], ...]
    """Roles, and what they run."""
    state: job_pb2.JobState.ValueType
    policy: str = "Never"
    replicas: int = 1
    """Of the victim's role."""

    @property
    def id(self) -> str:
        return f"{self.framework} {self.victim} {self.policy}"


LOSSES = [
    Loss("paddle", "worker", (), BADLY, replicas=2),
    Loss("paddle", "worker", (), WELL, AGAIN, replicas=2),
    Loss("paddle", "pserver", (("worker", WAITS),), BADLY),
    Loss("paddle", "pserver", (("worker", WAITS),), WELL, AGAIN),
    Loss("pytorch", "master", (("worker", WAITS),), BADLY),
    Loss("pytorch", "worker", (("master", WAITS),), WELL, AGAIN),
    Loss("tensorflow", "pserver", (("worker", WAITS),), BADLY),
    # Nobody waits for who only evaluates, and it is started again unasked.
    Loss("tensorflow", "evaluator", (("worker", WAITS), ("master", WAITS)), WELL),
    Loss("mpi", "worker", (("master", WAITS),), BADLY),
    Loss("mpi", "worker", (("master", WAITS),), WELL, AGAIN),
    Loss("mxnet", "scheduler", (("pserver", SERVES), ("worker", WAITS)), BADLY),
    Loss("mxnet", "worker", (("scheduler", SERVES), ("pserver", SERVES)), WELL, AGAIN),
    Loss("ray", "worker", (("master", WAITS),), WELL),
    Loss("ray", "master", (("worker", SERVES),), BADLY),
    Loss("spark", "executor", (("driver", WAITS),), WELL),
    Loss("spark", "driver", (("executor", SERVES),), BADLY),
]


def members(loss: Loss) -> list[spec_pb2.Member]:
    roles = [(loss.victim, VICTIM, loss.replicas), *((role, command, 1) for role, command in loss.others)]
    return [
        spec_pb2.Member(
            role=spec_pb2.Role.Value(f"ROLE_{role.upper()}"),
            replicas=replicas,
            # A framework that starts itself runs arguments as they are, and a command behind its own.
            args=["sh", "-c", command],
        )
        for role, command, replicas in roles
    ]


async def run(site: JobSite, loss: Loss, folder: Path) -> str:
    """The id of the job, which is over."""
    folder.chmod(0o777)
    draft = fs_pb2.Filesystem(name=f"data-{site.tag}", url=f"local://{folder}")
    await site.filesystems(fs_pb2.CreateFilesystemRequest(filesystem=draft))
    spec = spec_pb2.JobSpec(
        framework=spec_pb2.Framework.Value(f"FRAMEWORK_{loss.framework.upper()}"),
        flavour=SMALL,
        fs=spec_pb2.FilesystemMount(name=draft.name),
        env={"PF_JOB_RESTART_POLICY": loss.policy},
        members=members(loss),
    )
    made = (await site.root(job_pb2.CreateJobRequest(job=job_pb2.Job(spec=spec)))).job
    return await over(site, made.id)


@pytest.mark.parametrize("loss", LOSSES, ids=[loss.id for loss in LOSSES])
async def test_a_replica_is_killed(job_site: JobSite, tmp_path: Path, loss: Loss) -> None:
    job = await found(job_site, await run(job_site, loss, tmp_path))
    assert job.state == loss.state, job
    tasks = (await job_site.root(job_pb2.ListTasksRequest(id=job.id))).tasks
    killed = [task for task in tasks if task.signal == 9 and task.state == job_pb2.TASK_STATE_FAILED]
    assert [spec_pb2.Role.Name(task.role) for task in killed] == [f"ROLE_{loss.victim.upper()}"]
    if loss.state == BADLY:
        assert job.message == f"{loss.victim} {killed[0].index}: ended by SIGKILL"
        assert max(task.restarts for task in tasks) == 0
    else:
        (again,) = (task for task in tasks if task.restarts)
        assert (again.role, again.index, again.state) == (killed[0].role, killed[0].index, job_pb2.TASK_STATE_SUCCEEDED)
