"""Watches of the client over streams that break."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from itertools import islice
from typing import TypeAlias

import pytest

import paddleflow
from paddleflow import aio
from paddleflow.common.v1 import event_pb2
from paddleflow.connection import Connection
from paddleflow.models import Bookmark, Change, ChangeKind, Queue, Reset, WatchItem
from paddleflow.problems import (
    PermissionDenied,
    Problem,
    ResumeTokenExpired,
    ShuttingDown,
    TokenExpired,
    Unavailable,
    WatchTooSlow,
)
from paddleflow.queue.v1 import queue_pb2
from paddleflow.sync import PaddleFlow
from support.fake_paddleflow import FakePaddleFlow
from support.fake_services import PASSWORD, Stream

Take: TypeAlias = Callable[[FakePaddleFlow, int], Awaitable[list[str]]]


def told(token: str, *events: str, caught_up: bool = False) -> queue_pb2.WatchQueuesResponse:
    """A message whose events are written as in `existing a`."""
    message = queue_pb2.WatchQueuesResponse(resume_token=token, bookmark=caught_up)
    for kind, name in (event.split() for event in events):
        number = event_pb2.ChangeKind.Value(f"CHANGE_KIND_{kind.upper()}")
        message.events.add(kind=number, queue=queue_pb2.Queue(name=name))
    return message


def shown(item: WatchItem[Queue]) -> str:
    match item:
        case Change(kind, queue):
            return f"{kind} {queue.name}"
        case Bookmark(token, caught_up):
            return f"{'*' if caught_up else '+'}{token}"
        case Reset():
            return "reset"


async def take_blocking(fake: FakePaddleFlow, count: int) -> list[str]:
    def take() -> list[str]:
        with paddleflow.connect(fake.address, user="root", password=PASSWORD) as client:
            return [shown(item) for item in islice(client.queues.watch(), count)]

    return await asyncio.to_thread(take)


async def take_async(fake: FakePaddleFlow, count: int) -> list[str]:
    items: list[str] = []
    async with aio.connect(fake.address, user="root", password=PASSWORD) as client:
        watching = client.queues.watch()
        while len(items) < count:
            items.append(shown(await anext(watching)))
    return items


@pytest.fixture(params=[take_blocking, take_async], ids=["sync", "asyncio"])
def take(request: pytest.FixtureRequest) -> Take:
    """Watches queues with one of the twins until so many items have come."""
    chosen: Take = request.param
    return chosen


def resumed_from(fake: FakePaddleFlow) -> list[str]:
    return [request.resume_token for request in fake.world.asked(queue_pb2.WatchQueuesRequest)]


async def test_what_exists_comes_first_then_what_changes(fake: FakePaddleFlow, take: Take) -> None:
    fake.world.streams = [
        Stream(
            [
                told("t1", "existing a"),
                told("t1", "existing b", caught_up=True),
                told("t2", "updated a", "deleted b"),
                told("t3", caught_up=True),
            ],
            silent=True,
        )
    ]
    assert await take(fake, 8) == ["existing a", "+t1", "existing b", "*t1", "updated a", "deleted b", "+t2", "*t3"]


@pytest.mark.parametrize("ending", [ShuttingDown(), WatchTooSlow(), None], ids=["stops", "too slow", "ends"])
async def test_a_broken_stream_is_resumed_where_it_broke(
    fake: FakePaddleFlow, take: Take, ending: Problem | None
) -> None:
    fake.world.streams = [
        Stream([told("t1", "existing a", caught_up=True), told("t2", "updated a")], ends_with=ending),
        Stream([told("t3", "deleted a")], silent=True),
    ]
    assert await take(fake, 6) == ["existing a", "*t1", "updated a", "+t2", "deleted a", "+t3"]
    assert resumed_from(fake) == ["", "t2"]


async def test_a_stream_that_breaks_before_all_was_told_starts_over(fake: FakePaddleFlow, take: Take) -> None:
    fake.world.streams = [
        Stream([told("t1", "existing a")], ends_with=ShuttingDown()),
        Stream([told("t5", "existing b", caught_up=True)], silent=True),
    ]
    assert await take(fake, 5) == ["existing a", "+t1", "reset", "existing b", "*t5"]
    assert resumed_from(fake) == ["", ""]


async def test_a_stream_that_breaks_before_anything_was_told_just_begins_again(
    fake: FakePaddleFlow, take: Take
) -> None:
    fake.world.streams = [Stream(ends_with=ShuttingDown()), Stream([told("t1", "existing a", caught_up=True)])]
    assert await take(fake, 2) == ["existing a", "*t1"]


async def test_a_token_that_is_too_old_starts_over(fake: FakePaddleFlow, take: Take) -> None:
    fake.world.streams = [
        Stream([told("t1", "existing a", caught_up=True)], ends_with=ShuttingDown()),
        Stream(ends_with=ResumeTokenExpired()),
        Stream([told("t9", "existing c", caught_up=True)], silent=True),
    ]
    assert await take(fake, 5) == ["existing a", "*t1", "reset", "existing c", "*t9"]
    assert resumed_from(fake) == ["", "t1", ""]


async def test_a_token_of_the_caller_that_ends_is_replaced(fake: FakePaddleFlow, take: Take) -> None:
    fake.world.streams = [
        Stream([told("t1", "existing a", caught_up=True)], ends_with=TokenExpired()),
        Stream([told("t2", "updated a")], silent=True),
    ]
    assert await take(fake, 4) == ["existing a", "*t1", "updated a", "+t2"]
    assert resumed_from(fake) == ["", "t1"]
    assert fake.world.logins == 2


async def test_a_server_that_goes_away_and_comes_back_is_found_again(fake: FakePaddleFlow) -> None:
    fake.world.streams = [Stream([told("t1", "existing a", caught_up=True)], silent=True)]
    async with aio.connect(fake.address, user="root", password=PASSWORD) as client:
        watching = client.queues.watch()
        assert [shown(await anext(watching)) for _ in range(2)] == ["existing a", "*t1"]
        await asyncio.to_thread(fake.stop)
        fake.world.streams = [Stream([told("t2", "created b")], silent=True)]
        fake.start()
        assert shown(await anext(watching)) == "created b"
    assert resumed_from(fake)[-1] == "t1"


async def test_what_time_does_not_mend_is_raised(fake: FakePaddleFlow, take: Take) -> None:
    fake.world.streams = [Stream([told("t1", "existing a", caught_up=True)], ends_with=PermissionDenied("not yours"))]
    with pytest.raises(PermissionDenied, match="not yours"):
        await take(fake, 3)


def test_a_server_that_stays_away_is_given_up(fake: FakePaddleFlow) -> None:
    connection = Connection(fake.address, user="root", password=PASSWORD, patience=0.2)
    fake.world.streams = [Stream([told("t1", "existing a", caught_up=True)], silent=True)]
    with PaddleFlow(connection) as client:
        watching = client.queues.watch()
        assert [shown(item) for item in islice(watching, 2)] == ["existing a", "*t1"]
        fake.stop()
        with pytest.raises(Unavailable, match=re.escape(fake.address)):
            next(watching)


def test_a_server_that_is_not_there_is_told_at_once(fake: FakePaddleFlow) -> None:
    fake.stop()
    with paddleflow.connect(fake.address, token="t") as client, pytest.raises(Unavailable):
        next(client.queues.watch())


def test_a_watch_begins_where_an_earlier_one_ended(fake: FakePaddleFlow) -> None:
    fake.world.streams = [Stream([told("t8", "updated a")], silent=True)]
    with paddleflow.connect(fake.address, user="root", password=PASSWORD) as client:
        items = list(islice(client.queues.watch(cluster="c", resume_token="t7"), 2))
    assert [shown(item) for item in items] == ["updated a", "+t8"]
    [request] = fake.world.asked(queue_pb2.WatchQueuesRequest)
    assert (request.cluster, request.resume_token) == ("c", "t7")


def test_a_change_tells_the_thing_after_it(fake: FakePaddleFlow) -> None:
    fake.world.streams = [Stream([told("t1", "created a")], silent=True)]
    with paddleflow.connect(fake.address, user="root", password=PASSWORD) as client:
        assert next(client.queues.watch()) == Change(ChangeKind.CREATED, Queue("a"))
