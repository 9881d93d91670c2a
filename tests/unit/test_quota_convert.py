"""Queues on the wire and back, and every field that cannot be taken."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paddleflow.common.v1 import event_pb2
from paddleflow.problems import InvalidArgument
from paddleflow.queue.v1 import queue_pb2 as pb
from pf_kit.changes import ChangeKind
from pf_queue.quota import convert
from pf_queue.quota.domain import (
    Isolation,
    OrderPolicy,
    PreemptionPolicy,
    Queue,
    QueueChanged,
    QueueFilter,
    QueueState,
    QuotaType,
    Standing,
)
from pf_queue.quota.fields import queue_violations
from pf_queue.resources import LARGEST, Resources
from support.trees import queue

NAMES = st.from_regex(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?", fullmatch=True).filter(lambda name: name != "default")
AMOUNTS = st.dictionaries(
    st.from_regex(r"[A-Za-z0-9./_-]{1,20}", fullmatch=True), st.integers(0, LARGEST), max_size=5
).map(Resources)
TIMES = st.integers(0, 2**42).map(lambda number: datetime(2000, 1, 1, tzinfo=UTC) + timedelta(milliseconds=number))
WORDS = st.text(st.characters(codec="utf-8", categories=["L", "N", "P"]), min_size=1, max_size=20)
QUEUES = st.builds(
    Queue,
    name=NAMES,
    cluster=st.just("main"),
    namespace=NAMES,
    quota_type=st.sampled_from(QuotaType),
    isolation=st.sampled_from(Isolation),
    parent=NAMES | st.just(""),
    min=AMOUNTS,
    max=AMOUNTS,
    lend_limit=AMOUNTS,
    weight=st.integers(1, 1_000_000),
    priority=st.integers(-1_000, 1_000),
    preemption_policy=st.sampled_from(PreemptionPolicy),
    order_policy=st.sampled_from(OrderPolicy),
    max_jobs=st.integers(0, 1_000_000),
    max_per_user=AMOUNTS,
    max_jobs_per_user=st.integers(0, 1_000_000),
    labels=st.dictionaries(WORDS, WORDS, max_size=5),
    state=st.sampled_from(QueueState),
    create_time=TIMES,
    update_time=TIMES,
    version=st.integers(1, 2**62),
)


@given(QUEUES, AMOUNTS)
def test_a_queue_survives_the_wire(stored: Queue, ceiling: Resources) -> None:
    message = pb.Queue.FromString(convert.queue_message(Standing(stored, ceiling)).SerializeToString())
    again = convert.given_queue(message)
    output_only = {"state", "create_time", "update_time", "version"}
    for field in Queue.__dataclass_fields__.keys() - output_only:
        assert getattr(again, field) == getattr(stored, field), field
    assert list(queue_violations(again)) == []
    assert dict(message.effective_max.amounts) == ceiling
    assert message.create_time.ToDatetime(UTC) == stored.create_time
    assert message.update_time.ToDatetime(UTC) == stored.update_time
    assert message.etag == stored.etag
    assert pb.QueueState.Name(message.state) == f"QUEUE_STATE_{stored.state.name}"


@given(QUEUES, st.sampled_from(ChangeKind))
def test_an_event_holds_the_queue(stored: Queue, kind: ChangeKind) -> None:
    fact = convert.fact(QueueChanged(kind, Standing(stored, stored.max), 77))
    event = pb.QueueEvent.FromString(fact.payload)
    assert (fact.type, fact.subject, fact.version) == ("paddleflow.queue.v1.QueueEvent", f"queue/{stored.name}", 77)
    assert event_pb2.ChangeKind.Name(event.kind) == f"CHANGE_KIND_{kind.name}"
    assert event.queue == convert.queue_message(Standing(stored, stored.max))


@pytest.mark.parametrize(
    ("ours", "table", "wire"),
    [
        (QuotaType, convert.QUOTA_TYPES, pb.QuotaType),
        (Isolation, convert.ISOLATIONS, pb.Isolation),
        (PreemptionPolicy, convert.PREEMPTION_POLICIES, pb.PreemptionPolicy),
        (OrderPolicy, convert.ORDER_POLICIES, pb.OrderPolicy),
        (QueueState, convert.STATES, pb.QueueState),
    ],
)
def test_every_value_of_an_enum_has_its_word(ours: type[StrEnum], table: dict[StrEnum, int], wire: Any) -> None:
    assert list(table) == list(ours)
    assert sorted([0, *table.values()]) == sorted(wire.values())


def test_what_is_not_set_at_creation_is_filled_in() -> None:
    assert convert.new_queue(pb.Queue(name="new")) == queue("new", cluster="")


def test_what_is_output_only_is_passed_over() -> None:
    message = pb.Queue(name="new", state=pb.QUEUE_STATE_CLOSED, etag="5")
    message.effective_max.amounts["x"] = message.used.amounts[""] = -1
    message.create_time.seconds = 5
    assert convert.new_queue(message) == queue("new", cluster="")


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "no name": ({"name": ""}, "queue.name"),
    "capitals": ({"name": "Team"}, "queue.name"),
    "a dash at the end": ({"name": "team-"}, "queue.name"),
    "64 characters": ({"name": "a" * 64}, "queue.name"),
    "a line end": ({"name": "team\n"}, "queue.name"),
    "NUL": ({"name": "te\0am"}, "queue.name"),
    "reserved": ({"name": "default"}, "queue.name"),
    "namespace": ({"namespace": "no_underscore"}, "queue.namespace"),
    "parent": ({"parent": "No Such"}, "queue.parent"),
    "weight below 1": ({"weight": -1}, "queue.weight"),
    "weight above a million": ({"weight": 1_000_001}, "queue.weight"),
    "priority": ({"priority": -1_001}, "queue.priority"),
    "max_jobs": ({"max_jobs": -1}, "queue.max_jobs"),
    "max_jobs_per_user": ({"max_jobs_per_user": -1}, "queue.max_jobs_per_user"),
    "negative": ({"min": {"amounts": {"cpu": -1}}}, "queue.min.amounts.cpu"),
    "too much": ({"max": {"amounts": {"cpu": LARGEST + 1}}}, "queue.max.amounts.cpu"),
    "the most a message can say": ({"lend_limit": {"amounts": {"cpu": 2**63 - 1}}}, "queue.lend_limit.amounts.cpu"),
    "a resource without a name": ({"max_per_user": {"amounts": {"": 1}}}, "queue.max_per_user.amounts"),
    "a resource with a blank": ({"max": {"amounts": {"a b": 1}}}, "queue.max.amounts"),
    "a resource with a long name": ({"max": {"amounts": {"x" * 129: 1}}}, "queue.max.amounts"),
    "65 resources": ({"max": {"amounts": {f"r{n}": 1 for n in range(65)}}}, "queue.max"),
    "65 labels": ({"labels": {f"l{n}": "" for n in range(65)}}, "queue.labels"),
    "a label without a key": ({"labels": {"": "x"}}, "queue.labels"),
    "a label with a long value": ({"labels": {"k": "x" * 257}}, "queue.labels.k"),
    "a label with NUL": ({"labels": {"k": "\0"}}, "queue.labels.k"),
    "quota type": ({"quota_type": 99}, "queue.quota_type"),
    "isolation": ({"isolation": -1}, "queue.isolation"),
    "preemption policy": ({"preemption_policy": 99}, "queue.preemption_policy"),
    "order policy": ({"order_policy": 99}, "queue.order_policy"),
}


@pytest.mark.parametrize(("fields", "path"), list(WRONG.values()), ids=list(WRONG))
def test_a_field_that_cannot_be_is_named(fields: dict[str, Any], path: str) -> None:
    with pytest.raises(InvalidArgument) as refused:
        convert.new_queue(pb.Queue(**{"name": "new"} | fields))
    assert [violation.field for violation in refused.value.violations] == [path]


def test_all_that_is_wrong_is_named_at_once_but_no_more_than_an_answer_can_hold() -> None:
    message = pb.Queue(name="X", weight=-1)
    message.min.amounts.update({f"r{n}": -1 for n in range(64)})
    with pytest.raises(InvalidArgument) as refused:
        convert.new_queue(message)
    fields = [violation.field for violation in refused.value.violations]
    assert fields[0] == "queue.name"
    assert len(fields) == 10
    assert len(refused.value.message) < 2_000


def test_a_filter_takes_what_queues_can_have() -> None:
    states = [pb.QUEUE_STATE_OPEN, pb.QUEUE_STATE_CLOSED]
    request = pb.ListQueuesRequest(
        cluster="c", namespace="n", parent="p", states=states, name_prefix="te", labels={"a": "b"}
    )
    assert convert.queue_filter(request) == QueueFilter(
        cluster="c",
        namespace="n",
        parent="p",
        states=frozenset({QueueState.OPEN, QueueState.CLOSED}),
        name_prefix="te",
        labels={"a": "b"},
    )


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ({"states": [1, 0]}, "states[1]"),
        ({"states": [99]}, "states[0]"),
        ({"cluster": "\0"}, "cluster"),
        ({"name_prefix": "x" * 256}, "name_prefix"),
        ({"labels": {"a": "\0"}}, "labels.a"),
    ],
)
def test_a_filter_that_cannot_be_is_named(fields: dict[str, Any], path: str) -> None:
    with pytest.raises(InvalidArgument) as refused:
        convert.queue_filter(pb.ListQueuesRequest(**fields))
    assert [violation.field for violation in refused.value.violations] == [path]
