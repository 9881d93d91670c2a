"""Where clusters, machines and flavours are kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from pf_kit.unit import Change, View
from pf_queue.clusters.domain import Cluster, ClusterFilter, Flavour, FlavourFilter, Node, NodeFilter, NodePlace

TREE_LOCK = "tree"
"""Held by every change of clusters, flavours and queues: they are rare, and each of them may depend on all others."""


class ClusterStore(Protocol):
    """The port to the rows of clusters and their machines. Whoever writes holds the lock `TREE_LOCK`.

    Names that are asked for are well-formed; services see to it.
    """

    async def cluster(self, view: View, name: str) -> Cluster | None:
        """The cluster of this name."""

    async def clusters(self, view: View, chosen: ClusterFilter, after: str, limit: int) -> Sequence[Cluster]:
        """The clusters whose names come after this one, by name."""

    async def add(self, change: Change, cluster: Cluster) -> int:
        """Keeps a new cluster and returns its version. Raises ClusterExists if the name is taken."""

    async def set(self, change: Change, cluster: Cluster) -> int:
        """Replaces what is kept of an existing cluster and returns its new version."""

    async def set_revision(self, change: Change, name: str, revision: int) -> None:
        """Notes the revision of a report of machines; the cluster's version stays."""

    async def remove(self, change: Change, name: str) -> int:
        """Forgets a cluster, that has neither queues nor flavours, and its machines; returns the version of its end."""

    async def begin(self, change: Change) -> bool:
        """Notes that the installation has begun, for as long as it lives; False if that was noted before."""

    async def nodes(self, view: View, chosen: NodeFilter, after: NodePlace, limit: int) -> Sequence[Node]:
        """The machines after this place, by cluster and name."""

    async def set_nodes(self, change: Change, cluster: str, nodes: Sequence[Node]) -> None:
        """Replaces what is kept of the machines of a cluster."""


class FlavourStore(Protocol):
    """The port to the rows of flavours; as that of clusters."""

    async def flavour(self, view: View, name: str) -> Flavour | None:
        """The flavour of this name."""

    async def flavours(self, view: View, chosen: FlavourFilter, after: str, limit: int) -> Sequence[Flavour]:
        """The flavours whose names come after this one, by name."""

    async def bound(self, view: View, cluster: str) -> Sequence[Flavour]:
        """The flavours that can be used in this cluster only, by name."""

    async def made_by(self, view: View, creator: str) -> Sequence[Flavour]:
        """The flavours of one maker, by name."""

    async def add(self, change: Change, flavour: Flavour) -> int:
        """Keeps a new flavour and returns its version. Raises FlavourExists if the name is taken."""

    async def set(self, change: Change, flavour: Flavour) -> int:
        """Replaces what is kept of an existing flavour and returns its new version."""

    async def remove(self, change: Change, name: str) -> int:
        """Forgets a flavour and returns the version of its end."""
