"""What every store of accounts promises, asked of each."""

from __future__ import annotations

import asyncio
import string
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from importlib.resources import files
from typing import TypeVar

import pytest

from paddleflow.problems import GrantExists, UserExists
from pf_kit.clock import SystemClock
from pf_kit.memory import MemoryDatabase
from pf_kit.unit import Change, Database
from pf_queue.accounts.domain import Grant, GrantFilter, GrantKey, ResourceKind, Token, TokenPlace, User
from pf_queue.accounts.memory import MemoryAccountStore
from pf_queue.accounts.postgres import PostgresAccountStore
from pf_queue.accounts.store import LOCK, AccountStore
from support.accounts import encoded
from support.databases import fresh_database, migrated

T = TypeVar("T")
NOON = datetime(2030, 1, 1, 12, 0, 0, 123456, tzinfo=UTC)
HOUR = timedelta(hours=1)
QUEUE, FILESYSTEM = ResourceKind.QUEUE, ResourceKind.FILESYSTEM
ALICE = User("alice", "hash", 1, NOON, NOON + HOUR)
NO_NAMES = ["", "nobody", "alice\x00", "\x00", "x" * 100_000, "' or 1=1 --"]
"""What callers may send as a name."""


@dataclass(frozen=True)
class Kept:
    database: Database
    store: AccountStore

    async def change(self, work: Callable[[Change], Awaitable[T]]) -> T:
        async with self.database.change(LOCK) as change:
            return await work(change)

    async def add_users(self, *names: str) -> None:
        async with self.database.change(LOCK) as change:
            for name in names:
                await self.store.add_user(change, replace(ALICE, name=name))

    async def add_tokens(self, *tokens: Token) -> None:
        async with self.database.change(LOCK) as change:
            for token in tokens:
                await self.store.add_token(change, token)

    async def add_grants(self, *keys: GrantKey) -> None:
        async with self.database.change(LOCK) as change:
            for key in keys:
                await self.store.add_grant(change, Grant(key, 1, NOON))

    async def user(self, name: str) -> User | None:
        return await self.store.user(self.database.newest, name)

    async def token(self, token_id: str) -> Token | None:
        return await self.store.token(self.database.newest, token_id)

    async def tokens(
        self, user: str | None = None, now: datetime = NOON, after: TokenPlace | None = None, limit: int = 100
    ) -> list[str]:
        return [token.id for token in await self.store.tokens(self.database.newest, user, now, after, limit)]

    async def grants(self, chosen: GrantFilter, after: GrantKey | None = None, limit: int = 100) -> list[GrantKey]:
        return [grant.key for grant in await self.store.grants(self.database.newest, chosen, after, limit)]


@pytest.fixture(params=["memory", "postgres"])
async def kept(request: pytest.FixtureRequest) -> AsyncIterator[Kept]:
    if request.param == "memory":
        yield Kept(MemoryDatabase(encode=encoded, clock=SystemClock()), MemoryAccountStore())
        return
    server, folder = request.getfixturevalue("postgres_server"), files("pf_queue") / "sql" / "migrations"
    async with fresh_database(server) as dsn, migrated(dsn, encoded, schema="queue", folders=[folder]) as database:
        yield Kept(database, PostgresAccountStore())


def token(token_id: str, user: str = "alice", made: datetime = NOON, end: datetime = NOON + HOUR) -> Token:
    return Token(token_id, user, f"for {token_id}", made, end)


async def test_a_user_is_kept_as_it_was_given(kept: Kept) -> None:
    await kept.change(lambda change: kept.store.add_user(change, ALICE))
    assert await kept.user("alice") == ALICE


async def test_a_name_is_taken_once(kept: Kept) -> None:
    await kept.add_users("alice")
    with pytest.raises(UserExists, match="alice"):
        await kept.change(lambda change: kept.store.add_user(change, replace(ALICE, password="other")))
    assert await kept.user("alice") == ALICE
    await kept.add_users("Alice")


async def test_a_user_is_replaced(kept: Kept) -> None:
    await kept.add_users("alice", "bobby")
    changed = replace(ALICE, password="other", version=2**40, update_time=NOON + 2 * HOUR)
    await kept.change(lambda change: kept.store.set_user(change, changed))
    assert await kept.user("alice") == changed
    assert await kept.user("bobby") == replace(ALICE, name="bobby")


async def test_users_are_in_the_order_of_bytes(kept: Kept) -> None:
    names = ["0000", "Zora", "alice", "alicf", "alicea", "aLice", "root", "9999", "ALICE"]
    await kept.add_users(*names)

    async def page(after: str, limit: int) -> list[str]:
        return [user.name for user in await kept.store.users(kept.database.newest, after, limit)]

    assert await page("", 100) == sorted(names)
    assert await page("", 2) == sorted(names)[:2]
    assert await page("Zora", 100) == [name for name in sorted(names) if name > "Zora"]
    assert await page("root", 100) == []


