"""Between messages and the values of the quota tree."""

from __future__ import annotations

from collections.abc import Iterator

from paddleflow.common.v1 import event_pb2
from paddleflow.problems import Violation
from paddleflow.queue.v1 import queue_pb2
from pf_kit.events import Fact
from pf_kit.fields import plain_text, require
from pf_kit.wire import CHANGE_KINDS, timestamp
from pf_queue.fields import FILTER_LENGTH, labels
from pf_queue.quota.domain import (
    DEFAULT_NAMESPACE,
    DEFAULT_WEIGHT,
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
from pf_queue.wire import enum_value, resources_message, resources_of

QUEUE_EVENT = queue_pb2.QueueEvent.DESCRIPTOR.full_name

QUOTA_TYPES = {
    QuotaType.ELASTIC: queue_pb2.QUOTA_TYPE_ELASTIC,
    QuotaType.CAPABILITY: queue_pb2.QUOTA_TYPE_CAPABILITY,
}
ISOLATIONS = {
    Isolation.LOGICAL: queue_pb2.ISOLATION_LOGICAL,
    Isolation.PHYSICAL: queue_pb2.ISOLATION_PHYSICAL,
}
PREEMPTION_POLICIES = {
    PreemptionPolicy.RECLAIM_AND_PRIORITY: queue_pb2.PREEMPTION_POLICY_RECLAIM_AND_PRIORITY,
    PreemptionPolicy.RECLAIM_ONLY: queue_pb2.PREEMPTION_POLICY_RECLAIM_ONLY,
    PreemptionPolicy.NEVER: queue_pb2.PREEMPTION_POLICY_NEVER,
}
ORDER_POLICIES = {
    OrderPolicy.BEST_EFFORT: queue_pb2.ORDER_POLICY_BEST_EFFORT,
    OrderPolicy.STRICT_FIFO: queue_pb2.ORDER_POLICY_STRICT_FIFO,
}
STATES = {
    QueueState.OPEN: queue_pb2.QUEUE_STATE_OPEN,
    QueueState.HELD: queue_pb2.QUEUE_STATE_HELD,
    QueueState.DRAINING: queue_pb2.QUEUE_STATE_DRAINING,
    QueueState.CLOSING: queue_pb2.QUEUE_STATE_CLOSING,
    QueueState.CLOSED: queue_pb2.QUEUE_STATE_CLOSED,
}


def queue_message(standing: Standing) -> queue_pb2.Queue:
    queue = standing.queue
    return queue_pb2.Queue(
        name=queue.name,
        cluster=queue.cluster,
        namespace=queue.namespace,
        quota_type=QUOTA_TYPES[queue.quota_type],
        isolation=ISOLATIONS[queue.isolation],
        parent=queue.parent,
        min=resources_message(queue.min),
        max=resources_message(queue.max),
        lend_limit=resources_message(queue.lend_limit),
        weight=queue.weight,
        priority=queue.priority,
        preemption_policy=PREEMPTION_POLICIES[queue.preemption_policy],
        order_policy=ORDER_POLICIES[queue.order_policy],
        max_jobs=queue.max_jobs,
        max_per_user=resources_message(queue.max_per_user),
        max_jobs_per_user=queue.max_jobs_per_user,
        labels=queue.labels,
        state=STATES[queue.state],
        effective_max=resources_message(standing.effective_max),
        used=None if standing.used is None else resources_message(standing.used),
        create_time=timestamp(queue.create_time),
        update_time=timestamp(queue.update_time),
        etag=queue.etag,
    )


def new_queue(message: queue_pb2.Queue) -> Queue:
    """The queue to be made, what is not set filled in. InvalidArgument names each field that cannot be."""
    filled = queue_pb2.Queue()
    filled.CopyFrom(message)
    filled.namespace = message.namespace or DEFAULT_NAMESPACE
    filled.weight = message.weight or DEFAULT_WEIGHT
    queue = given_queue(filled)
    require(queue_violations(queue))
    return queue


def given_queue(message: queue_pb2.Queue) -> Queue:
    """The values that a caller gives, right or wrong; what is output only is passed over."""
    return Queue(
        name=message.name,
        cluster=message.cluster,
        namespace=message.namespace,
        quota_type=enum_value("queue.quota_type", message.quota_type, QUOTA_TYPES, QuotaType.ELASTIC),
        isolation=enum_value("queue.isolation", message.isolation, ISOLATIONS, Isolation.LOGICAL),
        parent=message.parent,
        min=resources_of(message.min),
        max=resources_of(message.max),
        lend_limit=resources_of(message.lend_limit),
        weight=message.weight,
        priority=message.priority,
        preemption_policy=enum_value(
            "queue.preemption_policy",
            message.preemption_policy,
            PREEMPTION_POLICIES,
            PreemptionPolicy.RECLAIM_AND_PRIORITY,
        ),
        order_policy=enum_value("queue.order_policy", message.order_policy, ORDER_POLICIES, OrderPolicy.BEST_EFFORT),
        max_jobs=message.max_jobs,
        max_per_user=resources_of(message.max_per_user),
        max_jobs_per_user=message.max_jobs_per_user,
        labels=dict(message.labels),
    )


def queue_filter(request: queue_pb2.ListQueuesRequest) -> QueueFilter:
    require(_filter_violations(request))
    states = {value: state for state, value in STATES.items()}
    return QueueFilter(
        cluster=request.cluster,
        namespace=request.namespace,
        parent=request.parent,
        states=frozenset(states[value] for value in request.states),
        name_prefix=request.name_prefix,
        labels=dict(request.labels),
    )


def existing(standing: Standing) -> queue_pb2.QueueEvent:
    """How a queue stands as a watch begins."""
    return queue_pb2.QueueEvent(kind=event_pb2.CHANGE_KIND_EXISTING, queue=queue_message(standing))


def fact(event: QueueChanged) -> Fact:
    """The event, ready to be stored."""
    told = queue_pb2.QueueEvent(kind=CHANGE_KINDS[event.kind], queue=queue_message(event.standing))
    subject = f"queue/{event.standing.queue.name}"
    return Fact(QUEUE_EVENT, subject, event.version, told.SerializeToString(deterministic=True))


def _filter_violations(request: queue_pb2.ListQueuesRequest) -> Iterator[Violation]:
    for field in ("cluster", "namespace", "parent", "name_prefix"):
        yield from plain_text(field, getattr(request, field), FILTER_LENGTH)
    for index, value in enumerate(request.states):
        if value not in STATES.values():
            yield Violation(f"states[{index}]", f"must be a state of queues, and is {value}")
    yield from labels("labels", request.labels)
