"""What must be known to speak to an object store."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from pf_backends.reach import ANYWHERE, Reach
from pf_backends.wire.messages import Endpoint
from pf_backends.wire.pool import PATIENCE, Patience


@dataclass(frozen=True, slots=True)
class Keys:
    """Who calls."""

    access: str = field(repr=False)
    secret: str = field(repr=False)
    token: str = field(default="", repr=False)
    """Of a session, if the keys are those of one."""


Renew = Callable[[], Keys | None]
"""Keys that hold by now, for those that have expired.

The same ones if there are no others yet, None if there never will be.
"""


@dataclass(frozen=True, slots=True)
class S3Settings:
    """An object store, and where in it."""

    endpoint: Endpoint
    bucket: str
    prefix: str = ""
    """The folder in the bucket that is the top, without slashes around it."""
    scheme: str = "s3"
    region: str = "us-east-1"
    path_style: bool = True
    """The bucket stands in the path of an address, otherwise in the name of the host."""
    keys: Keys | None = None
    """None: nobody in particular calls."""
    ca: str = ""
    """Certificates to trust in place of those that the machine trusts, in PEM."""
    verify: bool = True
    """The certificate of the endpoint is looked at."""
    read_only: bool = False
    """Nothing is ever written, not even to find out what the store does about conditions."""
    acl: str = ""
    """The rights on what is written, by one of the names that the store knows."""
    reach: Reach = ANYWHERE
    patience: Patience = PATIENCE
    deadline: float = 60.0
    """Seconds for a call with all its attempts, beside the time that its bytes take."""
    slowest: int = 1 << 20
    """Bytes per second: what takes longer than that, and the deadline, has failed."""
    attempts: int = 8
    connections: int = 256
    """At once. More calls wait."""

    @property
    def address(self) -> str:
        """What people call it."""
        inside = f"{self.bucket}/{self.prefix}".rstrip("/")
        return f"{self.scheme}://{inside} at {'https' if self.endpoint.tls else 'http'}://{self.endpoint.authority}"
