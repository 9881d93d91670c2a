"""What it takes to reach a server as somebody."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from paddleflow.address import ENTRANCE, SERVICES, neighbour, target
from paddleflow.channel import Tls
from paddleflow.problems import InvalidArgument, Violation


class TokenCache(Protocol):
    """Keeps the token of a login, so that the next program need not log in."""

    def read(self) -> str:
        """The secret kept; empty if there is none, or its time is over."""

    def write(self, secret: str, expires: float) -> None:
        """Keeps the secret until it expires, in seconds since the epoch."""

    def drop(self, secret: str) -> None:
        """Forgets the secret, if it is the one kept."""


class NoTokenCache:
    """Keeps nothing."""

    def read(self) -> str:
        return ""

    def write(self, secret: str, expires: float) -> None:
        """Keeps nothing."""

    def drop(self, secret: str) -> None:
        """Has nothing to forget."""


@dataclass(frozen=True, slots=True)
class Connection:
    """Where the server is, who calls, and how long to wait."""

    address: str
    """``host:port`` or ``unix:/path/of/socket``."""
    services: Mapping[str, str] = field(default_factory=dict, kw_only=True)
    """The addresses of other services by name, for example ``fs``; where one is not told, it is a `neighbour`."""
    user: str = ""
    password: str = field(default="", repr=False)
    """With `user`: logs in when there is no token, or when it is refused."""
    token: str = field(default="", repr=False)
    """A token made before; comes before `user` and `password`, which never replace it."""
    tls: Tls | None = None
    """None: without TLS, for a Unix socket or the loopback."""
    timeout: float = 10.0
    """Seconds that a call may take, retries included."""
    patience: float = 60.0
    """Seconds that a watch keeps trying to reach a server that went away; `math.inf`: for ever."""
    token_cache: TokenCache = field(default_factory=NoTokenCache, repr=False)

    def __post_init__(self) -> None:
        for field_name, address in {"address": self.address, **self.services}.items():
            try:
                target(address)
            except ValueError as error:
                raise InvalidArgument.of(Violation(field_name, str(error))) from error
        if not (self.token.isascii() and self.token.isprintable()) or " " in self.token:
            raise InvalidArgument.of(Violation("token", "is none: it holds spaces, or signs that no token has"))

    @property
    def addresses(self) -> frozenset[str]:
        """All that there are."""
        return frozenset({self.address, *map(self.address_of, SERVICES)})

    def address_of(self, service: str) -> str:
        """Where a service is. What every service answers is asked of the one that logs callers in."""
        if service == ENTRANCE or service not in SERVICES:
            return self.address
        return self.services.get(service) or neighbour(self.address, service)
