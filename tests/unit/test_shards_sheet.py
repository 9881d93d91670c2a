"""What becomes of a dataset and its leases: case by case."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from pf_job.jobs.domain import TaskKey, TaskState
from pf_job.shards.domain import MOST_KEPT, MOST_LEASED, Claim, Dataset, DatasetKey, Lease, Plan, Shard, ShardState
from pf_job.shards.sheet import TOLD, Over, PassOver, Renew, Sheet, Wait, Wish

NOW = datetime(2030, 1, 1, tzinfo=UTC)
SECOND = timedelta(seconds=1)
ADA = TaskKey("j", 1, "worker", 0, 0)
BOB = TaskKey("j", 1, "worker", 1, 0)


def dataset(shards: int = 3, **more: Any) -> Dataset:
    plan = Plan(total=shards, **{key: more.pop(key) for key in ("passes", "retries", "lease") if key in more})
    return Dataset(key=DatasetKey("j", "d"), plan=plan, create_time=NOW, update_time=NOW, **more)


def sheet(of: Dataset, *known: Shard, claims: tuple[Claim, ...] = (), now: datetime = NOW + SECOND) -> Sheet:
    return Sheet(of, known, claims, now)


def leased(number: int = 0, **more: Any) -> Shard:
    given = {"lease": Lease(1, number, number + 1), "holder": ADA, "until": NOW + 60 * SECOND}
    return Shard(**{**given, **more})


def got(outcome: object) -> Shard:
    assert isinstance(outcome, Shard)
    return outcome


def test_shards_are_handed_out_in_order_then_there_is_nothing_to_do_but_wait() -> None:
    page = sheet(dataset(2))
    assert [got(page.lease(Wish(ADA))).lease for _ in range(2)] == [Lease(1, 0, 1), Lease(1, 1, 2)]
    assert page.lease(Wish(BOB)) == Wait(SECOND)
    assert (page.dataset.todo, page.dataset.leased, page.dataset.epoch) == (0, 2, 2)
    assert [shard.until for shard in page.put] == [NOW + 61 * SECOND] * 2


def test_a_short_lease_makes_the_wait_short() -> None:
    page = sheet(dataset(1, handed=1, lease=2 * SECOND))
    assert page.lease(Wish(ADA)) == Wait(SECOND / 2)


def test_the_same_wish_gets_the_same_shard() -> None:
    page = sheet(dataset())
    first = got(page.lease(Wish(ADA, request="r")))
    assert got(page.lease(Wish(ADA, request="r"))).lease == first.lease
    assert got(page.lease(Wish(BOB, request="r"))).lease != first.lease, "another one's wish"
    assert got(page.lease(Wish(ADA))).lease != first.lease


def test_a_shard_is_finished_once() -> None:
    page = sheet(dataset(handed=1, epoch=1), leased())
    assert [page.finish(Lease(1, 0, 1)) for _ in range(2)] == [True, False]
    assert (page.dataset.done, page.put, page.gone) == (1, [], [(1, 0)])


@pytest.mark.parametrize(
    "late", [Lease(1, 0, 0), Lease(1, 0, 2), Lease(2, 0, 1), Lease(1, 1, 1)], ids=["older", "newer", "pass", "number"]
)
def test_only_the_last_lease_of_a_shard_counts(late: Lease) -> None:
    page = sheet(dataset(handed=1, epoch=1), leased())
    assert not page.finish(late)
    assert not page.give_back(late, "", failed=True)
    assert page.renew([late]) == []
    assert not page.changed
    assert (page.put, page.gone) == ([], [])


def test_a_lease_that_ran_out_is_still_good_until_somebody_else_has_the_shard() -> None:
    page = sheet(dataset(handed=1, epoch=1), leased(until=NOW))
    assert page.finish(Lease(1, 0, 1))


def test_what_was_given_back_comes_after_all_that_nobody_had() -> None:
    returned = leased(state=ShardState.RETURNED, until=NOW)
    page = sheet(dataset(2, handed=1, returned=1, epoch=1), claims=(Claim(returned),))
    assert [got(page.lease(Wish(BOB))).lease for _ in range(2)] == [Lease(1, 1, 2), Lease(1, 0, 3)]
    assert page.dataset.returned == 0


@pytest.mark.parametrize(
    ("claim", "attempt", "failures", "reason"),
    [
        (Claim(leased(until=NOW)), 1, 1, "its lease ran out"),
        (Claim(leased(), TaskState.LOST), 1, 1, "its trainer ended: lost"),
        (Claim(leased(), TaskState.SUCCEEDED), 1, 1, "its trainer ended: succeeded"),
        (Claim(leased(), TaskState.STOPPED), 1, 0, "its trainer was stopped"),
        (Claim(leased(until=NOW)), 2, 0, "the attempt of the job ended"),
    ],
)
def test_a_shard_whose_trainer_is_gone_is_leased_again(claim: Claim, attempt: int, failures: int, reason: str) -> None:
    page = sheet(dataset(1, handed=1, epoch=1), claims=(claim,))
    again = got(page.lease(Wish(replace(BOB, attempt=attempt))))
    assert (again.lease, again.failures, again.reason, again.state) == (
        Lease(1, 0, 2),
        failures,
        reason,
        ShardState.LEASED,
    )
    assert not page.finish(Lease(1, 0, 1)), "who had it before is too late"


def test_what_was_finished_or_renewed_just_before_is_not_leased_again() -> None:
    first, second = leased(0, until=NOW), leased(1, until=NOW)
    page = sheet(dataset(2, handed=2, epoch=2), first, second, claims=(Claim(first), Claim(second)))
    assert page.finish(first.lease)
    assert page.answer(Renew([second.lease])) == [second.lease]
    assert isinstance(page.lease(Wish(BOB)), Wait)


def test_a_shard_that_fails_too_often_is_left_out() -> None:
    page = sheet(dataset(2, handed=1, epoch=1, retries=1), leased())
    assert page.give_back(Lease(1, 0, 1), "a" * 2000, failed=True)
    (returned,) = page.put
    assert (returned.state, returned.failures, len(returned.reason)) == (ShardState.RETURNED, 1, 1000)
    again = sheet(page.dataset, leased(failures=1))
    assert again.give_back(Lease(1, 0, 1), "", failed=True)
    assert [shard.state for shard in again.put] == [ShardState.FAILED]
    assert [news.message for news in again.news] == [
        "shard 0 of d failed 2 times in pass 1 and is left out: no reason was given"
    ]
    assert (again.dataset.failed, again.dataset.failed_in_all, again.dataset.returned) == (1, 1, 1)


def test_to_have_no_time_for_a_shard_does_not_count_against_it() -> None:
    page = sheet(dataset(2, handed=1, epoch=1, retries=0), leased())
    assert page.give_back(Lease(1, 0, 1), "going", failed=False)
    assert [(shard.state, shard.failures) for shard in page.put] == [(ShardState.RETURNED, 0)]


def test_the_last_shard_of_a_pass_begins_the_next() -> None:
    page = sheet(dataset(2, passes=2, handed=2, done=1, epoch=2), leased(1))
    assert page.lease(Wish(ADA, pass_=2)) == Wait(SECOND)
    assert page.finish(Lease(1, 1, 2))
    assert (page.dataset.pass_, page.dataset.todo, page.dataset.done) == (2, 2, 0)
    assert [news.message for news in page.news] == ["pass 1 of 2 over d is complete: 2 shards done"]
    assert page.lease(Wish(ADA, pass_=1)) == PassOver()
    assert got(page.lease(Wish(ADA))).lease == Lease(2, 0, 3)


def test_when_all_passes_are_complete_there_is_nothing_more() -> None:
    page = sheet(dataset(1, handed=1, epoch=1), leased())
    assert page.finish(Lease(1, 0, 1))
    assert (page.dataset.over, page.dataset.todo, page.dataset.leased, page.dataset.done) == (True, 0, 0, 1)
    assert page.lease(Wish(ADA)) == Over()
    assert page.lease(Wish(ADA, pass_=1)) == Over()


def test_a_shard_that_fails_as_it_is_taken_back_ends_the_pass_too() -> None:
    page = sheet(dataset(1, passes=2, retries=0, handed=1, epoch=1), claims=(Claim(leased(until=NOW)),))
    assert got(page.lease(Wish(BOB))).lease == Lease(2, 0, 2)
    assert page.dataset.failed_in_all == 1


def test_nobody_leases_without_end() -> None:
    page = sheet(dataset(MOST_LEASED + 5, handed=MOST_LEASED))
    assert isinstance(page.lease(Wish(ADA)), Wait)


def test_only_so_many_failures_are_kept_and_told() -> None:
    page = sheet(dataset(9, retries=0, handed=5, epoch=5, kept=MOST_KEPT), leased())
    assert page.give_back(Lease(1, 0, 1), "", failed=True)
    assert (page.put, page.gone, page.dataset.kept) == ([], [(1, 0)], MOST_KEPT)
    loud = sheet(dataset(99, retries=0, handed=TOLD + 1, failed=TOLD, epoch=TOLD + 1), leased(1))
    assert loud.give_back(Lease(1, 1, 2), "", failed=True)
    assert loud.news == []
