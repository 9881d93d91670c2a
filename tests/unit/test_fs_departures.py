"""What becomes of the things of users who are gone."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import PurePosixPath

import pytest

from paddleflow.auth.v1 import auth_pb2
from paddleflow.common.v1 import event_pb2
from pf_fs.convert import FILESYSTEM_EVENT, GRANT_EVENT, encode
from pf_fs.domain import Access, Filesystem, FilesystemFilter, Grant, GrantFilter, GrantKey, Kind
from pf_fs.leaving import MARGIN, Leaving
from pf_fs.memory import MemoryFilesystemStore
from pf_fs.service import Departures
from pf_fs.store import LOCK
from pf_kit.events import BEGINNING, Event, Fact
from pf_kit.memory import MemoryDatabase
from pf_kit.unit import AuditFilter
from pf_kit.users import USER_EVENT
from support.accounts import ManualClock


@dataclass
class Those:
    """Users, told by hand."""

    names: set[str] = field(default_factory=set)

    async def exists(self, name: str) -> bool:
        return name in self.names

    async def all(self) -> frozenset[str]:
        return frozenset(self.names)


class World:
    """alice and bobby have filesystems, each shared with the other and with carol."""

    def __init__(self) -> None:
        self.clock, self.users, self.store = ManualClock(), Those(), MemoryFilesystemStore()
        self.database = MemoryDatabase(encode=encode, clock=self.clock)
        self.leaving = Leaving(departures=Departures(store=self.store), users=self.users, clock=self.clock)

    async def fill(self) -> None:
        async with self.database.change(LOCK) as change:
            for owner, other in (("alice", "bobby"), ("bobby", "alice")):
                made = replace(filesystem(owner), create_time=change.time)
                await self.store.add(change, made)
                for user in (other, "carol"):
                    key = GrantKey(made.id, user)
                    await self.store.set_grant(change, Grant(key, Access.READ, 1, change.time))

    async def held(self) -> tuple[list[str], list[str]]:
        view = self.database.newest
        filesystems = await self.store.filesystems(view, FilesystemFilter(), "", 100)
        grants = await self.store.grants(view, GrantFilter(), None, 100)
        return [each.id for each in filesystems], [str(each.key) for each in grants]

    async def told(self) -> list[tuple[str, str]]:
        events = await self.database.log.events_after(BEGINNING, 100)
        return [(event.fact.type, event.fact.subject) for event in events]


def filesystem(owner: str) -> Filesystem:
    return Filesystem(
        owner=owner, name="data", url="local:///d", kind=Kind.LOCAL, folder=PurePosixPath("/d"), confined=True
    )


def user_event(world: World, name: str, kind: event_pb2.ChangeKind.ValueType) -> Event:
    payload = auth_pb2.UserEvent(kind=kind, user=auth_pb2.User(name=name)).SerializeToString()
    return Event(BEGINNING, Fact(USER_EVENT, f"user/{name}", 1, payload), "", world.clock.now())


@pytest.fixture
async def world() -> World:
    made = World()
    await made.fill()
    return made


async def test_who_is_deleted_leaves_neither_filesystems_nor_grants(world: World) -> None:
    async with world.database.change(LOCK) as change:
        await world.leaving.apply(change, [user_event(world, "alice", event_pb2.CHANGE_KIND_DELETED)])
    assert await world.held() == (["fs-bobby-data"], ["fs-bobby-data/carol"])
    assert await world.told() == [
        (GRANT_EVENT, "filesystem-grant/fs-alice-data/bobby"),
        (GRANT_EVENT, "filesystem-grant/fs-alice-data/carol"),
        (FILESYSTEM_EVENT, "filesystem/fs-alice-data"),
        (GRANT_EVENT, "filesystem-grant/fs-bobby-data/alice"),
    ]
    records = await world.database.audit_records(AuditFilter(actor="service/fs"), None, 10)
    assert [record.entry.subject for record in records] == [
        "filesystem-grant/fs-bobby-data/alice",
        "filesystem/fs-alice-data",
    ]


async def test_what_the_next_user_of_the_name_has_made_stays(world: World) -> None:
    deleted = user_event(world, "alice", event_pb2.CHANGE_KIND_DELETED)
    deleted = replace(deleted, create_time=world.clock.now() - timedelta(seconds=1))
    before = await world.held()
    async with world.database.change(LOCK) as change:
        await world.leaving.apply(change, [deleted])
    assert await world.held() == before


async def test_other_events_change_nothing(world: World) -> None:
    before = await world.held()
    others = [user_event(world, "alice", event_pb2.CHANGE_KIND_UPDATED)]
    others.append(replace(others[0], fact=replace(others[0].fact, type="paddleflow.queue.v1.QueueEvent")))
    async with world.database.change(LOCK) as change:
        await world.leaving.apply(change, others)
    assert await world.held() == before
    assert await world.told() == []


async def test_without_the_events_it_is_told_by_who_there_is(world: World) -> None:
    world.users.names = {"root", "bobby", "carol"}
    fresh = await world.leaving.gather()
    async with world.database.change(LOCK) as change:
        await world.leaving.resync(change, fresh)
    assert len((await world.held())[0]) == 2, "what is so young may be a new user's"
    world.clock.move(MARGIN.total_seconds())
    later = await world.leaving.gather()
    async with world.database.change(LOCK) as change:
        await world.leaving.resync(change, later)
    assert await world.held() == (["fs-bobby-data"], ["fs-bobby-data/carol"])
