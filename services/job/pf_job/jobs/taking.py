"""Makes a job of what somebody asks for: everything filled in, everything wrong told at once."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from paddleflow.problems import (
    InvalidArgument,
    NeverFits,
    NotServed,
    PermissionDenied,
    QueueStateConflict,
    Violation,
)
from pf_job.frameworks.check import violations
from pf_job.frameworks.registry import rules_of
from pf_job.frameworks.rules import Reach
from pf_job.jobs.domain import Job, Owner, Part
from pf_job.jobs.life import Life
from pf_job.jobs.naming import Naming
from pf_job.jobs.ports import Filesystems, QueueInfo, Queues
from pf_job.jobs.sight import Sight
from pf_job.specs import magic
from pf_job.specs.amounts import readable
from pf_job.specs.check import joined_violations
from pf_job.specs.defaults import filled, total
from pf_job.specs.domain import JobSpec, JobType
from pf_kit.principal import Principal

LONGEST_USER = 63
MOST_VIOLATIONS = 100
"""More are not told: nobody reads them."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A job as somebody asks for it."""

    spec: JobSpec
    type: JobType | None
    owner: str
    part: Part | None = None
    wrong: Sequence[Violation] = ()
    """What is wrong with it already, as the values here could not hold it."""


class Taking:
    """Looks up what a draft names, and fills in what it leaves open."""

    def __init__(self, *, queues: Queues, filesystems: Filesystems, sight: Sight, kept: timedelta) -> None:
        """`kept` is how long a job that does not say so is kept when it is over."""
        self._naming = Naming(queues, filesystems)
        self._sight = sight
        self._kept = kept

    async def owner(self, caller: Principal, name: str) -> Owner:
        """Whose job it is to be that a caller asks for; its own if it names nobody. Raises what CreateJob lists."""
        if name in ("", caller.name):
            return await self._sight.identity(caller)
        if not caller.root:
            raise PermissionDenied(f"only root may run jobs for others, here for {name[:63]!r}")
        if not (name.isascii() and name.isalnum() and len(name) <= LONGEST_USER):
            raise InvalidArgument.of(Violation("owner", "must be the name of a user"))
        return await self._sight.user(name)

    async def job(self, caller: Principal, draft: Draft, owner: Owner, now: datetime) -> Job:
        """The job, as accepted now. Raises what CreateJob's contract lists, but that there is one of its id."""
        settings = magic.read(draft.spec, draft.type)
        wrong = [*draft.wrong, *settings.violations, *violations(settings.spec, settings.type)]
        if wrong:
            raise InvalidArgument.of(*wrong[:MOST_VIOLATIONS])
        _require_served(settings.spec, settings.type)
        named = replace(settings.spec, id=settings.spec.id or f"job-{secrets.token_hex(8)}")
        known = await self._naming.known(caller, named)
        spec = filled(known.spec, self._kept)
        if together := tuple(joined_violations(spec)):
            raise InvalidArgument.of(*together[:MOST_VIOLATIONS])
        resources = total(spec)
        _require_place(known.queue, resources)
        return Job(
            id=spec.id,
            owner=owner.name,
            owner_since=owner.since,
            type=settings.type,
            spec=spec,
            life=Life(accept_time=now),
            resources=resources,
            part=draft.part,
            notes=_notes(spec),
        )


def _require_served(spec: JobSpec, job_type: JobType) -> None:
    if job_type is JobType.WORKFLOW:
        raise NotServed("a workflow needs a Kubernetes cluster, and this installation has none")
    elastic = next((member.role for member in spec.members if member.elastic), None)
    if elastic is not None and rules_of(spec).reach(spec) is Reach.FILES:
        raise NotServed(
            f"an elastic {spec.framework} job hears of newcomers by files, which a cluster of processes does not hand"
            f" out; leave out maxReplicas of {elastic}: this installation has no Kubernetes cluster"
        )


def _notes(spec: JobSpec) -> Sequence[str]:
    """What to know of it that is no failure."""
    images = dict.fromkeys(member.work.image for member in spec.crew if member.work.image)
    if not images:
        return ()
    return (f"passed over on a local cluster, which runs the programs of its machine: image {', '.join(images)}",)


def _require_place(queue: QueueInfo, resources: dict[str, int]) -> None:
    """Refuses at once what could only wait for ever."""
    if not queue.takes:
        raise QueueStateConflict(
            f"the queue {queue.name!r} takes no jobs any more; choose another, or let it be opened"
        )
    for resource, amount in sorted(resources.items()):
        if amount > queue.most.get(resource, 0):
            most = queue.most.get(resource, 0)
            told = {"resource": resource, "asked": str(amount), "most": str(most), "queue": queue.name}
            asked, room = readable(resource, amount), readable(resource, most)
            message = f"the job asks for {asked} of {resource}; queue {queue.name!r} has at most {room}; ask for less"
            raise NeverFits(message, metadata=told)
