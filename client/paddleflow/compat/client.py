"""The original's client class over the typed one."""

# ruff: noqa: N803 -- these names are the original's

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from paddleflow.compat.answers import answer, list_answer
from paddleflow.compat.filesystems import FilesystemCalls
from paddleflow.compat.infos import ClusterInfo, FlavourInfo, GrantInfo, QueueInfo, UserInfo
from paddleflow.compat.jobs import JobCalls
from paddleflow.compat.logs import LogCalls
from paddleflow.compat.pipelines import PipelineCalls
from paddleflow.compat.run_logs import RunLogCalls
from paddleflow.compat.runs import RunCalls
from paddleflow.compat.schedules import ScheduleCalls
from paddleflow.compat.statistics import StatisticsCalls
from paddleflow.config import server_address
from paddleflow.connection import Connection
from paddleflow.models.clusters import Cluster, ClusterStatus, Flavour, FlavourChanges, Node
from paddleflow.models.pages import Page
from paddleflow.models.queues import Isolation, OrderPolicy, Queue, QueueChanges, QuotaType
from paddleflow.models.users import Grant, ResourceKind
from paddleflow.original import (
    ISOLATION_KEY,
    Json,
    cluster_fields,
    cluster_resources,
    member,
    node_resources,
    parse_original_resources,
    read_location,
    read_policies,
)
from paddleflow.problems import Immutable
from paddleflow.quantity import parse_pairs
from paddleflow.sync import PaddleFlow

Words = Mapping[str, str]


