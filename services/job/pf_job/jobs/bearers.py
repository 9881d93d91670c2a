"""Replicas that call with the token of their job, and how long it is good."""

from __future__ import annotations

from dataclasses import dataclass

from paddleflow.problems import TokenInvalid, TokenRevoked
from pf_job.jobs.domain import Job
from pf_job.jobs.states import WITHOUT
from pf_job.runtimes.port import ReplicaKey
from pf_kit.principal import Principal, PrincipalKind


@dataclass(frozen=True, slots=True)
class Bearer:
    """A replica, as its token proves it."""

    number: int
    """Of the job: an id can be given again, a number cannot."""
    replica: ReplicaKey

    @property
    def subject(self) -> str:
        """The subject of its token."""
        return f"{PrincipalKind.JOB}/{self.replica.job}"

    @property
    def token_id(self) -> str:
        """The id of its token."""
        key = self.replica
        return f"{self.number}/{key.attempt}/{key.role}/{key.index}/{key.restart}"


def bearer_of(principal: Principal) -> Bearer | None:
    """Which replica calls; None if it is none."""
    if principal.kind is not PrincipalKind.JOB:
        return None
    try:
        number, attempt, role, index, restart = principal.token_id.split("/")
        return Bearer(int(number), ReplicaKey(principal.name, int(attempt), role, int(index), int(restart)))
    except ValueError:
        raise TokenInvalid from None


def require_alive(job: Job | None, bearer: Bearer) -> Job:
    """The job of a replica. Raises TokenRevoked unless its attempt runs."""
    alive = job is not None and (job.number, job.life.attempt) == (bearer.number, bearer.replica.attempt)
    # Replicas that are about to end have something left to say.
    if job is None or not alive or job.life.stage in WITHOUT:
        raise TokenRevoked("the attempt of the job that this token was made for is over")
    return job
