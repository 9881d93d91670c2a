"""Datasets and shards to and from the wire."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from google.protobuf.duration_pb2 import Duration
from hypothesis import given
from hypothesis import strategies as st

from paddleflow.job.v1 import shard_pb2, spec_pb2
from paddleflow.models import (
    Dataset,
    DatasetOver,
    DatasetPlan,
    LeasedShard,
    LeaseOutcome,
    PassOver,
    Role,
    ShardLease,
    ShardState,
    ShardStatus,
    ShardWait,
)
from paddleflow.problems import InvalidArgument
from paddleflow.wire.shards import (
    dataset_from_wire,
    lease_from_wire,
    lease_to_wire,
    open_request,
    outcome_from_wire,
    status_from_wire,
)

COUNTS = st.integers(0, 2**62)
SMALL = st.integers(0, 2**31 - 1)
PLANS = st.builds(
    DatasetPlan,
    name=st.text(max_size=8),
    total=COUNTS,
    size=COUNTS,
    passes=SMALL,
    lease=st.timedeltas(timedelta(0), timedelta(days=1)),
    retries=SMALL,
    seed=st.none() | st.integers(-(2**63), 2**63 - 1),
)
LEASE = shard_pb2.ShardLease(dataset="d", pass_number=2, number=3, epoch=4)
OURS = ShardLease("d", 2, 3, 4)


@given(PLANS, st.lists(st.text(max_size=5), max_size=3))
def test_a_plan_survives_the_wire(plan: DatasetPlan, items: list[str]) -> None:
    request = open_request("j", plan, items)
    assert (request.job_id, list(request.items)) == ("j", items)
    assert dataset_from_wire(request.dataset).plan == plan


@given(st.builds(ShardLease, st.text(max_size=8), SMALL, COUNTS, COUNTS))
def test_a_lease_survives_the_wire(lease: ShardLease) -> None:
    assert lease_from_wire(lease_to_wire(lease)) == lease


def test_what_no_field_can_hold_is_refused_by_its_name() -> None:
    with pytest.raises(InvalidArgument) as raised:
        open_request("j", DatasetPlan("d", total=2**63), ())
    assert [wrong.field for wrong in raised.value.violations] == ["total"]


def test_a_dataset_tells_how_far_it_is() -> None:
    told = shard_pb2.Dataset(name="d", shards=9, pass_number=3, todo=1, leased=2, done=3, failed=3, failed_in_all=4)
    told.create_time.FromDatetime(datetime(2026, 1, 2, tzinfo=UTC))
    assert dataset_from_wire(told) == Dataset(
        plan=DatasetPlan("d", passes=0, lease=timedelta(), retries=0),
        shards=9,
        pass_number=3,
        todo=1,
        leased=2,
        done=3,
        failed=3,
        failed_in_all=4,
        create_time=datetime(2026, 1, 2, tzinfo=UTC),
    )


@pytest.mark.parametrize(
    ("reply", "outcome"),
    [
        (
            shard_pb2.LeaseShardResponse(
                shard=shard_pb2.Shard(
                    lease=LEASE, first=6, count=2, items=["a", "b"], remaining=Duration(seconds=9), failures=1
                )
            ),
            LeasedShard(OURS, 6, 2, ("a", "b"), timedelta(seconds=9), 1),
        ),
        (shard_pb2.LeaseShardResponse(wait=Duration(nanos=500_000_000)), ShardWait(timedelta(seconds=0.5))),
        (shard_pb2.LeaseShardResponse(pass_over=True, pass_number=2), PassOver(2)),
        (shard_pb2.LeaseShardResponse(over=True), DatasetOver()),
    ],
)
def test_each_outcome_of_a_wish_is_told(reply: shard_pb2.LeaseShardResponse, outcome: LeaseOutcome) -> None:
    assert outcome_from_wire(reply) == outcome


def test_a_shard_tells_how_it_stands() -> None:
    told = shard_pb2.ShardStatus(lease=LEASE, state=shard_pb2.SHARD_STATE_RETURNED, failures=1, reason="torn")
    told.MergeFrom(shard_pb2.ShardStatus(attempt=2, role=spec_pb2.ROLE_WORKER, index=5, first=6, count=2))
    assert status_from_wire(told) == ShardStatus(
        OURS, ShardState.RETURNED, 1, "torn", attempt=2, role=Role.WORKER, index=5, first=6, count=2
    )
