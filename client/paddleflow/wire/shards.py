"""Datasets and shards to and from the wire."""

from __future__ import annotations

from collections.abc import Sequence

from paddleflow.job.v1 import shard_pb2
from paddleflow.models.shards import (
    Dataset,
    DatasetOver,
    DatasetPlan,
    LeasedShard,
    LeaseOutcome,
    PassOver,
    ShardLease,
    ShardState,
    ShardStatus,
    ShardWait,
)
from paddleflow.wire.base import EnumCodec, build, duration_to_wire, time_from_wire
from paddleflow.wire.job_specs import ROLE

SHARD_STATE = EnumCodec(ShardState, shard_pb2.ShardState, "SHARD_STATE_")


def open_request(job_id: str, plan: DatasetPlan, items: Sequence[str]) -> shard_pb2.OpenDatasetRequest:
    dataset = build(
        shard_pb2.Dataset,
        name=plan.name,
        total=plan.total,
        size=plan.size,
        passes=plan.passes,
        lease=duration_to_wire("lease", plan.lease),
        retries=plan.retries,
        seed=plan.seed,
    )
    return build(shard_pb2.OpenDatasetRequest, job_id=job_id, dataset=dataset, items=items)


def dataset_from_wire(dataset: shard_pb2.Dataset) -> Dataset:
    plan = DatasetPlan(
        name=dataset.name,
        total=dataset.total,
        size=dataset.size,
        passes=dataset.passes,
        lease=dataset.lease.ToTimedelta(),
        retries=dataset.retries,
        seed=dataset.seed if dataset.HasField("seed") else None,
    )
    return Dataset(
        plan=plan,
        shards=dataset.shards,
        pass_number=dataset.pass_number,
        todo=dataset.todo,
        leased=dataset.leased,
        done=dataset.done,
        failed=dataset.failed,
        failed_in_all=dataset.failed_in_all,
        over=dataset.over,
        create_time=time_from_wire(dataset, "create_time"),
        update_time=time_from_wire(dataset, "update_time"),
    )


def outcome_from_wire(reply: shard_pb2.LeaseShardResponse) -> LeaseOutcome:
    match reply.WhichOneof("outcome"):
        case "shard":
            return _shard_from_wire(reply.shard)
        case "wait":
            return ShardWait(reply.wait.ToTimedelta())
        case "pass_over":
            return PassOver(reply.pass_number)
        case _:
            return DatasetOver()


def lease_from_wire(lease: shard_pb2.ShardLease) -> ShardLease:
    return ShardLease(lease.dataset, lease.pass_number, lease.number, lease.epoch)


def lease_to_wire(lease: ShardLease) -> shard_pb2.ShardLease:
    return build(
        shard_pb2.ShardLease,
        dataset=lease.dataset,
        pass_number=lease.pass_number,
        number=lease.number,
        epoch=lease.epoch,
    )


def status_from_wire(status: shard_pb2.ShardStatus) -> ShardStatus:
    return ShardStatus(
        lease=lease_from_wire(status.lease),
        state=SHARD_STATE.member(status.state),
        failures=status.failures,
        reason=status.reason,
        attempt=status.attempt,
        role=ROLE.member(status.role),
        index=status.index,
        until=time_from_wire(status, "until"),
        first=status.first,
        count=status.count,
    )


def _shard_from_wire(shard: shard_pb2.Shard) -> LeasedShard:
    return LeasedShard(
        lease=lease_from_wire(shard.lease),
        first=shard.first,
        count=shard.count,
        items=tuple(shard.items),
        remaining=shard.remaining.ToTimedelta(),
        failures=shard.failures,
    )
