"""What the compatible interface returns, with the attributes of the original."""

# ruff: noqa: N815 -- these names are the original's

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from paddleflow.models.clusters import Cluster, Flavour
from paddleflow.models.filesystems import Filesystem
from paddleflow.models.queues import Queue
from paddleflow.models.users import Grant, User
from paddleflow.original import (
    OriginalResources,
    idle,
    original_filesystem,
    original_location,
    original_policies,
    original_resources,
    original_time,
)
from paddleflow.quantity import CPU, MEMORY, format_amount, format_resources


@dataclass(frozen=True, slots=True)
class UserInfo:
    """A user."""

    name: str
    create_time: str

    @classmethod
    def of(cls, user: User) -> UserInfo:
        return cls(user.name, original_time(user.create_time))


@dataclass(frozen=True, slots=True)
class GrantInfo:
    """A queue that a user may use."""

    username: str
    resourceName: str

    @classmethod
    def of(cls, grant: Grant) -> GrantInfo:
        return cls(grant.user, grant.resource)


@dataclass(frozen=True, slots=True)
class QueueInfo:
    """A queue."""

    name: str
    namespace: str
    status: str
    clusterName: str
    quotaType: str
    maxResources: OriginalResources
    minResources: OriginalResources
    usedResources: OriginalResources
    idleResources: OriginalResources
    location: Mapping[str, str]
    schedulingPolicy: Sequence[str]
    createTime: str
    updateTime: str

    @classmethod
    def of(cls, queue: Queue) -> QueueInfo:
        return cls(
            name=queue.name,
            namespace=queue.namespace,
            status=str(queue.state),
            clusterName=queue.cluster,
            quotaType=str(queue.quota_type),
            maxResources=original_resources(queue.effective_max),
            minResources=original_resources(queue.min),
            usedResources=original_resources(queue.used),
            idleResources=original_resources(idle(queue)),
            location=original_location(queue),
            schedulingPolicy=original_policies(queue),
            createTime=original_time(queue.create_time),
            updateTime=original_time(queue.update_time),
        )


@dataclass(frozen=True, slots=True)
class FlavourInfo:
    """A flavour."""

    name: str
    cpu: str
    mem: str
    scalar_resources: str
    """A JSON object; empty if there are none."""
    cluster_name: str
    createtime: str
    updatetime: str

    @classmethod
    def of(cls, flavour: Flavour) -> FlavourInfo:
        quantities = format_resources(flavour.resources)
        scalars = {name: text for name, text in quantities.items() if name not in (CPU, MEMORY)}
        return cls(
            name=flavour.name,
            cpu=format_amount(CPU, flavour.resources.get(CPU, 0)),
            mem=format_amount(MEMORY, flavour.resources.get(MEMORY, 0)),
            scalar_resources=json.dumps(scalars) if scalars else "",
            cluster_name=flavour.cluster,
            createtime=original_time(flavour.create_time),
            updatetime=original_time(flavour.update_time),
        )


@dataclass(frozen=True, slots=True)
class FSInfo:
    """A filesystem."""

    name: str
    owner: str
    fstype: str
    server_adddress: str
    """The third d is the original's."""
    subpath: str
    properties: Mapping[str, str]

    @classmethod
    def of(cls, filesystem: Filesystem) -> FSInfo:
        shape = original_filesystem(filesystem)
        return cls(
            name=filesystem.name,
            owner=filesystem.owner,
            fstype=str(filesystem.kind),
            server_adddress=shape.server_address,
            subpath=shape.sub_path,
            properties=shape.properties,
        )


@dataclass(frozen=True, slots=True)
class ClusterInfo:
    """A cluster. Its credential is never told; `clusterid` is its name."""

    clusterid: str
    clustername: str
    description: str
    endpoint: str
    source: str
    clustertype: str
    version: str
    status: str
    credential: None
    setting: str
    namespacelist: Sequence[str]
    createtime: str
    updatetime: str

    @classmethod
    def of(cls, cluster: Cluster) -> ClusterInfo:
        return cls(
            clusterid=cluster.name,
            clustername=cluster.name,
            description=cluster.description,
            endpoint=cluster.endpoint,
            source=cluster.source,
            clustertype=str(cluster.type),
            version=cluster.version,
            status=str(cluster.status),
            credential=None,
            setting=cluster.setting,
            namespacelist=cluster.namespaces,
            createtime=original_time(cluster.create_time),
            updatetime=original_time(cluster.update_time),
        )
