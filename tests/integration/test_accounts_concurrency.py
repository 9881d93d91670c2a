"""Accounts under changes at the same time, in Postgres, over a real socket."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import pytest

from paddleflow.auth.v1 import auth_pb2 as pb
from paddleflow.problems import Problem, TokenRevoked
from support.accounts import PASSWORD, ROOT_PASSWORD, postgres_world
from support.accounts_site import Caller, Site, served


@pytest.fixture
async def site(fresh_dsn: str) -> AsyncIterator[Site]:
    async with postgres_world(fresh_dsn) as world, served(world) as opened:
        yield opened


async def outcome(caller: Caller, request: Any) -> str:
    """The reason of the failure; empty for a success."""
    try:
        await caller(request)
    except Problem as problem:
        return problem.reason
    return ""


def grant(user: str, resource: str = "team-a") -> pb.CreateGrantRequest:
    return pb.CreateGrantRequest(grant=pb.Grant(user=user, kind=pb.RESOURCE_KIND_QUEUE, resource=resource))


async def test_of_users_of_one_name_one_is_added(site: Site) -> None:
    root = await site.root()
    for name in ("bobby", "carol", "david"):
        request = pb.CreateUserRequest(user=pb.User(name=name), password=PASSWORD)
        outcomes = await asyncio.gather(*(outcome(root, request) for _ in range(6)))
        assert sorted(outcomes) == ["", *["USER_EXISTS"] * 5]
    told = [subject for subject, _, _ in await site.world.told()]
    assert told == ["user/root", "user/alice", "user/bobby", "user/carol", "user/david"]


async def test_a_request_sent_several_times_at_once_takes_effect_once(site: Site) -> None:
    root = await site.root()
    request = pb.CreateUserRequest(user=pb.User(name="bobby"), password=PASSWORD, request_id="one")
    replies = await asyncio.gather(*(root(request) for _ in range(6)))
    assert all(reply == replies[0] for reply in replies)
    tokens = await asyncio.gather(*(root(pb.CreateTokenRequest(request_id="two")) for _ in range(6)))
    assert len({token.secret for token in tokens}) == 1


async def test_a_grant_never_outlives_its_user(site: Site) -> None:
    root = await site.root()
    for number in range(8):
        name = f"user{number}"
        await root(pb.CreateUserRequest(user=pb.User(name=name), password=PASSWORD))
        granted, deleted = await asyncio.gather(
            outcome(root, grant(name)), outcome(root, pb.DeleteUserRequest(name=name))
        )
        assert deleted == ""
        assert granted in ("", "USER_NOT_FOUND")
    assert list((await root(pb.ListGrantsRequest())).grants) == []
    versions: dict[str, list[int]] = {}
    for subject, version, _ in await site.world.told():
        versions.setdefault(subject, []).append(version)
    assert all(grown == sorted(set(grown)) for grown in versions.values())
    assert all(len(grown) == 2 for subject, grown in versions.items() if subject.startswith("grant/"))


async def test_a_login_never_outlives_a_change_of_the_password(site: Site) -> None:
    root = await site.root()
    for number in range(6):
        old, new = (PASSWORD, "another1") if number % 2 == 0 else ("another1", PASSWORD)
        change = pb.SetPasswordRequest(name="alice", new_password=new)
        logins = [site.log_in("alice", old) for _ in range(3)]
        *callers, changed = await asyncio.gather(*logins, outcome(root, change), return_exceptions=True)
        assert changed == ""
        for caller in callers:
            if isinstance(caller, Caller):
                with pytest.raises(TokenRevoked):
                    await caller(pb.WhoAmIRequest())


async def test_nothing_kept_is_a_password_or_a_token(site: Site, fresh_dsn: str) -> None:
    alice = await site.log_in("alice")
    made = await alice(pb.CreateTokenRequest(description="ci", request_id="one"))
    await alice(pb.SetPasswordRequest(old_password=PASSWORD, new_password="another1", request_id="two"))
    secrets = [PASSWORD, ROOT_PASSWORD, "another1", alice.secret, made.secret, made.secret.rpartition(".")[2]]
    connection = await asyncpg.connect(fresh_dsn, server_settings={"search_path": "queue"})
    try:
        tables = await connection.fetch("select table_name from information_schema.tables where table_schema = 'queue'")
        kept = ""
        for (table,) in tables:
            # Bytes as text, so that a secret inside of a message is found too.
            rows = await connection.fetch(f"select * from {table}")
            kept += "".join(str(value) for row in rows for value in row.values())
    finally:
        await connection.close()
    assert "alice" in kept
    assert "another1" not in kept
    assert [secret for secret in secrets if secret in kept] == []
