"""Between the messages of the contract and the values of the domain."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from hashlib import blake2b
from itertools import islice

from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp

from paddleflow.job.v1 import shard_pb2
from paddleflow.problems import InvalidArgument, Violation
from pf_job.shards.domain import LEASE, RETRIES, Dataset, Lease, Plan, Shard, ShardState
from pf_job.specs.convert import ROLES
from pf_job.specs.domain import Role
from pf_kit.fields import within

ID_LENGTH = 512
LARGEST = 2**60
"""Records of a dataset."""
MOST_SHARDS = 1_000_000
MOST_PASSES = 10_000
MOST_RETRIES = 100
SHORTEST_LEASE, LONGEST_LEASE = 1, 24 * 3600
"""In seconds."""
MOST_ITEMS = 100_000
ITEM_BYTES = 4096
ITEMS_BYTES = 3 * 2**20
MOST_LEASES = 1000
"""Of one request."""
NAME = re.compile(r"[A-Za-z0-9._-]{1,63}", re.ASCII)

STATES: Mapping[ShardState, shard_pb2.ShardState.ValueType] = {
    state: shard_pb2.ShardState.Value(f"SHARD_STATE_{state.name}") for state in ShardState
}


def job_named(id_: str) -> str:
    """The id of a job, as a request has it; empty if it names none."""
    if len(id_) > ID_LENGTH or "\0" in id_:
        raise InvalidArgument.of(Violation("job_id", f"must be text of at most {ID_LENGTH} characters"))
    return id_


def named(field: str, name: str) -> str:
    """A name that a dataset can have."""
    _refuse(_name(field, name))
    return name


def plan_of(request: shard_pb2.OpenDatasetRequest) -> Plan:
    """How a dataset is to be handed out. InvalidArgument names each field that cannot be."""
    dataset, items = request.dataset, [item.encode() for item in request.items]
    _refuse(_plan_violations(dataset, items))
    return Plan(
        total=len(items) or dataset.total,
        size=dataset.size or 1,
        passes=dataset.passes or 1,
        lease=dataset.lease.ToTimedelta() if dataset.HasField("lease") else LEASE,
        retries=dataset.retries if dataset.HasField("retries") else RETRIES,
        seed=dataset.seed if dataset.HasField("seed") else None,
        digest=_digest(items) if items else b"",
    )


def pass_of(field: str, number: int) -> int:
    if not 0 <= number <= MOST_PASSES:
        raise InvalidArgument.of(Violation(field, f"must be from 0 to {MOST_PASSES}"))
    return number


def lease_of(field: str, message: shard_pb2.ShardLease) -> Lease:
    """A lease, without its dataset."""
    named(f"{field}.dataset", message.dataset)
    if min(message.pass_number, message.number, message.epoch) < 0:
        raise InvalidArgument.of(Violation(field, "must be one that was given out"))
    return Lease(message.pass_number, message.number, message.epoch)


def finished_of(request: shard_pb2.LeaseShardRequest) -> Lease:
    """The lease that is to be finished first; one of another dataset may look like somebody's lease of this one."""
    lease = lease_of("finished", request.finished)
    if request.finished.dataset != request.dataset:
        raise InvalidArgument.of(Violation("finished.dataset", "must be the dataset of which a shard is wanted"))
    return lease


def leases_of(request: shard_pb2.RenewLeasesRequest) -> Mapping[str, Sequence[Lease]]:
    """Leases by dataset."""
    if len(request.leases) > MOST_LEASES:
        raise InvalidArgument.of(Violation("leases", f"must be at most {MOST_LEASES}"))
    found: dict[str, list[Lease]] = {}
    for at, message in enumerate(request.leases):
        found.setdefault(message.dataset, []).append(lease_of(f"leases[{at}]", message))
    return found


def reason_of(request: shard_pb2.ReturnShardRequest) -> str:
    return request.reason.replace("\0", "")


def states_of(request: shard_pb2.ListShardsRequest) -> Sequence[ShardState]:
    """Which shards are asked for."""
    known = {number: state for state, number in STATES.items()}
    if unknown := [number for number in request.states if number not in known]:
        raise InvalidArgument.of(Violation("states", f"{unknown[0]} is none that this server knows"))
    return [known[number] for number in request.states] or list(ShardState)


def dataset_message(dataset: Dataset) -> shard_pb2.Dataset:
    plan = dataset.plan
    return shard_pb2.Dataset(
        name=dataset.key.name,
        total=plan.total,
        size=plan.size,
        passes=plan.passes,
        lease=duration(plan.lease),
        retries=plan.retries,
        seed=plan.seed,
        shards=plan.shards,
        pass_number=dataset.pass_,
        todo=dataset.todo,
        leased=dataset.leased,
        done=dataset.done,
        failed=dataset.failed,
        failed_in_all=dataset.failed_in_all,
        over=dataset.over,
        create_time=_stamp(dataset.create_time),
        update_time=_stamp(dataset.update_time),
    )


