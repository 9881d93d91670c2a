"""WatchFilesystems over a socket: each sees its own and what is shared with it, exactly once and in order."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

import pytest

from paddleflow.common.v1 import event_pb2
from paddleflow.fs.v1 import fs_pb2
from paddleflow.problems import ResumeTokenInvalid
from support.fs_site import READ, READ_WRITE, FsSite, named

EXISTING, CREATED, DELETED = (
    event_pb2.CHANGE_KIND_EXISTING,
    event_pb2.CHANGE_KIND_CREATED,
    event_pb2.CHANGE_KIND_DELETED,
)


class Watch:
    """Reads a stream event by event, and keeps its last token."""

    def __init__(self, messages: AsyncGenerator[Any, None]) -> None:
        self.messages = messages
        self.token = ""

    async def next(self, count: int) -> list[tuple[int, str]]:
        """What happened to which: so many events, and no more than those."""
        found: list[tuple[int, str]] = []
        while len(found) < count:
            message = await anext(self.messages)
            found += [(event.kind, event.filesystem.id) for event in message.events]
            self.token = message.resume_token or self.token
        assert len(found) == count
        return found


async def test_users_are_told_of_their_own_and_of_what_is_shared(fs_site: FsSite) -> None:
    alice, bobby = await fs_site.add_user("alice"), await fs_site.add_user("bobby")
    own, theirs = await fs_site.make(bobby), await fs_site.make(alice)
    async with aclosing(bobby.call.watch(fs_pb2.WatchFilesystemsRequest())) as messages:
        watch = Watch(messages)
        assert await watch.next(1) == [(EXISTING, own.id)]
        await fs_site.make(alice, "secret")
        await fs_site.share(alice, "data", bobby.name, READ)
        assert await watch.next(1) == [(CREATED, theirs.id)]
        await fs_site.share(alice, "data", bobby.name, READ_WRITE)
        await alice.call(fs_pb2.RevokeFilesystemRequest(filesystem=named("data"), user=bobby.name))
        assert await watch.next(1) == [(DELETED, theirs.id)]
        await fs_site.share(alice, "data", bobby.name)
        await alice.call(fs_pb2.DeleteFilesystemRequest(filesystem=named("data")))
        assert await watch.next(2) == [(CREATED, theirs.id), (DELETED, theirs.id)]
        await bobby.call(fs_pb2.DeleteFilesystemRequest(filesystem=named("data")))
        assert await watch.next(1) == [(DELETED, own.id)]


async def test_a_watch_resumes_where_it_was(fs_site: FsSite) -> None:
    alice, bobby = await fs_site.add_user("alice"), await fs_site.add_user("bobby")
    made = await fs_site.make(alice)
    await fs_site.share(alice, "data", bobby.name)
    async with aclosing(bobby.call.watch(fs_pb2.WatchFilesystemsRequest())) as messages:
        watch = Watch(messages)
        assert await watch.next(1) == [(EXISTING, made.id)]
    await alice.call(fs_pb2.RevokeFilesystemRequest(filesystem=named("data"), user=bobby.name))
    other = await fs_site.make(bobby, "other")
    async with aclosing(bobby.call.watch(fs_pb2.WatchFilesystemsRequest(resume_token=watch.token))) as messages:
        assert await Watch(messages).next(2) == [(DELETED, made.id), (CREATED, other.id)]


async def test_root_is_told_of_all(fs_site: FsSite) -> None:
    alice = await fs_site.add_user("alice")
    request = fs_pb2.WatchFilesystemsRequest()
    async with aclosing(fs_site.root.watch(request)) as messages:
        message = await anext(messages)
        while not message.bookmark:
            message = await anext(messages)
        made = await fs_site.make(alice)
        assert await Watch(messages).next(1) == [(CREATED, made.id)]


async def test_a_token_that_is_none_is_refused(fs_site: FsSite) -> None:
    async with aclosing(fs_site.root.watch(fs_pb2.WatchFilesystemsRequest(resume_token="nonsense"))) as messages:
        with pytest.raises(ResumeTokenInvalid):
            await anext(messages)
