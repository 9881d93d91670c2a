"""What the small server of `fake_paddleflow` answers."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, TypeVar

from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp

from paddleflow.auth.v1 import auth_pb2
from paddleflow.common.v1 import info_pb2
from paddleflow.fs.v1 import fs_pb2, link_pb2, mount_pb2
from paddleflow.job.v1 import job_pb2, log_pb2, shard_pb2, statistics_pb2
from paddleflow.pipeline.v1 import artifact_pb2, pipeline_pb2, run_pb2, schedule_pb2
from paddleflow.problems import Problem, QueueExists, QueueNotFound, StaleRevision, UserNotFound, WrongPassword
from paddleflow.queue.v1 import admission_pb2, cluster_pb2, queue_pb2, workload_pb2

PASSWORD = "secret1"
BEGAN = Timestamp(seconds=int(datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC).timestamp()))
ENDS = Timestamp(seconds=int(datetime(2100, 1, 1, tzinfo=UTC).timestamp()))
R = TypeVar("R")


@dataclass
class Stream:
    """One watch as the server plays it: messages, then a problem, the end, or silence until the caller goes."""

    messages: Sequence[Message] = ()
    ends_with: Problem | None = None
    silent: bool = False


@dataclass
class World:
    """What the server holds, what it was asked, and what it shall do."""

    users: dict[str, auth_pb2.User] = field(default_factory=dict)
    passwords: dict[str, str] = field(default_factory=dict)
    """Of those who can change theirs; everybody else's is PASSWORD for ever."""
    changed_passwords: set[str] = field(default_factory=set)
    """Ids of the requests that did so."""
    caller: str = "root"
    """Whom every token belongs to."""
    grants: list[auth_pb2.Grant] = field(default_factory=list)
    queues: dict[str, queue_pb2.Queue] = field(default_factory=dict)
    clusters: dict[str, cluster_pb2.Cluster] = field(default_factory=dict)
    nodes: list[cluster_pb2.Node] = field(default_factory=list)
    flavours: dict[str, cluster_pb2.Flavour] = field(default_factory=dict)
    filesystems: dict[str, fs_pb2.Filesystem] = field(default_factory=dict)
    filesystem_grants: dict[str, fs_pb2.FilesystemGrant] = field(default_factory=dict)
    links: dict[tuple[str, str], link_pb2.Link] = field(default_factory=dict)
    """By filesystem and path."""
    mounts: dict[tuple[str, str], mount_pb2.FilesystemMount] = field(default_factory=dict)
    """By filesystem and id."""
    caches: dict[str, fs_pb2.FilesystemCache] = field(default_factory=dict)
    """By filesystem."""
    jobs: dict[str, job_pb2.Job] = field(default_factory=dict)
    tasks: dict[str, list[job_pb2.Task]] = field(default_factory=dict)
    """By job."""
    happenings: dict[str, list[job_pb2.Happening]] = field(default_factory=dict)
    """By job."""
    log_infos: dict[str, list[log_pb2.LogInfo]] = field(default_factory=dict)
    """By job."""
    datasets: dict[str, dict[str, shard_pb2.Dataset]] = field(default_factory=dict)
    """By job and name."""
    shards: list[shard_pb2.ShardStatus] = field(default_factory=list)
    """Of each dataset."""
    statistics: dict[str, statistics_pb2.GetJobStatisticsResponse] = field(default_factory=dict)
    """By job."""
    series: dict[str, statistics_pb2.GetJobSeriesResponse] = field(default_factory=dict)
    """By job."""
    card_times: dict[int, list[statistics_pb2.CardTime]] = field(default_factory=dict)
    """By group."""
    pipelines: dict[str, pipeline_pb2.Pipeline] = field(default_factory=dict)
    pipeline_versions: list[pipeline_pb2.PipelineVersion] = field(default_factory=list)
    """Of all pipelines."""
    document_problems: list[pipeline_pb2.Problem] = field(default_factory=list)
    """What is wrong with each document."""
    runs: dict[str, run_pb2.Run] = field(default_factory=dict)
    run_nodes: dict[str, list[run_pb2.Node]] = field(default_factory=dict)
    """By run."""
    node_explanations: dict[str, run_pb2.ExplainNodeResponse] = field(default_factory=dict)
    """By the path of the node."""
    planned: run_pb2.PlanRunResponse = field(default_factory=run_pb2.PlanRunResponse)
    schedules: dict[str, schedule_pb2.Schedule] = field(default_factory=dict)
    artifact_events: list[artifact_pb2.ArtifactEvent] = field(default_factory=list)
    lineage: artifact_pb2.GetLineageResponse = field(default_factory=artifact_pb2.GetLineageResponse)
    cached_results: dict[str, artifact_pb2.CachedResult] = field(default_factory=dict)
    workloads: dict[str, workload_pb2.Workload] = field(default_factory=dict)
    """By job."""
    explained: dict[str, admission_pb2.ExplainWorkloadResponse] = field(default_factory=dict)
    simulated: admission_pb2.SimulateResponse = field(default_factory=admission_pb2.SimulateResponse)
    loads: list[admission_pb2.QueueLoad] = field(default_factory=list)
    decisions: list[admission_pb2.DecisionRecord] = field(default_factory=list)
    audit: list[info_pb2.AuditRecord] = field(default_factory=list)
    logins: int = 0
    good_tokens: set[str] = field(default_factory=set)
    requests: list[Any] = field(default_factory=list)
    failures: list[Problem] = field(default_factory=list)
    """Raised by the next calls, one each, after the token was looked at."""
    failing: dict[str, Problem] = field(default_factory=dict)
    """Raised by all calls of these methods."""
    streams: list[Stream] = field(default_factory=list)
    """Played by the next watches, one each; after them there is silence."""
    silence: threading.Event = field(default_factory=threading.Event)
    slow: bool = False
    """True: no call is answered."""

    def asked(self, kind: type[R]) -> list[R]:
        return [request for request in self.requests if isinstance(request, kind)]


