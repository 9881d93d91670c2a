"""Invariants that machines break by going: nothing may add to the break, all else goes on."""

from __future__ import annotations

import pytest

from paddleflow.problems import (
    ChildrenUncovered,
    MaxExceedsParent,
    MinExceedsCluster,
    MinExceedsParent,
    Problem,
    ResourceNotDeclared,
)
from pf_queue.quota.domain import Beside, Promises, Queue
from pf_queue.quota.placing import settle
from pf_queue.quota.rules import overcommitted
from pf_queue.quota.tree import Tree
from pf_queue.resources import Resources
from support.trees import machines, queue, tree

GI = 2**30
GPU = "nvidia.com/gpu"
TOP = queue("top", min={"cpu": 10_000}, max={"cpu": 20_000, "memory": 40 * GI})
MID = queue("mid", "top", min={"cpu": 6_000}, max={"cpu": 12_000})
SHRUNK = machines(cpu=1_000)
"""What is left after machines have gone."""
INHERITING = (queue("top", min={"cpu": 4_000}), queue("child", "top", min={"cpu": 2_000}, max={"cpu": 3_000, GPU: 2}))
"""Made while there were more machines: neither the guarantees nor the ceilings are covered any more."""


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(queue("top", min={"cpu": 4_000}, weight=7), id="nothing that is judged"),
        pytest.param(queue("top", min={"cpu": 3_000}), id="a guarantee lowered, though not enough"),
        pytest.param(queue("child", "top", min={"cpu": 2_000}, max={"cpu": 2_000, GPU: 1}), id="ceilings lowered"),
        pytest.param(queue("child", "top", min={"cpu": 2_000}, max={"cpu": 3_000}), id="a ceiling taken away"),
        pytest.param(queue("child", "top", min={"cpu": 2_000}), id="all ceilings taken away"),
        pytest.param(queue("new"), id="another queue that is promised nothing"),
        pytest.param(queue("new", "top", max={"cpu": 1_000}), id="another queue within what is left"),
    ],
)
def test_what_machines_broke_by_going_does_not_stand_in_the_way(change: Queue) -> None:
    settle(tree(*INHERITING, machines=SHRUNK), change)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        pytest.param(queue("top", min={"cpu": 4_001}), MinExceedsCluster, id="a guarantee raised"),
        pytest.param(queue("new", min={"cpu": 1}), MinExceedsCluster, id="another guarantee"),
        pytest.param(
            queue("child", "top", min={"cpu": 2_000}, max={"cpu": 3_001, GPU: 2}), MaxExceedsParent, id="a max raised"
        ),
        pytest.param(
            queue("child", "top", min={"cpu": 2_000}, max={"cpu": 3_000, GPU: 2, "fpga": 1}),
            ResourceNotDeclared,
            id="another unknown resource",
        ),
        pytest.param(
            queue("top", min={"cpu": 2_000}, max={"cpu": 2_000}),
            ChildrenUncovered,
            id="a ceiling set by the queue itself, below what its child has",
        ),
    ],
)
def test_nothing_is_added_to_what_machines_broke_by_going(change: Queue, problem: type[Problem]) -> None:
    with pytest.raises(problem):
        settle(tree(*INHERITING, machines=SHRUNK), change)


def test_moving_to_the_top_is_held_against_the_machines() -> None:
    crowded = tree(TOP, MID, machines=machines(cpu=12_000, memory=GI))
    with pytest.raises(MinExceedsCluster):
        settle(crowded, queue("mid", min={"cpu": 6_000}))
    settle(crowded, queue("mid", min={"cpu": 2_000}))


def test_overcommitment_is_seen_per_pool() -> None:
    promises = Promises(Resources({"cpu": 10_000}), {"iso": Resources({"cpu": 4_000})})
    assert not overcommitted(promises, machines({"iso": {"cpu": 4_000}}, cpu=10_000, memory=GI))
    assert overcommitted(promises, machines({"iso": {"cpu": 3_999}}, cpu=99_000))
    assert overcommitted(promises, machines({"iso": {"cpu": 9_000}}, cpu=9_999))
    assert overcommitted(promises, machines(cpu=99_000))


def test_queues_beside_count_though_they_are_only_a_sum() -> None:
    at_top = Tree([TOP], machines(cpu=12_000, memory=GI), Beside("", Resources({"cpu": 1_000})))
    settle(at_top, queue("new", min={"cpu": 1_000}))
    with pytest.raises(MinExceedsCluster, match=r"would be guaranteed 12\.001 cores"):
        settle(at_top, queue("new", min={"cpu": 1_001}))
    below = Tree([TOP], None, Beside("top", Resources({"cpu": 9_000})))
    settle(below, queue("new", "top", min={"cpu": 1_000}))
    with pytest.raises(MinExceedsParent, match=r"would be guaranteed 10\.001 cores"):
        settle(below, queue("new", "top", min={"cpu": 1_001}))
