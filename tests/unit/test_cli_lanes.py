"""Graphs drawn as text."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paddleflow.cli.lanes import MOST_LANES, NODE, drawn, ordered
from paddleflow.cli.run_drawing import MOST_ITERATIONS, MOST_LINES, Style, drawing
from paddleflow.models import NodeKind, NodeState, NodeWaiting, RunNode

BEGAN = datetime(2026, 1, 2, tzinfo=UTC)
PLAIN = Style(drawing=False, colours=False)


def pictured(deps: dict[str, list[str]]) -> list[str]:
    rows = drawn(list(deps), deps)
    assert rows is not None
    return [f"{row.cells}{row.name}".rstrip() for row in rows]


def test_a_chain_has_one_lane() -> None:
    assert pictured({"c": ["b"], "a": [], "b": ["a"]}) == ["● a", "● b", "● c"]


def test_lanes_part_and_meet() -> None:
    assert pictured({"a": [], "b": ["a"], "c": ["a"], "d": ["b", "c"]}) == [
        "● a",
        "├─╮",
        "● │ b",
        "│ ● c",
        "├─╯",
        "●   d",
    ]


def test_a_lane_crosses_those_between() -> None:
    assert pictured({"a": [], "b": ["a"], "c": ["a"], "d": ["a"], "e": ["b", "c", "d", "a"], "f": ["c"]}) == [
        "● a",
        "├─┬─╮",
        "● │ │ b",
        "│ ● │ c",
        "│ ├─┼─╮",
        "│ │ ● │ d",
        "├─┴─╯ │",
        "●     │ e",
        "      ● f",
    ]


def test_what_cannot_be_followed_is_not_drawn() -> None:
    wide = {"a": [], **{f"b{each}": ["a"] for each in range(MOST_LANES + 1)}}
    assert drawn(list(wide), wide) is None
    assert drawn(["a", "b"], {"a": ["b"], "b": ["a"]}) is None


@st.composite
def graphs(draw: st.DrawFn) -> dict[str, list[str]]:
    names = [f"n{each}" for each in range(draw(st.integers(1, 9)))]
    chosen = {
        name: draw(st.lists(st.sampled_from(names[:at]), max_size=3)) if at else [] for at, name in enumerate(names)
    }
    return {name: chosen[name] for name in draw(st.permutations(names))}


@given(graphs())
def test_every_node_is_drawn_once_behind_those_it_needs(deps: dict[str, list[str]]) -> None:
    order = ordered(list(deps), deps)
    assert sorted(order) == sorted(deps)
    assert all(order.index(dep) < order.index(name) for name in deps for dep in deps[name])
    rows = drawn(list(deps), deps)
    if rows is not None:
        assert [row.name for row in rows if row.name] == order
        assert all((NODE in row.cells) == bool(row.name) for row in rows)


@given(graphs())
def test_lanes_lead_from_each_node_to_those_that_need_it(deps: dict[str, list[str]]) -> None:
    """Whoever goes down the lanes from a node comes to exactly those that depend on it, if by others."""
    rows = drawn(list(deps), deps)
    if rows is None:
        return
    reached: dict[str, set[str]] = {}
    lanes: dict[int, set[str]] = {}
    for row in rows:
        cells = row.cells[::2]
        if row.name:
            at = cells.index(NODE)
            above = lanes.get(at, set())
            reached[row.name] = {name for each in above for name in (each, *reached[each])}
            lanes[at] = {row.name}
        else:
            start = cells.index("├")
            for at in range(start + 1, len(cells)):
                if cells[at] in "┴╯":
                    lanes[start] = lanes[start] | lanes.pop(at)
                elif cells[at] in "┬╮":
                    lanes[at] = set(lanes[start])
    wanted: dict[str, set[str]] = {}
    for name in ordered(list(deps), deps):
        wanted[name] = {each for dep in deps[name] for each in (dep, *wanted[dep])}
    assert {name: before >= wanted[name] for name, before in reached.items()} == dict.fromkeys(deps, True)


def node(path: str, state: NodeState = NodeState.RUNNING, **told: object) -> RunNode:
    name = path.rpartition(".")[2].partition("[")[0]
    return RunNode(path=path, name=name, state=state, kind=NodeKind.STEP, **told)  # type: ignore[arg-type]  # as given


def test_a_run_is_drawn_with_what_it_waits_for() -> None:
    nodes = [
        node("a", NodeState.SUCCEEDED, start_time=BEGAN, finish_time=BEGAN + timedelta(seconds=2)),
        node("b", deps=("a",), start_time=BEGAN + timedelta(seconds=2)),
        node("c", NodeState.PENDING, deps=("a", "b"), waiting=NodeWaiting.DEPENDENCIES, waiting_on=("a", "b")),
    ]
    assert drawing(nodes, BEGAN + timedelta(minutes=2), PLAIN) == [
        "* a  succeeded   2.0s",
        "* b  running    1m58s",
        "* c  pending           waits for b",
    ]
    assert drawing(nodes, BEGAN, Style(drawing=True, colours=True))[0].startswith("● a  \x1b[32msucceeded\x1b[0m")


def test_of_many_iterations_the_worst_are_shown() -> None:
    states = [NodeState.SUCCEEDED] * 50 + [NodeState.FAILED]
    nodes = [
        node(f"fit[{at}]" if at else "fit", state, iteration=at, iterations=51, loop_argument=at)
        for at, state in enumerate(states)
    ]
    lines = drawing(nodes, BEGAN, PLAIN)
    assert lines[0].split() == ["*", "fit", "x51", "failed", "50", "succeeded,", "1", "failed"]
    assert (len(lines), lines[-2].split()) == (MOST_ITERATIONS + 2, ["[50]", "50", "failed"])
    assert lines[-1].strip() == f"... {51 - MOST_ITERATIONS} more iterations"


def test_a_drawing_has_an_end() -> None:
    nodes = [node(f"n{each:04}", deps=(f"n{each - 1:04}",)) for each in range(10_000)]
    lines = drawing(nodes, BEGAN, PLAIN)
    assert len(lines) == MOST_LINES + 1
    assert lines[-1] == f"... {10_000 - MOST_LINES} more lines; `-o json` tells of all nodes"


@pytest.mark.parametrize("message", ["one\ntwo", "one"])
def test_a_message_of_many_lines_does_not_tear_the_drawing(message: str) -> None:
    assert drawing([node("a", NodeState.FAILED, message=message)], BEGAN, PLAIN) == ["* a  failed    one"]
