"""Rows of workloads are read quickly where they are sound, and always to the same record as the long way."""

from __future__ import annotations

import json
from contextlib import suppress
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pf_queue.admission.aside import checked
from pf_queue.admission.domain import Key, Record, RoleRequest, Spec, WorkloadState
from pf_queue.admission.live import MOST_KINDS, LiveRows
from pf_queue.admission.rows import SPOILT, record_of, spec_of, spec_text, spoilt, standing_text
from pf_queue.resources import LARGEST, Resources

ROLES = (
    RoleRequest("driver", 1, 1, 1, Resources({"cpu": 500})),
    RoleRequest("worker", 0, 1_000_000, 8, Resources({"memory": LARGEST, "cpu": 0})),
)
SPEC = Spec(key=Key("a.Job_1-x", 7), queue="one", user="ann", priority=-LARGEST, roles=ROLES, grace=1, min_run=2)
LIVE = [each for each in WorkloadState if each not in (WorkloadState.RELEASED, WorkloadState.SET_ASIDE)]
STATES = [each.value for each in WorkloadState]
ODD = [None, True, False, -1, 0, 1, 1.0, 1e30, 2**64, LARGEST, LARGEST + 1, "", "x", "two", "a/1", "a.Job_1-x/07"]
THINGS = st.sampled_from([*ODD, *STATES, "finished", [], {}, [0], [0, 0], [0, 8], [8, -8], ["x"], {"cpu": 1}])
Path = tuple[str | int, ...]


def record(state: WorkloadState = WorkloadState.EVICTING, **fields: Any) -> Record:
    given: dict[str, Any] = {"number": 2**53 + 1, "submitted": LARGEST, "grant": "a", "running": 0, "version": 9}
    return Record(spec=SPEC, state=state, surplus=(0, 16), shrinking=(0, 8), **given | fields)


ROW = {"spec": json.loads(spec_text(SPEC)), "standing": json.loads(standing_text(record()))}


def paths(value: object, above: Path = ()) -> list[Path]:
    """All places in a document."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    below = [path for name, each in items for path in paths(each, (*above, name))]
    return [above, *below] if above else below


def changed(edits: list[tuple[Path, object]]) -> dict[str, Any]:
    """The row with other values in some places, as far as these are there still."""
    row: Any = deepcopy(ROW)
    for path, value in edits:
        with suppress(LookupError, TypeError):
            at = row
            for name in path[:-1]:
                at = at[name]
            at[path[-1]] = deepcopy(value)
    stored: dict[str, Any] = json.loads(json.dumps(row))
    return stored


def read(row: dict[str, Any]) -> Record:
    return LiveRows().record(str(SPEC.key), SPEC.queue, json.dumps(row["spec"]), json.dumps(row["standing"]))


def read_the_long_way(row: dict[str, Any]) -> Record:
    try:
        return checked(record_of(spec_of(row["spec"]), row["standing"]), str(SPEC.key), SPEC.queue)
    except SPOILT as error:
        return spoilt(str(SPEC.key), SPEC.queue, error)


@given(st.lists(st.tuples(st.sampled_from(paths(ROW)), THINGS), max_size=3))
@example([])
def test_a_row_is_the_same_record_as_the_long_way(edits: list[tuple[Path, object]]) -> None:
    row = changed(edits)
    assert repr(read(row)) == repr(read_the_long_way(row))


@pytest.mark.parametrize("path", paths(ROW), ids=str)
def test_no_single_odd_value_is_taken_for_sound(path: Path) -> None:
    rows = [changed([(path, value)]) for value in ODD]
    assert [repr(read(row)) for row in rows] == [repr(read_the_long_way(row)) for row in rows]


@pytest.mark.parametrize("more", [[], [0], [None, 1]], ids=str)
@pytest.mark.parametrize("less", [0, 1, 20])
def test_a_standing_of_another_length_is_set_aside(more: list[object], less: int) -> None:
    standing = [*ROW["standing"][: 20 - less], *more]
    found = read(ROW | {"standing": standing})
    assert (found.state is WorkloadState.SET_ASIDE) == (len(standing) != len(ROW["standing"]))


@pytest.mark.parametrize("state", LIVE)
def test_what_those_who_ask_for_the_same_have_in_common_is_shared(state: WorkloadState) -> None:
    rows, texts = LiveRows(), (spec_text(SPEC), standing_text(record(state)))
    one, other = (rows.record(str(SPEC.key), SPEC.queue, *texts) for _ in range(2))
    assert one == other == record(state)
    assert one.spec.roles is other.spec.roles
    assert one.spec.queue is other.spec.queue
    assert one.spec.user is other.spec.user


def test_no_more_than_so_many_different_roles_are_remembered() -> None:
    rows, standing = LiveRows(), standing_text(record(WorkloadState.PENDING))
    texts = [spec_text(SPEC).replace("500", str(size)) for size in range(MOST_KINDS + 1)]
    found = [[rows.record(str(SPEC.key), SPEC.queue, text, standing) for text in texts] for _ in range(2)]
    shared = [one.spec.roles is other.spec.roles for one, other in zip(*found, strict=True)]
    assert shared == [True] * MOST_KINDS + [False]


@pytest.mark.parametrize("spoil", ["spec", "standing"])
def test_what_is_too_deep_to_be_read_is_set_aside(spoil: str) -> None:
    deep = "[" * 100_000 + "]" * 100_000
    texts = {"spec": spec_text(SPEC), "standing": standing_text(record())} | {spoil: deep}
    found = LiveRows().record(str(SPEC.key), SPEC.queue, **texts)
    assert (found.id, found.state) == (str(SPEC.key), WorkloadState.SET_ASIDE)
    assert "RecursionError" in found.fault
