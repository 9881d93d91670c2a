"""Reports of machines, however many."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import paddleflow
from paddleflow.channel import MAX_MESSAGE_BYTES
from paddleflow.connection import Connection
from paddleflow.models import Cluster, Node
from paddleflow.problems import ShuttingDown
from paddleflow.queue.v1 import cluster_pb2
from paddleflow.sync import PaddleFlow
from paddleflow.wire.clusters import PART_BYTES, node_parts
from support.fake_paddleflow import FakePaddleFlow
from support.fake_services import PASSWORD

MANY = [
    Node(f"node-{at:05}", {"cpu": 32_000, "memory": 2**37}, {f"label-{key}": "x" * 60 for key in range(6)})
    for at in range(20_000)
]


def sent(fake: FakePaddleFlow) -> list[tuple[int, int]]:
    return [(request.revision, request.base_revision) for request in fake.world.asked(cluster_pb2.ReportNodesRequest)]


def test_a_report_that_is_too_large_for_a_message_goes_in_parts(fake: FakePaddleFlow) -> None:
    with paddleflow.connect(fake.address, user="root", password=PASSWORD, timeout=60) as client:
        client.clusters.create(Cluster("c"))
        cluster = client.clusters.report_nodes("c", 5, MANY, request_id="mine")
        assert (cluster.node_count, cluster.capacity["cpu"]) == (len(MANY), 32_000 * len(MANY))
        assert sent(fake) == [(5, 0), *((at, at - 1) for at in range(6, cluster.revision + 1))]
        assert cluster.revision > 6
        requests = fake.world.asked(cluster_pb2.ReportNodesRequest)
        assert all(request.ByteSize() < MAX_MESSAGE_BYTES for request in requests)
        client.clusters.report_nodes("c", 5, MANY, request_id="mine")
    ids = [request.request_id for request in fake.world.asked(cluster_pb2.ReportNodesRequest)]
    assert ids[: len(requests)] == ids[len(requests) :]
    assert len(set(ids)) == len(requests)


@pytest.mark.parametrize("nodes", [[], MANY[:100]])
def test_a_usual_report_is_one_message(fake: FakePaddleFlow, nodes: list[Node]) -> None:
    with PaddleFlow(Connection(fake.address, user="root", password=PASSWORD)) as client:
        client.clusters.create(Cluster("c"))
        fake.world.failures = [ShuttingDown()]
        assert client.clusters.report_nodes("c", 1, nodes).node_count == len(nodes)
    assert sent(fake) == [(1, 0), (1, 0)]


@given(st.lists(st.integers(0, PART_BYTES // 2), max_size=12))
def test_the_parts_are_all_the_machines_in_order(sizes: list[int]) -> None:
    nodes = [Node(str(at), labels={"a": "x" * size}) for at, size in enumerate(sizes)]
    parts = node_parts(nodes)
    assert [node.name for part in parts for node in part] == [node.name for node in nodes]
    assert all(cluster_pb2.ReportNodesRequest(nodes=part).ByteSize() <= PART_BYTES for part in parts)
    assert len(parts) == 1 or all(parts)
