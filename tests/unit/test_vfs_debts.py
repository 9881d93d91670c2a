"""What is owed is counted right, whatever becomes of each file."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pf_backends.entries import Entry, Kind
from pf_fuse.vfs.debts import Debt, Debts
from pf_fuse.vfs.nodes import Node

WHAT = st.sampled_from(["owe", "begin anew", "remove"])
STEPS = st.lists(st.tuples(WHAT, st.integers(0, 5), st.integers(0, 1 << 40), st.integers(0, 3)))
NODES = [Node(number, None, f"{number}", Entry(f"{number}", Kind.FILE), 0.0) for number in range(6)]


@given(STEPS)
def test_how_much_is_owed_is_the_sum_and_since_when_is_the_least(steps: list[tuple[str, int, int, int]]) -> None:
    debts, now = Debts(), 0.0
    for what, number, size, later in steps:
        now += later
        take(debts, what, NODES[number], size, now)
        each = list(debts)
        assert len(debts) == len(each) == len({debt.node.id for debt in each})
        assert debts.bytes == sum(debt.size for debt in each)
        assert debts.oldest == min((debt.since for debt in each), default=None)
        assert all(debts.of(debt.node) is debt for debt in each)


def take(debts: Debts, what: str, node: Node, size: int, now: float) -> None:
    debt = debts.of(node)
    match what:
        case "owe" if debt:
            debts.resize(debt, size)
        case "owe":
            debts.add(Debt(node, now, size, 1.0))
        case "begin anew" if debt:
            debts.begin_anew(debt, now)
        case "remove" if debt:
            debts.remove(debt)
            assert debts.of(node) is None
