"""What it takes to start the replicas of a job."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from paddleflow.problems import FailedPrecondition
from pf_job.jobs.domain import Job
from pf_job.runtimes.port import Ceiling, Launch, Mount, ReplicaKey
from pf_job.specs import magic
from pf_job.specs.commands import argv, cwd
from pf_job.specs.defaults import limits
from pf_job.specs.domain import CPU, GPU, MEMORY, FilesystemMount, Member

FOLDER = "/tmp"  # noqa: S108 - that of the replica, which nobody else sees
"""Where a replica starts that has no filesystem."""


class NoCommand(FailedPrecondition):
    """The job says nothing that could be run."""

    reason = "FAILED_PRECONDITION"


class Mounts(Protocol):
    """The port to where files are."""

    async def describe(self, user: str, mount: FilesystemMount) -> Mount:
        """Where the files of a mount are, for one task of a user. Raises whatever is in the way."""


class Launches:
    """Fulfils `Preparation`."""

    def __init__(self, mounts: Mounts) -> None:
        self._mounts = mounts

    async def launches(self, job: Job) -> Sequence[Launch]:
        found: list[Launch] = []
        held = job.life.grant.replicas if job.life.grant else {}
        for member in job.spec.crew:
            mounts = [await self._mounts.describe(job.owner, mount) for mount in member.work.mounts]
            found += [launch(job, member, index, {}, mounts) for index in range(held.get(member.role, 0))]
        return found


def launch(job: Job, member: Member, index: int, told: Mapping[str, str], mounts: Sequence[Mount]) -> Launch:
    """The start of one replica; `told` is what its framework has to tell it."""
    work = member.work
    program = argv(work)
    if not program:
        raise NoCommand(
            f"{member.role} has no command, and a local cluster has no images to take one from; give it one"
        )
    # What a replica takes is its share of the machine; a wall stands only where one is asked for.
    ceiling = {} if work.limit_flavour.empty else limits(work)
    identity = magic.Identity(job_id=job.id, user=job.owner, namespace="")
    return Launch(
        key=ReplicaKey(job.id, job.life.attempt, member.role, index),
        tenant=job.owner,
        argv=program,
        env={**work.env, **told, **magic.variables(identity, job.spec, job.type, None, member)},
        secret_env=work.secret_env,
        cwd=cwd(work) or FOLDER,
        mounts=mounts,
        ceiling=Ceiling(cpu=ceiling.get(CPU), memory=ceiling.get(MEMORY)),
        accelerators=work.flavour.amounts.get(GPU, 0),
        requests=work.flavour.amounts,
    )