def page(items: Sequence[R], request: Any, key: Callable[[R], str]) -> tuple[list[R], str]:
    """The items of the page that is asked for, and the token of the next."""
    later = [item for item in items if key(item) > request.page_token]
    size = request.page_size or 50
    return later[:size], key(later[size - 1]) if len(later) > size else ""


@dataclass
class Auth:
    world: World

    def Login(self, request: Any) -> Any:  # noqa: N802
        if request.password != self.world.passwords.get(request.user, PASSWORD):
            raise WrongPassword
        self.world.logins += 1
        return auth_pb2.LoginResponse(**self._token(request.user, "", f"login-{self.world.logins}"))

    def WhoAmI(self, _: Any) -> Any:  # noqa: N802
        return auth_pb2.WhoAmIResponse(user=self.world.caller, root=self.world.caller == "root")

    def CreateToken(self, request: Any) -> Any:  # noqa: N802
        return auth_pb2.CreateTokenResponse(**self._token(request.user or "root", request.description, "made"))

    def ListTokens(self, _: Any) -> Any:  # noqa: N802
        return auth_pb2.ListTokensResponse(tokens=[self._token("root", "ci", "made")["token"]])

    def RevokeToken(self, request: Any) -> Any:  # noqa: N802
        self.world.good_tokens.discard(f"secret-of-{request.id}")
        return auth_pb2.RevokeTokenResponse()

    def _token(self, user: str, description: str, token_id: str) -> dict[str, Any]:
        secret = f"secret-of-{token_id}"
        self.world.good_tokens.add(secret)
        token = auth_pb2.Token(id=token_id, user=user, description=description, create_time=BEGAN, expire_time=ENDS)
        return {"secret": secret, "token": token}


@dataclass
class Users:
    world: World

    def CreateUser(self, request: Any) -> Any:  # noqa: N802
        user = auth_pb2.User(name=request.user.name, create_time=BEGAN, etag="1")
        self.world.users[user.name] = user
        return auth_pb2.CreateUserResponse(user=user)

    def ListUsers(self, request: Any) -> Any:  # noqa: N802
        users, token = page(sorted(self.world.users.values(), key=lambda u: u.name), request, lambda u: u.name)
        return auth_pb2.ListUsersResponse(users=users, next_page_token=token)

    def SetPassword(self, request: Any) -> Any:  # noqa: N802
        name = request.name or self.world.caller
        if name in self.world.passwords and request.request_id not in self.world.changed_passwords:
            if request.old_password != self.world.passwords[name]:
                raise WrongPassword
            self.world.passwords[name] = request.new_password
            self.world.changed_passwords.add(request.request_id)
            self.world.good_tokens.clear()
        return auth_pb2.SetPasswordResponse()

    def DeleteUser(self, request: Any) -> Any:  # noqa: N802
        if self.world.users.pop(request.name, None) is None:
            raise UserNotFound(f"there is no user {request.name}")
        return auth_pb2.DeleteUserResponse()


