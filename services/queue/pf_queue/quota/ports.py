"""What the quota tree needs of its neighbours."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Protocol

from pf_kit.unit import Change, View
from pf_queue.accounts.domain import GrantKey, ResourceKind
from pf_queue.resources import Resources


class Granted(Protocol):
    """Who may use what."""

    async def granted(self, view: View, user: str, kind: ResourceKind) -> frozenset[str]:
        """The names of all resources of this kind that are granted to the user."""


class Grants(Granted, Protocol):
    """Who may use what, and for how long."""

    async def allowed(self, view: View, key: GrantKey) -> bool:
        """True if the user may use the resource."""

    async def drop_resources(self, change: Change, kind: ResourceKind, names: Collection[str]) -> None:
        """Takes back all grants on resources that are about to be removed."""


class Occupancy(Protocol):
    """Who is in queues."""

    async def in_queue(self, view: View, queue: str) -> bool:
        """True if a queue has workloads that are not over."""

    async def used(self, view: View, queues: Collection[str]) -> Mapping[str, Resources]:
        """What is held in each of these queues and in those below it; nothing where it is absent."""
