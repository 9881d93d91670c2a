"""Who calls: from the metadata of a call to a principal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from hashlib import blake2s
from typing import Protocol, TypeAlias

from paddleflow.problems import PermissionDenied, TokenExpired, TokenInvalid, TokenRevoked
from pf_kit.clock import Clock
from pf_kit.principal import ANONYMOUS, Principal, PrincipalKind
from pf_kit.tokens import Claims, Verifier

Metadata: TypeAlias = Mapping[str, str | bytes]

AUTHORIZATION = "authorization"
ON_BEHALF_OF = "x-paddleflow-on-behalf-of"
ROOT = "root"
"""The user who may do everything."""
CACHE_SIZE = 10_000
"""Tokens remembered as verified, some 10 MB if full; the oldest go first."""


def read_metadata(sent: Sequence[tuple[str, str | bytes]]) -> Metadata:
    """The metadata of a call by name. Of two tokens, or two users, nobody could tell which one is checked."""
    metadata = dict(sent)
    if len(metadata) < len(sent) and any(
        sum(key == name for key, _ in sent) > 1 for name in (AUTHORIZATION, ON_BEHALF_OF)
    ):
        raise TokenInvalid(f"The call has several values of {AUTHORIZATION} or {ON_BEHALF_OF}; send one.")
    return metadata


@dataclass(frozen=True, slots=True)
class TokenState:
    """What is known of a user's token beside what it says itself."""

    good: bool
    """False: refuse the call."""
    user: str
    root: bool
    since: datetime | None = None
    """When the user was added; None if that was not told."""


class TokenStatus(Protocol):
    """Knows which tokens of users are still good."""

    async def check(self, token_id: str) -> TokenState | None:
        """The state of the token; None if it is not known, hence not good. Raises Unavailable if nobody can tell."""


class RememberingStatus(TokenStatus, Protocol):
    """Remembers its answers for a while."""

    def recent(self, token_id: str) -> TokenState | None:
        """The state of the token, if it was asked for just now; else None."""


class Authenticator(Protocol):
    """Knows callers."""

    def recall(self, metadata: Metadata) -> Principal | None:
        """The caller, if it has called before and nobody needs to be asked; else None, whatever is the reason."""

    async def authenticate(self, metadata: Metadata) -> Principal:
        """The caller; ANONYMOUS without a token. Raises Unauthenticated if the token is not good."""

    async def recheck(self, principal: Principal) -> None:
        """Raises Unauthenticated if the token of a caller, known from before, is not good any more."""


@dataclass(slots=True)
class _Known:
    """A token that was good before, and whom it belongs to."""

    principal: Principal
    ends: datetime
    state: TokenState | None = None
    """By which the principal was made; None for services and jobs."""


class TokenAuthenticator:
    """Knows callers by the tokens of this installation.

    A user's token is good while its signature is right, its time is not over and its status says so. A service's
    token has no status: it ends with its time, or with the key that signed it. Nor has a job's: the methods that let
    jobs in see themselves whether the job still runs.

    Tokens whose signature was right are remembered by their hash: to check a signature takes 75 µs. The hash is BLAKE2
    because to begin a SHA-256 costs more than all the rest that is done here for a known caller.
    """

    def __init__(self, verifier: Verifier, status: RememberingStatus, clock: Clock) -> None:
        self._verifier = verifier
        self._status = status
        self._clock = clock
        self._known: dict[bytes, _Known] = {}

    def recall(self, metadata: Metadata) -> Principal | None:
        sent = metadata.get(AUTHORIZATION)
        if not isinstance(sent, str) or ON_BEHALF_OF in metadata:
            return None
        known = self._known.get(blake2s(sent.encode()).digest())
        if known is None or self._clock.now() >= known.ends:
            return None
        principal = known.principal
        if principal.kind is not PrincipalKind.USER:
            return principal
        state = self._status.recent(principal.token_id)
        return principal if state is not None and state is known.state else None

    async def authenticate(self, metadata: Metadata) -> Principal:
        sent = metadata.get(AUTHORIZATION)
        if sent is None:
            return ANONYMOUS
        digest = blake2s(sent.encode() if isinstance(sent, str) else sent).digest()
        known = self._known.get(digest) or self._learn(digest, sent)
        if self._clock.now() >= known.ends:
            raise TokenExpired
        if known.principal.kind is PrincipalKind.SERVICE:
            return _acting(known.principal, metadata.get(ON_BEHALF_OF))
        if ON_BEHALF_OF in metadata:
            raise PermissionDenied(f"Only services may send {ON_BEHALF_OF}.")
        if known.principal.kind is PrincipalKind.JOB:
            return known.principal
        state = await self._status.check(known.principal.token_id)
        if state is None or state is not known.state:
            good = self._good(state, known.principal)
            known.principal, known.state = replace(known.principal, root=good.root, since=good.since), good
        return known.principal

    async def recheck(self, principal: Principal) -> None:
        if self._clock.now().timestamp() >= principal.token_expires:
            raise TokenExpired
        if principal.kind is PrincipalKind.USER and not principal.acting_service:
            self._good(await self._status.check(principal.token_id), principal)

    def _learn(self, digest: bytes, sent: str | bytes) -> _Known:
        claims = self._verifier.verify(_bearer(sent))
        ends = datetime.fromtimestamp(claims.expires, UTC)
        known = self._known[digest] = _Known(_principal(claims), ends)
        if len(self._known) > CACHE_SIZE:
            del self._known[next(iter(self._known))]
        return known

    def _good(self, state: TokenState | None, principal: Principal) -> TokenState:
        if state is None or not state.good or state.user != principal.name:
            # A token that has ended while its owner was asked is not good there, and was not revoked.
            over = self._clock.now().timestamp() >= principal.token_expires
            raise TokenExpired if over else TokenRevoked
        return state


def _bearer(value: str | bytes) -> str:
    if isinstance(value, str):
        scheme, _, secret = value.partition(" ")
        if secret and scheme.lower() == "bearer":
            return secret
    raise TokenInvalid(f"The metadata {AUTHORIZATION} must be `Bearer <token>`.")


def _principal(claims: Claims) -> Principal:
    """Whom the token belongs to; whether a user is root its status says."""
    kind, _, name = claims.subject.partition("/")
    if not name or kind not in (PrincipalKind.USER, PrincipalKind.SERVICE, PrincipalKind.JOB):
        raise TokenInvalid
    return Principal(
        PrincipalKind(kind),
        name,
        root=kind == PrincipalKind.SERVICE,
        token_id=claims.id,
        token_expires=claims.expires,
    )


def _acting(service: Principal, user: str | bytes | None) -> Principal:
    """A service, or the user it acts for."""
    if user is None:
        return service
    if not isinstance(user, str) or not (user.isascii() and user.isalnum()):
        raise PermissionDenied(f"The metadata {ON_BEHALF_OF} must be the name of a user.")
    return replace(service, kind=PrincipalKind.USER, name=user, root=user == ROOT, acting_service=service.name)