@pytest.mark.parametrize("name", NO_NAMES)
async def test_whatever_a_caller_sends_is_not_found(kept: Kept, name: str) -> None:
    await kept.add_users("alice")
    view = kept.database.newest
    assert await kept.user(name) is None
    assert await kept.token(name) is None
    assert await kept.tokens(name) == []
    assert await kept.store.grant(view, GrantKey(name, QUEUE, name)) is None
    assert await kept.grants(GrantFilter(user=name)) == []
    assert await kept.grants(GrantFilter(resource=name)) == []
    assert await kept.store.granted(view, name, QUEUE) == frozenset()
    chosen = GrantFilter(name, QUEUE, name)
    assert list(await kept.change(lambda change: kept.store.remove_grants(change, chosen))) == []


async def test_a_removed_user_takes_its_tokens_along(kept: Kept) -> None:
    await kept.add_users("alice", "bobby")
    await kept.add_tokens(token("t1"), token("t2", "bobby"))
    await kept.change(lambda change: kept.store.remove_user(change, "alice"))
    assert await kept.user("alice") is None
    assert await kept.token("t1") is None
    assert await kept.tokens() == ["t2"]


async def test_a_token_is_kept_as_it_was_given(kept: Kept) -> None:
    await kept.add_users("alice")
    await kept.add_tokens(token("t1"))
    assert await kept.token("t1") == token("t1")


async def test_tokens_are_newest_first_and_good(kept: Kept) -> None:
    await kept.add_users("alice", "bobby")
    await kept.add_tokens(
        token("old", made=NOON - HOUR),
        token("a", made=NOON),
        token("c", made=NOON),
        token("b", made=NOON),
        token("other", "bobby", made=NOON + timedelta(microseconds=1)),
        token("over", end=NOON),
        token("revoked", made=NOON + HOUR),
    )
    await kept.change(lambda change: kept.store.revoke_token(change, "revoked"))
    assert await kept.tokens() == ["other", "c", "b", "a", "old"]
    assert await kept.tokens("alice") == ["c", "b", "a", "old"]
    assert await kept.tokens("alice", limit=2) == ["c", "b"]
    assert await kept.tokens("alice", after=TokenPlace(NOON, "b")) == ["a", "old"]
    assert await kept.tokens(None, after=TokenPlace(NOON + HOUR, "x"), limit=1) == ["other"]
    assert await kept.tokens(now=NOON - timedelta(microseconds=1)) == ["other", "over", "c", "b", "a", "old"]
    assert await kept.tokens(now=NOON + HOUR) == []


async def test_a_token_is_revoked_once_at_the_time_of_the_change(kept: Kept) -> None:
    await kept.add_users("alice")
    await kept.add_tokens(token("t1"), token("t2"))
    async with kept.database.change(LOCK) as first:
        await kept.store.revoke_token(first, "t1")
        await kept.store.revoke_token(first, "no-such-token")
    await kept.change(lambda change: kept.store.revoke_token(change, "t1"))
    assert await kept.token("t1") == replace(token("t1"), revoke_time=first.time)
    assert await kept.token("t2") == token("t2")


async def test_all_tokens_of_one_user_are_revoked(kept: Kept) -> None:
    await kept.add_users("alice", "bobby")
    await kept.add_tokens(token("t1"), token("t2"), token("t3", "bobby"))
    async with kept.database.change(LOCK) as first:
        await kept.store.revoke_token(first, "t1")
    async with kept.database.change(LOCK) as second:
        await kept.store.revoke_tokens(second, "alice")
    assert await kept.token("t1") == replace(token("t1"), revoke_time=first.time)
    assert await kept.token("t2") == replace(token("t2"), revoke_time=second.time)
    assert await kept.tokens() == ["t3"]


KEYS = [
    GrantKey("Zora", QUEUE, "team-a"),
    GrantKey("alice", FILESYSTEM, "zfs"),
    GrantKey("alice", QUEUE, "team-a"),
    GrantKey("alice", QUEUE, "team-b"),
    GrantKey("bobby", QUEUE, "team-a"),
]


async def test_a_grant_is_kept_as_it_was_given(kept: Kept) -> None:
    await kept.add_users("alice")
    grant = Grant(KEYS[1], 2**40, NOON)
    await kept.change(lambda change: kept.store.add_grant(change, grant))
    assert await kept.store.grant(kept.database.newest, KEYS[1]) == grant
    assert await kept.store.grant(kept.database.newest, replace(KEYS[1], kind=QUEUE)) is None


