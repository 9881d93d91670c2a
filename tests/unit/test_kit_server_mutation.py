"""Changes that take effect once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from paddleflow.auth.v1.auth_pb2 import CreateUserRequest, CreateUserResponse, User
from paddleflow.problems import Conflict, InvalidArgument, RequestIdReused, UserExists
from pf_kit.call import CURRENT, Call
from pf_kit.clock import SystemClock
from pf_kit.events import Fact
from pf_kit.leases import Lease
from pf_kit.memory import MemoryDatabase, tables
from pf_kit.mutation import Mutations
from pf_kit.principal import Principal, PrincipalKind
from pf_kit.unit import AuditEntry, AuditFilter, Change

ALICE = Principal(PrincipalKind.USER, "alice")
BOB = Principal(PrincipalKind.USER, "bob")


class Users:
    """A service that adds users, and counts how often it really does."""

    def __init__(self) -> None:
        self.database = MemoryDatabase(encode=_encode, clock=SystemClock())
        self.mutations = Mutations(self.database, b"secret")
        self.worked = 0
        self.before: Callable[[], Awaitable[None]] = _nothing

    async def create(
        self, name: str, request_id: str, *, caller: Principal = ALICE, method: str = "/u/Create", password: str = "p"
    ) -> CreateUserResponse:
        CURRENT.set(Call(method, caller, "ipv4:1.2.3.4:5", "", 0.0))
        request = CreateUserRequest(user=User(name=name), password=password, request_id=request_id)

        async def work(change: Change) -> CreateUserResponse:
            self.worked += 1
            await self.before()
            users = tables(change).table("users")
            if name in users:
                raise UserExists
            users[name] = self.worked
            change.emit(name)
            return CreateUserResponse(user=User(name=name, etag=str(self.worked)))

        return await self.mutations.run(
            request, CreateUserResponse, locks=["accounts"], subject=f"user/{name}", work=work
        )

    async def entries(self) -> list[AuditEntry]:
        return [record.entry for record in await self.database.audit_records(AuditFilter(), None, 100)]


def _encode(event: object) -> Fact:
    return Fact("User", f"user/{event}", 1, b"")


async def _nothing() -> None:
    """Goes on at once."""


async def test_a_repetition_gets_the_first_reply_and_changes_nothing() -> None:
    users = Users()
    first = await users.create("bob12", "r1")
    assert await users.create("bob12", "r1") == first
    assert users.worked == 1
    assert len(await users.entries()) == 1
    assert len(await users.database.log.events_after(await users.database.log.floor(), 10)) == 1


async def test_repetitions_at_the_same_time_take_effect_once() -> None:
    users = Users()
    users.before = lambda: asyncio.sleep(0.001)
    replies = await asyncio.gather(*(users.create("bob12", "r1") for _ in range(20)))
    assert users.worked == 1
    assert all(reply == replies[0] for reply in replies)


async def test_without_an_id_nothing_is_remembered() -> None:
    users = Users()
    await users.create("bob12", "")
    with pytest.raises(UserExists):
        await users.create("bob12", "")


async def test_an_id_is_of_one_request_one_caller_and_one_method() -> None:
    users = Users()
    await users.create("bob12", "r1")
    with pytest.raises(RequestIdReused):
        await users.create("carol", "r1")
    with pytest.raises(RequestIdReused):
        await users.create("bob12", "r1", password="q")
    await users.create("dave1", "r1", caller=BOB)
    await users.create("erin1", "r1", method="/u/Other")
    assert users.worked == 3


async def test_a_failure_leaves_no_trace_and_may_be_repeated() -> None:
    users = Users()
    await users.create("bob12", "r1")
    with pytest.raises(UserExists):
        await users.create("bob12", "r2")
    assert len(await users.entries()) == 1
    with pytest.raises(UserExists):
        await users.create("bob12", "r2")
    assert users.worked == 3


async def test_the_audit_entry_says_who_did_what_from_where() -> None:
    users = Users()
    await users.create("bob12", "r1")
    await users.create("carol", "", caller=Principal(PrincipalKind.USER, "alice", acting_service="job"))
    acting, plain = await users.entries()
    assert plain == AuditEntry("user/alice", "", "/u/Create", "user/bob12", "ipv4:1.2.3.4:5", "r1")
    assert (acting.actor, acting.on_behalf_of) == ("service/job", "user/alice")


@pytest.mark.parametrize("request_id", ["x" * 65, "a\nb", "a\x00b", "ä", "\u2028"])
async def test_what_cannot_be_an_id_is_refused_with_its_field(request_id: str) -> None:
    users = Users()
    with pytest.raises(InvalidArgument) as caught:
        await users.create("bob12", request_id)
    assert caught.value.violations[0].field == "request_id"
    assert users.worked == 0


async def test_the_longest_id_is_taken() -> None:
    await Users().create("bob12", "x" * 64)


@pytest.mark.parametrize(("losses", "succeeds"), [(2, True), (3, False)])
async def test_a_lost_transaction_is_begun_again_three_times(losses: int, succeeds: bool) -> None:
    users = Users()
    left = [losses]

    async def lose() -> None:
        left[0] -= 1
        if left[0] >= 0:
            raise Conflict

    users.before = lose
    if succeeds:
        await users.create("bob12", "r1")
    else:
        with pytest.raises(Conflict):
            await users.create("bob12", "r1")
    assert users.worked == 3
    assert len(await users.entries()) == int(succeeds)


async def test_what_is_kept_of_a_request_hides_its_password() -> None:
    kept = []

    class Spying(MemoryDatabase):
        @asynccontextmanager
        async def change(self, *locks: str, lease: Lease | None = None) -> AsyncIterator[Change]:
            async with super().change(*locks, lease=lease) as change:
                yield change
                kept.append(repr(vars(change)))

    users = Users()
    users.mutations = Mutations(Spying(encode=_encode, clock=SystemClock()), b"secret")
    await users.create("bob12", "r1", password="p4ssw0rd")
    assert kept
    assert "p4ssw0rd" not in kept[0]


async def test_digests_of_two_installations_differ() -> None:
    """Else whoever reads the table could try out passwords."""
    request = CreateUserRequest(user=User(name="bob12"), password="p")
    one, other = (Mutations(Users().database, secret)._digest(request) for secret in (b"a", b"b"))  # noqa: SLF001
    assert one != other