def shard_message(dataset: Dataset, shard: Shard, items: Sequence[str]) -> shard_pb2.Shard:
    """A shard as whoever has leased it is told of it."""
    span = dataset.plan.span(shard.lease.number)
    return shard_pb2.Shard(
        lease=lease_message(dataset.key.name, shard.lease),
        first=span.first,
        count=span.count,
        items=items,
        remaining=duration(dataset.plan.lease),
        failures=shard.failures,
    )


def status_message(dataset: Dataset, shard: Shard) -> shard_pb2.ShardStatus:
    """A shard as those are told of it who look on."""
    span, holder = dataset.plan.span(shard.lease.number), shard.holder
    return shard_pb2.ShardStatus(
        lease=lease_message(dataset.key.name, shard.lease),
        state=STATES[shard.state],
        failures=shard.failures,
        reason=shard.reason,
        attempt=holder.attempt,
        role=ROLES[Role(holder.role)],
        index=holder.index,
        until=_stamp(shard.until),
        first=span.first,
        count=span.count,
    )


def lease_message(dataset: str, lease: Lease) -> shard_pb2.ShardLease:
    return shard_pb2.ShardLease(dataset=dataset, pass_number=lease.pass_, number=lease.number, epoch=lease.epoch)


def duration(time: timedelta) -> Duration:
    message = Duration()
    message.FromTimedelta(time)
    return message


def _stamp(time: datetime) -> Timestamp:
    message = Timestamp()
    message.FromDatetime(time)
    return message


def _digest(items: Sequence[bytes]) -> bytes:
    """Tells lists of items apart, wherever one item ends and the next begins."""
    hashed = blake2b(digest_size=16, person=b"items")
    for item in items:
        hashed.update(len(item).to_bytes(4, "big") + item)
    return hashed.digest()


def _plan_violations(dataset: shard_pb2.Dataset, items: Sequence[bytes]) -> Iterator[Violation]:
    yield from _name("dataset.name", dataset.name)
    yield from _size_violations(dataset, len(items))
    yield from within("dataset.passes", dataset.passes, 0, MOST_PASSES)
    yield from within("dataset.retries", dataset.retries, 0, MOST_RETRIES)
    if dataset.HasField("lease"):
        yield from _lease_violations(dataset.lease)
    yield from _item_violations(items)


def _size_violations(dataset: shard_pb2.Dataset, items: int) -> Iterator[Violation]:
    total = items or dataset.total
    if items and dataset.total not in (0, items):
        yield Violation("dataset.total", f"must be left out, or be the number of items, {items}")
    elif not 1 <= total <= LARGEST:
        yield Violation("dataset.total", f"must be from 1 to {LARGEST}, unless there are items")
    if not 0 <= dataset.size <= LARGEST:
        yield Violation("dataset.size", f"must be from 0 to {LARGEST}")
    elif total > MOST_SHARDS * (dataset.size or 1):
        yield Violation("dataset.size", f"must be larger: there are at most {MOST_SHARDS} shards")


def _lease_violations(lease: Duration) -> Iterator[Violation]:
    # Compared as they are: there are durations that no timedelta can hold.
    if not (SHORTEST_LEASE, 0) <= (lease.seconds, lease.nanos) <= (LONGEST_LEASE, 0):
        yield Violation("dataset.lease", f"must be from {SHORTEST_LEASE} to {LONGEST_LEASE} seconds")


def _item_violations(items: Sequence[bytes]) -> Iterator[Violation]:
    if len(items) > MOST_ITEMS:
        yield Violation("items", f"must be at most {MOST_ITEMS}")
    if sum(map(len, items)) > ITEMS_BYTES:
        yield Violation("items", f"must have at most {ITEMS_BYTES // 2**20} MiB together")
    wrong = (at for at, item in enumerate(items) if len(item) > ITEM_BYTES or b"\0" in item)
    # The first will do: a list that was made wrongly is wrong everywhere.
    for at in islice(wrong, 1):
        yield Violation(f"items[{at}]", f"must have at most {ITEM_BYTES} bytes, none of them NUL")


def _name(field: str, name: str) -> Iterator[Violation]:
    if not NAME.fullmatch(name):
        yield Violation(field, "must be 1 to 63 letters, digits, '.', '_' and '-'")


def _refuse(violations: Iterator[Violation]) -> None:
    if wrong := tuple(violations):
        raise InvalidArgument.of(*wrong)