@dataclass
class Grants:
    world: World

    def CreateGrant(self, request: Any) -> Any:  # noqa: N802
        self.world.grants.append(request.grant)
        return auth_pb2.CreateGrantResponse(grant=request.grant)

    def ListGrants(self, request: Any) -> Any:  # noqa: N802
        grants, token = page(self.world.grants, request, lambda grant: f"{grant.user}/{grant.resource}")
        return auth_pb2.ListGrantsResponse(grants=grants, next_page_token=token)

    def DeleteGrant(self, request: Any) -> Any:  # noqa: N802
        self.world.grants.remove(request.grant)
        return auth_pb2.DeleteGrantResponse()


@dataclass
class Queues:
    world: World

    def CreateQueue(self, request: Any) -> Any:  # noqa: N802
        if request.queue.name in self.world.queues:
            raise QueueExists(f"the queue {request.queue.name} exists")
        queue = queue_pb2.Queue.FromString(request.queue.SerializeToString())
        queue.cluster = queue.cluster or "default-cluster"
        queue.quota_type = queue.quota_type or queue_pb2.QUOTA_TYPE_ELASTIC
        queue.isolation = queue.isolation or queue_pb2.ISOLATION_LOGICAL
        queue.weight = queue.weight or 100
        queue.state = queue_pb2.QUEUE_STATE_OPEN
        queue.effective_max.CopyFrom(queue.max)
        queue.used.SetInParent()
        for load in self.world.loads:
            if load.queue == queue.name:
                queue.used.CopyFrom(load.used)
        queue.create_time.CopyFrom(BEGAN)
        queue.update_time.CopyFrom(BEGAN)
        queue.etag = "1"
        self.world.queues[queue.name] = queue
        return queue_pb2.CreateQueueResponse(queue=queue)

    def GetQueue(self, request: Any) -> Any:  # noqa: N802
        return queue_pb2.GetQueueResponse(queue=self._find(request.name))

    def ListQueues(self, request: Any) -> Any:  # noqa: N802
        known = sorted(self.world.queues.values(), key=lambda queue: queue.name)
        chosen = [queue for queue in known if queue.name.startswith(request.name_prefix)]
        queues, token = page(chosen, request, lambda queue: queue.name)
        return queue_pb2.ListQueuesResponse(queues=queues, next_page_token=token)

    def UpdateQueue(self, request: Any) -> Any:  # noqa: N802
        return queue_pb2.UpdateQueueResponse(queue=self._find(request.queue.name))

    def DeleteQueue(self, request: Any) -> Any:  # noqa: N802
        del self.world.queues[self._find(request.name).name]
        return queue_pb2.DeleteQueueResponse()

    def OpenQueue(self, request: Any) -> Any:  # noqa: N802
        return queue_pb2.OpenQueueResponse(queue=self._move(request.name, queue_pb2.QUEUE_STATE_OPEN))

    def HoldQueue(self, request: Any) -> Any:  # noqa: N802
        return queue_pb2.HoldQueueResponse(queue=self._move(request.name, queue_pb2.QUEUE_STATE_HELD))

    def DrainQueue(self, request: Any) -> Any:  # noqa: N802
        return queue_pb2.DrainQueueResponse(queue=self._move(request.name, queue_pb2.QUEUE_STATE_DRAINING))

    def CloseQueue(self, request: Any) -> Any:  # noqa: N802
        return queue_pb2.CloseQueueResponse(queue=self._move(request.name, queue_pb2.QUEUE_STATE_CLOSED))

    def WatchQueues(self, _: Any) -> Any:  # noqa: N802
        """Played by the world's streams."""

    def _find(self, name: str) -> queue_pb2.Queue:
        if name not in self.world.queues:
            raise QueueNotFound(f"there is no queue {name}")
        return self.world.queues[name]

    def _move(self, name: str, state: Any) -> queue_pb2.Queue:
        self._find(name).state = state
        return self.world.queues[name]


