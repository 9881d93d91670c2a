"""The parts of accounts, put together for tests around one database."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from importlib.resources import files
from typing import TypeVar

from pf_kit.events import BEGINNING, Fact
from pf_kit.memory import MemoryDatabase
from pf_kit.principal import Principal, PrincipalKind
from pf_kit.unit import Change, Database, View
from pf_queue.accounts.convert import fact
from pf_queue.accounts.domain import AccountEvent, Grant, GrantKey, Lifetimes, ResourceKind, Token, User
from pf_queue.accounts.memory import MemoryAccountStore
from pf_queue.accounts.passwords import Cost, Passwords
from pf_queue.accounts.postgres import PostgresAccountStore
from pf_queue.accounts.seeds import seed_root
from pf_queue.accounts.service import Credentials, Grants, Tokens, Users
from pf_queue.accounts.store import LOCK, AccountStore
from pf_queue.accounts.throttle import Throttle
from support.databases import migrated

T = TypeVar("T")

CHEAP = Cost(log2_n=4)
"""Tests make many passwords, and guess at none."""
ROOT_PASSWORD = "rootpass1"
PASSWORD = "alicepass1"
ROOT = Principal(PrincipalKind.USER, "root", root=True)
SERVICE = Principal(PrincipalKind.SERVICE, "job", root=True)


def user(name: str) -> Principal:
    return Principal(PrincipalKind.USER, name)


@dataclass
class ManualClock:
    """A clock that stands until it is moved."""

    time: datetime = datetime(2030, 1, 1, 12, tzinfo=UTC)

    def now(self) -> datetime:
        return self.time

    def monotonic(self) -> float:
        return self.time.timestamp()

    def move(self, seconds: float) -> None:
        self.time += timedelta(seconds=seconds)


class RealClock(ManualClock):
    """The machine's clock, for tests whose database has a clock of its own."""

    def now(self) -> datetime:
        return datetime.now(UTC)


@dataclass
class KnownQueues:
    """What quota would say."""

    names: set[str] = field(default_factory=lambda: {"team-a", "team-b"})

    async def exists(self, view: View, kind: ResourceKind, name: str) -> bool:
        assert kind is ResourceKind.QUEUE
        return name in self.names


@dataclass
class Inheritance:
    """What those would do who keep what users have made."""

    handed: list[tuple[str, str]] = field(default_factory=list)

    async def hand_over(self, change: Change, user: str, heir: str) -> None:
        self.handed.append((user, heir))


class World:
    """The use cases over one database and one store."""

    def __init__(self, database: Database, store: AccountStore, clock: ManualClock, passwords: Passwords) -> None:
        self.database, self.store, self.clock, self.passwords = database, store, clock, passwords
        self.queues = KnownQueues()
        self.credentials = Credentials(store=store, passwords=passwords, throttle=Throttle(), clock=clock)
        self.grants = Grants(store=store, resources=self.queues)
        self.inheritance = Inheritance()
        self.users = Users(store=store, credentials=self.credentials, grants=self.grants, belongings=self.inheritance)
        self.tokens = Tokens(store=store, credentials=self.credentials, lifetimes=Lifetimes(), clock=clock)

    async def change(self, work: Callable[[Change], Awaitable[T]]) -> T:
        async with self.database.change(LOCK) as change:
            return await work(change)

    async def add_user(self, name: str, password: str = PASSWORD) -> User:
        new = await self.users.draft(name, password)
        return await self.change(lambda change: self.users.create(change, new))

    async def log_in(self, name: str, password: str, token_id: str) -> Token:
        login = await self.tokens.draft_login(self.database.newest, name, password)
        return await self.change(lambda change: self.tokens.log_in(change, login, token_id))

    async def create_token(
        self, caller: Principal, token_id: str, lifetime: timedelta | None = None, whose: str = ""
    ) -> Token:
        new = self.tokens.draft(caller, token_id, whose, "for tests", lifetime)
        return await self.change(lambda change: self.tokens.create(change, new))

    async def create_grant(self, key: GrantKey) -> Grant:
        return await self.change(lambda change: self.grants.create(change, key))

    async def set_password(self, caller: Principal, name: str, old: str, new: str) -> None:
        drafted = await self.users.draft_password(self.database.newest, caller, name, old, new)
        await self.change(lambda change: self.users.set_password(change, drafted))

    async def told(self) -> list[tuple[str, int, bytes]]:
        """Subject, version and payload of every event."""
        events = await self.database.log.events_after(BEGINNING, 1000)
        return [(event.fact.subject, event.fact.version, event.fact.payload) for event in events]


def encoded(event: object) -> Fact:
    assert isinstance(event, AccountEvent)
    return fact(event)


def empty_world(passwords: Passwords | None = None) -> World:
    """Accounts in memory, without anybody."""
    clock = ManualClock()
    database = MemoryDatabase(encode=encoded, clock=clock)
    return World(database, MemoryAccountStore(), clock, passwords or Passwords(cost=CHEAP))


async def memory_world(passwords: Passwords | None = None) -> World:
    """Accounts in memory, with root and alice."""
    world = empty_world(passwords)
    await seed_root(world.database, world.store, world.users, ROOT_PASSWORD)
    await world.add_user("alice")
    return world


@asynccontextmanager
async def postgres_world(dsn: str) -> AsyncIterator[World]:
    """Accounts in Postgres, without anybody."""
    folder = files("pf_queue") / "sql" / "migrations"
    async with migrated(dsn, encoded, schema="queue", folders=[folder]) as database:
        yield World(database, PostgresAccountStore(), RealClock(), Passwords(cost=CHEAP))
