"""A queue service with a real Postgres behind it, and the load that admission is measured with."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

import psutil
from grpc import aio

from paddleflow.channel import open_channel
from paddleflow.queue.v1 import (
    admission_pb2,
    admission_pb2_grpc,
    cluster_pb2,
    cluster_pb2_grpc,
    queue_pb2,
    queue_pb2_grpc,
    workload_pb2,
)
from support.kit_client import bearer
from support.queue_process import ROOT_PASSWORD, QueueProcess
from support.servers import PostgresServer, ValkeyServer

CLUSTER = "bench"
BATCH = 1000
PATIENCE = 60.0


@dataclass(frozen=True)
class Load:
    """A running service, and root's way in."""

    process: QueueProcess
    channel: aio.Channel
    metadata: tuple[tuple[str, str], ...]

    @property
    def admission(self) -> admission_pb2_grpc.AdmissionServiceAsyncStub:
        return admission_pb2_grpc.AdmissionServiceStub(self.channel)

    @property
    def memory(self) -> float:
        """MiB of the service that nobody else uses."""
        (service,) = (child for child in psutil.Process().children() if "pf_queue" in child.cmdline())
        return float(service.memory_full_info().uss) / 2**20

    async def machines(self, **amounts: int) -> None:
        """One machine that is as large as the cluster."""
        clusters = cluster_pb2_grpc.ClusterServiceStub(self.channel)
        cluster = cluster_pb2.Cluster(name=CLUSTER, type=cluster_pb2.CLUSTER_TYPE_LOCAL)
        await clusters.CreateCluster(cluster_pb2.CreateClusterRequest(cluster=cluster), metadata=self.metadata)
        node = cluster_pb2.Node(name="n", schedulable=True)
        node.allocatable.amounts.update(amounts)
        report = cluster_pb2.ReportNodesRequest(cluster=CLUSTER, revision=1, nodes=[node])
        await clusters.ReportNodes(report, metadata=self.metadata)

    async def queue(self, name: str, parent: str = "", *, least: int, most: int) -> None:
        made = queue_pb2.Queue(name=name, cluster=CLUSTER, parent=parent)
        made.min.amounts.update(cpu=least)
        made.max.amounts.update(cpu=most)
        queues = queue_pb2_grpc.QueueServiceStub(self.channel)
        await queues.CreateQueue(queue_pb2.CreateQueueRequest(queue=made), metadata=self.metadata)

    async def move(self, request: queue_pb2.HoldQueueRequest | queue_pb2.OpenQueueRequest) -> None:
        queues = queue_pb2_grpc.QueueServiceStub(self.channel)
        if isinstance(request, queue_pb2.HoldQueueRequest):
            await queues.HoldQueue(request, metadata=self.metadata)
        else:
            await queues.OpenQueue(request, metadata=self.metadata)

    async def submit(self, workloads: Sequence[workload_pb2.Workload]) -> None:
        request = admission_pb2.SubmitWorkloadsRequest(workloads=workloads)
        reply = await self.admission.SubmitWorkloads(request, metadata=self.metadata, timeout=PATIENCE)
        refused = [result.refusal.message for result in reply.results if result.HasField("refusal")]
        assert not refused, refused[0]

    async def admitted(self, queue: str) -> int:
        """Workloads of a queue, and of those below it, that hold something."""
        request = admission_pb2.ListLoadsRequest(queue=queue, page_size=1)
        reply = await self.admission.ListLoads(request, metadata=self.metadata, timeout=PATIENCE)
        return next(load.admitted for load in reply.loads if load.queue == queue)

    async def until_admitted(self, queue: str, count: int) -> float:
        """Seconds until so many are."""
        begun = time.perf_counter()
        # Another process decides: nothing here could be waited for.
        while await self.admitted(queue) < count:  # noqa: ASYNC110
            await asyncio.sleep(0.1)
        return time.perf_counter() - begun


def workload(job: str, queue: str, cpu: int, priority: int = 0) -> workload_pb2.Workload:
    role = workload_pb2.RoleRequest(role="worker", min_replicas=1)
    role.per_replica.amounts.update(cpu=cpu)
    key = workload_pb2.WorkloadKey(job_id=job, attempt=1)
    return workload_pb2.Workload(key=key, queue=queue, user="root", priority=priority, roles=[role])


@asynccontextmanager
async def load() -> AsyncIterator[Load]:
    """A service on databases of its own; Postgres writes each commit to the disk."""
    postgres, valkey = PostgresServer(durable=True), ValkeyServer()
    postgres.start()
    valkey.start()
    process = QueueProcess(postgres.dsn(), valkey.url, {"PF_QUEUE_LOG_LEVEL": "warning"})
    try:
        process.start()
        metadata = bearer(process.log_in("root", ROOT_PASSWORD))
        async with open_channel(process.address, None) as channel:
            yield Load(process, channel, metadata)
    finally:
        process.remove()
        valkey.remove()
        postgres.remove()
