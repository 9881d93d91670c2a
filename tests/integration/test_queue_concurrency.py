"""Many writers on one tree at once, over a real socket: whatever they get through, nothing is broken."""

from __future__ import annotations

import asyncio
import random
from collections import Counter

from paddleflow.problems import Aborted, Code, FailedPrecondition, NotFound, Problem
from paddleflow.queue.v1 import queue_pb2 as pb
from pf_queue.quota.convert import given_queue
from support.callers import Caller
from support.queue_site import QueueSite
from support.trees import broken

WRITERS = 12
CHANGES = 25
WORDS = [f"q{number}" for number in range(10)]


async def stored(site: QueueSite) -> list[pb.Queue]:
    return await site.root.all(pb.ListQueuesRequest(cluster=site.cluster, page_size=1_000), "queues")


async def attempt(site: QueueSite, chance: random.Random) -> str:
    """One change, and what came of it."""
    word, parent = chance.choice(WORDS), chance.choice([*WORDS, "top", "top"])
    low, high = chance.randint(0, 4), chance.randint(4, 10)
    try:
        match chance.choice(["create", "create", "amounts", "move", "delete"]):
            case "create":
                await site.create(word, parent, min={"cpu": low}, max={"cpu": high})
            case "amounts":
                await site.update(word, min={"cpu": low}, max={"cpu": high})
            case "move":
                await site.update(word, parent=parent)
            case _:
                await site.root(pb.DeleteQueueRequest(name=site.name(word)))
    except Problem as problem:
        return problem.reason
    return "done"


async def test_parallel_changes_of_one_tree_keep_its_rules(site: QueueSite) -> None:
    await site.create("top", min={"cpu": 12}, max={"cpu": 12})
    outcomes: Counter[str] = Counter()

    async def writer(seed: int) -> None:
        chance = random.Random(seed)
        for _ in range(CHANGES):
            outcomes[await attempt(site, chance)] += 1
            assert list(broken([given_queue(queue) for queue in await stored(site)], None)) == []

    await asyncio.gather(*(writer(seed) for seed in range(WRITERS)))
    assert outcomes["done"] > WRITERS
    known = {problem.reason for problem in (*subclasses(FailedPrecondition), *subclasses(NotFound))}
    assert set(outcomes) <= known | {"done", "QUEUE_EXISTS"}


def subclasses(root: type[Problem]) -> list[type[Problem]]:
    return [root, *(below for child in root.__subclasses__() for below in subclasses(child))]


async def test_of_many_who_want_the_last_of_a_guarantee_one_gets_it(site: QueueSite) -> None:
    await site.create("top", min={"cpu": 10}, max={"cpu": 10})
    drafts = [site.draft(f"q{number}", "top", min={"cpu": 6}) for number in range(16)]

    async def ask(draft: pb.Queue) -> str:
        try:
            await site.root(pb.CreateQueueRequest(queue=draft))
        except FailedPrecondition as problem:
            return problem.reason
        return "done"

    assert Counter(await asyncio.gather(*map(ask, drafts))) == {"done": 1, "MIN_EXCEEDS_PARENT": 15}


async def test_of_many_who_hold_the_same_etag_one_changes_the_queue(site: QueueSite) -> None:
    made = await site.create("q")

    async def ask(weight: int) -> Code | None:
        try:
            await site.update("q", "weight", weight=weight, etag=made.etag)
        except Aborted as problem:
            return problem.code
        return None

    answers = await asyncio.gather(*(ask(weight) for weight in range(1, 17)))
    assert Counter(answers) == {None: 1, Code.ABORTED: 15}


async def test_a_request_sent_many_times_at_once_takes_effect_once(site: QueueSite) -> None:
    request = pb.CreateQueueRequest(queue=site.draft("q"), request_id=f"once-{site.tag}")
    replies = await asyncio.gather(*(site.root(request) for _ in range(16)))
    assert all(reply == replies[0] for reply in replies)
    assert len(await stored(site)) == 1


async def test_a_queue_is_not_granted_while_it_goes(site: QueueSite) -> None:
    """A grant on a queue that is deleted at the same moment is refused, or goes with it."""
    user, caller = await site.add_user()
    for _ in range(10):
        await site.create("q")

        async def delete() -> None:
            await site.root(pb.DeleteQueueRequest(name=site.name("q")))

        await asyncio.gather(delete(), quietly(site, user))
        await site.create("q")
        assert await visible(caller) == []
        await delete()


async def quietly(site: QueueSite, user: str) -> None:
    try:
        await site.grant(user, "q")
    except NotFound:
        return


async def visible(caller: Caller) -> list[pb.Queue]:
    return await caller.all(pb.ListQueuesRequest(), "queues")
