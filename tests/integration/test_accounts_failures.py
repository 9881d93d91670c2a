"""Every failure that the contract of accounts promises, caused over a real socket."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, TypeAlias

import pytest
from google.protobuf.duration_pb2 import Duration

from paddleflow.auth.v1 import auth_pb2 as pb
from paddleflow.problems import Problem, WrongPassword
from support.accounts import PASSWORD, empty_world
from support.accounts_site import Site, served
from support.repository import ROOT

CONTRACT = ROOT / "protos" / "paddleflow" / "auth" / "v1" / "auth.proto"
Row: TypeAlias = tuple[str, str, str]
"""Method, code and reason."""


def promised() -> list[Row]:
    """The rows of the tables above the methods."""
    rows: list[Row] = []
    waiting: list[tuple[str, str]] = []
    for line in CONTRACT.read_text().splitlines():
        if cells := re.fullmatch(r"\s*// \|(.+)\|(.+)\|(.+)\|(.+)\|", line):
            code, reason = cells[2].strip(), cells[3].strip()
            if code not in ("code", "---"):
                waiting.append((code, reason))
        elif method := re.match(r"\s*rpc (\w+)\(", line):
            rows += [(method[1], code, reason) for code, reason in waiting]
            waiting = []
    return rows


def grant(user: str, resource: str, kind: int = pb.RESOURCE_KIND_QUEUE) -> pb.Grant:
    return pb.Grant(user=user, kind=kind, resource=resource)  # type: ignore[arg-type]  # any number, on purpose


async def wrong_login(site: Site) -> None:
    await site.log_in("alice", "wrong1")


async def unknown_login(site: Site) -> None:
    await site.log_in("nobody")


async def eleven_logins(site: Site) -> None:
    for _ in range(10):
        with pytest.raises(Problem):
            await wrong_login(site)
    await site.log_in("alice")


async def eleven_changes(site: Site) -> None:
    alice = await site.log_in("alice")
    for _ in range(10):
        with pytest.raises(WrongPassword):
            await alice(pb.SetPasswordRequest(old_password="wrong1", new_password="another1"))
    await alice(pb.SetPasswordRequest(old_password=PASSWORD, new_password="another1"))


async def long_token(site: Site) -> None:
    await (await site.log_in("alice"))(pb.CreateTokenRequest(lifetime=Duration(seconds=366 * 86400)))


async def second_user(site: Site) -> None:
    await (await site.root())(pb.CreateUserRequest(user=pb.User(name="alice"), password=PASSWORD))


async def second_grant(site: Site) -> None:
    root = await site.root()
    for _ in range(2):
        await root(pb.CreateGrantRequest(grant=grant("alice", "team-a")))


async def stale_delete(site: Site) -> None:
    await (await site.root())(pb.DeleteUserRequest(name="alice", etag="0"))


def as_alice(request: Any) -> Callable[[Site], Awaitable[None]]:
    async def cause(site: Site) -> None:
        await (await site.log_in("alice"))(request)

    return cause


def as_root(request: Any) -> Callable[[Site], Awaitable[None]]:
    async def cause(site: Site) -> None:
        await (await site.root())(request)

    return cause


FAILURES: dict[Row, list[Callable[[Site], Awaitable[None]]]] = {
    ("Login", "UNAUTHENTICATED", "WRONG_PASSWORD"): [wrong_login, unknown_login],
    ("Login", "RESOURCE_EXHAUSTED", "TOO_MANY_ATTEMPTS"): [eleven_logins],
    ("CreateToken", "INVALID_ARGUMENT", "INVALID_ARGUMENT"): [
        long_token,
        as_alice(pb.CreateTokenRequest(lifetime=Duration())),
        as_alice(pb.CreateTokenRequest(description="x" * 65)),
        as_alice(pb.CreateTokenRequest(request_id="x" * 65)),
    ],
    ("CreateToken", "PERMISSION_DENIED", "PERMISSION_DENIED"): [as_alice(pb.CreateTokenRequest(user="root"))],
    ("CreateToken", "NOT_FOUND", "USER_NOT_FOUND"): [as_root(pb.CreateTokenRequest(user="nobody"))],
    ("RevokeToken", "NOT_FOUND", "TOKEN_NOT_FOUND"): [
        as_alice(pb.RevokeTokenRequest(id="no-such-token")),
        as_root(pb.RevokeTokenRequest(id="\x00")),
    ],
    ("CreateUser", "INVALID_ARGUMENT", "INVALID_ARGUMENT"): [
        as_root(pb.CreateUserRequest(user=pb.User(name="bob"), password=PASSWORD)),
        as_root(pb.CreateUserRequest(user=pb.User(name="bob-by"), password="ABC")),
        as_root(pb.CreateUserRequest(user=pb.User(name="bobby"), password="a1" * 65)),
        as_root(pb.CreateUserRequest()),
    ],
    ("CreateUser", "INVALID_ARGUMENT", "PASSWORD_TOO_WEAK"): [
        as_root(pb.CreateUserRequest(user=pb.User(name="bobby"), password="abcdef"))
    ],
    ("CreateUser", "ALREADY_EXISTS", "USER_EXISTS"): [second_user],
    ("GetUser", "NOT_FOUND", "USER_NOT_FOUND"): [as_root(pb.GetUserRequest(name="nobody"))],
    ("GetUser", "PERMISSION_DENIED", "PERMISSION_DENIED"): [as_alice(pb.GetUserRequest(name="root"))],
    ("SetPassword", "UNAUTHENTICATED", "WRONG_PASSWORD"): [
        as_alice(pb.SetPasswordRequest(old_password="wrong1", new_password="another1")),
        as_root(pb.SetPasswordRequest(name="root", new_password="another1")),
    ],
    ("SetPassword", "RESOURCE_EXHAUSTED", "TOO_MANY_ATTEMPTS"): [eleven_changes],
    ("SetPassword", "INVALID_ARGUMENT", "PASSWORD_TOO_WEAK"): [
        as_alice(pb.SetPasswordRequest(old_password=PASSWORD, new_password="weak"))
    ],
    ("SetPassword", "PERMISSION_DENIED", "PERMISSION_DENIED"): [
        as_alice(pb.SetPasswordRequest(name="root", old_password=PASSWORD, new_password="another1"))
    ],
    ("DeleteUser", "NOT_FOUND", "USER_NOT_FOUND"): [as_root(pb.DeleteUserRequest(name="nobody"))],
    ("DeleteUser", "FAILED_PRECONDITION", "USER_IS_ROOT"): [as_root(pb.DeleteUserRequest(name="root"))],
    ("CreateGrant", "NOT_FOUND", "USER_NOT_FOUND"): [as_root(pb.CreateGrantRequest(grant=grant("nobody", "team-a")))],
    ("CreateGrant", "NOT_FOUND", "QUEUE_NOT_FOUND"): [as_root(pb.CreateGrantRequest(grant=grant("alice", "none")))],
    ("CreateGrant", "FAILED_PRECONDITION", "USER_IS_ROOT"): [
        as_root(pb.CreateGrantRequest(grant=grant("root", "team-a")))
    ],
    ("CreateGrant", "ALREADY_EXISTS", "GRANT_EXISTS"): [second_grant],
    ("DeleteGrant", "NOT_FOUND", "GRANT_NOT_FOUND"): [as_root(pb.DeleteGrantRequest(grant=grant("alice", "team-a")))],
    ("CreateGrant", "INVALID_ARGUMENT", "INVALID_ARGUMENT"): [
        as_root(pb.CreateGrantRequest()),
        as_root(pb.CreateGrantRequest(grant=grant("alice", "team-a", 77))),
        as_root(pb.CreateGrantRequest(grant=grant("alice", "a b", pb.RESOURCE_KIND_FILESYSTEM))),
    ],
    ("DeleteUser", "ABORTED", "ETAG_MISMATCH"): [stale_delete],
    ("DeleteUser", "INVALID_ARGUMENT", "INVALID_ARGUMENT"): [as_root(pb.DeleteUserRequest())],
    ("GetUser", "INVALID_ARGUMENT", "INVALID_ARGUMENT"): [as_root(pb.GetUserRequest())],
    ("RevokeToken", "INVALID_ARGUMENT", "INVALID_ARGUMENT"): [as_root(pb.RevokeTokenRequest())],
    ("CheckAccess", "INVALID_ARGUMENT", "INVALID_ARGUMENT"): [as_root(pb.CheckAccessRequest())],
    ("ListUsers", "INVALID_ARGUMENT", "INVALID_ARGUMENT"): [as_root(pb.ListUsersRequest(page_size=-1))],
    ("ListUsers", "INVALID_ARGUMENT", "PAGE_TOKEN_INVALID"): [as_root(pb.ListUsersRequest(page_token="made-up"))],
    ("ListTokens", "PERMISSION_DENIED", "PERMISSION_DENIED"): [as_alice(pb.ListTokensRequest(user="root"))],
    ("ListGrants", "PERMISSION_DENIED", "PERMISSION_DENIED"): [as_alice(pb.ListGrantsRequest(user="root"))],
    ("ListGrants", "INVALID_ARGUMENT", "INVALID_ARGUMENT"): [
        as_root(pb.ListGrantsRequest(kind=77))  # type: ignore[arg-type]  # what a newer client may send
    ],
    ("ListTokens", "INVALID_ARGUMENT", "INVALID_ARGUMENT"): [as_root(pb.ListTokensRequest(page_size=-1))],
    ("ListTokens", "INVALID_ARGUMENT", "PAGE_TOKEN_INVALID"): [as_root(pb.ListTokensRequest(page_token="made-up"))],
    ("ListGrants", "INVALID_ARGUMENT", "PAGE_TOKEN_INVALID"): [as_root(pb.ListGrantsRequest(page_token="made-up"))],
    ("SetPassword", "INVALID_ARGUMENT", "INVALID_ARGUMENT"): [
        as_alice(pb.SetPasswordRequest(old_password=PASSWORD, new_password="a1" * 65))
    ],
    ("SetPassword", "NOT_FOUND", "USER_NOT_FOUND"): [
        as_root(pb.SetPasswordRequest(name="nobody", new_password="another1"))
    ],
}

CASES = [(row, cause) for row, causes in FAILURES.items() for cause in causes]


def test_every_promised_failure_is_caused_below() -> None:
    rows = promised()
    assert len(rows) >= 20
    assert set(rows) == set(FAILURES)


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    async with served(empty_world()) as opened:
        yield opened


@pytest.mark.parametrize(("row", "cause"), CASES, ids=["-".join(row) for row, _ in CASES])
async def test_a_failure_has_its_code_and_reason(
    site: Site, row: Row, cause: Callable[[Site], Awaitable[None]]
) -> None:
    with pytest.raises(Problem) as failed:
        await cause(site)
    assert (failed.value.code, failed.value.reason) == row[1:]
    assert failed.value.reason not in ("INVALID_ARGUMENT", "PASSWORD_TOO_WEAK") or failed.value.violations
    told = [subject for subject, _, _ in await site.world.told()]
    assert told == ["user/root", "user/alice", *(["grant/alice/queue/team-a"] if cause is second_grant else [])]


async def test_a_refused_login_tells_when_to_come_back(site: Site) -> None:
    with pytest.raises(Problem) as failed:
        await eleven_logins(site)
    assert failed.value.retry_after == 60.0


async def test_all_wrong_fields_of_a_grant_are_named(site: Site) -> None:
    with pytest.raises(Problem) as failed:
        await (await site.root())(pb.CreateGrantRequest())
    assert [violation.field for violation in failed.value.violations] == ["grant.user", "grant.kind", "grant.resource"]


async def test_even_a_huge_name_is_answered_with_a_reason(site: Site) -> None:
    with pytest.raises(Problem) as failed:
        await (await site.root())(pb.GetUserRequest(name="x" * 1_000_000))
    assert failed.value.reason == "USER_NOT_FOUND"