async def test_a_grant_is_given_once(kept: Kept) -> None:
    await kept.add_users("alice")
    await kept.add_grants(KEYS[2])
    with pytest.raises(GrantExists, match="alice/queue/team-a"):
        await kept.add_grants(KEYS[2])


async def test_grants_are_chosen_by_each_field_and_are_in_order(kept: Kept) -> None:
    await kept.add_users("Zora", "alice", "bobby")
    await kept.add_grants(*reversed(KEYS))
    filters = [
        GrantFilter(user, kind, resource)
        for user in (None, "alice", "bobby")
        for kind in (None, QUEUE, FILESYSTEM)
        for resource in (None, "team-a")
    ]
    for chosen in filters:
        assert await kept.grants(chosen) == [key for key in KEYS if chosen.matches(key)]
    for place in range(5):
        assert await kept.grants(GrantFilter(), KEYS[place], 2) == KEYS[place + 1 : place + 3]
    assert await kept.grants(GrantFilter(), limit=2) == KEYS[:2]
    assert await kept.store.granted(kept.database.newest, "alice", QUEUE) == {"team-a", "team-b"}


async def test_grants_are_removed_as_chosen_and_returned(kept: Kept) -> None:
    await kept.add_users("Zora", "alice", "bobby")
    await kept.add_grants(*KEYS)
    chosen = GrantFilter(kind=QUEUE, resource="team-a")
    removed = await kept.change(lambda change: kept.store.remove_grants(change, chosen))
    assert [grant.key for grant in removed] == [KEYS[0], KEYS[2], KEYS[4]]
    assert await kept.grants(GrantFilter()) == [KEYS[1], KEYS[3]]
    await kept.change(lambda change: kept.store.remove_grants(change, GrantFilter(user="alice")))
    await kept.change(lambda change: kept.store.remove_user(change, "alice"))
    assert await kept.grants(GrantFilter()) == []


async def test_grants_on_resources_are_removed_together_and_returned_in_order(kept: Kept) -> None:
    await kept.add_users("Zora", "alice", "bobby")
    await kept.add_grants(*KEYS)
    names = {key.resource for key in KEYS} - {"team-b"}
    removed = await kept.change(lambda change: kept.store.remove_grants_on(change, QUEUE, names | {"none"}))
    expected = [key for key in KEYS if key.kind is QUEUE and key.resource in names]
    assert [grant.key for grant in removed] == expected
    assert await kept.grants(GrantFilter()) == [key for key in KEYS if key not in expected]
    assert list(await kept.change(lambda change: kept.store.remove_grants_on(change, QUEUE, set()))) == []


async def test_versions_can_be_had_together(kept: Kept) -> None:
    first = await kept.change(kept.store.next_version)
    some = list(await kept.change(lambda change: kept.store.next_versions(change, 3)))
    last = await kept.change(kept.store.next_version)
    assert [first, *some, last] == sorted({first, *some, last})
    assert len(some) == 3


async def test_versions_only_grow_also_past_changes_undone(kept: Kept) -> None:
    async def next_version() -> int:
        return await kept.change(kept.store.next_version)

    async def give_up() -> None:
        async with kept.database.change(LOCK) as change:
            await kept.store.next_version(change)
            raise TimeoutError

    first = await next_version()
    with pytest.raises(TimeoutError):
        await give_up()
    later = list(await asyncio.gather(*(next_version() for _ in range(5))))
    assert len({first, *later}) == 6
    assert first < min(later)


async def test_a_change_undone_leaves_nothing(kept: Kept) -> None:
    async def add_and_fail() -> None:
        async with kept.database.change(LOCK) as change:
            await kept.store.add_user(change, ALICE)
            await kept.store.add_token(change, token("t1"))
            await kept.store.add_grant(change, Grant(KEYS[2], 1, NOON))
            assert await kept.store.user(change, "alice") == ALICE
            raise TimeoutError

    with pytest.raises(TimeoutError):
        await add_and_fail()
    assert await kept.user("alice") is None
    assert await kept.token("t1") is None
    assert await kept.grants(GrantFilter()) == []


async def test_of_many_changes_that_add_one_name_one_succeeds(kept: Kept) -> None:
    outcomes = await asyncio.gather(*(kept.add_users("alice") for _ in range(8)), return_exceptions=True)
    assert [type(outcome) for outcome in outcomes if outcome is not None] == [UserExists] * 7


async def test_all_characters_of_names_are_kept_apart(kept: Kept) -> None:
    names = [f"user{letter}" for letter in string.ascii_letters + string.digits]
    await kept.add_users(*names)
    found = await kept.store.users(kept.database.newest, "", 1000)
    assert [user.name for user in found] == sorted(names)