@dataclass
class Clusters:
    world: World

    def CreateCluster(self, request: Any) -> Any:  # noqa: N802
        cluster = cluster_pb2.Cluster.FromString(request.cluster.SerializeToString())
        cluster.status = cluster.status or cluster_pb2.CLUSTER_STATUS_ONLINE
        cluster.source = cluster.source or "OnPremise"
        cluster.has_credential = bool(cluster.credential)
        cluster.credential = b""
        cluster.create_time.CopyFrom(BEGAN)
        cluster.update_time.CopyFrom(BEGAN)
        self.world.clusters[cluster.name] = cluster
        return cluster_pb2.CreateClusterResponse(cluster=cluster)

    def GetCluster(self, request: Any) -> Any:  # noqa: N802
        return cluster_pb2.GetClusterResponse(cluster=self.world.clusters[request.name])

    def ListClusters(self, request: Any) -> Any:  # noqa: N802
        known = sorted(self.world.clusters.values(), key=lambda cluster: cluster.name)
        chosen = [cluster for cluster in known if not request.names or cluster.name in request.names]
        clusters, token = page(chosen, request, lambda cluster: cluster.name)
        return cluster_pb2.ListClustersResponse(clusters=clusters, next_page_token=token)

    def UpdateCluster(self, request: Any) -> Any:  # noqa: N802
        return cluster_pb2.UpdateClusterResponse(cluster=self.world.clusters[request.cluster.name])

    def DeleteCluster(self, request: Any) -> Any:  # noqa: N802
        del self.world.clusters[request.name]
        return cluster_pb2.DeleteClusterResponse()

    def ReportNodes(self, request: Any) -> Any:  # noqa: N802
        cluster = self.world.clusters[request.cluster]
        if request.base_revision not in (0, cluster.revision):
            raise StaleRevision
        kept = self.world.nodes if request.base_revision else []
        self.world.nodes = [*kept, *request.nodes]
        cluster.revision, cluster.node_count = request.revision, len(self.world.nodes)
        cluster.capacity.amounts.clear()
        for node in self.world.nodes:
            node.cluster = cluster.name
            for name, amount in node.allocatable.amounts.items():
                cluster.capacity.amounts[name] += amount
        return cluster_pb2.ReportNodesResponse(cluster=cluster)

    def ListNodes(self, request: Any) -> Any:  # noqa: N802
        chosen = [node for node in self.world.nodes if not request.clusters or node.cluster in request.clusters]
        nodes, token = page(chosen, request, lambda node: node.name)
        return cluster_pb2.ListNodesResponse(nodes=nodes, next_page_token=token)


@dataclass
class Flavours:
    world: World

    def CreateFlavour(self, request: Any) -> Any:  # noqa: N802
        self.world.flavours[request.flavour.name] = request.flavour
        return cluster_pb2.CreateFlavourResponse(flavour=request.flavour)

    def GetFlavour(self, request: Any) -> Any:  # noqa: N802
        return cluster_pb2.GetFlavourResponse(flavour=self.world.flavours[request.name])

    def ListFlavours(self, request: Any) -> Any:  # noqa: N802
        flavours, token = page(list(self.world.flavours.values()), request, lambda flavour: flavour.name)
        return cluster_pb2.ListFlavoursResponse(flavours=flavours, next_page_token=token)

    def UpdateFlavour(self, request: Any) -> Any:  # noqa: N802
        return cluster_pb2.UpdateFlavourResponse(flavour=self.world.flavours[request.flavour.name])

    def DeleteFlavour(self, request: Any) -> Any:  # noqa: N802
        del self.world.flavours[request.name]
        return cluster_pb2.DeleteFlavourResponse()


class Info:
    def __init__(self, _: World) -> None:
        pass

    def GetInfo(self, _: Any) -> Any:  # noqa: N802
        return info_pb2.GetInfoResponse(service="queue", version="9.8.7", installation="i")


@dataclass
class Audit:
    world: World

    def ListAuditRecords(self, request: Any) -> Any:  # noqa: N802
        records, token = page(self.world.audit, request, lambda record: f"{record.id:05}")
        return info_pb2.ListAuditRecordsResponse(records=records, next_page_token=token)
