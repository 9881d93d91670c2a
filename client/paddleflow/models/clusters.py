"""Clusters, their machines, and the named bundles of resources that jobs ask for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import TypedDict


class ClusterType(StrEnum):
    """What runs the workloads of a cluster."""

    UNSPECIFIED = ""
    KUBERNETES = "Kubernetes"
    LOCAL = "Local"


class ClusterStatus(StrEnum):
    """Whether workloads can be sent to a cluster."""

    UNSPECIFIED = ""
    ONLINE = "online"
    OFFLINE = "offline"


@dataclass(frozen=True, slots=True)
class Cluster:
    """A set of machines behind one runtime."""

    name: str
    description: str = ""
    endpoint: str = ""
    """How to reach it; empty for a local cluster."""
    type: ClusterType = ClusterType.UNSPECIFIED
    version: str = ""
    source: str = ""
    """Where the machines are, for people."""
    setting: str = ""
    """Settings of the runtime, as a JSON object."""
    namespaces: Sequence[str] = ()
    """The namespaces queues may use; empty means any."""
    credential: bytes = field(default=b"", repr=False)
    """Input only: the kubeconfig."""
    status: ClusterStatus = ClusterStatus.UNSPECIFIED
    has_credential: bool = False
    """Output only."""
    capacity: Mapping[str, int] = field(default_factory=dict)
    """Output only. The sum of its schedulable machines that are dedicated to no queue."""
    node_count: int = 0
    """Output only."""
    revision: int = 0
    """Output only. The revision of the newest report of machines."""
    overcommitted: bool = False
    """Output only. True if more is guaranteed to queues than the machines have."""
    create_time: datetime | None = None
    update_time: datetime | None = None
    etag: str = ""


class ClusterChanges(TypedDict, total=False):
    """New values for a cluster's fields; a field that is left out stays as it is."""

    description: str
    endpoint: str
    type: ClusterType
    version: str
    source: str
    setting: str
    namespaces: Sequence[str]
    credential: bytes
    status: ClusterStatus


@dataclass(frozen=True, slots=True)
class Node:
    """One machine of a cluster."""

    name: str
    allocatable: Mapping[str, int] = field(default_factory=dict)
    """What workloads can have of it."""
    labels: Mapping[str, str] = field(default_factory=dict)
    schedulable: bool = True
    dedicated_queue: str = ""
    """The queue of physical isolation that has it for itself; empty: shared."""
    cluster: str = ""
    """Output only."""


@dataclass(frozen=True, slots=True)
class Flavour:
    """A named bundle of resources."""

    name: str
    resources: Mapping[str, int] = field(default_factory=dict)
    cluster: str = ""
    """The only cluster it can be used in; empty means any."""
    creator: str = ""
    """Output only."""
    create_time: datetime | None = None
    update_time: datetime | None = None
    etag: str = ""


class FlavourChanges(TypedDict, total=False):
    """New values for a flavour's fields; a field that is left out stays as it is."""

    resources: Mapping[str, int | None]
    """Only the resources named here change; None removes one."""
    cluster: str


class ClusterFilter(TypedDict, total=False):
    """Which clusters to list; filters that are given must all match."""

    names: Sequence[str]
    status: ClusterStatus


class NodeFilter(TypedDict, total=False):
    """Which machines to list; filters that are given must all match."""

    clusters: Sequence[str]
    queue: str
    """Only machines that workloads of this queue can use."""
    labels: Mapping[str, str]
    """Only machines with all these labels."""


class FlavourFilter(TypedDict, total=False):
    """Which flavours to list; filters that are given must all match."""

    cluster: str
    """Only flavours that can be used in this cluster."""
    name_prefix: str
