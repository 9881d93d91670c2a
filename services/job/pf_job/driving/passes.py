"""What a replica needs to call the job service by itself: its address, and a token of its job."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pf_job.jobs.bearers import Bearer
from pf_job.jobs.domain import Job, TaskKey
from pf_kit.clock import Clock
from pf_kit.tokens import Claims, Signer

TOKEN = "PF_JOB_TOKEN"  # noqa: S105 - the name of a variable
ENDPOINT = "PF_JOB_ENDPOINT"
CA = "PF_JOB_CA"
LIFETIME = 10 * 366 * 24 * 3600
"""Seconds that a token says it is good: longer than any attempt. It is worth nothing once that is over."""


@dataclass(frozen=True, slots=True)
class Entrance:
    """Where replicas reach the job service."""

    endpoint: str
    """``host:port``."""
    ca: str | None = None
    """Certificates (PEM) of those who sign that of the service; empty: those that are commonly trusted. None: there is
    no TLS."""

    @property
    def variables(self) -> Mapping[str, str]:
        return {ENDPOINT: self.endpoint, **({} if self.ca is None else {CA: self.ca})}


class Passes:
    """Makes the tokens of replicas."""

    def __init__(self, *, signer: Signer, installation: str, entrance: Entrance | None, clock: Clock) -> None:
        """Without an entrance there are no tokens either: nobody could use them."""
        self._signer = signer
        self._installation = installation
        self._entrance = entrance
        self._clock = clock

    @property
    def open(self) -> Mapping[str, str]:
        """Variables that are no secret."""
        return self._entrance.variables if self._entrance else {}

    def private(self, job: Job, key: TaskKey) -> Mapping[str, str]:
        """Variables that only the replica may see."""
        return {TOKEN: self._token(job, key)} if self._entrance else {}

    def _token(self, job: Job, key: TaskKey) -> str:
        bearer, now = Bearer(job.number, key), int(self._clock.now().timestamp())
        claims = Claims(self._installation, bearer.subject, bearer.token_id, now, now + LIFETIME)
        return self._signer.sign(claims)
