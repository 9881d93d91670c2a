from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from paddleflow.problems import (
    InvalidArgument,
    PermissionDenied,
    Problem,
    TokenNotFound,
    TooManyAttempts,
    UserNotFound,
    WrongPassword,
)
from pf_kit.principal import Principal, PrincipalKind
from pf_queue.accounts.passwords import Cost, Passwords
from pf_queue.accounts.status import StoredTokenStatus
from support.accounts import CHEAP, PASSWORD, ROOT, ROOT_PASSWORD, SERVICE, World, memory_world, user

DAY = timedelta(days=1)


@pytest.fixture
async def world() -> World:
    return await memory_world()


async def listed(world: World, caller: Principal, whose: str = "", after: str = "", limit: int = 50) -> list[str]:
    return [token.id for token in await world.tokens.page(world.database.newest, caller, whose, after, limit)]


async def revoke(world: World, caller: Principal, token_id: str) -> None:
    await world.change(lambda change: world.tokens.revoke(change, caller, token_id))


async def test_a_login_makes_a_token_of_a_day(world: World) -> None:
    token = await world.log_in("alice", PASSWORD, "t1")
    assert (token.user, token.description, token.create_time) == ("alice", "", world.clock.time)
    assert token.expire_time == world.clock.time + DAY


@pytest.mark.parametrize(
    ("name", "password"),
    [("alice", "wrong1"), ("nobody", PASSWORD), ("", ""), ("alice", ""), ("alice\x00", PASSWORD), ("x" * 10_000, "")],
)
async def test_a_login_tells_nobody_what_was_wrong(world: World, name: str, password: str) -> None:
    with pytest.raises(WrongPassword) as refused:
        await world.log_in(name, password, "t1")
    assert refused.value.message == WrongPassword().message


async def test_ten_wrong_passwords_within_a_minute_are_enough(world: World) -> None:
    for _ in range(10):
        with pytest.raises(WrongPassword):
            await world.log_in("alice", "wrong1", "t1")
    world.clock.move(20)
    with pytest.raises(TooManyAttempts) as refused:
        await world.log_in("alice", PASSWORD, "t1")
    assert refused.value.retry_after == 40
    await world.log_in("root", ROOT_PASSWORD, "t2")
    world.clock.move(40)
    await world.log_in("alice", PASSWORD, "t3")


async def test_an_unknown_name_is_throttled_like_a_known_one(world: World) -> None:
    for _ in range(10):
        with pytest.raises(WrongPassword):
            await world.log_in("nobody", PASSWORD, "t1")
    with pytest.raises(TooManyAttempts):
        await world.log_in("nobody", PASSWORD, "t1")


async def test_guesses_at_the_same_time_do_not_outrun_the_count(world: World) -> None:
    guesses = (world.tokens.draft_login(world.database.newest, "alice", f"wrong{number}") for number in range(40))
    outcomes = await asyncio.gather(*guesses, return_exceptions=True)
    assert sum(isinstance(outcome, WrongPassword) for outcome in outcomes) == 10
    assert sum(isinstance(outcome, TooManyAttempts) for outcome in outcomes) == 30


async def test_many_right_logins_at_the_same_time_all_succeed(world: World) -> None:
    logins = (world.tokens.draft_login(world.database.newest, "alice", PASSWORD) for _ in range(40))
    assert len(await asyncio.gather(*logins)) == 40


class CountingPasswords(Passwords):
    """Counts the hashes it makes."""

    def __init__(self) -> None:
        super().__init__(cost=CHEAP)
        self.compared = 0

    async def matches(self, password: str, stored: str) -> bool:
        self.compared += 1
        return await super().matches(password, stored)


@pytest.mark.parametrize("name", ["alice", "nobody"])
async def test_a_wrong_login_costs_one_hash_whether_or_not_the_user_exists(name: str) -> None:
    passwords = CountingPasswords()
    world = await memory_world(passwords)
    with pytest.raises(WrongPassword):
        await world.log_in(name, "wrong1", "t1")
    assert passwords.compared == 1


async def test_a_password_of_old_cost_is_hashed_anew_at_login(world: World) -> None:
    alice = await world.users.get(world.database.newest, ROOT, "alice")
    old = await Passwords(cost=Cost(log2_n=3)).hash(PASSWORD)
    await world.change(lambda change: world.store.set_user(change, replace(alice, password=old)))
    told = len(await world.told())
    await world.log_in("alice", PASSWORD, "t1")
    renewed = await world.users.get(world.database.newest, ROOT, "alice")
    assert not world.passwords.outdated(renewed.password)
    assert renewed.version == alice.version
    assert len(await world.told()) == told
    await world.log_in("alice", PASSWORD, "t2")


async def test_a_login_loses_against_a_change_of_the_password(world: World) -> None:
    login = await world.tokens.draft_login(world.database.newest, "alice", PASSWORD)
    await world.set_password(ROOT, "alice", "", "another1")
    with pytest.raises(WrongPassword):
        await world.change(lambda change: world.tokens.log_in(change, login, "t1"))
    await world.change(lambda change: world.users.delete(change, "alice", ""))
    with pytest.raises(WrongPassword):
        await world.change(lambda change: world.tokens.log_in(change, login, "t1"))


async def test_a_token_can_be_made_for_a_program(world: World) -> None:
    token = await world.create_token(user("alice"), "t1", timedelta(days=365))
    assert (token.user, token.description) == ("alice", "for tests")
    assert token.expire_time == world.clock.time + 365 * DAY
    assert (await world.create_token(user("alice"), "t2")).expire_time == world.clock.time + DAY


