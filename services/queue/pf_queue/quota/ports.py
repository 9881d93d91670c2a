"""What the quota tree needs of its neighbours."""

from __future__ import annotations

from typing import Protocol

from pf_kit.unit import Change, View
from pf_queue.accounts.domain import ResourceKind


class Grants(Protocol):
    """Who may use what."""

    async def granted(self, view: View, user: str, kind: ResourceKind) -> frozenset[str]:
        """The names of all resources of this kind that are granted to the user."""

    async def drop_resource(self, change: Change, kind: ResourceKind, name: str) -> None:
        """Takes back all grants on a resource that is about to be removed."""
