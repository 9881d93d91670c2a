"""What must hold of everything that admission has stored, whoever died when."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import asyncpg

from paddleflow.queue.v1 import workload_pb2

Key = tuple[str, int]
OVER = (workload_pb2.RELEASE_OUTCOME_FINISHED, workload_pb2.RELEASE_OUTCOME_CANCELLED)
BACK = (workload_pb2.RELEASE_OUTCOME_EVICTED, workload_pb2.RELEASE_OUTCOME_NOT_STARTED)
CANCELLED = workload_pb2.RELEASE_OUTCOME_CANCELLED


@dataclass(frozen=True)
class Told:
    """An event as it is stored."""

    xid: int
    """The transaction that stored it."""
    event: workload_pb2.WorkloadEvent

    @property
    def fact(self) -> str:
        return str(self.event.WhichOneof("fact"))

    @property
    def key(self) -> Key:
        key = getattr(self.event, self.fact).key
        return key.job_id, key.attempt

    @property
    def begins(self) -> bool:
        """True for the admission itself, False for what is given or taken later."""
        return self.fact == "admitted" and self.event.admitted.grant_version == 1

    @property
    def outcome(self) -> workload_pb2.ReleaseOutcome.ValueType:
        return self.event.released.outcome


@dataclass(frozen=True)
class History:
    """All that is stored when every workload is over."""

    told: Sequence[Told]
    """In the order in which watchers hear it."""
    decided: Mapping[tuple[Key, str], int]
    """How often the log of decisions has which kind for whom."""
    fences: Mapping[int, int]
    """By transaction of a leader, the fence it was made under."""
    left: Sequence[str] = ()
    """Workloads that are not over."""


async def history(dsn: str) -> History:
    connection = await asyncpg.connect(dsn)
    try:
        told = await connection.fetch(
            "select xid::text::bigint, payload from queue.outbox where subject like 'workload/%' order by xid, id"
        )
        decided = await connection.fetch(
            "select job, attempt, kind, count(*) from queue.decisions group by job, attempt, kind"
        )
        fences = await connection.fetch("select xid::text::bigint, fence from public.turns")
        left = await connection.fetch("select id from queue.workloads")
    finally:
        await connection.close()
    return History(
        [Told(row["xid"], workload_pb2.WorkloadEvent.FromString(row["payload"])) for row in told],
        {((row["job"], row["attempt"]), row["kind"]): row["count"] for row in decided},
        {row["xid"]: row["fence"] for row in fences},
        [row["id"] for row in left],
    )


def require_exactly_once(
    found: History, *, submitted: Collection[str], cancelled: Collection[Key], capacity: int
) -> None:
    """`submitted` and `cancelled` are those whose callers were told so; `capacity` is in replicas."""
    assert not found.left, f"these are not over: {found.left}"
    lives: defaultdict[str, list[Told]] = defaultdict(list)
    for each in found.told:
        lives[each.key[0]].append(each)
    lost = [job for job in submitted if job not in lives]
    assert not lost, f"these were acknowledged and are lost: {lost}"
    for life in lives.values():
        require_life(life)
    for key in cancelled:
        require_cancelled(key, lives[key[0]])
    require_ledger(found.told, capacity)
    require_decisions(found)
    require_one_leader(found)


def require_life(life: Sequence[Told]) -> None:
    """A job is submitted once, each attempt is admitted at most once and ends once, and the last one for good."""
    story = [(each.key[1], each.fact) for each in life]
    job = life[0].key[0]
    assert [each.fact for each in life].count("submitted") == 1, f"{job} was submitted twice, or never: {story}"
    assert life[0].fact == "submitted", f"{job} was there before it was submitted: {story}"
    twice = [key for key, times in Counter(each.key for each in life if each.begins).items() if times > 1]
    assert not twice, f"{twice} was admitted twice: {story}"
    over: set[Key] = set()
    for before, each in zip([None, *life], life, strict=False):
        assert each.key not in over, f"something happens to {each.key} after its end: {story}"
        if before is not None and before.key != each.key:
            assert each.fact == "requeued", f"{each.key} comes from nowhere: {story}"
            assert before.outcome in BACK, f"{each.key} comes back after {before.key} was not sent back: {story}"
        if each.fact == "released" and each.outcome:
            over.add(each.key)
    assert life[-1].outcome in OVER, f"{job} is lost on its way: {story}"


def require_cancelled(key: Key, life: Sequence[Told]) -> None:
    """A cancel that was answered is the last that is heard of a job."""
    story = [(each.key[1], each.fact) for each in life]
    ends = [number for number, each in enumerate(life) if each.key == key and each.outcome == CANCELLED]
    assert ends, f"{key} was not cancelled, and its caller was told so: {story}"
    assert ends[0] == len(life) - 1, f"{key} goes on after its cancel: {story}"


def require_seen(seen: Collection[tuple[Key, workload_pb2.WorkloadState.ValueType]], told: Sequence[Told]) -> None:
    """What callers were told when they asked has happened, and is not lost with whoever told it."""
    stood = {(each.key, state) for each in told for state in _states(each)}
    untrue = [(key, workload_pb2.WorkloadState.Name(state)) for key, state in seen if (key, state) not in stood]
    assert not untrue, f"callers were told what has never been stored: {untrue}"


def require_revised(revised: Mapping[str, int], told: Sequence[Told]) -> None:
    """Each change that callers were told of is stored, and none was undone by an older one."""
    known: dict[str, int] = {}
    for each in told:
        if each.fact == "updated":
            job, revision = each.key[0], each.event.updated.revision
            assert revision > known.get(job, 0), f"{job} was changed to {revision} after {known[job]}"
            known[job] = revision
    lost = [job for job, revision in revised.items() if known.get(job, 0) < revision]
    assert not lost, f"these were changed, and nothing is known of it: {lost}"


def _states(each: Told) -> Iterator[workload_pb2.WorkloadState.ValueType]:
    """In which states a workload may be seen because of an event."""
    match each.fact:
        case "submitted":
            yield workload_pb2.WORKLOAD_STATE_PENDING
        case "updated":
            yield each.event.updated.state
        case "requeued":
            yield workload_pb2.WORKLOAD_STATE_HELD if each.event.requeued.held else workload_pb2.WORKLOAD_STATE_PENDING
        case "admitted":
            yield workload_pb2.WORKLOAD_STATE_ADMITTED
        case "evicting":
            yield workload_pb2.WORKLOAD_STATE_EVICTING
        case "released" if each.outcome:
            yield workload_pb2.WORKLOAD_STATE_RELEASED


def require_ledger(told: Sequence[Told], capacity: int) -> None:
    """What is given back is what was held, never is more held than there is, and nothing in the end."""
    held: defaultdict[Key, int] = defaultdict(int)
    for each in told:
        if each.fact == "admitted":
            held[each.key] = _replicas(each.event.admitted.roles)
        elif each.fact == "released":
            held[each.key] -= _replicas(each.event.released.replicas)
            rest = held[each.key]
            assert rest >= 0, f"{each.key} gives back {-rest} more than it held"
            assert not rest or not each.outcome, f"{each.key} is over and keeps {rest}"
        assert sum(held.values()) <= capacity, f"more than {capacity} is held with {each.key}"
    kept = {key: replicas for key, replicas in held.items() if replicas}
    assert not kept, f"this has leaked: {kept}"


def _replicas(roles: Sequence[workload_pb2.RoleGrant]) -> int:
    return sum(role.base + role.surplus for role in roles)


def require_decisions(found: History) -> None:
    """The log of decisions has what the events have, as often."""
    events = Counter((each.key, kind) for each in found.told for kind in _kinds(each))
    log = {which: times for which, times in found.decided.items() if which[1] not in ("keep", "keep_no_more")}
    differing = {which: (events[which], log.get(which, 0)) for which in events | log if events[which] != log.get(which)}
    assert not differing, f"events and decisions differ: {differing}"


def _kinds(each: Told) -> Iterator[str]:
    match each.fact:
        case "admitted":
            yield "admit" if each.begins else "grow"
        case "evicting":
            yield "evict"
        case "requeued":
            yield "hold" if each.event.requeued.held else "requeue"


def require_one_leader(found: History) -> None:
    """Every event was stored under a fence, and none under one that somebody else had overtaken by then."""
    without = {each.xid for each in found.told} - found.fences.keys()
    assert not without, f"these transactions have no fence: {without}"
    for (earlier, fence), (later, next_fence) in pairwise(sorted(found.fences.items())):
        assert fence <= next_fence, f"transaction {later} of leader {next_fence} came after {earlier} of leader {fence}"
