"""Tokens, and who they say calls."""

from __future__ import annotations

from dataclasses import replace

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from hypothesis import given
from hypothesis import strategies as st

from paddleflow.problems import (
    PermissionDenied,
    TokenExpired,
    TokenInvalid,
    TokenRevoked,
)
from pf_kit.auth import Metadata, TokenAuthenticator, TokenState, read_metadata
from pf_kit.principal import ANONYMOUS, Principal, PrincipalKind
from pf_kit.token_status import FRESH, CachedTokenStatus
from pf_kit.tokens import Claims, Signer, Verifier, key_id, new_private_key
from support.hand_clock import NOW, HandClock
from support.token_source import Source

KEY = new_private_key()
ALICE = Claims("here", "user/alice", "t1", NOW, NOW + 100)


def verifier(clock: HandClock, key: bytes = KEY) -> Verifier:
    signer = Signer(key)
    return Verifier({signer.key_id: signer.public_key}, issuer="here", clock=clock)


def sent(claims: Claims, **more: str) -> Metadata:
    return {"authorization": f"Bearer {Signer(KEY).sign(claims)}", **{k.replace("_", "-"): v for k, v in more.items()}}


def test_equal_claims_give_equal_tokens() -> None:
    assert Signer(KEY).sign(ALICE) == Signer(KEY).sign(ALICE)


@given(
    name=st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=16),
    token_id=st.uuids().map(str),
    lasts=st.integers(1, 10**9),
)
def test_a_token_says_what_was_signed(name: str, token_id: str, lasts: int) -> None:
    claims = Claims("here", f"user/{name}", token_id, NOW, NOW + lasts)
    assert verifier(HandClock()).verify(Signer(KEY).sign(claims)) == claims


def test_a_token_is_good_up_to_its_end() -> None:
    clock = HandClock()
    check = verifier(clock)
    token = Signer(KEY).sign(ALICE)
    clock.wall = ALICE.expires - 0.001
    check.verify(token)
    clock.wall = ALICE.expires
    with pytest.raises(TokenExpired):
        check.verify(token)
    with pytest.raises(TokenExpired):
        verifier(clock).verify(token)


def test_a_clock_that_is_set_back_makes_no_token_invalid() -> None:
    assert verifier(HandClock(wall=NOW - 86_400.0)).verify(Signer(KEY).sign(ALICE)) == ALICE


def forged(**changes: object) -> str:
    payload = {"iss": "here", "sub": "user/root", "jti": "x", "iat": NOW, "exp": NOW + 100, **changes}
    kept = {name: value for name, value in payload.items() if value is not None}
    return jwt.encode(kept, KEY.decode(), algorithm="EdDSA", headers={"kid": Signer(KEY).key_id})


def with_another_algorithm() -> str:
    """Signed with the public key as if it were a shared secret: the classic confusion."""
    key = ec.generate_private_key(ec.SECP256R1())
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return jwt.encode({"sub": "user/root"}, pem, algorithm="ES256", headers={"kid": Signer(KEY).key_id})


# Named, because the keys are new in each process: test runners compare the names of tests.
NO_TOKENS = {
    "empty": "",
    "a word": "nonsense",
    "three letters": "a.b.c",
    "too long": "x" * 5000,
    "not ASCII": "é.é.é",
    "a changed signature": Signer(KEY).sign(ALICE)[:-4] + "AAAA",
    "another key": Signer(new_private_key()).sign(ALICE),
    "no algorithm": jwt.encode({"sub": "user/root"}, "", algorithm="none"),
    "another algorithm": with_another_algorithm(),
    "another issuer": forged(iss="elsewhere"),
    "no end": forged(exp=None),
    "no beginning": forged(iat=None),
    "no id": forged(jti=None),
    "no subject": forged(sub=None),
    "a word for its end": forged(exp="soon"),
    "not begun": forged(iat=NOW + 200),
}


@pytest.mark.parametrize("token", NO_TOKENS.values(), ids=NO_TOKENS.keys())
def test_what_is_no_token_of_ours_is_refused(token: str) -> None:
    with pytest.raises(TokenInvalid):
        verifier(HandClock()).verify(token)


