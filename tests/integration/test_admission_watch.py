"""Watches of workloads over a socket."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from paddleflow.common.v1 import event_pb2
from paddleflow.problems import InvalidArgument, ResumeTokenInvalid
from paddleflow.queue.v1 import admission_pb2, queue_pb2
from support.admission_site import EVICTED, EVICTING, FINISHED, PENDING, AdmissionSite, watching
from support.queue_site import QueueSite

EXISTING, CREATED, UPDATED, DELETED = (
    event_pb2.CHANGE_KIND_EXISTING,
    event_pb2.CHANGE_KIND_CREATED,
    event_pb2.CHANGE_KIND_UPDATED,
    event_pb2.CHANGE_KIND_DELETED,
)


@pytest.fixture
async def jobs(site: QueueSite) -> AdmissionSite:
    admission = AdmissionSite(site)
    await admission.prepare("q", "other")
    return admission


def facts(changes: Sequence[admission_pb2.WorkloadChange]) -> list[tuple[int, str, str]]:
    """Kind, fact and the first letters of the job of each change."""
    found: list[tuple[int, str, str]] = []
    for change in changes:
        fact = change.event.WhichOneof("fact") or ""
        key = getattr(change.event, fact).key if fact else change.workload.key
        found.append((change.kind, fact, f"{key.job_id.partition('-')[0]}/{key.attempt}"))
    return found


async def test_what_exists_is_told_and_then_every_change(jobs: AdmissionSite) -> None:
    queue = jobs.site.name("q")
    await jobs.start("a", "q", cores=8, replicas=4)
    await jobs.wait("b", "q")
    async with watching(jobs.site.root, queue) as watcher:
        existing = await watcher.existing()
        assert facts(existing) == [(EXISTING, "", "a/1"), (EXISTING, "", "b/1")]
        assert existing[0].workload == await jobs.get("a")
        await jobs.release("a", FINISHED)
        told = await watcher.take(2)
        assert facts(told) == [(DELETED, "released", "a/1"), (UPDATED, "admitted", "b/1")]
        assert told[0].event.released.outcome == FINISHED
        assert told[1].event.admitted == (await jobs.get("b")).admitted
        await jobs.start("c", "q")
        told = await watcher.take(2)
        assert facts(told) == [(CREATED, "submitted", "c/1"), (UPDATED, "admitted", "c/1")]
        assert {change.queue for change in told} == {queue}


async def test_who_is_sent_back_begins_anew(jobs: AdmissionSite) -> None:
    await jobs.start("a", "q")
    async with watching(jobs.site.root, jobs.site.name("q")) as watcher:
        await watcher.existing()
        await jobs.site.root(queue_pb2.DrainQueueRequest(name=jobs.site.name("q")))
        await jobs.until("a", EVICTING)
        await jobs.release("a", EVICTED)
        told = await watcher.take(3)
    assert facts(told) == [(UPDATED, "evicting", "a/1"), (DELETED, "released", "a/1"), (CREATED, "requeued", "a/2")]
    async with watching(jobs.site.root, jobs.site.name("q")) as watcher:
        (left,) = await watcher.existing()
    assert (left.workload.key, left.workload.state) == (jobs.key("a", 2), PENDING)


async def test_surplus_comes_and_goes_without_an_end(jobs: AdmissionSite) -> None:
    async with watching(jobs.site.root, jobs.site.name("q")) as watcher:
        assert await watcher.existing() == []
        await jobs.start("a", "q", cores=8, most=2)
        first = await watcher.take(3)
        await jobs.site.root(queue_pb2.HoldQueueRequest(name=jobs.site.name("q")))
        await jobs.resize("a", 0)
        (last,) = await watcher.take(1)
    assert [each[:2] for each in facts(first)] == [(CREATED, "submitted"), (UPDATED, "admitted"), (UPDATED, "admitted")]
    versions = [change.event.admitted.grant_version for change in first[1:]]
    assert versions == sorted(set(versions))
    assert facts([last]) == [(UPDATED, "released", "a/1")]


async def test_a_watch_goes_on_where_it_broke_off(jobs: AdmissionSite) -> None:
    """Nothing is lost and nothing comes twice, wherever it breaks off."""
    queue = jobs.site.name("q")
    async with watching(jobs.site.root, queue) as watcher:
        await watcher.existing()
        token = watcher.token

    async def live(number: int) -> None:
        await jobs.start(f"j{number}", "q")
        await jobs.release(f"j{number}")

    lives = asyncio.gather(*(live(number) for number in range(8)))
    told: list[admission_pb2.WorkloadChange] = []
    while len(told) < 24:
        async with watching(jobs.site.root, queue, token=token) as watcher:
            assert (await watcher.message()).bookmark
            told += (await watcher.message()).events
            token = watcher.token
    await lives
    found = facts(told)
    assert len(set(found)) == len(found) == 24
    for number in range(8):
        mine = [fact for _, fact, name in found if name == f"j{number}/1"]
        assert mine == ["submitted", "admitted", "released"]
    async with watching(jobs.site.root, queue, token=token) as watcher:
        message = await watcher.message()
    assert (message.bookmark, list(message.events)) == (True, [])


async def test_only_queues_that_were_asked_for_are_told(jobs: AdmissionSite) -> None:
    for job, word in (("a", "q"), ("b", "other")):
        await jobs.start(job, word)
    async with watching(jobs.site.root, jobs.site.name("other")) as watcher:
        assert facts(await watcher.existing()) == [(EXISTING, "", "b/1")]
        await jobs.start("c", "q")
        await jobs.release("b")
        assert facts(await watcher.take(1)) == [(DELETED, "released", "b/1")]
    both = [jobs.site.name(word) for word in ("q", "other", "none")]
    async with watching(jobs.site.root, *both) as watcher:
        assert facts(await watcher.existing()) == [(EXISTING, "", "a/1"), (EXISTING, "", "c/1")]


async def test_a_user_is_told_of_queues_as_they_are_granted_and_taken(jobs: AdmissionSite) -> None:
    user, caller = await jobs.site.add_user()
    await jobs.site.grant(user, "q")
    await jobs.start("a", "q")
    await jobs.start("b", "other")
    async with watching(caller) as watcher:
        assert facts(await watcher.existing()) == [(EXISTING, "", "a/1")]
        await jobs.start("c", "other")
        await jobs.site.grant(user, "other")
        assert facts(await watcher.take(2)) == [(EXISTING, "", "b/1"), (EXISTING, "", "c/1")]
        await jobs.release("b")
        assert facts(await watcher.take(1)) == [(DELETED, "released", "b/1")]
        await jobs.site.ungrant(user, "other")
        assert facts(await watcher.take(1)) == [(DELETED, "", "c/1")]
        await jobs.release("c")
        await jobs.release("a")
        assert facts(await watcher.take(1)) == [(DELETED, "released", "a/1")]
        token = watcher.token
    await jobs.start("d", "other")
    await jobs.start("e", "q")
    async with watching(caller, token=token) as watcher:
        told = facts(await watcher.take(2))
    assert told == [(CREATED, "submitted", "e/1"), (UPDATED, "admitted", "e/1")]


async def test_whoever_was_away_is_told_of_the_end_of_what_was_taken_meanwhile(jobs: AdmissionSite) -> None:
    user, caller = await jobs.site.add_user()
    for word in ("q", "other"):
        await jobs.site.grant(user, word)
    for job in "abc":
        await jobs.start(job, "other")
    await jobs.start("d", "q")
    async with watching(caller) as watcher:
        assert len(await watcher.existing()) == 4
        token = watcher.token
    await jobs.release("a")
    await jobs.site.ungrant(user, "other")
    await jobs.release("b")
    await jobs.release("d")
    async with watching(caller, token=token) as watcher:
        told = facts(await watcher.take(4))
        assert told[0] == (DELETED, "released", "a/1")
        assert sorted(told[1:3]) == [(DELETED, "", "b/1"), (DELETED, "", "c/1")]
        assert told[3] == (DELETED, "released", "d/1")


async def test_a_token_of_another_watch_is_refused(jobs: AdmissionSite) -> None:
    async with watching(jobs.site.root, token="nonsense") as watcher:
        with pytest.raises(ResumeTokenInvalid):
            await watcher.message()
    async with watching(jobs.site.root, "Not A Queue") as watcher:
        with pytest.raises(InvalidArgument) as found:
            await watcher.message()
    assert [violation.field for violation in found.value.violations] == ["queues"]
