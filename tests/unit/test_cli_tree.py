"""The drawn tree."""

from __future__ import annotations

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paddleflow.cli.tree import BAR, FINE, PLAIN, draw_cluster, find, legend, plant
from paddleflow.cli.tree import bar as drawn_bar
from paddleflow.models import Cluster, Queue, QueueState

AMOUNTS = st.integers(0, 10**18)


def queue(name: str, parent: str = "", *, used: int = 0, least: int = 0, most: int = 8000) -> Queue:
    return Queue(
        name,
        cluster="c",
        parent=parent,
        state=QueueState.OPEN,
        min={"cpu": least},
        effective_max={"cpu": most},
        used={"cpu": used},
    )


def bar(used: int, least: int, most: int) -> str:
    return click.unstyle(drawn_bar(used, least, most, PLAIN))


@pytest.mark.parametrize(
    ("used", "least", "most", "drawn"),
    [
        (0, 0, 24, "........................"),
        (24, 24, 24, "########################"),
        (6, 12, 24, "######------............"),
        (18, 12, 24, "############++++++......"),
        (12, 12, 24, "############............"),
        (0, 24, 24, "------------------------"),
        (1, 0, 10**18, "+......................."),
        (1, 1, 10**18, "#......................."),
        (1, 10**17, 10**18, "#-......................"),
        (0, 0, 0, "........................"),
        (7, 0, 0, "++++++++++++++++++++++++"),
        (9, 4, 8, "############++++++++++++"),
    ],
)
def test_a_bar_shows_what_is_used_borrowed_guaranteed_and_allowed(used: int, least: int, most: int, drawn: str) -> None:
    assert bar(used, least, most) == drawn


@given(AMOUNTS, AMOUNTS, AMOUNTS, st.integers(1, 100))
def test_a_bar_is_always_as_long(used: int, least: int, most: int, width: int) -> None:
    assert len(bar(used, least, most)) == BAR
    assert len(click.unstyle(drawn_bar(used, least, most, FINE, width))) == width


def test_queues_stand_below_their_parents_by_name() -> None:
    places = plant([queue("b"), queue("a-2", "a"), queue("a-1", "a"), queue("a"), queue("a-1-x", "a-1")])
    assert [each.name for place in places for each in place.walk()] == ["a", "a-1", "a-1-x", "a-2", "b"]


def test_a_queue_whose_parent_is_not_seen_stands_at_the_top() -> None:
    assert [place.queue.name for place in plant([queue("train", "hidden")])] == ["train"]


def test_a_queue_is_found_at_any_depth() -> None:
    places = plant([queue("a"), queue("b", "a"), queue("c", "b")])
    assert [each.name for each in find(places, queue("b")).walk()] == ["b", "c"]
    assert [each.name for each in find(places, queue("else")).walk()] == ["else"]


def test_a_tree_is_drawn_with_its_machines_and_its_states() -> None:
    held = Queue("b", cluster="c", parent="a", state=QueueState.HELD, weight=3, priority=5)
    cluster = Cluster("c", node_count=1, capacity={"cpu": 16000, "memory": 2**34}, overcommitted=True)
    lines = draw_cluster("c", cluster, plant([queue("a", used=4000, least=2000), held]), PLAIN, [])
    assert [click.unstyle(line) for line in lines] == [
        "c  1 machine: cpu 16, memory 16Gi  more is guaranteed than there is",
        "`- a",
        "   |  cpu  [######++++++............] used 4      min 2      max 8",
        "   `- b  weight 3  priority 5  held",
    ]


def test_on_a_terminal_it_is_drawn_with_lines_and_colours() -> None:
    lines = draw_cluster("c", None, plant([queue("a", used=4000), queue("b")]), FINE, ["cpu"])
    assert "├─ " in lines[1]
    assert "└─ " in lines[3]
    assert click.style("▓" * 12, fg="yellow") in lines[2]
    assert click.style("█", fg="green") in legend(FINE)


def test_a_cluster_without_machines_says_so() -> None:
    assert click.unstyle(draw_cluster("c", Cluster("c"), [], PLAIN, [])[0]) == "c  no machines reported"
