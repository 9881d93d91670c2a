"""WatchUsers and WatchGrants over a real socket."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import Any

import pytest

from paddleflow.auth.v1 import auth_pb2 as pb
from paddleflow.common.v1 import event_pb2
from paddleflow.problems import PermissionDenied, ResumeTokenInvalid
from support.accounts import PASSWORD, empty_world
from support.accounts_site import Site, served

EXISTING, CREATED, UPDATED, DELETED = (
    event_pb2.CHANGE_KIND_EXISTING,
    event_pb2.CHANGE_KIND_CREATED,
    event_pb2.CHANGE_KIND_UPDATED,
    event_pb2.CHANGE_KIND_DELETED,
)
GRANT = pb.Grant(user="alice", kind=pb.RESOURCE_KIND_QUEUE, resource="team-a")


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    async with served(empty_world()) as opened:
        yield opened


class Watch:
    """Reads a stream event by event, and keeps its last token."""

    def __init__(self, messages: AsyncGenerator[Any, None]) -> None:
        self.messages = messages
        self.token = ""

    async def next(self, count: int) -> list[Any]:
        """So many events, and no more than those."""
        found: list[Any] = []
        while len(found) < count:
            message = await anext(self.messages)
            found += message.events
            self.token = message.resume_token or self.token
        assert len(found) == count
        return found


async def test_users_are_told_as_they_are_and_as_they_change(site: Site) -> None:
    root = await site.root()
    async with aclosing(root.watch(pb.WatchUsersRequest())) as messages:
        watch = Watch(messages)
        assert [(event.kind, event.user.name) for event in await watch.next(2)] == [
            (EXISTING, "alice"),
            (EXISTING, "root"),
        ]
        await root(pb.CreateUserRequest(user=pb.User(name="bobby"), password=PASSWORD))
        await root(pb.CreateGrantRequest(grant=GRANT))
        await root(pb.SetPasswordRequest(name="bobby", new_password="another1"))
        await root(pb.DeleteUserRequest(name="bobby"))
        told = await watch.next(3)
        assert [(event.kind, event.user.name) for event in told] == [
            (CREATED, "bobby"),
            (UPDATED, "bobby"),
            (DELETED, "bobby"),
        ]
        assert told[0].user.etag != told[1].user.etag == told[2].user.etag


async def test_a_watch_of_users_goes_on_where_it_was(site: Site) -> None:
    root = await site.root()
    async with aclosing(root.watch(pb.WatchUsersRequest())) as messages:
        watch = Watch(messages)
        await watch.next(2)
    await root(pb.CreateUserRequest(user=pb.User(name="bobby"), password=PASSWORD))
    async with aclosing(root.watch(pb.WatchUsersRequest(resume_token=watch.token))) as messages:
        (event,) = await Watch(messages).next(1)
        assert (event.kind, event.user.name) == (CREATED, "bobby")


async def test_grants_are_told_as_they_are_and_as_they_change(site: Site) -> None:
    root = await site.root()
    await root(pb.CreateGrantRequest(grant=GRANT))
    other = pb.Grant(user="alice", kind=pb.RESOURCE_KIND_FILESYSTEM, resource="data")
    async with aclosing(root.watch(pb.WatchGrantsRequest())) as messages:
        watch = Watch(messages)
        (existing,) = await watch.next(1)
        assert (existing.kind, existing.grant.resource) == (EXISTING, "team-a")
        await root(pb.CreateGrantRequest(grant=other))
        await root(pb.DeleteGrantRequest(grant=GRANT))
        await root(pb.DeleteUserRequest(name="alice"))
        assert [(event.kind, event.grant.resource) for event in await watch.next(3)] == [
            (CREATED, "data"),
            (DELETED, "team-a"),
            (DELETED, "data"),
        ]


@pytest.mark.parametrize("request_type", [pb.WatchUsersRequest, pb.WatchGrantsRequest])
async def test_only_root_watches_and_only_with_a_token_of_the_watch(site: Site, request_type: Any) -> None:
    with pytest.raises(PermissionDenied):
        await anext((await site.log_in("alice")).watch(request_type()))
    with pytest.raises(ResumeTokenInvalid):
        await anext((await site.root()).watch(request_type(resume_token="made-up")))
