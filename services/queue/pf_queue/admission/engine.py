"""All pools together: what comes in is applied to records, and what is decided changes them.

Like the core, nothing here looks at a clock, at a file or at chance.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from paddleflow.problems import (
    Conflict,
    QueueNotFound,
    QueueStateConflict,
    WorkloadExists,
    WorkloadNotFound,
    WorkloadStateConflict,
)
from pf_queue.admission.changing import revised, smaller
from pf_queue.admission.core.decisions import Admit, Book, Decision, Evict, Grow, Unbook
from pf_queue.admission.core.pool import Pool, Tuning
from pf_queue.admission.core.workloads import Why
from pf_queue.admission.domain import (
    Admitted,
    Decided,
    DecisionKind,
    Effects,
    Evicting,
    Key,
    Outcome,
    Patience,
    Record,
    Released,
    Replicas,
    Requeued,
    Spec,
    Submitted,
    Updated,
    WorkloadState,
)
from pf_queue.admission.layout import Layout, PoolId
from pf_queue.admission.pace import Pace
from pf_queue.admission.planting import Arrangement, Planted, plant, replant
from pf_queue.admission.records import Records
from pf_queue.admission.refusals import mismatch, require_declared, require_possible, still_over, submitted_before
from pf_queue.admission.requeue import following
from pf_queue.admission.restore import workload_of
from pf_queue.quota.domain import QueueState

REMEMBERED = 10_000
TAKING = frozenset({QueueState.OPEN, QueueState.HELD, QueueState.DRAINING})


class Engine:
    """Who waits and who holds, in all pools."""

    def __init__(self, tuning: Tuning, patience: Patience) -> None:
        self._tuning = tuning
        self._patience = patience
        self.records = Records()
        """All that are not over."""
        self.pools: dict[PoolId, Pool] = {}
        self._layout = Layout({}, {}, {})
        self._number = 0
        self._effects = Effects()
        self._dirty: dict[PoolId, None] = {}
        self._over: dict[str, Record] = {}
        """The last that are over, so that a repeated call finds them before they are read from anywhere."""
        self._attempts: dict[str, str] = {}
        """By job, its last attempt; also if that is one of the last that are over."""
        self.admissions = Pace()
        self.evictions = Pace()

    @property
    def layout(self) -> Layout:
        return self._layout

    def arrange(self, layout: Layout, now: int) -> None:
        """The queues or the machines have changed."""
        self.take_over(self.arranged(layout, now))

    def arranged(self, layout: Layout, now: int) -> Arrangement:
        """What becomes of all pools then. Changes nothing: a thread may ask, if nothing else is changed meanwhile."""
        self._require_queues(layout)
        before = self._layout
        moved = {name for name, id_ in layout.pool_of.items() if before.pool_of.get(name, id_) != id_}
        mixed = {pool_of[name] for name in moved for pool_of in (before.pool_of, layout.pool_of)}
        on_record = self._on_record(layout) if mixed else {}
        planted: dict[PoolId, Planted] = {}
        for id_, wanted in sorted(layout.pools.items()):
            if before.pools.get(id_) != wanted:
                old = None if id_ in mixed else self.pools.get(id_)
                on = on_record.get(id_, ())
                planted[id_] = replant(wanted, old, now) if old else plant(wanted, on, self._tuning, now)
        return Arrangement(layout, planted, now)

    def take_over(self, arrangement: Arrangement) -> None:
        """Goes on with what was arranged for the state as it is."""
        self._layout = arrangement.layout
        for id_ in [id_ for id_ in self.pools if id_ not in self._layout.pools]:
            del self.pools[id_]
            self._dirty.pop(id_, None)
        self._set(arrangement.planted, arrangement.now)

    def restore(self, records: Iterable[Record], now: int) -> None:
        """Takes in what was stored, into pools that are empty."""
        for record in records:
            self._number = max(self._number, record.number)
            id_ = self._attempts[record.spec.key.job] = record.id
            self.records[id_] = record
        on_record, layouts = self._on_record(self._layout), self._layout.pools
        self._set({id_: plant(layouts[id_], on_record[id_], self._tuning, now) for id_ in self.pools}, now)

    @property
    def decided(self) -> int:
        """How much was decided since effects were asked for."""
        return len(self._effects.decided)

    def effects(self) -> Effects:
        """What has changed since this was asked last."""
        effects, self._effects = self._effects, Effects()
        return effects

    def submit(self, spec: Spec, now: int) -> Record:
        """A workload waits from now on; one that is known already is what it has become."""
        known = self.records.get(str(spec.key)) or self._over.get(str(spec.key))
        if known is not None:
            return submitted_before(known, spec)
        if (other := self.last(spec.key.job)) is not None:
            raise WorkloadExists(f"the workload {other.id} of the same job is not over; release it first")
        pool = self._admissible(spec)
        self._number += 1
        cluster = self._layout.pool_of[spec.queue].cluster
        version = spec.key.first_version
        record = Record(spec=spec, number=self._number, submitted=now, cluster=cluster, version=version)
        self._effects.added.add(record.id)
        self._wait(record, pool, now)
        self._effects.facts.append(Submitted(record))
        return record

    def release(self, key: Key, grant: str, outcome: Outcome, now: int) -> Record:
        """An attempt is over; an evicted one, and one that was not started, waits again as the next."""
        if str(key) not in self.records and (over := self._over.get(str(key))) is not None:
            return still_over(over, grant)
        record = self._known(key)
        if record.grant != grant:
            raise mismatch(record, grant)
        if outcome is Outcome.EVICTED and record.state is not WorkloadState.EVICTING:
            raise WorkloadStateConflict(f"the workload {key} is {record.state}, and was not told to leave")
        pool = self._pool(record.spec.queue)
        if record.holds:
            pool.release(record.id)
        elif record.state is WorkloadState.PENDING:
            pool.cancel(record.id)
        self._touch(record)
        over = replace(record, state=WorkloadState.RELEASED, outcome=outcome, version=record.version + 1)
        del self.records[record.id]
        self._effects.changed[record.id] = self._over[record.id] = over
        if len(self._over) > REMEMBERED:
            self._forget(next(iter(self._over)))
        self._effects.facts.append(Released(over, None if record.holds else ()))
        if record.holds and outcome in (Outcome.EVICTED, Outcome.NOT_STARTED):
            self._requeue(over, pool, now)
        return over

    def resize(self, key: Key, grant: str, left: Mapping[str, int]) -> Record:
        """A workload has given back surplus: so many replicas of each role are left above the least."""
        record = self._holding(key, grant)
        shrunk, counts = smaller(record, left)
        if shrunk is record:
            return record
        self._pool(record.spec.queue).shrink(record.id, counts)
        self._touch(record)
        self._keep(shrunk)
        self._effects.facts.append(Released(shrunk, counts))
        return shrunk

    def update(self, key: Key, priority: int, revision: int, now: int) -> Record:
        """A workload that waits is of another priority, unless a later wish of whoever asks is known already."""
        record = self._known(key)
        updated = revised(record, priority, revision)
        if updated is record:
            return record
        pool = self._pool(record.spec.queue)
        if updated.state is WorkloadState.PENDING and updated.spec.priority != record.spec.priority:
            pool.revise(workload_of(updated, pool.yard.tree.space), now)
            self._touch(record)
        self._keep(updated)
        self._effects.revised.add(updated.id)
        self._effects.facts.append(Updated(updated))
        return updated

    def running(self, key: Key, grant: str, now: int) -> None:
        """A workload was seen running; what is unknown is passed over."""
        record = self.records.get(str(key))
        if record is not None and record.holds and record.grant == grant and record.running is None:
            self._pool(record.spec.queue).running(record.id, now)
            self._keep(replace(record, running=now))

    def resume(self, key: Key, now: int) -> Record:
        """A held workload waits again."""
        record = self._known(key)
        if not record.waits:
            raise WorkloadStateConflict(f"the workload {key} is {record.state}; only one that is held can be resumed")
        if record.state is WorkloadState.PENDING:
            return record
        waiting = replace(record, state=WorkloadState.PENDING, requeues=0, not_before=0, version=record.version + 1)
        self._wait(waiting, self._pool(record.spec.queue), now)
        self._effects.facts.append(Requeued(waiting))
        return waiting

    def round(self, now: int) -> bool:
        """Decides for every pool in which something happened; True if there may be more to decide."""
        more = False
        due = [id_ for id_, pool in self.pools.items() if (at := pool.next_time()) is not None and at <= now]
        for id_ in dict.fromkeys((*self._dirty, *due)):
            decisions = self.pools[id_].round(now)
            for decision in decisions:
                self._apply(decision, now)
            if decisions:
                more = True
            else:
                self._dirty.pop(id_, None)
        return more

    def last(self, job: str) -> Record | None:
        """The attempt of a job that is not over."""
        return self.records.get(self._attempts.get(job, ""))

    def find(self, key: Key) -> Record | None:
        """An attempt, for 0 the last; None if it is over for so long that it has to be read."""
        id_ = str(key) if key.attempt else self._attempts.get(key.job, "")
        return self.records.get(id_) or self._over.get(id_)

    def emptied(self) -> Sequence[str]:
        """The queues that are closing and have no workload any more."""
        closing = {name for name, state in self._layout.states.items() if state is QueueState.CLOSING}
        return sorted(closing.difference(self.records.queues))

    def next_time(self) -> int | None:
        """When a round must be held even if nothing happens."""
        times = [at for pool in self.pools.values() if (at := pool.next_time()) is not None]
        return min(times, default=None)

    def pool_of(self, queue: str) -> Pool:
        """The pool of a queue; QueueNotFound if there is no such queue."""
        if queue not in self._layout.pool_of:
            raise QueueNotFound(f"there is no queue {queue!r}")
        return self._pool(queue)

    def _admissible(self, spec: Spec) -> Pool:
        """The pool of a workload that may wait there."""
        pool = self.pool_of(spec.queue)
        state = self._layout.states[spec.queue]
        if state not in TAKING:
            raise QueueStateConflict(f"the queue {spec.queue!r} is {state} and takes no workloads; choose another")
        require_declared(pool, spec)
        if self._layout.pools[self._layout.pool_of[spec.queue]].reported:
            require_possible(pool, spec)
        return pool

    def _wait(self, record: Record, pool: Pool, now: int) -> None:
        self._keep(record)
        self._touch(record)
        pool.submit(workload_of(record, pool.yard.tree.space), now)

    def _requeue(self, over: Record, pool: Pool, now: int) -> None:
        """The next attempt waits in the place of the one before, or is held if it failed to start too often."""
        next_one = following(over, self._patience, now)
        self._effects.added.add(next_one.id)
        held = next_one.state is WorkloadState.HELD
        if held:
            self._keep(next_one)
        else:
            self._wait(next_one, pool, now)
        self._effects.facts.append(Requeued(next_one))
        self._decide(next_one, DecisionKind.HOLD if held else DecisionKind.REQUEUE, now)

    def _apply(self, decision: Decision, now: int) -> None:
        record = self.records[decision.id]
        match decision:
            case Admit():
                self._admitted(record, now)
            case Grow(role=role, count=count):
                self._grown(record, role, count, now)
            case Evict():
                self._evicted(record, decision, now)
            case Book(deadline=deadline, starving=starving):
                self._keep(replace(record, kept_until=deadline, starving=starving))
                self._decide(record, DecisionKind.KEEP, now, record.base)
            case Unbook():
                self._keep(replace(record, kept_until=0, starving=False))
                self._decide(record, DecisionKind.KEEP_NO_MORE, now, record.base)

    def _admitted(self, record: Record, now: int) -> None:
        none = (0,) * len(record.spec.roles)
        holding = self._pool(record.spec.queue).yard.holdings[record.id]
        admitted = replace(
            record,
            state=WorkloadState.ADMITTED,
            grant=record.id,
            grant_version=1,
            admission=holding.number,
            since=now,
            start_by=now + self._patience.start_within,
            surplus=none,
            shrinking=none,
            kept_until=0,
            starving=False,
            version=record.version + 1,
        )
        self._keep(admitted)
        self._effects.facts.append(Admitted(admitted))
        self._decide(record, DecisionKind.ADMIT, now, record.base)
        self.admissions.add(record.spec.queue, now)

    def _grown(self, record: Record, role: int, count: int, now: int) -> None:
        counts = tuple(count if index == role else 0 for index in range(len(record.surplus)))
        grown = replace(
            record,
            surplus=tuple(a + b for a, b in zip(record.surplus, counts, strict=True)),
            grant_version=record.grant_version + 1,
            version=record.version + 1,
        )
        self._keep(grown)
        self._effects.facts.append(Admitted(grown))
        self._decide(record, DecisionKind.GROW, now, record.part(counts))

    def _evicted(self, record: Record, decision: Evict, now: int) -> None:
        version = record.version + 1
        leaving = replace(record, leave_by=decision.deadline, leaves_for=decision.beneficiary, version=version)
        if decision.counts is None:
            leaving = replace(leaving, state=WorkloadState.EVICTING)
        else:
            shrinking = tuple(a + b for a, b in zip(record.shrinking, decision.counts, strict=True))
            leaving = replace(leaving, shrinking=shrinking)
        self._keep(leaving)
        self._effects.facts.append(Evicting(leaving, decision.counts, decision.why, decision.beneficiary))
        self.evictions.add(record.spec.queue, now)
        told = record.part(decision.counts)
        self._decide(record, DecisionKind.EVICT, now, told, decision.why, decision.beneficiary)

    def _decide(
        self,
        record: Record,
        kind: DecisionKind,
        now: int,
        replicas: tuple[Replicas, ...] = (),
        why: Why | None = None,
        beneficiary: str = "",
    ) -> None:
        spec = record.spec
        self._effects.decided.append(Decided(now, spec.key, spec.queue, kind, replicas, why, beneficiary))

    def _keep(self, record: Record) -> None:
        self.records[record.id] = self._effects.changed[record.id] = record
        self._attempts[record.spec.key.job] = record.id

    def _forget(self, over: str) -> None:
        job = self._over.pop(over).spec.key.job
        if self._attempts.get(job) == over and over not in self.records:
            del self._attempts[job]

    def _touch(self, record: Record) -> None:
        self._dirty[self._layout.pool_of[record.spec.queue]] = None

    def _known(self, key: Key) -> Record:
        record = self.records.get(str(key))
        if record is None:
            raise WorkloadNotFound(f"there is no workload {key} that is not over")
        return record

    def _holding(self, key: Key, grant: str) -> Record:
        record = self._known(key)
        if not record.holds or record.grant != grant:
            raise mismatch(record, grant)
        return record

    def _require_queues(self, layout: Layout) -> None:
        """Raises Conflict if a queue was deleted while workloads came into it, which are not stored then."""
        gone = self._layout.pool_of.keys() - layout.pool_of.keys()
        if not gone.isdisjoint(self.records.queues):
            raise Conflict("a queue was deleted while workloads came into it; try again")

    def _pool(self, queue: str) -> Pool:
        return self.pools[self._layout.pool_of[queue]]

    def _on_record(self, layout: Layout) -> Mapping[PoolId, list[Record]]:
        found: defaultdict[PoolId, list[Record]] = defaultdict(list)
        for record in self.records.values():
            found[layout.pool_of[record.spec.queue]].append(record)
        return found

    def _set(self, planted: Mapping[PoolId, Planted], now: int) -> None:
        for id_, each in planted.items():
            self.pools[id_] = each.pool
            self._dirty[id_] = None
            for unbooked in each.unbooked:
                self._apply(Unbook(unbooked), now)