class Client(FilesystemCalls, JobCalls, LogCalls, StatisticsCalls, RunCalls, RunLogCalls, PipelineCalls, ScheduleCalls):
    """A user on a server. No method raises for what the server refuses, or for a server that does not answer."""

    def __init__(
        self, paddleflow_server_host: str, username: str, password: str, paddleflow_server_port: int | str = 8999
    ) -> None:
        self._address = server_address(paddleflow_server_host, str(paddleflow_server_port))
        self._user, self._password = username, password
        self._paddleflow = self._open()

    def _open(self) -> PaddleFlow:
        return PaddleFlow(Connection(self._address, user=self._user, password=self._password))

    def close(self) -> None:
        """Ends the connection."""
        self._paddleflow.close()

    @answer
    def login(self, user_name: str, password: str) -> None:
        """Goes on as this user. Needless for the user the client was made for."""
        self.close()
        self._user, self._password = user_name, password
        self._paddleflow = self._open()
        self._paddleflow.tokens.log_in()

    @answer
    def get_version(self) -> str:
        """The version of the server."""
        return self._paddleflow.info.get().version

    @answer
    def add_user(self, user_name: str, password: str) -> None:
        self._paddleflow.users.create(user_name, password)

    @answer
    def del_user(self, user_name: str) -> None:
        self._paddleflow.users.delete(user_name)

    @answer
    def list_user(self, maxsize: int = 100) -> list[UserInfo]:
        return [UserInfo.of(user) for user in self._paddleflow.users.page(maxsize).items]

    @answer
    def update_password(self, name: str, password: str) -> None:
        """Sets a user's password: one's own, or, for root, anybody's."""
        old = self._password if name == self._user else ""
        self._paddleflow.users.set_password(password, name=name, old_password=old)
        if name == self._user:
            self._password = password

    @answer
    def add_queue(
        self,
        name: str,
        namespace: str,
        clusterName: str,
        maxResources: Mapping[str, object],
        minResources: Mapping[str, object] | None = None,
        schedulingPolicy: Sequence[str] | None = None,
        location: Words | None = None,
        quotaType: str | None = None,
    ) -> None:
        """Adds a queue; quantities are written as in ``{"cpu": "20", "mem": "20Gi", "scalarResources": {…}}``."""
        place = read_location(location or {})
        queue = Queue(
            name=name,
            cluster=clusterName,
            namespace=namespace,
            quota_type=member(QuotaType, quotaType, "quotaType") if quotaType else QuotaType.UNSPECIFIED,
            isolation=place.isolation or Isolation.UNSPECIFIED,
            parent=place.parent or "",
            min=parse_original_resources(minResources or {}),
            max=parse_original_resources(maxResources),
            order_policy=read_policies(schedulingPolicy or ()) or OrderPolicy.UNSPECIFIED,
            labels=place.labels,
        )
        self._paddleflow.queues.create(queue)

    @answer
    def update_queue(
        self,
        queuename: str,
        maxResources: Mapping[str, object] | None = None,
        minResources: Mapping[str, object] | None = None,
        schedulingPolicy: Sequence[str] | None = None,
        location: Words | None = None,
    ) -> None:
        """Changes the resources, the policy and the labels that are given; an empty label goes away."""
        place = read_location(location or {})
        if place.isolation is not None:
            raise Immutable(f"{ISOLATION_KEY} cannot be changed after creation")
        changes: QueueChanges = {
            "max": parse_original_resources(maxResources or {}),
            "min": parse_original_resources(minResources or {}),
            "labels": {key: value or None for key, value in place.labels.items()},
        }
        if place.parent is not None:
            changes["parent"] = place.parent
        if (order := read_policies(schedulingPolicy or ())) is not None:
            changes["order_policy"] = order
        self._paddleflow.queues.update(queuename, **changes)

    @answer
    def grant_queue(self, username: str, queuename: str) -> None:
        self._paddleflow.grants.create(Grant(username, ResourceKind.QUEUE, queuename))

    @answer
    def ungrant_queue(self, username: str, queuename: str) -> None:
        self._paddleflow.grants.delete(Grant(username, ResourceKind.QUEUE, queuename))

    @answer
    def show_queue_grant(self, username: str | None = None, maxsize: int = 100) -> list[GrantInfo]:
        page = self._paddleflow.grants.page(maxsize, user=username or "", kind=ResourceKind.QUEUE)
        return [GrantInfo.of(grant) for grant in page.items]

    @answer
    def del_queue(self, queuename: str) -> None:
        self._paddleflow.queues.delete(queuename)

    @list_answer
    def list_queue(self, maxsize: int = 100, marker: str | None = None) -> Page[QueueInfo]:
        page = self._paddleflow.queues.page(maxsize, marker or "")
        return Page([QueueInfo.of(queue) for queue in page.items], page.next_token)

    @answer
    def show_queue(self, queuename: str) -> QueueInfo:
        return QueueInfo.of(self._paddleflow.queues.get(queuename))

    @list_answer
    def list_flavour(
        self, maxsize: int = 100, marker: str | None = None, clustername: str = "", key: str = ""
    ) -> Page[FlavourInfo]:
        """Flavours of the cluster, of those whose names begin with the key."""
        page = self._paddleflow.flavours.page(maxsize, marker or "", cluster=clustername, name_prefix=key)
        return Page([FlavourInfo.of(flavour) for flavour in page.items], page.next_token)

    @answer
    def show_flavour(self, name: str) -> FlavourInfo:
        return FlavourInfo.of(self._paddleflow.flavours.get(name))

    @answer
    def add_flavour(
        self,
        name: str,
        cpu: str,
        memory: str,
        scalar_resources: Words | None = None,
        cluster_name: str | None = None,
    ) -> None:
        resources = parse_original_resources({"cpu": cpu, "mem": memory, "scalarResources": scalar_resources})
        self._paddleflow.flavours.create(Flavour(name, resources, cluster_name or ""))

    @answer
    def del_flavour(self, flavourname: str) -> None:
        self._paddleflow.flavours.delete(flavourname)

    @answer
    def update_flavour(
        self,
        name: str,
        cpu: str | None = None,
        memory: str | None = None,
        scalar_resources: Words | None = None,
        cluster_name: str | None = None,
    ) -> str:
        """Changes what is given; returns the flavour's name."""
        resources = parse_original_resources({"cpu": cpu, "mem": memory, "scalarResources": scalar_resources})
        changes: FlavourChanges = {"resources": resources}
        if cluster_name is not None:
            changes["cluster"] = cluster_name
        return self._paddleflow.flavours.update(name, **changes).name

    @answer
    def create_cluster(
        self,
        clustername: str,
        endpoint: str,
        clustertype: str,
        credential: bytes | None = None,
        description: str | None = None,
        source: str | None = None,
        setting: str | None = None,
        status: str | None = None,
        namespacelist: Sequence[str] | None = None,
        version: str | None = None,
    ) -> str:
        """Adds a cluster; returns its id, which is its name."""
        fields = cluster_fields(
            clustertype,
            status,
            namespacelist,
            credential,
            endpoint=endpoint,
            description=description,
            source=source,
            setting=setting,
            version=version,
        )
        cluster = Cluster(clustername, **fields)
        return self._paddleflow.clusters.create(cluster).name

    @list_answer
    def list_cluster(
        self,
        maxkeys: int = 100,
        marker: str | None = None,
        clusternames: str | None = None,
        clusterstatus: str | None = None,
    ) -> Page[ClusterInfo]:
        """Clusters; `clusternames` is a list with commas."""
        page = self._paddleflow.clusters.page(
            maxkeys,
            marker or "",
            names=_split(clusternames),
            status=member(ClusterStatus, clusterstatus, "status") if clusterstatus else ClusterStatus.UNSPECIFIED,
        )
        return Page([ClusterInfo.of(cluster) for cluster in page.items], page.next_token)

    @answer
    def show_cluster(self, clustername: str) -> ClusterInfo:
        return ClusterInfo.of(self._paddleflow.clusters.get(clustername))

    @answer
    def delete_cluster(self, clustername: str) -> str:
        """Removes a cluster with its queues and flavours; returns its name.

        The original's method knows no other way. `paddleflow.connect` and the command line ask for it by `cascade`.
        """
        self._paddleflow.clusters.delete(clustername, cascade=True)
        return clustername

    @answer
    def update_cluster(
        self,
        clustername: str,
        endpoint: str | None = None,
        credential: bytes | None = None,
        clustertype: str | None = None,
        description: str | None = None,
        source: str | None = None,
        setting: str | None = None,
        status: str | None = None,
        namespacelist: Sequence[str] | None = None,
        version: str | None = None,
    ) -> str:
        """Changes what is given; returns the cluster's id, which is its name."""
        fields = cluster_fields(
            clustertype,
            status,
            namespacelist,
            credential,
            endpoint=endpoint,
            description=description,
            source=source,
            setting=setting,
            version=version,
        )
        return self._paddleflow.clusters.update(clustername, **fields).name

    @answer
    def list_cluster_resource(self, clustername: str | None = None) -> dict[str, Json]:
        """Totals by cluster, and, for root, what is idle; `clustername` is a list with commas."""
        clusters, queues = self._paddleflow.clusters, self._paddleflow.queues
        sees_all = self._paddleflow.tokens.who_am_i().root
        return {
            cluster.name: cluster_resources(
                cluster,
                list(clusters.nodes(clusters=[cluster.name])),
                list(queues.list(cluster=cluster.name)) if sees_all else None,
            )
            for cluster in clusters.list(names=_split(clustername))
        }

    @answer
    def list_cluster_resource_v2(
        self,
        pageno: int = 1,
        pagesize: int = 1000,
        clusternames: Sequence[str] | None = None,
        queuename: str | None = None,
        labels: str | None = None,
    ) -> dict[str, Json]:
        """The machines by cluster; pages are counted from 1, labels are written as ``a=1,b=2``."""
        chosen = self._paddleflow.clusters.nodes(
            clusters=clusternames or (), queue=queuename or "", labels=parse_pairs("labels", labels or "")
        )
        first = max(pageno - 1, 0) * pagesize
        found: defaultdict[str, list[Node]] = defaultdict(list)
        for node in list(chosen)[first : first + pagesize]:
            found[node.cluster].append(node)
        return {cluster: node_resources(cluster, queuename or "", nodes) for cluster, nodes in found.items()}


def _split(names: str | None) -> list[str]:
    return [name.strip() for name in (names or "").split(",") if name.strip()]
