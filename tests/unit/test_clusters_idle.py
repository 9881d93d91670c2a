"""Machines that nobody can use are told of."""

from __future__ import annotations

import pytest

from pf_kit.clock import SystemClock
from pf_queue.accounts.domain import Lifetimes
from pf_queue.accounts.passwords import Passwords
from pf_queue.clusters.domain import Cluster, ClusterType, Node, Report
from pf_queue.clusters.store import TREE_LOCK
from pf_queue.parts import put_together
from pf_queue.resources import Resources
from support.stores import memory_stores
from support.trees import CLUSTER, physical, queue


def report(revision: int, *dedicated: str) -> Report:
    cpu = Resources({"cpu": revision})
    nodes = [Node(name=f"n{name}", cluster=CLUSTER, allocatable=cpu, dedicated_queue=name) for name in dedicated]
    return Report(CLUSTER, revision, 0, nodes)


async def test_machines_dedicated_to_no_isolated_queue_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    database, stores = memory_stores()
    parts = put_together(stores, passwords=Passwords(), lifetimes=Lifetimes(), clock=SystemClock())
    async with database.change(TREE_LOCK) as change:
        await parts.clusters.create(change, Cluster(name=CLUSTER, type=ClusterType.LOCAL))
        await parts.queues.create(change, physical("iso", max={"cpu": 1}))
        await parts.queues.create(change, queue("shares"))
        await parts.clusters.report(change, report(1, "", "iso"))
        assert caplog.records == []
        await parts.clusters.report(change, report(2, "iso", "shares", "none"))
    [record] = caplog.records
    assert vars(record)["queues"] == ["none", "shares"]
