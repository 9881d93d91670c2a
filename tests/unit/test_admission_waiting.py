"""Who waits in which queue, and where: the same as if all were looked at."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from pf_queue.admission.core.waiting import Line, Waiting
from pf_queue.admission.core.workloads import Role, Workload
from pf_queue.admission.domain import Key, Record, RoleRequest, Spec, WorkloadState
from pf_queue.admission.records import Records
from pf_queue.resources import Resources

ROLE = Role("worker", 1, 1, 1, (0, 1))
REQUEST = RoleRequest("worker", 1, 1, 1, Resources({"cpu": 1}))

steps = st.lists(
    st.tuples(st.sampled_from("abcdefghij"), st.sampled_from(["one", "other"]), st.integers(-2, 2), st.booleans()),
    max_size=60,
)


def workload(name: str, queue: str, priority: int, number: int) -> Workload:
    return Workload(name, queue, "user", priority, (ROLE,), submitted=number // 3, number=number)


@given(steps)
def test_lines_are_those_of_all_who_wait(story: list[tuple[str, str, int, bool]]) -> None:
    waiting = Waiting()
    plain: dict[str, Workload] = {}
    for number, (name, queue, priority, leaves) in enumerate(story):
        if leaves and name in plain:
            del waiting[name], plain[name]
        elif not leaves:
            waiting[name] = plain[name] = workload(name, queue, priority, number)
    assert dict(waiting) == plain
    assert waiting.counts() == Counter(each.queue for each in plain.values())
    for queue in ("one", "other"):
        line = sorted((each for each in plain.values() if each.queue == queue), key=lambda each: each.order)
        assert list(waiting.in_order(queue)) == line
        assert waiting.count(queue) == len(line)
        assert [waiting.position(each.id) for each in line] == list(range(1, len(line) + 1))
        for number, each in enumerate(line, 1):
            assert list(waiting.in_order(queue, each.order)) == line[number:]


def test_a_long_line_stays_in_order() -> None:
    line = Line()
    names = [f"{number * 7919 % 5000:04}" for number in range(5000)]
    for name in names:
        line.add(((0, 0, int(name)), name))
    assert list(line.after(None)) == sorted(names)
    for name in sorted(names)[:3000]:
        line.remove(((0, 0, int(name)), name))
    assert list(line.after((0, 0, 3999))) == sorted(names)[4000:]
    assert line.before(((0, 0, 3500), "3500")) == 500


@given(steps)
def test_records_know_who_is_held_and_who_leaves_for_whom(story: list[tuple[str, str, int, bool]]) -> None:
    records = Records()
    for name, queue, kind, leaves in story:
        known = records.get(f"{name}/1")
        if leaves and known is not None:
            del records[f"{name}/1"]
        elif not leaves:
            spec = known.spec if known else Spec(key=Key(name, 1), queue=queue, user="user", roles=(REQUEST,))
            state = WorkloadState.HELD if kind < 0 else WorkloadState.PENDING
            for_whom = "x/1" if kind == 1 else "y/1" if kind > 1 else ""
            records[f"{name}/1"] = Record(spec=spec, state=state, number=1, submitted=0, leaves_for=for_whom)
    there = list(records.values())
    assert set(records.queues) == {record.spec.queue for record in there}
    for queue in ("one", "other"):
        held = {record.id for record in there if record.spec.queue == queue and record.state is WorkloadState.HELD}
        assert {record.id for record in records.held(queue)} == held
    for other in ("x/1", "y/1"):
        leaving = {record.id for record in there if record.leaves_for == other}
        assert {record.id for record in records.leaving_for(other)} == leaving
