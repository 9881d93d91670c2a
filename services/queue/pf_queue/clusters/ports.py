"""What clusters need of the quota tree that stands on them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Protocol

from pf_kit.principal import Principal
from pf_kit.unit import Change, View
from pf_queue.clusters.domain import Cluster, Pool


class Tenants(Protocol):
    """The queues of clusters."""

    async def namespaces(self, view: View, cluster: str) -> Mapping[str, str]:
        """The namespaces that queues of the cluster use, each with one of those queues; empty if it has no queues."""

    async def overcommitted(self, view: View, cluster: Cluster) -> bool:
        """True if the guarantees of the cluster's queues are more than its machines."""

    async def isolated(self, view: View, cluster: str) -> Collection[str]:
        """The queues of the cluster that have machines for themselves."""

    async def pool(self, view: View, caller: Principal, queue: str) -> Pool:
        """The machines that a queue can use. Raises QueueNotFound and QueueNotGranted."""

    async def drop_all(self, change: Change, cluster: Cluster) -> None:
        """Removes all queues of the cluster, and the grants on them."""
