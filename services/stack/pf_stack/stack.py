"""What a stack consists of. A new service is one more row in the table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from pf_kit.embedded.accounts import this_account
from pf_kit.embedded.backends import embedded_postgres, embedded_valkey
from pf_kit.embedded.component import Component
from pf_stack.endpoints import Endpoint, choose_endpoints
from pf_stack.layout import Layout
from pf_stack.service import Service

ROUNDS_MEGABYTES, ROUNDS_SEGMENTS = 64, 4
"""How much is kept of what admission was told and decided: about as much as of the other logs, in so many files."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a service finds itself."""

    layout: Layout
    endpoint: Endpoint
    neighbours: Mapping[str, Endpoint]
    """All services, by name."""
    dsn: str
    bus: str

    @property
    def entrance(self) -> Endpoint:
        """Of the service that keeps the users."""
        return self.neighbours[ENTRANCE]


def common_settings(place: Place) -> dict[str, str]:
    """What every service is told."""
    return {
        "DATABASE_DSN": place.dsn,
        "REDIS": place.bus,
        "SERVER_LISTEN": f"{place.endpoint.address},{place.endpoint.target}",
        "SERVER_ADMIN": place.endpoint.admin_address,
    }


def queue_settings(place: Place) -> dict[str, str]:
    """What the queue service is told: it keeps the keys of the installation."""
    layout = place.layout
    settings = common_settings(place) | {
        "SIGNING_KEY_FILE": str(layout.signing_key),
        "CREDENTIAL_KEY_FILE": str(layout.credential_key),
        "ADMISSION_ROUNDS_FOLDER": str(layout.rounds),
        "ADMISSION_ROUNDS_SEGMENT_MEGABYTES": str(ROUNDS_MEGABYTES // ROUNDS_SEGMENTS),
        "ADMISSION_ROUNDS_SEGMENTS": str(ROUNDS_SEGMENTS),
    }
    if layout.root_password.exists():
        settings["ACCOUNTS_ROOT_PASSWORD_FILE"] = str(layout.root_password)
    return settings


def fs_settings(place: Place) -> dict[str, str]:
    """What the filesystem service is told, above all what it must never share."""
    layout, neighbours = place.layout, place.neighbours
    settings = common_settings(place) | {
        "SIGNING_KEY_FILE": str(layout.signing_key),
        "CREDENTIAL_KEYS_FILE": str(layout.filesystem_keys),
        "QUEUE": place.entrance.target,
        "JOB": neighbours["job"].target,
        "PIPELINE": neighbours["pipeline"].target,
        "LOCAL_INSTALLATION": str(layout.data),
    }
    if not layout.sockets.is_relative_to(layout.data):
        settings["LOCAL_FORBIDDEN"] = str(layout.sockets)
    return settings


def job_settings(place: Place) -> dict[str, str]:
    """What the job service is told, above all what replicas must never see."""
    layout, neighbours = place.layout, place.neighbours
    settings = common_settings(place) | {
        "SIGNING_KEY_FILE": str(layout.signing_key),
        "QUEUE": place.entrance.target,
        "FS": neighbours["fs"].target,
        "LOCAL_FOLDER": str(layout.replicas),
        "LOCAL_INSTALLATION": str(layout.data),
    }
    if not layout.sockets.is_relative_to(layout.data):
        settings["LOCAL_HIDDEN"] = str(layout.sockets)
    return settings


def pipeline_settings(place: Place) -> dict[str, str]:
    """What the pipeline service is told."""
    neighbours = place.neighbours
    return common_settings(place) | {
        "SIGNING_KEY_FILE": str(place.layout.signing_key),
        "QUEUE": place.entrance.target,
        "FS": neighbours["fs"].target,
        "JOB": neighbours["job"].target,
    }


@dataclass(frozen=True, slots=True)
class Row:
    """What tells one service from another."""

    name: str
    module: str
    """What `python -m` runs."""
    prefix: str
    """Begins the names of its settings."""
    port: int
    """Which port it wishes for callers."""
    settings: Callable[[Place], Mapping[str, str]]
    """Asked before each start: the first password is only there until it is known."""


SERVICES: Sequence[Row] = (
    Row("queue", "pf_queue", "PF_QUEUE", 8999, queue_settings),
    Row("fs", "pf_fs", "PF_FS", 8998, fs_settings),
    Row("job", "pf_job", "PF_JOB", 8997, job_settings),
    Row("pipeline", "pf_pipeline", "PF_PIPELINE", 8996, pipeline_settings),
)
ENTRANCE = "queue"
"""The service that logs callers in."""


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

    @property
    def others(self) -> Mapping[str, Endpoint]:
        """Where clients find the services behind the entrance, by name."""
        return {service.name: service.endpoint for service in self.services if service.name != ENTRANCE}


def compose(layout: Layout, take: Callable[[int], bool]) -> Stack:
    """The stack of a data folder, its ports chosen from those that can be had."""
    postgres = embedded_postgres(layout.data, layout.sockets)
    valkey = embedded_valkey(layout.data, layout.sockets)
    endpoints = choose_endpoints(layout, {row.name: row.port for row in SERVICES}, take)
    places = [Place(layout, endpoints[row.name], endpoints, postgres.dsn, valkey.url) for row in SERVICES]
    return Stack((postgres, valkey), [_service(row, place) for row, place in zip(SERVICES, places, strict=True)])


def _service(row: Row, place: Place) -> Service:
    def environment() -> Mapping[str, str]:
        return {f"{row.prefix}_{name}": value for name, value in row.settings(place).items()}

    return Service(row.name, row.module, place.endpoint, environment, place.layout.data, this_account())
