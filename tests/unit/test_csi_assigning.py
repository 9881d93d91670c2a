"""Which client serves which mount."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from pf_csi.holder.assigning import Caller, assignments

KEYS = st.sampled_from(["", "a", "b", "c", "d"])
CALLERS = st.lists(st.builds(Caller, st.just(0), st.sampled_from(["x", "y"]), KEYS, st.booleans()), max_size=8).map(
    lambda callers: [replace(caller, number=number) for number, caller in enumerate(callers)]
)
WANTED = st.sets(KEYS.filter(bool)).map(sorted)


@given(WANTED, CALLERS)
def test_nobody_is_sent_who_serves_or_leaves_and_no_mount_gets_two(wanted: list[str], callers: list[Caller]) -> None:
    found = assignments(wanted, callers)
    by_number = {caller.number: caller for caller in callers}
    assert all(not by_number[each.number].key and not by_number[each.number].leaving for each in found)
    assert max(Counter(each.number for each in found).values(), default=0) <= 1
    assert max(Counter(each.key for each in found).values(), default=0) <= 1
    staying = {caller.key for caller in callers if not caller.leaving}
    assert all(each.key in wanted and each.key not in staying for each in found)


@given(WANTED, CALLERS)
def test_a_mount_waits_only_if_no_client_does(wanted: list[str], callers: list[Caller]) -> None:
    found = assignments(wanted, callers)
    after = {each.number: each.key for each in found}
    then = [replace(caller, key=after.get(caller.number, caller.key)) for caller in callers]
    assert assignments(wanted, then) == []
    served = {caller.key for caller in then if not caller.leaving}
    idle = [caller for caller in then if not caller.key and not caller.leaving]
    assert not idle or set(wanted) <= served


def test_who_came_last_begins() -> None:
    assert [each.number for each in assignments(["a"], [Caller(1, "old"), Caller(2, "new")])] == [2]
