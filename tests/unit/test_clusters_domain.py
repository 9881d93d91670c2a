from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pf_queue.clusters.domain import Cluster, ClusterType, Machines, Node, NodePlace
from pf_queue.resources import Resources
from support.trees import amounts

NODES = st.builds(
    Node,
    name=st.text(min_size=1, max_size=3),
    cluster=st.just("main"),
    allocatable=st.dictionaries(st.sampled_from(["cpu", "memory", "gpu"]), st.integers(0, 10**18)).map(Resources),
    schedulable=st.booleans(),
    dedicated_queue=st.sampled_from(["", "iso", "other"]),
)


def node(name: str, dedicated_queue: str = "", *, schedulable: bool = True, **allocatable: int) -> Node:
    return Node(
        name=name,
        cluster="main",
        allocatable=Resources(allocatable),
        schedulable=schedulable,
        dedicated_queue=dedicated_queue,
    )


def test_machines_are_summed_by_who_may_use_them() -> None:
    machines = Machines.of(
        [
            node("a", cpu=1, memory=10),
            node("b", cpu=2),
            node("c", cpu=4, schedulable=False, fpga=1),
            node("d", "iso", cpu=8, gpu=1),
            node("e", "iso", cpu=16, schedulable=False),
        ]
    )
    assert machines.count == 5
    assert machines.capacity == {"cpu": 3, "memory": 10, "fpga": 0, "gpu": 0}
    assert machines.dedicated == {"iso": {"cpu": 8, "gpu": 1}}


def test_a_report_of_no_machines_is_a_report() -> None:
    assert Machines.of([]) == Machines(0, amounts())


@given(st.lists(NODES, max_size=20))
def test_every_schedulable_amount_is_in_one_sum(nodes: list[Node]) -> None:
    machines = Machines.of(nodes)
    sums = Resources.total([machines.capacity, *machines.dedicated.values()])
    for name in sums:
        assert sums[name] == sum(node.allocatable.get(name, 0) for node in nodes if node.schedulable)
    assert set(machines.capacity) == {name for node in nodes for name in node.allocatable}


def test_no_namespaces_means_any() -> None:
    assert Cluster(name="c1", type=ClusterType.LOCAL).allows("anything")
    only = Cluster(name="c1", type=ClusterType.LOCAL, namespaces=("a",))
    assert only.allows("a")
    assert not only.allows("b")


def test_a_credential_is_not_shown() -> None:
    assert "hush" not in repr(Cluster(name="c1", type=ClusterType.LOCAL, credential=b"hush"))


@given(st.from_regex(r"[A-Za-z0-9_-]{2,20}", fullmatch=True), st.text(min_size=1, max_size=20))
def test_the_place_of_a_machine_survives_a_page_token(cluster: str, name: str) -> None:
    place = NodePlace(cluster, name)
    assert NodePlace.parse(str(place)) == place
