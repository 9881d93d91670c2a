"""AuthService, UserService and GrantService over a real socket."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import timedelta
from typing import Any

import jwt
import pytest
from google.protobuf.duration_pb2 import Duration

from paddleflow.auth.v1 import auth_pb2 as pb
from paddleflow.common.v1 import access_pb2, info_pb2
from paddleflow.problems import (
    PageTokenInvalid,
    PermissionDenied,
    RequestIdReused,
    TokenExpired,
    TokenInvalid,
    TokenMissing,
    TokenNotFound,
    TokenRevoked,
    WrongPassword,
)
from pf_kit.tokens import Signer, new_private_key
from support.accounts import PASSWORD, ROOT_PASSWORD, empty_world
from support.accounts_site import METHODS, Caller, Site, served

GRANT = pb.Grant(user="alice", kind=pb.RESOURCE_KIND_QUEUE, resource="team-a")


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    async with served(empty_world()) as opened:
        yield opened


async def first(messages: AsyncIterator[Any]) -> Any:
    async for message in messages:
        return message
    raise AssertionError("the stream ended without a message")


Step = Callable[[Site, Caller], Awaitable[Any]]


async def revoke_own(site: Site, root: Caller) -> Any:
    token = (await root(pb.CreateTokenRequest())).token
    return await root(pb.RevokeTokenRequest(id=token.id))


async def ungrant(site: Site, root: Caller) -> Any:
    await root(pb.CreateGrantRequest(grant=GRANT))
    return await root(pb.DeleteGrantRequest(grant=GRANT))


SUCCESSES: dict[str, Step] = {
    "Login": lambda site, root: site.anyone(pb.LoginRequest(user="alice", password=PASSWORD)),
    "WhoAmI": lambda site, root: root(pb.WhoAmIRequest()),
    "CreateToken": lambda site, root: root(pb.CreateTokenRequest()),
    "ListTokens": lambda site, root: root(pb.ListTokensRequest()),
    "RevokeToken": revoke_own,
    "ListVerificationKeys": lambda site, root: site.anyone(pb.ListVerificationKeysRequest()),
    "CheckToken": lambda site, root: root(pb.CheckTokenRequest(id="x")),
    "CheckAccess": lambda site, root: root(
        pb.CheckAccessRequest(user="alice", kind=pb.RESOURCE_KIND_QUEUE, resource="team-a")
    ),
    "CreateUser": lambda site, root: root(pb.CreateUserRequest(user=pb.User(name="bobby"), password=PASSWORD)),
    "GetUser": lambda site, root: root(pb.GetUserRequest(name="alice")),
    "ListUsers": lambda site, root: root(pb.ListUsersRequest()),
    "SetPassword": lambda site, root: root(pb.SetPasswordRequest(name="alice", new_password="another1")),
    "DeleteUser": lambda site, root: root(pb.DeleteUserRequest(name="alice")),
    "WatchUsers": lambda site, root: first(root.watch(pb.WatchUsersRequest())),
    "CreateGrant": lambda site, root: root(pb.CreateGrantRequest(grant=GRANT)),
    "ListGrants": lambda site, root: root(pb.ListGrantsRequest()),
    "DeleteGrant": ungrant,
    "WatchGrants": lambda site, root: first(root.watch(pb.WatchGrantsRequest())),
}
OWN = {full: method for full, method in METHODS.items() if full.startswith("paddleflow.auth.")}


def access(method: Any) -> int:
    rule = method.GetOptions().Extensions[access_pb2.rule]
    return int(rule.access)


@pytest.mark.parametrize("full", OWN)
async def test_every_method_answers(site: Site, full: str) -> None:
    method = OWN[full]
    reply = await SUCCESSES[method.name](site, await site.root())
    assert reply.DESCRIPTOR.full_name == method.output_type.full_name


@pytest.mark.parametrize("full", OWN)
async def test_every_method_lets_in_whom_its_rule_names(site: Site, full: str) -> None:
    method = OWN[full]
    rule, step = access(method), SUCCESSES[method.name]
    if rule != access_pb2.ACCESS_ANYONE:
        with pytest.raises(TokenMissing):
            await step(site, site.anyone)
    if rule in (access_pb2.ACCESS_ROOT, access_pb2.ACCESS_SERVICE):
        with pytest.raises(PermissionDenied):
            await step(site, await site.log_in("alice"))


async def test_a_token_says_whose_it_is(site: Site) -> None:
    async def whose(caller: Caller) -> tuple[str, str, bool]:
        reply = await caller(pb.WhoAmIRequest())
        assert reply.expire_time.seconds > site.world.clock.now().timestamp()
        return reply.user, reply.service, reply.root

    assert await whose(await site.log_in("alice")) == ("alice", "", False)
    assert await whose(await site.root()) == ("root", "", True)
    assert await whose(site.service()) == ("", "job", False)
    assert await whose(site.service("alice")) == ("", "job", False)


async def test_a_login_gives_a_token_signed_with_the_first_key(site: Site) -> None:
    reply = await site.anyone(pb.LoginRequest(user="alice", password=PASSWORD))
    keys = (await site.anyone(pb.ListVerificationKeysRequest())).keys
    assert [key.id for key in keys] == [site.signer.key_id, site.older.key_id]
    assert jwt.get_unverified_header(reply.secret)["kid"] == keys[0].id
    claims = jwt.decode(reply.secret, keys[0].public_key, algorithms=["EdDSA"], options={"verify_iat": False})
    assert (claims["sub"], claims["jti"], claims["exp"]) == (
        "user/alice",
        reply.token.id,
        reply.token.expire_time.seconds,
    )
    assert reply.token.expire_time.seconds - reply.token.create_time.seconds == 86400


async def test_a_token_of_the_key_before_is_still_good(site: Site) -> None:
    token = (await (await site.log_in("alice"))(pb.CreateTokenRequest())).token
    secret = site.older.sign(site.claims("user/alice", token.id))
    assert (await Caller(site.channel, secret)(pb.WhoAmIRequest())).user == "alice"


async def test_tokens_that_are_not_ours_are_refused(site: Site) -> None:
    token = (await (await site.log_in("alice"))(pb.CreateTokenRequest())).token
    mine = site.claims("user/alice", token.id)
    stranger = Signer(new_private_key())
    elsewhere = type(mine)("other-installation", mine.subject, mine.id, mine.issued, mine.expires)
    for secret in (stranger.sign(mine), site.signer.sign(elsewhere), "nonsense", site.signer.sign(mine)[:-5]):
        with pytest.raises(TokenInvalid):
            await Caller(site.channel, secret)(pb.WhoAmIRequest())
    for claims in (site.claims("user/root", token.id), site.claims("user/alice", "never-made")):
        with pytest.raises(TokenRevoked):
            await Caller(site.channel, site.signer.sign(claims))(pb.WhoAmIRequest())


async def test_an_expired_token_is_refused(site: Site) -> None:
    reply = await (await site.log_in("alice"))(pb.CreateTokenRequest(lifetime=Duration(seconds=60)))
    caller = Caller(site.channel, reply.secret)
    await caller(pb.WhoAmIRequest())
    site.world.clock.move(60)
    with pytest.raises(TokenExpired):
        await caller(pb.WhoAmIRequest())
    site.world.clock.move(3600)
    with pytest.raises(TokenExpired):
        await caller(pb.WhoAmIRequest())


async def test_a_revoked_token_is_refused_at_once_and_the_others_are_not(site: Site) -> None:
    alice, second = await site.log_in("alice"), await site.log_in("alice")
    await second(pb.WhoAmIRequest())
    newest = (await alice(pb.ListTokensRequest())).tokens[0]
    assert newest.user == "alice"
    await alice(pb.RevokeTokenRequest(id=newest.id))
    with pytest.raises(TokenRevoked):
        await second(pb.WhoAmIRequest())
    assert [token.id for token in (await alice(pb.ListTokensRequest())).tokens] != [newest.id]
    await alice(pb.RevokeTokenRequest(id=newest.id))


async def test_nobody_revokes_or_sees_the_tokens_of_another(site: Site) -> None:
    root, alice = await site.root(), await site.log_in("alice")
    (of_root,) = (await root(pb.ListTokensRequest(user="root"))).tokens
    with pytest.raises(TokenNotFound):
        await alice(pb.RevokeTokenRequest(id=of_root.id))
    assert {token.user for token in (await alice(pb.ListTokensRequest())).tokens} == {"alice"}
    assert {token.user for token in (await root(pb.ListTokensRequest())).tokens} == {"alice", "root"}


async def test_a_repeated_request_for_a_token_gets_the_same_token(site: Site) -> None:
    alice = await site.log_in("alice")
    request = pb.CreateTokenRequest(description="ci", lifetime=Duration(seconds=3600), request_id="one")
    made, again = await alice(request), await alice(request)
    assert made == again
    assert made.secret
    assert (await Caller(site.channel, again.secret)(pb.WhoAmIRequest())).user == "alice"
    with pytest.raises(RequestIdReused):
        await alice(pb.CreateTokenRequest(description="other", request_id="one"))
    assert len((await alice(pb.ListTokensRequest())).tokens) == 2


async def test_a_repeated_request_for_a_user_is_told_from_one_with_another_password(site: Site) -> None:
    root = await site.root()
    request = pb.CreateUserRequest(user=pb.User(name="bobby"), password="bobbypass1", request_id="one")
    assert await root(request) == await root(request)
    other = pb.CreateUserRequest(user=pb.User(name="bobby"), password="bobbypass2", request_id="one")
    with pytest.raises(RequestIdReused):
        await root(other)
    await site.log_in("bobby", "bobbypass1")


async def test_what_is_digested_of_a_request_holds_no_password(site: Site) -> None:
    root = await site.root()
    user = pb.User(name="bobby")
    await root(pb.CreateUserRequest(user=user, password="bobbypass1", request_id="one"))
    bobby = await site.log_in("bobby", "bobbypass1")
    await bobby(pb.SetPasswordRequest(old_password="bobbypass1", new_password="bobbypass2", request_id="two"))
    created, changed = site.mutations.asked
    assert isinstance(created, pb.CreateUserRequest)
    assert isinstance(changed, pb.SetPasswordRequest)
    # 32 bytes of scrypt, in hexadecimal.
    assert [len(text) for text in (created.password, changed.old_password, changed.new_password)] == [64, 64, 64]
    assert created.user == user


async def test_a_repeated_change_of_a_password_gets_its_reply(site: Site) -> None:
    job = site.service("alice")
    request = pb.SetPasswordRequest(old_password=PASSWORD, new_password="another1", request_id="one")
    await job(request)
    await job(request)
    with pytest.raises(WrongPassword):
        await job(pb.SetPasswordRequest(old_password=PASSWORD, new_password="another1", request_id="two"))
    await site.log_in("alice", "another1")


async def test_a_new_password_ends_the_users_sessions_at_once(site: Site) -> None:
    alice, root = await site.log_in("alice"), await site.root()
    await alice(pb.WhoAmIRequest())
    await root(pb.SetPasswordRequest(name="alice", new_password="another1"))
    with pytest.raises(TokenRevoked):
        await alice(pb.WhoAmIRequest())
    again = await site.log_in("alice", "another1")
    await again(pb.SetPasswordRequest(old_password="another1", new_password="another2"))
    with pytest.raises(TokenRevoked):
        await again(pb.WhoAmIRequest())


async def test_a_deleted_user_is_refused_at_once(site: Site) -> None:
    alice, root = await site.log_in("alice"), await site.root()
    await alice(pb.WhoAmIRequest())
    etag = (await alice(pb.GetUserRequest(name="alice"))).user.etag
    await root(pb.DeleteUserRequest(name="alice", etag=etag))
    with pytest.raises(TokenRevoked):
        await alice(pb.WhoAmIRequest())
    with pytest.raises(WrongPassword):
        await site.log_in("alice")


async def test_services_learn_whether_a_token_is_good(site: Site) -> None:
    job, alice = site.service(), await site.log_in("alice")
    reply = await alice(pb.CreateTokenRequest(lifetime=Duration(seconds=60)))
    (of_root,) = (await (await site.root())(pb.ListTokensRequest(user="root"))).tokens
    users = {user.name: user.create_time for user in (await (await site.root())(pb.ListUsersRequest())).users}
    assert await job(pb.CheckTokenRequest(id=reply.token.id)) == pb.CheckTokenResponse(
        good=True, user="alice", user_since=users["alice"]
    )
    assert await job(pb.CheckTokenRequest(id=of_root.id)) == pb.CheckTokenResponse(
        good=True, user="root", root=True, user_since=users["root"]
    )
    assert await job(pb.CheckTokenRequest(id="never-made")) == pb.CheckTokenResponse()
    await alice(pb.RevokeTokenRequest(id=reply.token.id))
    assert await job(pb.CheckTokenRequest(id=reply.token.id)) == pb.CheckTokenResponse()
    site.world.clock.move(timedelta(days=1).total_seconds())
    assert await site.service()(pb.CheckTokenRequest(id=of_root.id)) == pb.CheckTokenResponse()


async def test_services_learn_whether_a_user_may_use_a_resource(site: Site) -> None:
    job, root = site.service(), await site.root()

    async def allowed(user: str, resource: str, kind: Any = pb.RESOURCE_KIND_QUEUE) -> bool:
        reply = await job(pb.CheckAccessRequest(user=user, kind=kind, resource=resource))
        return bool(reply.allowed)

    assert not await allowed("alice", "team-a")
    await root(pb.CreateGrantRequest(grant=GRANT))
    assert await allowed("alice", "team-a")
    assert not await allowed("alice", "team-b")
    assert not await allowed("alice", "team-a", pb.RESOURCE_KIND_FILESYSTEM)
    assert not await allowed("nobody", "team-a")
    assert await allowed("root", "team-b")
    await root(pb.DeleteGrantRequest(grant=GRANT))
    assert not await allowed("alice", "team-a")


async def test_a_user_sees_its_own_grants(site: Site) -> None:
    root, alice = await site.root(), await site.log_in("alice")
    await root(pb.CreateUserRequest(user=pb.User(name="bobby"), password=PASSWORD))
    for user in ("alice", "bobby"):
        await root(pb.CreateGrantRequest(grant=pb.Grant(user=user, kind=GRANT.kind, resource="team-a")))
    assert [grant.user for grant in (await root(pb.ListGrantsRequest())).grants] == ["alice", "bobby"]
    assert [grant.user for grant in (await alice(pb.ListGrantsRequest())).grants] == ["alice"]
    by_proxy = await site.service("alice")(pb.ListGrantsRequest())
    assert [grant.user for grant in by_proxy.grants] == ["alice"]


async def test_lists_come_in_pages(site: Site) -> None:
    root = await site.root()
    names = [f"user{number:02}" for number in range(7)]
    for name in names:
        await root(pb.CreateUserRequest(user=pb.User(name=name), password=PASSWORD))
        await root(pb.CreateGrantRequest(grant=pb.Grant(user=name, kind=GRANT.kind, resource="team-a")))
        await root(pb.CreateTokenRequest(user=name))
    users = await all_pages(root, pb.ListUsersRequest(page_size=2), "users")
    assert [user.name for user in users] == ["alice", "root", *names]
    grants = await all_pages(root, pb.ListGrantsRequest(page_size=3), "grants")
    assert [grant.user for grant in grants] == names
    tokens = await all_pages(root, pb.ListTokensRequest(page_size=4), "tokens")
    assert [token.user for token in tokens] == [*reversed(names), "root"]


async def all_pages(caller: Caller, request: Any, field: str) -> list[Any]:
    found: list[Any] = []
    while True:
        page = await caller(request)
        found += getattr(page, field)
        assert len(getattr(page, field)) <= request.page_size
        if not page.next_page_token:
            return found
        request.page_token = page.next_page_token


async def test_a_page_token_belongs_to_its_list(site: Site) -> None:
    root = await site.root()
    token = (await root(pb.ListUsersRequest(page_size=1))).next_page_token
    with pytest.raises(PageTokenInvalid):
        await root(pb.ListTokensRequest(page_token=token))
    await root(pb.CreateTokenRequest())
    token = (await root(pb.ListTokensRequest(page_size=1))).next_page_token
    assert token
    with pytest.raises(PageTokenInvalid):
        await root(pb.ListTokensRequest(user="root", page_token=token))


async def test_every_change_and_every_login_is_on_record(site: Site) -> None:
    alice, root = await site.log_in("alice"), await site.root()
    await site.service("alice")(pb.CreateTokenRequest(request_id="one"))
    await root(pb.CreateGrantRequest(grant=GRANT))
    await root(pb.SetPasswordRequest(name="alice", new_password="another1"))
    with pytest.raises(TokenRevoked):
        await alice(pb.CreateTokenRequest())
    with pytest.raises(WrongPassword):
        await site.log_in("alice")
    records = (await root(info_pb2.ListAuditRecordsRequest())).records
    seen = [(record.actor, record.on_behalf_of, record.method.rpartition("/")[2]) for record in reversed(records)]
    assert seen == [
        ("user/alice", "", "Login"),
        ("user/root", "", "Login"),
        ("service/job", "user/alice", "CreateToken"),
        ("user/root", "", "CreateGrant"),
        ("user/root", "", "SetPassword"),
    ]
    kinds = [record.subject.partition("/")[0] for record in reversed(records)]
    assert kinds == ["token", "token", "token", "grant", "user"]
    assert records[1].subject == "grant/alice/queue/team-a"
    assert all(record.peer for record in records)
    assert not any(word in str(records) for word in (PASSWORD, ROOT_PASSWORD, "another1"))
