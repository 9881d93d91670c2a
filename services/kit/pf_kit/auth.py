"""Who calls: from the metadata of a call to a principal."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Protocol, TypeAlias

from paddleflow.problems import PermissionDenied, TokenExpired, TokenInvalid, TokenRevoked
from pf_kit.clock import Clock
from pf_kit.principal import ANONYMOUS, Principal, PrincipalKind
from pf_kit.tokens import LEEWAY, Claims, Verifier

Metadata: TypeAlias = Iterable[tuple[str, str | bytes]]

AUTHORIZATION = "authorization"
ON_BEHALF_OF = "x-paddleflow-on-behalf-of"
ROOT = "root"
"""The user who may do everything."""


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
        secret, user = _credentials(metadata)
        if secret is None:
            return ANONYMOUS
        claims = self._verifier.verify(secret)
        principal = _principal(claims)
        if principal.kind is PrincipalKind.SERVICE:
            return principal if user is None else _acting(principal, user)
        if user is not None:
            raise PermissionDenied(f"Only services may send {ON_BEHALF_OF}.")
        state = await self._good(principal)
        return replace(principal, root=state.root)

    async def recheck(self, principal: Principal) -> None:
        if self._clock.now().timestamp() > principal.token_expires + LEEWAY:
            raise TokenExpired
        if principal.kind is PrincipalKind.USER and not principal.acting_service:
            await self._good(principal)

    async def _good(self, principal: Principal) -> TokenState:
        state = await self._status.check(principal.token_id)
        if state is None or not state.good or state.user != principal.name:
            over = self._clock.now().timestamp() >= principal.token_expires
            raise TokenExpired if over else TokenRevoked
        return state


def _credentials(metadata: Metadata) -> tuple[str | None, str | None]:
    """The token, and the user that a service acts for."""
    secret = user = None
    for key, value in metadata:
        if key == AUTHORIZATION:
            secret = _bearer(value, secret)
        elif key == ON_BEHALF_OF:
            user = _user(value, user)
    return secret, user


def _bearer(value: str | bytes, earlier: str | None) -> str:
    if earlier is not None:
        raise TokenInvalid("The call has several tokens; send one.")
    scheme, _, secret = (value.decode("latin-1") if isinstance(value, bytes) else value).partition(" ")
    if scheme.lower() != "bearer" or not secret:
        raise TokenInvalid("The metadata `authorization` must be `Bearer <token>`.")
    return secret


def _user(value: str | bytes, earlier: str | None) -> str:
    if earlier is not None or not isinstance(value, str) or not (value.isascii() and value.isalnum()):
        raise PermissionDenied(f"The metadata {ON_BEHALF_OF} must be the name of one user.")
    return value


def _principal(claims: Claims) -> Principal:
    kind, _, name = claims.subject.partition("/")
    if not name or kind not in (PrincipalKind.USER, PrincipalKind.SERVICE):
        raise TokenInvalid
    return Principal(
        PrincipalKind(kind),
        name,
        root=kind == PrincipalKind.SERVICE,
        token_id=claims.id,
        token_expires=claims.expires,
    )


def _acting(service: Principal, user: str) -> Principal:
    return replace(service, kind=PrincipalKind.USER, name=user, root=user == ROOT, acting_service=service.name)
