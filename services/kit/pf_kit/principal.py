"""Who calls."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class PrincipalKind(StrEnum):
    """What sort of caller it is."""

    ANONYMOUS = "anonymous"
    USER = "user"
    SERVICE = "service"
    JOB = "job"
    """A replica of a job, with the token of its job."""


@dataclass(frozen=True, slots=True)
class Principal:
    """The caller of one RPC, as its token proves it."""

    kind: PrincipalKind
    name: str
    root: bool = False
    """True for the user root, and for a service that acts for nobody."""
    token_id: str = ""
    token_expires: float = float("inf")
    """Seconds since the epoch."""
    acting_service: str = ""
    """The service that acts for this user; empty if the user calls itself."""
    since: datetime | None = None
    """When this user was added, as its token proves: a name can be given again, the two together cannot. None if that
    is not known, as of a user for whom a service acts."""

    @property
    def label(self) -> str:
        """The caller as it stands in the audit log, for example ``user/alice``."""
        return f"{self.kind}/{self.name}"


ANONYMOUS = Principal(PrincipalKind.ANONYMOUS, "")