def test_only_ed25519_keys_sign_and_verify() -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    with pytest.raises(ValueError, match="Ed25519"):
        Signer(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    public = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    with pytest.raises(ValueError, match="Ed25519"):
        Verifier({key_id(public): public}, issuer="here", clock=HandClock())


async def authenticated(metadata: Metadata, source: Source) -> Principal:
    clock = HandClock()
    return await TokenAuthenticator(verifier(clock), source, clock).authenticate(metadata)


async def test_without_a_token_the_caller_is_anonymous() -> None:
    assert await authenticated({}, Source()) == ANONYMOUS


async def test_a_user_is_known_by_its_token() -> None:
    principal = await authenticated(sent(ALICE), Source())
    assert principal == Principal(PrincipalKind.USER, "alice", token_id="t1", token_expires=ALICE.expires)


async def test_root_is_who_the_status_says_it_is() -> None:
    root = replace(ALICE, subject="user/root")
    assert (await authenticated(sent(root), Source(TokenState(good=True, user="root", root=True)))).root


@pytest.mark.parametrize(
    "state", [None, TokenState(good=False, user="alice", root=False), TokenState(good=True, user="bob", root=False)]
)
async def test_a_revoked_token_is_refused(state: TokenState | None) -> None:
    with pytest.raises(TokenRevoked):
        await authenticated(sent(ALICE), Source(state))


async def test_a_service_is_root_while_it_acts_for_nobody() -> None:
    source = Source()
    principal = await authenticated(sent(replace(ALICE, subject="service/job")), source)
    assert (principal.kind, principal.name, principal.root) == (PrincipalKind.SERVICE, "job", True)
    assert source.asked == 0


async def test_a_service_acts_for_a_user_with_the_users_rights() -> None:
    job = replace(ALICE, subject="service/job")
    principal = await authenticated(sent(job, x_paddleflow_on_behalf_of="bob"), Source())
    assert (principal.label, principal.root, principal.acting_service) == ("user/bob", False, "job")


async def test_a_user_cannot_act_for_another() -> None:
    with pytest.raises(PermissionDenied):
        await authenticated(sent(ALICE, x_paddleflow_on_behalf_of="root"), Source())


@pytest.mark.parametrize("user", ["", "a b", "../root", "ä"])
async def test_a_service_cannot_act_for_what_is_no_user(user: str) -> None:
    with pytest.raises(PermissionDenied):
        await authenticated(sent(replace(ALICE, subject="service/job"), x_paddleflow_on_behalf_of=user), Source())


@pytest.mark.parametrize("value", ["", "Bearer", "Bearer ", "Basic abc", b"Bearer x"])
async def test_a_malformed_authorization_is_refused(value: str | bytes) -> None:
    with pytest.raises(TokenInvalid):
        await authenticated({"authorization": value}, Source())


@pytest.mark.parametrize("subject", ["alice", "machine/alice", "/alice", ""])
async def test_a_token_of_an_unknown_kind_is_refused(subject: str) -> None:
    with pytest.raises(TokenInvalid):
        await authenticated(sent(replace(ALICE, subject=subject)), Source())


def test_two_tokens_in_one_call_are_refused() -> None:
    with pytest.raises(TokenInvalid):
        read_metadata([("authorization", "Bearer a"), ("x", "1"), ("authorization", "Bearer b")])
    assert read_metadata([("x", "1"), ("x", "2"), ("authorization", "a")])["authorization"] == "a"


async def test_rechecking_notices_the_end_and_the_revocation() -> None:
    clock, source = HandClock(), Source()
    authenticator = TokenAuthenticator(verifier(clock), source, clock)
    principal = await authenticator.authenticate(sent(ALICE))
    await authenticator.recheck(principal)
    source.state = None
    with pytest.raises(TokenRevoked):
        await authenticator.recheck(principal)
    clock.wall = ALICE.expires
    with pytest.raises(TokenExpired):
        await authenticator.recheck(principal)


async def test_a_signature_is_checked_once_and_the_end_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = HandClock()
    authenticator = TokenAuthenticator(verifier(clock), Source(), clock)
    first = await authenticator.authenticate(sent(ALICE))
    monkeypatch.delattr("pf_kit.tokens.jwt.decode")
    assert await authenticator.authenticate(sent(ALICE)) == first
    clock.wall = ALICE.expires
    with pytest.raises(TokenExpired):
        await authenticator.authenticate(sent(ALICE))


async def test_a_known_token_is_refused_once_it_is_revoked() -> None:
    clock, source = HandClock(), Source()
    authenticator = TokenAuthenticator(verifier(clock), CachedTokenStatus(source, clock), clock)
    await authenticator.authenticate(sent(ALICE))
    source.state = TokenState(good=False, user="alice", root=False)
    await authenticator.authenticate(sent(ALICE))
    clock.ticks = FRESH
    with pytest.raises(TokenRevoked):
        await authenticator.authenticate(sent(ALICE))


def recalled(authenticator: TokenAuthenticator, metadata: Metadata) -> str | None:
    principal = authenticator.recall(metadata)
    return principal.label if principal else None


async def test_a_caller_is_recalled_while_nobody_needs_to_be_asked() -> None:
    clock, source = HandClock(), Source()
    authenticator = TokenAuthenticator(verifier(clock), CachedTokenStatus(source, clock), clock)
    assert recalled(authenticator, sent(ALICE)) is None
    await authenticator.authenticate(sent(ALICE))
    assert recalled(authenticator, sent(ALICE)) == "user/alice"
    assert recalled(authenticator, sent(ALICE, x_paddleflow_on_behalf_of="root")) is None
    assert recalled(authenticator, {}) is None
    clock.ticks = FRESH
    assert recalled(authenticator, sent(ALICE)) is None
    await authenticator.authenticate(sent(ALICE))
    assert recalled(authenticator, sent(ALICE)) == "user/alice"
    clock.wall = ALICE.expires
    assert recalled(authenticator, sent(ALICE)) is None


async def test_nobody_is_recalled_who_was_never_let_in() -> None:
    clock, source = HandClock(), Source(None)
    authenticator = TokenAuthenticator(verifier(clock), CachedTokenStatus(source, clock), clock)
    for _ in range(2):
        with pytest.raises(TokenRevoked):
            await authenticator.authenticate(sent(ALICE))
        assert recalled(authenticator, sent(ALICE)) is None


async def test_a_revoked_token_is_recalled_no_more() -> None:
    clock, source = HandClock(), Source()
    status = CachedTokenStatus(source, clock)
    authenticator = TokenAuthenticator(verifier(clock), status, clock)
    await authenticator.authenticate(sent(ALICE))
    status.forget("t1")
    assert recalled(authenticator, sent(ALICE)) is None
    source.state = TokenState(good=False, user="alice", root=False)
    with pytest.raises(TokenRevoked):
        await authenticator.authenticate(sent(ALICE))
    assert recalled(authenticator, sent(ALICE)) is None


async def test_a_service_is_recalled_for_itself_only() -> None:
    clock = HandClock()
    authenticator = TokenAuthenticator(verifier(clock), Source(), clock)
    job = replace(ALICE, subject="service/job")
    await authenticator.authenticate(sent(job, x_paddleflow_on_behalf_of="bob"))
    assert recalled(authenticator, sent(job)) == "service/job"
    assert recalled(authenticator, sent(job, x_paddleflow_on_behalf_of="bob")) is None


async def test_a_job_is_known_by_its_token_and_nobody_is_asked() -> None:
    clock, source = HandClock(), Source(None)
    authenticator = TokenAuthenticator(verifier(clock), CachedTokenStatus(source, clock), clock)
    token = replace(ALICE, subject="job/job-1")
    principal = await authenticator.authenticate(sent(token))
    assert (principal.kind, principal.name, principal.root) == (PrincipalKind.JOB, "job-1", False)
    assert (principal.token_id, source.asked) == ("t1", 0)
    assert recalled(authenticator, sent(token)) == "job/job-1"
    await authenticator.recheck(principal)
    clock.wall = ALICE.expires
    with pytest.raises(TokenExpired):
        await authenticator.authenticate(sent(token))


async def test_a_job_acts_for_nobody() -> None:
    with pytest.raises(PermissionDenied):
        await authenticated(sent(replace(ALICE, subject="job/job-1"), x_paddleflow_on_behalf_of="alice"), Source())


async def test_a_known_user_who_becomes_root_is_root() -> None:
    clock, source = HandClock(), Source()
    authenticator = TokenAuthenticator(verifier(clock), source, clock)
    was = await authenticator.authenticate(sent(ALICE))
    source.state = TokenState(good=True, user="alice", root=True)
    now = await authenticator.authenticate(sent(ALICE))
    assert (was.root, now.root) == (False, True)


async def test_the_memory_of_tokens_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pf_kit.auth.CACHE_SIZE", 3)
    clock = HandClock()
    authenticator = TokenAuthenticator(verifier(clock), Source(), clock)
    for number in range(10):
        await authenticator.authenticate(sent(replace(ALICE, id=str(number))))
    assert len(authenticator._known) == 3  # noqa: SLF001  # there is no other way to see it
