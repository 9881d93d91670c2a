"""What becomes of a dataset and its leases when trainers ask for shards, finish them and give them back."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from pf_job.jobs.domain import TaskState
from pf_job.runtimes.port import ReplicaKey
from pf_job.shards.domain import MOST_KEPT, MOST_LEASED, Claim, Dataset, Lease, Shard, ShardState, closed

LONGEST_WAIT = timedelta(seconds=1)
"""After which a trainer asks again that found nothing to do."""
TOLD = 10
"""Shards that failed for good in one pass and of which each is told."""
REASON = 1000
"""Characters of a reason that are kept."""


@dataclass(frozen=True, slots=True)
class Wish:
    """Somebody wants a shard."""

    holder: ReplicaKey
    pass_: int = 0
    """Only of this pass; 0: of any."""
    request: str = ""


@dataclass(frozen=True, slots=True)
class Finish:
    """Somebody is done with a shard."""

    lease: Lease


@dataclass(frozen=True, slots=True)
class GiveBack:
    """Somebody does not get done with a shard."""

    lease: Lease
    reason: str
    failed: bool


@dataclass(frozen=True, slots=True)
class Renew:
    """Somebody needs longer."""

    leases: Sequence[Lease]


@dataclass(frozen=True, slots=True)
class Wait:
    """There is nothing to be leased now."""

    time: timedelta


@dataclass(frozen=True, slots=True)
class PassOver:
    """The pass that was wished for is complete."""


@dataclass(frozen=True, slots=True)
class Over:
    """All passes are complete."""


@dataclass(frozen=True, slots=True)
class News:
    """Something that people should know."""

    what: str
    message: str
    holder: ReplicaKey | None = None


Ask = Wish | Finish | GiveBack | Renew
Outcome = Shard | Wait | PassOver | Over | bool | Sequence[Lease]


class Sheet:
    """A dataset, and those of its shards that somebody asks about, while one caller after the other is served."""

    def __init__(self, dataset: Dataset, shards: Iterable[Shard], claims: Sequence[Claim], now: datetime) -> None:
        """`claims` are the shards that can be leased again, those first that were given back first."""
        self.dataset = dataset
        self._before = dataset
        self._shards = {shard.lease.place: shard for shard in (*(claim.shard for claim in claims), *shards)}
        self._claims = deque(claims)
        self._now = now
        self._changed: set[tuple[int, int]] = set()
        self.news: list[News] = []

    @property
    def changed(self) -> bool:
        return bool(self._changed) or self.dataset != self._before

    @property
    def put(self) -> Sequence[Shard]:
        """Shards that are to be kept as they are now."""
        return [self._shards[place] for place in sorted(self._changed) if place in self._shards]

    @property
    def gone(self) -> Sequence[tuple[int, int]]:
        """Shards that need not be kept any more."""
        return [place for place in sorted(self._changed) if place not in self._shards]

    def answer(self, ask: Ask) -> Outcome:
        match ask:
            case Wish():
                return self.lease(ask)
            case Finish(lease):
                return self.finish(lease)
            case GiveBack(lease, reason, failed):
                return self.give_back(lease, reason, failed=failed)
            case Renew(leases):
                return self.renew(leases)

    def lease(self, wish: Wish) -> Shard | Wait | PassOver | Over:
        """The next shard for somebody."""
        if repeated := self._leased_by(wish):
            return self._keep(replace(repeated, until=self._now + self.dataset.plan.lease))
        while not self.dataset.over:
            dataset = self.dataset
            if 0 < wish.pass_ < dataset.pass_:
                return PassOver()
            if wish.pass_ > dataset.pass_ or dataset.leased >= MOST_LEASED:
                return self._wait
            if dataset.handed < dataset.plan.shards:
                return self._hand_out(wish)
            claim = self._next_claim()
            if claim is None:
                return self._wait
            shard = self._taken_back(claim, wish.holder.attempt)
            if shard.state is ShardState.RETURNED:
                return self._hand_out_again(shard, wish)
        return Over()

    def finish(self, lease: Lease) -> bool:
        """Counts a shard as done; False if this lease is not the last one, or is over."""
        shard = self._held(lease)
        if shard is None:
            return False
        self._drop(shard)
        self._count(replace(self.dataset, done=self.dataset.done + 1))
        return True

    def give_back(self, lease: Lease, reason: str, *, failed: bool) -> bool:
        """Takes a shard back that is not done; False as for `finish`."""
        shard = self._held(lease)
        if shard is None:
            return False
        self._take_back(shard, reason, failed=failed)
        return True

    def renew(self, leases: Sequence[Lease]) -> Sequence[Lease]:
        """Lets leases last anew; returns those that are still good."""
        held = [shard for lease in leases if (shard := self._held(lease))]
        for shard in held:
            self._keep(replace(shard, until=self._now + self.dataset.plan.lease))
        return [shard.lease for shard in held]

    @property
    def _wait(self) -> Wait:
        return Wait(min(LONGEST_WAIT, self.dataset.plan.lease / 4))

    def _leased_by(self, wish: Wish) -> Shard | None:
        """The shard that was leased to this wish before."""
        if not wish.request:
            return None
        return next((shard for shard in self._shards.values() if _answers(shard, wish)), None)

    def _hand_out(self, wish: Wish) -> Shard:
        dataset = self.dataset
        number, epoch = dataset.next_number, dataset.epoch + 1
        self.dataset = replace(dataset, handed=dataset.handed + 1, epoch=epoch, update_time=self._now)
        until = self._now + dataset.plan.lease
        lease = Lease(dataset.pass_, number, epoch)
        return self._keep(Shard(lease=lease, holder=wish.holder, request=wish.request, until=until))

    def _hand_out_again(self, shard: Shard, wish: Wish) -> Shard:
        dataset = self.dataset
        epoch = dataset.epoch + 1
        self.dataset = replace(dataset, returned=dataset.returned - 1, epoch=epoch, update_time=self._now)
        return self._keep(
            replace(
                shard,
                lease=replace(shard.lease, epoch=epoch),
                state=ShardState.LEASED,
                holder=wish.holder,
                request=wish.request,
                until=self._now + dataset.plan.lease,
            )
        )

    def _next_claim(self) -> Claim | None:
        """The next shard that can still be leased again: callers before may have finished or renewed it."""
        while self._claims:
            claim = self._claims.popleft()
            if self._shards.get(claim.shard.lease.place) == claim.shard:
                return claim
        return None

    def _taken_back(self, claim: Claim, attempt: int) -> Shard:
        """The shard as it is when nobody has it any more; the job is at this attempt."""
        shard = claim.shard
        if shard.state is ShardState.RETURNED:
            return shard
        if shard.holder.attempt < attempt:
            # The whole attempt ended, for a reason that has its own limit.
            return self._take_back(shard, "the attempt of the job ended", failed=False)
        match claim.ended:
            case None:
                return self._take_back(shard, "its lease ran out", failed=True)
            case TaskState.STOPPED:
                return self._take_back(shard, "its trainer was stopped", failed=False)
            case how:
                return self._take_back(shard, f"its trainer ended: {how}", failed=True)

    def _take_back(self, shard: Shard, reason: str, *, failed: bool) -> Shard:
        failures = shard.failures + failed
        told = replace(shard, failures=failures, reason=reason[:REASON], until=self._now)
        if failures > self.dataset.plan.retries:
            return self._give_up(replace(told, state=ShardState.FAILED))
        self.dataset = replace(self.dataset, returned=self.dataset.returned + 1, update_time=self._now)
        return self._keep(replace(told, state=ShardState.RETURNED))

    def _give_up(self, shard: Shard) -> Shard:
        dataset = self.dataset
        self._keep(shard)
        if dataset.kept >= MOST_KEPT:
            self._drop(shard)
        if dataset.failed < TOLD:
            self.news.append(News("shard-failed", _failure(dataset, shard), shard.holder))
        self._count(
            replace(
                dataset,
                failed=dataset.failed + 1,
                failed_in_all=dataset.failed_in_all + 1,
                kept=min(dataset.kept + 1, MOST_KEPT),
            )
        )
        return shard

    def _count(self, dataset: Dataset) -> None:
        """Keeps the dataset with one shard more that is done or failed."""
        self.dataset = closed(replace(dataset, update_time=self._now))
        if self.dataset.pass_ > dataset.pass_:
            self.news.append(News("pass-complete", _completion(dataset)))

    def _held(self, lease: Lease) -> Shard | None:
        """The shard of a lease that is still good."""
        shard = self._shards.get(lease.place)
        return shard if shard is not None and shard.lease == lease and shard.state is ShardState.LEASED else None

    def _keep(self, shard: Shard) -> Shard:
        self._shards[shard.lease.place] = shard
        self._changed.add(shard.lease.place)
        return shard

    def _drop(self, shard: Shard) -> None:
        del self._shards[shard.lease.place]
        self._changed.add(shard.lease.place)


def _answers(shard: Shard, wish: Wish) -> bool:
    return shard.state is ShardState.LEASED and (shard.request, shard.holder) == (wish.request, wish.holder)


def _failure(dataset: Dataset, shard: Shard) -> str:
    times = "once" if shard.failures == 1 else f"{shard.failures} times"
    return (
        f"shard {shard.lease.number} of {dataset.key.name} failed {times} in pass {shard.lease.pass_} and is left out: "
        f"{shard.reason or 'no reason was given'}"
    )


def _completion(dataset: Dataset) -> str:
    left_out = f", {dataset.failed} left out" if dataset.failed else ""
    return (
        f"pass {dataset.pass_} of {dataset.plan.passes} over {dataset.key.name} is complete: "
        f"{dataset.done} shards done{left_out}"
    )