async def test_root_and_services_make_tokens_for_others(world: World) -> None:
    for caller in (ROOT, SERVICE):
        assert (await world.create_token(caller, f"by-{caller.name}", whose="alice")).user == "alice"


@pytest.mark.parametrize(
    ("lifetime", "description", "fields"),
    [
        (timedelta(0), "", ["lifetime"]),
        (timedelta(seconds=-1), "", ["lifetime"]),
        (timedelta(days=365, microseconds=1), "", ["lifetime"]),
        (None, "x" * 65, ["description"]),
        (None, "x\x00", ["description"]),
        (timedelta(days=366), "x" * 65, ["description", "lifetime"]),
    ],
)
async def test_all_wrong_fields_of_a_token_are_named(
    world: World, lifetime: timedelta | None, description: str, fields: list[str]
) -> None:
    with pytest.raises(InvalidArgument) as refused:
        world.tokens.draft(user("alice"), "t1", "", description, lifetime)
    assert [violation.field for violation in refused.value.violations] == fields


@pytest.mark.parametrize(
    ("caller", "whose", "problem"),
    [
        (user("alice"), "root", PermissionDenied),
        (user("alice"), "nobody", PermissionDenied),
        (ROOT, "nobody", UserNotFound),
        (SERVICE, "", InvalidArgument),
    ],
)
async def test_a_token_is_not_made(world: World, caller: Principal, whose: str, problem: type[Problem]) -> None:
    with pytest.raises(problem):
        await world.create_token(caller, "t1", whose=whose)
    assert await world.tokens.good(world.database.newest, "t1") is None


async def test_tokens_are_listed_newest_first_and_only_good_ones(world: World) -> None:
    await world.create_token(user("alice"), "short", timedelta(seconds=5))
    for token_id in ("t1", "t2", "t3"):
        await world.create_token(user("alice"), token_id)
        world.clock.move(1)
    await world.create_token(ROOT, "of-root")
    await revoke(world, user("alice"), "t2")
    assert await listed(world, user("alice")) == ["t3", "t1", "short"]
    world.clock.move(2)
    assert await listed(world, user("alice"), "alice") == ["t3", "t1"]
    assert await listed(world, ROOT) == ["of-root", "t3", "t1"]
    assert await listed(world, ROOT, "alice") == ["t3", "t1"]
    with pytest.raises(PermissionDenied):
        await listed(world, user("alice"), "root")


async def test_a_list_of_tokens_goes_on_after_a_place_also_among_equals_in_time(world: World) -> None:
    for number in range(5):
        await world.create_token(user("alice"), f"t{number}")
    first = await world.tokens.page(world.database.newest, user("alice"), "", "", 2)
    assert [token.id for token in first] == ["t4", "t3"]
    assert await listed(world, user("alice"), after=str(first[-1].place)) == ["t2", "t1", "t0"]


@pytest.mark.parametrize("caller", [user("alice"), ROOT, SERVICE])
async def test_a_revoked_token_is_not_good_and_can_be_revoked_again(world: World, caller: Principal) -> None:
    await world.create_token(user("alice"), "t1")
    await revoke(world, caller, "t1")
    assert await world.tokens.good(world.database.newest, "t1") is None
    await revoke(world, caller, "t1")


async def test_only_ones_own_tokens_can_be_revoked(world: World) -> None:
    await world.create_token(ROOT, "of-root")
    namesake = Principal(PrincipalKind.SERVICE, "root")
    for caller in (user("alice"), namesake):
        with pytest.raises(TokenNotFound):
            await revoke(world, caller, "of-root")
    with pytest.raises(TokenNotFound):
        await revoke(world, ROOT, "no-such-token")
    assert await world.tokens.good(world.database.newest, "of-root") is not None


async def test_a_token_whose_time_is_over_is_gone(world: World) -> None:
    await world.create_token(user("alice"), "t1", timedelta(seconds=5))
    world.clock.move(4)
    assert await world.tokens.good(world.database.newest, "t1") is not None
    world.clock.move(1)
    assert await world.tokens.good(world.database.newest, "t1") is None
    with pytest.raises(TokenNotFound):
        await revoke(world, user("alice"), "t1")


async def test_the_status_of_a_token_is_that_of_its_row(world: World) -> None:
    status = StoredTokenStatus(database=world.database, store=world.store, clock=world.clock)

    async def seen(token_id: str) -> tuple[bool, str, bool] | None:
        state = await status.check(token_id)
        return (state.good, state.user, state.root) if state else None

    await world.create_token(user("alice"), "t1")
    await world.create_token(ROOT, "t2", timedelta(seconds=5))
    assert await seen("t1") == (True, "alice", False)
    assert await seen("t2") == (True, "root", True)
    assert await seen("t3") is None
    await revoke(world, ROOT, "t1")
    world.clock.move(5)
    assert await seen("t1") == (False, "alice", False)
    assert await seen("t2") == (False, "root", True)


EVERYTHING: list[Callable[[World], Awaitable[None]]] = [
    lambda world: world.set_password(user("alice"), "", PASSWORD, "another1"),
    lambda world: world.change(lambda change: world.users.delete(change, "alice", "")),
]


@pytest.mark.parametrize("end", EVERYTHING)
async def test_a_user_loses_all_its_tokens_and_nobody_else_any(
    world: World, end: Callable[[World], Awaitable[None]]
) -> None:
    for token_id in ("t1", "t2"):
        await world.create_token(user("alice"), token_id)
    await world.create_token(ROOT, "of-root")
    await end(world)
    assert await listed(world, ROOT) == ["of-root"]
