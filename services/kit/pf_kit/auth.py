"""Who calls: from the metadata of a call to a principal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from paddleflow.problems import PermissionDenied, TokenExpired, TokenInvalid, TokenRevoked
from pf_kit.clock import Clock
from pf_kit.principal import ANONYMOUS, Principal, PrincipalKind
from pf_kit.tokens import LEEWAY, Claims, Verifier

Metadata: TypeAlias = Mapping[str, str | bytes]

AUTHORIZATION = "authorization"
ON_BEHALF_OF = "x-paddleflow-on-behalf-of"
ROOT = "root"
"""The user who may do everything."""


def read_metadata(sent: Iterable[tuple[str, str | bytes]]) -> Metadata:
    """The metadata of a call by name. Of two tokens, or two users, nobody could tell which one is checked."""
    pairs = tuple(sent)
    metadata = dict(pairs)
    if len(metadata) < len(pairs) and any(
        sum(key == name for key, _ in pairs) > 1 for name in (AUTHORIZATION, ON_BEHALF_OF)
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


class TokenStatus(Protocol):
    """Knows which tokens of users are still good."""

    async def check(self, token_id: str) -> TokenState | None:
        """The state of the token; None if it is not known, hence not good. Raises Unavailable if nobody can tell."""


class Authenticator(Protocol):
    """Knows callers."""

    async def authenticate(self, metadata: Metadata) -> Principal:
        """The caller; ANONYMOUS without a token. Raises Unauthenticated if the token is not good."""

    async def recheck(self, principal: Principal) -> None:
        """Raises Unauthenticated if the token of a caller, known from before, is not good any more."""


class TokenAuthenticator:
    """Knows callers by the tokens of this installation.

    A user's token is good while its signature is right, its time is not over and its status says so. A service's
    token has no status: it ends with its time, or with the key that signed it.
    """

    def __init__(self, verifier: Verifier, status: TokenStatus, clock: Clock) -> None:
        self._verifier = verifier
        self._status = status
        self._clock = clock

    async def authenticate(self, metadata: Metadata) -> Principal:
        sent = metadata.get(AUTHORIZATION)
        if sent is None:
            return ANONYMOUS
        claims = self._verifier.verify(_bearer(sent))
        kind, _, name = claims.subject.partition("/")
        if kind == PrincipalKind.SERVICE:
            return _service(claims, name, metadata.get(ON_BEHALF_OF))
        if kind != PrincipalKind.USER:
            raise TokenInvalid
        if ON_BEHALF_OF in metadata:
            raise PermissionDenied(f"Only services may send {ON_BEHALF_OF}.")
        state = await self._good(claims.id, name, claims.expires)
        return Principal(PrincipalKind.USER, name, state.root, claims.id, claims.expires)

    async def recheck(self, principal: Principal) -> None:
        if self._clock.now().timestamp() > principal.token_expires + LEEWAY:
            raise TokenExpired
        if principal.kind is PrincipalKind.USER and not principal.acting_service:
            await self._good(principal.token_id, principal.name, principal.token_expires)

    async def _good(self, token_id: str, user: str, expires: float) -> TokenState:
        state = await self._status.check(token_id)
        if state is None or not state.good or state.user != user:
            # Its owner has no leeway: a token that has just ended is not good there, and was not revoked.
            raise TokenExpired if self._clock.now().timestamp() >= expires else TokenRevoked
        return state


def _bearer(value: str | bytes) -> str:
    if isinstance(value, str):
        scheme, _, secret = value.partition(" ")
        if secret and scheme.lower() == "bearer":
            return secret
    raise TokenInvalid(f"The metadata {AUTHORIZATION} must be `Bearer <token>`.")


def _service(claims: Claims, name: str, user: str | bytes | None) -> Principal:
    """A service, or the user it acts for."""
    if user is None:
        return Principal(PrincipalKind.SERVICE, name, root=True, token_id=claims.id, token_expires=claims.expires)
    if not isinstance(user, str) or not (user.isascii() and user.isalnum()):
        raise PermissionDenied(f"The metadata {ON_BEHALF_OF} must be the name of a user.")
    return Principal(PrincipalKind.USER, user, user == ROOT, claims.id, claims.expires, acting_service=name)
