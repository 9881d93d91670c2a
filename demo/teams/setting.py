"""Who competes, and for what: one cluster, four teams, and the workloads of each."""

from __future__ import annotations

import secrets
from dataclasses import dataclass

from paddleflow.aio import AsyncPaddleFlow
from paddleflow.models import (
    Cluster,
    ClusterType,
    Node,
    Queue,
    Release,
    ReleaseOutcome,
    RoleRequest,
    Workload,
    WorkloadKey,
)
from paddleflow.quantity import CPU

CLUSTER = "lab-cluster"
TOP = "lab"
"""The queue above the teams; it has the whole cluster."""
MACHINES = 10
CORES_EACH = 40
CORES = MACHINES * CORES_EACH
CORE = 1000
"""The unit of the API is a thousandth of a core."""
ROLE = "worker"


@dataclass(frozen=True, slots=True)
class Team:
    """A queue below the top."""

    name: str
    guarantee: int
    """Cores."""
    weight: int = 100


RANKING = Team("ranking", 100)
LANGUAGE = Team("language", 150)
GUESTS = Team("guests", 0, 300)
PHYSICS = Team("physics", 100)
TEAMS = (RANKING, LANGUAGE, GUESTS, PHYSICS)


@dataclass(frozen=True, slots=True)
class Job:
    """A workload, and how long it runs once it may."""

    workload: Workload
    seconds: float


@dataclass(frozen=True, slots=True)
class Kind:
    """What the jobs of one lot have in common."""

    cores: int = 1
    """Of each replica."""
    replicas: int = 1
    most: int = 1
    """Replicas it can make use of."""
    seconds: tuple[float, float] = (1.2, 2.4)
    """The shortest and the longest run; those between are spread evenly."""


SMALL = Kind()
GANG = Kind(cores=10, replicas=10, most=10, seconds=(2.5, 2.5))
ELASTIC = Kind(replicas=2, most=10, seconds=(3.0, 3.5))


def jobs(team: Team, kind: Kind, count: int, lot: str) -> list[Job]:
    """Jobs with ids that no run of the demo has used before: an id stands for one job for ever."""
    run = secrets.token_hex(3)
    role = RoleRequest(ROLE, kind.replicas, {CPU: kind.cores * CORE}, kind.most)
    shortest, longest = kind.seconds
    return [
        Job(
            Workload(WorkloadKey(f"{team.name}-{lot}-{run}-{number}", 1), team.name, "root", [role]),
            # All lengths come, and neighbours differ: 7 and 11 have no divisor in common.
            shortest + (longest - shortest) * (number * 7 % 11) / 10,
        )
        for number in range(count)
    ]


async def build(client: AsyncPaddleFlow) -> None:
    """Makes the cluster and its queues, anew if an earlier run left them."""
    await clear(client)
    await client.clusters.create(Cluster(CLUSTER, type=ClusterType.LOCAL))
    machines = [Node(f"lab-{number}", {CPU: CORES_EACH * CORE}) for number in range(1, MACHINES + 1)]
    await client.clusters.report_nodes(CLUSTER, 1, machines)
    everything = {CPU: CORES * CORE}
    await client.queues.create(Queue(TOP, cluster=CLUSTER, min=everything, max=everything))
    for team in TEAMS:
        least = {CPU: team.guarantee * CORE} if team.guarantee else {}
        await client.queues.create(Queue(team.name, cluster=CLUSTER, parent=TOP, min=least, weight=team.weight))


async def clear(client: AsyncPaddleFlow) -> None:
    """Removes what an earlier run made, also one that was interrupted."""
    if CLUSTER not in [each.name async for each in client.clusters.list(names=[CLUSTER])]:
        return
    queues = [queue async for queue in client.queues.list(cluster=CLUSTER)]
    for queue in queues:
        # Else those that wait are admitted while others are cancelled.
        await client.queues.hold(queue.name)
    for queue in queues:
        left = [_cancelled(workload) async for workload in client.workloads.list(queue.name)]
        for start in range(0, len(left), 1000):
            await client.workloads.release(left[start : start + 1000])
    await client.clusters.delete(CLUSTER, cascade=True)


def _cancelled(workload: Workload) -> Release:
    return Release(
        workload.key, ReleaseOutcome.CANCELLED, workload.admitted.grant_id if workload.admitted is not None else ""
    )
