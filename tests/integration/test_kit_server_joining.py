"""A service that joins the installation of a running queue service."""

from __future__ import annotations

import pytest
from grpc import aio

from paddleflow.auth.v1 import auth_pb2, auth_pb2_grpc
from paddleflow.channel import open_channel_without_retries
from paddleflow.problems import TokenInvalid, TokenRevoked, Unavailable
from pf_kit import joining
from pf_kit.auth import AUTHORIZATION, ON_BEHALF_OF
from pf_kit.clock import SystemClock
from pf_kit.joining import LIFETIME, Membership, ServiceToken, join
from pf_kit.principal import PrincipalKind
from pf_kit.tokens import Signer, Verifier, new_private_key
from support.accounts import ManualClock
from support.callers import Caller
from support.queue_site import PASSWORD, QueueSite


async def joined(site: QueueSite) -> Membership:
    key = (site.process.folder / "signing.pem").read_bytes()
    return await join(site.channel, "job", Signer(key), SystemClock())


async def test_it_knows_the_users_of_the_installation(site: QueueSite) -> None:
    name, alice = await site.add_user()
    member = await joined(site)
    principal = await member.authenticator.authenticate({AUTHORIZATION: f"Bearer {alice.secret}"})
    assert (principal.label, principal.root) == (f"user/{name}", False)


async def test_it_hears_that_a_token_was_revoked(site: QueueSite) -> None:
    name, alice = await site.add_user()
    member = await joined(site)
    await site.root(auth_pb2.SetPasswordRequest(name=name, new_password=f"{PASSWORD}2"))
    with pytest.raises(TokenRevoked):
        await member.authenticator.authenticate({AUTHORIZATION: f"Bearer {alice.secret}"})


async def test_its_own_token_lets_it_ask_what_only_services_may(site: QueueSite) -> None:
    name, _ = await site.add_user()
    member = await joined(site)
    access = auth_pb2.CheckAccessRequest(user=name, kind=auth_pb2.RESOURCE_KIND_QUEUE, resource="none")
    reply = await auth_pb2_grpc.AuthServiceStub(site.channel).CheckAccess(access, metadata=member.token.metadata())
    assert not reply.allowed


async def test_it_can_act_for_a_user(site: QueueSite) -> None:
    name, _ = await site.add_user()
    member = await joined(site)
    users = auth_pb2_grpc.UserServiceStub(site.channel)
    metadata = (*member.token.metadata(), (ON_BEHALF_OF, name))
    assert (await users.GetUser(auth_pb2.GetUserRequest(name=name), metadata=metadata)).user.name == name
    with pytest.raises(aio.AioRpcError, match="PERMISSION_DENIED"):
        await users.GetUser(auth_pb2.GetUserRequest(name="root"), metadata=metadata)


async def test_with_another_key_it_is_nobody(site: QueueSite) -> None:
    stranger = await join(site.channel, "job", Signer(new_private_key()), SystemClock())
    secret = stranger.token.metadata()[0][1].removeprefix("Bearer ")
    with pytest.raises(TokenInvalid):
        await Caller(site.channel, secret)(auth_pb2.WhoAmIRequest())


async def test_without_the_other_service_it_gives_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joining, "START", 0.2)
    async with open_channel_without_retries("127.0.0.1:1", None) as channel:
        with pytest.raises(Unavailable):
            await join(channel, "job", Signer(new_private_key()), SystemClock())


def test_its_token_is_made_anew_before_it_ends() -> None:
    clock, signer = ManualClock(), Signer(new_private_key())
    token = ServiceToken(signer, "here", "job", clock)
    verifier = Verifier({signer.key_id: signer.public_key}, issuer="here", clock=clock)

    def claims_now() -> tuple[str, int]:
        claims = verifier.verify(token.metadata()[0][1].removeprefix("Bearer "))
        assert claims.subject == f"{PrincipalKind.SERVICE}/job"
        return claims.id, claims.expires

    first, ends = claims_now()
    clock.move(LIFETIME / 2 - 1)
    assert claims_now() == (first, ends)
    clock.move(1)
    second, _ = claims_now()
    assert second != first
    assert clock.now().timestamp() + LIFETIME / 2 == ends
