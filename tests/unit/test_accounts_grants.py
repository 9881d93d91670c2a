from __future__ import annotations

import pytest

from paddleflow.auth.v1 import auth_pb2
from paddleflow.common.v1 import event_pb2
from paddleflow.problems import (
    GrantExists,
    GrantNotFound,
    InvalidArgument,
    PermissionDenied,
    Problem,
    QueueNotFound,
    UserIsRoot,
    UserNotFound,
)
from pf_kit.principal import Principal
from pf_queue.accounts.domain import GrantFilter, GrantKey, ResourceKind
from pf_queue.accounts.service.grants import RESOURCES_LOCK
from pf_queue.clusters.store import TREE_LOCK
from support.accounts import ROOT, SERVICE, World, memory_world, user

QUEUE, FILESYSTEM = ResourceKind.QUEUE, ResourceKind.FILESYSTEM
KEY = GrantKey("alice", QUEUE, "team-a")
ALL = GrantFilter()


@pytest.fixture
async def world() -> World:
    return await memory_world()


async def create(world: World, *keys: GrantKey) -> None:
    for key in keys:
        await world.create_grant(key)


async def listed(
    world: World, caller: Principal, chosen: GrantFilter = ALL, after: str = "", limit: int = 50
) -> list[str]:
    grants = await world.grants.page(world.database.newest, caller, chosen, after, limit)
    return [str(grant.key) for grant in grants]


async def test_a_grant_lets_its_user_use_its_resource_and_nothing_else(world: World) -> None:
    await world.add_user("bobby")
    await create(world, KEY, GrantKey("alice", FILESYSTEM, "data_1"))
    view = world.database.newest
    assert await world.grants.allowed(view, KEY)
    assert await world.grants.allowed(view, GrantKey("alice", FILESYSTEM, "data_1"))
    assert not await world.grants.allowed(view, GrantKey("alice", FILESYSTEM, "team-a"))
    assert not await world.grants.allowed(view, GrantKey("alice", QUEUE, "team-b"))
    assert not await world.grants.allowed(view, GrantKey("bobby", QUEUE, "team-a"))
    assert await world.grants.granted(view, "alice", QUEUE) == {"team-a"}
    assert await world.grants.granted(view, "bobby", QUEUE) == frozenset()


async def test_root_may_use_everything(world: World) -> None:
    assert await world.grants.allowed(world.database.newest, GrantKey("root", QUEUE, "team-a"))


async def test_a_grant_is_told_of(world: World) -> None:
    await create(world, KEY)
    await world.change(lambda change: world.grants.delete(change, KEY))
    (made, made_version, made_payload), (gone, gone_version, gone_payload) = (await world.told())[-2:]
    assert made == gone == "grant/alice/queue/team-a"
    assert made_version < gone_version
    assert auth_pb2.GrantEvent.FromString(made_payload).kind == event_pb2.CHANGE_KIND_CREATED
    event = auth_pb2.GrantEvent.FromString(gone_payload)
    assert event.kind == event_pb2.CHANGE_KIND_DELETED
    assert (event.grant.user, event.grant.kind, event.grant.resource) == (
        "alice",
        auth_pb2.RESOURCE_KIND_QUEUE,
        "team-a",
    )


@pytest.mark.parametrize(
    ("key", "problem"),
    [
        (GrantKey("nobody", QUEUE, "team-a"), UserNotFound),
        (GrantKey("not-a-name", QUEUE, "team-a"), UserNotFound),
        (GrantKey("alice", QUEUE, "no-such-queue"), QueueNotFound),
        (GrantKey("alice", QUEUE, "\x00"), QueueNotFound),
        (GrantKey("root", QUEUE, "team-a"), UserIsRoot),
        (GrantKey("alice", FILESYSTEM, "a b"), InvalidArgument),
        (GrantKey("alice", FILESYSTEM, "f" * 64), InvalidArgument),
    ],
)
async def test_a_grant_is_not_made(world: World, key: GrantKey, problem: type[Problem]) -> None:
    with pytest.raises(problem) as refused:
        await create(world, key)
    assert [violation.field for violation in refused.value.violations] in ([], ["grant.resource"])
    assert await listed(world, ROOT) == []


async def test_a_grant_is_made_once(world: World) -> None:
    await create(world, KEY)
    with pytest.raises(GrantExists):
        await create(world, KEY)


async def test_a_grant_taken_back_can_be_made_again(world: World) -> None:
    await create(world, KEY)
    await world.change(lambda change: world.grants.delete(change, KEY))
    assert not await world.grants.allowed(world.database.newest, KEY)
    with pytest.raises(GrantNotFound):
        await world.change(lambda change: world.grants.delete(change, KEY))
    await create(world, KEY)


async def test_grants_are_listed_by_user_kind_and_resource(world: World) -> None:
    await world.add_user("bobby")
    keys = [
        GrantKey("alice", FILESYSTEM, "zfs"),
        GrantKey("alice", QUEUE, "team-a"),
        GrantKey("alice", QUEUE, "team-b"),
        GrantKey("bobby", QUEUE, "team-a"),
    ]
    await create(world, *reversed(keys))
    every = [str(key) for key in keys]
    assert await listed(world, ROOT) == await listed(world, SERVICE) == every
    assert [str(grant.key) for grant in await world.grants.all(world.database.newest)] == every
    assert await listed(world, ROOT, GrantFilter(user="bobby")) == every[3:]
    assert await listed(world, ROOT, GrantFilter(kind=FILESYSTEM)) == every[:1]
    assert await listed(world, ROOT, GrantFilter(resource="team-a")) == [every[1], every[3]]
    assert await listed(world, ROOT, limit=2) == every[:2]
    assert await listed(world, ROOT, after=every[1]) == every[2:]


async def test_a_user_sees_its_own_grants_only(world: World) -> None:
    await world.add_user("bobby")
    await create(world, KEY, GrantKey("bobby", QUEUE, "team-b"))
    assert await listed(world, user("alice")) == [str(KEY)]
    assert await listed(world, user("alice"), GrantFilter(user="alice")) == [str(KEY)]
    assert await listed(world, user("alice"), GrantFilter(resource="team-b")) == []
    with pytest.raises(PermissionDenied):
        await listed(world, user("alice"), GrantFilter(user="bobby"))


async def test_a_removed_queue_takes_its_grants_along(world: World) -> None:
    await world.add_user("bobby")
    kept = GrantKey("alice", FILESYSTEM, "team-a")
    await create(world, KEY, GrantKey("bobby", QUEUE, "team-a"), GrantKey("bobby", QUEUE, "team-b"), kept)
    told = len(await world.told())
    await world.change(lambda change: world.grants.drop_resources(change, QUEUE, {"team-a"}))
    assert await listed(world, ROOT) == [str(kept), "bobby/queue/team-b"]
    assert [subject for subject, _, _ in (await world.told())[told:]] == [
        "grant/alice/queue/team-a",
        "grant/bobby/queue/team-a",
    ]


def test_queues_come_and_go_under_the_lock_that_a_new_grant_takes() -> None:
    assert RESOURCES_LOCK == TREE_LOCK
