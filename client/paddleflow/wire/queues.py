"""Queues to and from the wire."""

from __future__ import annotations

from google.protobuf.field_mask_pb2 import FieldMask

from paddleflow.models.queues import (
    Isolation,
    OrderPolicy,
    PreemptionPolicy,
    Queue,
    QueueChanges,
    QueueState,
    QuotaType,
)
from paddleflow.queue.v1 import queue_pb2
from paddleflow.wire.base import EnumCodec, amounts_from_wire, amounts_to_wire, build, time_from_wire, write_changes

QUOTA_TYPE = EnumCodec(QuotaType, queue_pb2.QuotaType, "QUOTA_TYPE_")
ISOLATION = EnumCodec(Isolation, queue_pb2.Isolation, "ISOLATION_")
PREEMPTION_POLICY = EnumCodec(PreemptionPolicy, queue_pb2.PreemptionPolicy, "PREEMPTION_POLICY_")
ORDER_POLICY = EnumCodec(OrderPolicy, queue_pb2.OrderPolicy, "ORDER_POLICY_")
STATE = EnumCodec(QueueState, queue_pb2.QueueState, "QUEUE_STATE_")


def queue_to_wire(queue: Queue) -> queue_pb2.Queue:
    """The queue as it is sent: without what only the server fills."""
    return build(
        queue_pb2.Queue,
        name=queue.name,
        cluster=queue.cluster,
        namespace=queue.namespace,
        quota_type=QUOTA_TYPE.number(queue.quota_type),
        isolation=ISOLATION.number(queue.isolation),
        parent=queue.parent,
        min=amounts_to_wire(queue.min),
        max=amounts_to_wire(queue.max),
        lend_limit=amounts_to_wire(queue.lend_limit),
        weight=queue.weight,
        priority=queue.priority,
        preemption_policy=PREEMPTION_POLICY.number(queue.preemption_policy),
        order_policy=ORDER_POLICY.number(queue.order_policy),
        max_jobs=queue.max_jobs,
        max_per_user=amounts_to_wire(queue.max_per_user),
        max_jobs_per_user=queue.max_jobs_per_user,
        labels=queue.labels,
        etag=queue.etag,
    )


def queue_from_wire(queue: queue_pb2.Queue) -> Queue:
    return Queue(
        name=queue.name,
        cluster=queue.cluster,
        namespace=queue.namespace,
        quota_type=QUOTA_TYPE.member(queue.quota_type),
        isolation=ISOLATION.member(queue.isolation),
        parent=queue.parent,
        min=amounts_from_wire(queue.min),
        max=amounts_from_wire(queue.max),
        lend_limit=amounts_from_wire(queue.lend_limit),
        weight=queue.weight,
        priority=queue.priority,
        preemption_policy=PREEMPTION_POLICY.member(queue.preemption_policy),
        order_policy=ORDER_POLICY.member(queue.order_policy),
        max_jobs=queue.max_jobs,
        max_per_user=amounts_from_wire(queue.max_per_user),
        max_jobs_per_user=queue.max_jobs_per_user,
        labels=dict(queue.labels),
        state=STATE.member(queue.state),
        effective_max=amounts_from_wire(queue.effective_max),
        used=amounts_from_wire(queue.used) if queue.HasField("used") else None,
        create_time=time_from_wire(queue, "create_time"),
        update_time=time_from_wire(queue, "update_time"),
        etag=queue.etag,
    )


def queue_changes_to_wire(name: str, etag: str, changes: QueueChanges) -> tuple[queue_pb2.Queue, FieldMask]:
    """The new values, and which fields they are for."""
    queue = build(queue_pb2.Queue, name=name, etag=etag)
    return queue, write_changes(queue, changes, {"preemption_policy": PREEMPTION_POLICY, "order_policy": ORDER_POLICY})
