"""What a stack consists of. A new service is one more row in the table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from pf_kit.embedded.accounts import this_account
from pf_kit.embedded.backends import embedded_postgres, embedded_valkey
from pf_kit.embedded.component import Component
from pf_stack.endpoints import Endpoint, choose_endpoints
from pf_stack.layout import Layout
from pf_stack.service import Service


@dataclass(frozen=True, slots=True)
class Row:
    """What tells one service from another."""

    name: str
    module: str
    port: int
    """Which port it wishes for callers."""
    takes: frozenset[str]
    """Its settings, of those that not every service has."""


ENTRANCE = "queue"
"""The service that logs callers in."""
SERVICES: Sequence[Row] = (
    Row(ENTRANCE, "pf_queue", 8999, frozenset({"CREDENTIAL_KEY_FILE", "ACCOUNTS_ROOT_PASSWORD_FILE"})),
)


@dataclass(frozen=True, slots=True)
class Stack:
    """All that runs for one data folder."""

    backends: Sequence[Component]
    services: Sequence[Service]

    @property
    def levels(self) -> Sequence[Sequence[Component]]:
        """In the order of their start."""
        return (self.backends, self.services)

    @property
    def entrance(self) -> Endpoint:
        """Where clients go first."""
        return next(service.endpoint for service in self.services if service.name == ENTRANCE)


def compose(layout: Layout) -> Stack:
    """The stack of a data folder, its ports chosen."""
    postgres = embedded_postgres(layout.data, layout.sockets)
    valkey = embedded_valkey(layout.data, layout.sockets)
    endpoints = choose_endpoints(layout, {row.name: row.port for row in SERVICES})
    services = [_service(row, layout, endpoints, postgres.dsn, valkey.url) for row in SERVICES]
    return Stack((postgres, valkey), services)


def _service(row: Row, layout: Layout, endpoints: Mapping[str, Endpoint], dsn: str, bus: str) -> Service:
    settings = partial(_settings, row, layout, endpoints, dsn, bus)
    return Service(row.name, row.module, endpoints[row.name], settings, layout.data, this_account())


def _settings(row: Row, layout: Layout, endpoints: Mapping[str, Endpoint], dsn: str, bus: str) -> Mapping[str, str]:
    """The environment of a service. Asked for at each start, as the first password is only there until it is known."""
    own = endpoints[row.name]
    settings = {
        "DATABASE_DSN": dsn,
        "REDIS": bus,
        "SERVER_LISTEN": f"{own.address},{own.target}",
        "SERVER_ADMIN": own.admin_address,
        "SIGNING_KEY_FILE": str(layout.signing_key),
    }
    some = {"CREDENTIAL_KEY_FILE": str(layout.credential_key), "QUEUE": endpoints[ENTRANCE].target}
    if layout.root_password.exists():
        some["ACCOUNTS_ROOT_PASSWORD_FILE"] = str(layout.root_password)
    settings |= {name: value for name, value in some.items() if name in row.takes}
    return {f"PF_{row.name.upper()}_{name}": value for name, value in settings.items()}
