"""Clusters, their machines, and named bundles of resources."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from pf_kit.changes import UNBORN, ChangeKind
from pf_queue.resources import NOTHING, Resources

DEFAULT_SOURCE = "OnPremise"


class ClusterType(StrEnum):
    """What runs the workloads of a cluster."""

    KUBERNETES = "kubernetes"
    LOCAL = "local"


class ClusterStatus(StrEnum):
    """Whether workloads can be sent to a cluster."""

    ONLINE = "online"
    OFFLINE = "offline"


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """One machine."""

    name: str
    cluster: str
    allocatable: Resources = NOTHING
    labels: Mapping[str, str] = field(default_factory=dict)
    schedulable: bool = True
    dedicated_queue: str = ""
    """The queue of physical isolation that has it for itself; empty: shared."""


@dataclass(frozen=True, slots=True)
class Report:
    """What a runtime tells of a cluster's machines."""

    cluster: str
    revision: int
    base_revision: int
    """0: it tells of all machines. Else: of what changed since the report of this revision."""
    nodes: Sequence[Node]
    gone: frozenset[str] = frozenset()

    def over(self, known: Iterable[Node]) -> Sequence[Node]:
        """All machines after a report of changes, given those before it."""
        kept = {node.name: node for node in known if node.name not in self.gone}
        return list((kept | {node.name: node for node in self.nodes}).values())


@dataclass(frozen=True, slots=True)
class Machines:
    """The machines of a cluster, summed up for those who share them out."""

    count: int
    capacity: Resources
    """The sum of schedulable machines that are dedicated to no queue. What only other machines have, is here with 0:
    the names are those of all machines."""
    dedicated: Mapping[str, Resources] = field(default_factory=dict)
    """The sums of schedulable machines by the queue they are dedicated to."""

    @classmethod
    def of(cls, nodes: Sequence[Node]) -> Machines:
        """The sums of a report."""
        pools: defaultdict[str, list[Resources]] = defaultdict(list)
        for node in nodes:
            if node.schedulable:
                pools[node.dedicated_queue].append(node.allocatable)
        known = Resources({name: 0 for node in nodes for name in node.allocatable})
        capacity = Resources.total([known, *pools.pop("", [])])
        return cls(len(nodes), capacity, {queue: Resources.total(pool) for queue, pool in pools.items()})


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """A set of machines behind one runtime."""

    name: str
    type: ClusterType
    description: str = ""
    endpoint: str = ""
    software_version: str = ""
    """On the wire `version`: that of the software behind the endpoint."""
    source: str = DEFAULT_SOURCE
    setting: str = ""
    """Settings of the runtime: a JSON object, or empty."""
    namespaces: tuple[str, ...] = ()
    """Those that queues may use; none means any."""
    credential: bytes = field(default=b"", repr=False)
    """Sealed by the vault; empty if there is none."""
    status: ClusterStatus = ClusterStatus.ONLINE
    machines: Machines | None = None
    """None as long as nothing was reported."""
    revision: int = 0
    """Of the newest report."""
    overcommitted: bool = False
    """True if the guarantees of its queues are more than its machines."""
    create_time: datetime = UNBORN
    update_time: datetime = UNBORN
    version: int = 0
    """Grows with every change, also over deletion and creation anew: numbers are not given out twice."""

    @property
    def etag(self) -> str:
        return f"{self.version:x}"

    def allows(self, namespace: str) -> bool:
        """True if queues may use the namespace."""
        return not self.namespaces or namespace in self.namespaces


@dataclass(frozen=True, slots=True, kw_only=True)
class Flavour:
    """A named bundle of resources."""

    name: str
    resources: Resources
    cluster: str = ""
    """The only cluster it can be used in; empty means any."""
    creator: str = ""
    create_time: datetime = UNBORN
    update_time: datetime = UNBORN
    version: int = 0
    """As a cluster's."""

    @property
    def etag(self) -> str:
        return f"{self.version:x}"


@dataclass(frozen=True, slots=True)
class ClusterFilter:
    """Which clusters to list; what is None or empty matches all."""

    names: frozenset[str] = frozenset()
    status: ClusterStatus | None = None


@dataclass(frozen=True, slots=True)
class FlavourFilter:
    """Which flavours to list; what is empty matches all."""

    cluster: str = ""
    """Those of no cluster match too: they can be used in any."""
    name_prefix: str = ""


@dataclass(frozen=True, slots=True, order=True)
class NodePlace:
    """Where a machine stands in a list."""

    cluster: str
    name: str

    def __str__(self) -> str:
        return f"{self.cluster}/{self.name}"

    @classmethod
    def parse(cls, text: str) -> NodePlace:
        """The place of such a string: a cluster's name has no slash."""
        cluster, _, name = text.partition("/")
        return cls(cluster, name)


@dataclass(frozen=True, slots=True)
class Pool:
    """The machines that workloads of a queue can use."""

    cluster: str
    dedicated_queue: str
    """The queue at the top of its tree, if that is isolated physically; else empty: the shared machines."""


@dataclass(frozen=True, slots=True)
class NodeFilter:
    """Which machines to list; what is None or empty matches all."""

    clusters: frozenset[str] = frozenset()
    pool: Pool | None = None
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ClusterChanged:
    """Something happened to a cluster."""

    kind: ChangeKind
    cluster: Cluster
    """The cluster after it; for a deletion, before it."""
    version: int


@dataclass(frozen=True, slots=True)
class FlavourChanged:
    """Something happened to a flavour."""

    kind: ChangeKind
    flavour: Flavour
    """The flavour after it; for a deletion, before it."""
    version: int


ClusterEvent = ClusterChanged | FlavourChanged
