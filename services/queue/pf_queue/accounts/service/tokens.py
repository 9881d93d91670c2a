"""Making and ending tokens."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta

from paddleflow.problems import TokenNotFound, UserNotFound, Violation, WrongPassword
from pf_kit.clock import Clock
from pf_kit.fields import plain_text, require, shown
from pf_kit.principal import Principal
from pf_kit.unit import Change, View
from pf_queue.accounts.domain import (
    DESCRIPTION_LENGTH,
    Lifetimes,
    Token,
    TokenPlace,
    User,
    expiry,
)
from pf_queue.accounts.service.callers import chosen_user, is_own, listed_user
from pf_queue.accounts.service.credentials import Credentials
from pf_queue.accounts.store import AccountStore


@dataclass(frozen=True, slots=True)
class NewToken:
    """A token to be made."""

    id: str
    user: str
    description: str
    lifetime: timedelta


@dataclass(frozen=True, slots=True)
class Login:
    """A user that has shown its password."""

    user: str
    known: str = field(repr=False)
    """The password as it is kept."""
    renewed: str = field(repr=False)
    """The same at today's cost."""


class Tokens:
    """The tokens, as callers may use them."""

    def __init__(self, *, store: AccountStore, credentials: Credentials, lifetimes: Lifetimes, clock: Clock) -> None:
        self._store = store
        self._credentials = credentials
        self._lifetimes = lifetimes
        self._clock = clock

    async def draft_login(self, view: View, name: str, password: str) -> Login:
        """Compares the password, and hashes it anew if that is due. Raises WrongPassword and TooManyAttempts."""
        owner = await self._credentials.owner(view, name, password)
        if owner is None:
            raise WrongPassword
        outdated = self._credentials.outdated(owner)
        return Login(name, owner.password, await self._credentials.hash(password) if outdated else owner.password)

    async def log_in(self, change: Change, login: Login, token_id: str) -> Token:
        """Makes the token of a login. Raises WrongPassword if the password has been changed meanwhile."""
        user = await self._store.user(change, login.user)
        if user is None or user.password != login.known:
            raise WrongPassword
        if login.renewed != login.known:
            await self._store.set_user(change, replace(user, password=login.renewed))
        return await self._make(change, NewToken(token_id, user.name, "", self._lifetimes.default))

    def draft(
        self, caller: Principal, token_id: str, user: str, description: str, lifetime: timedelta | None
    ) -> NewToken:
        """Checks what is asked for. Raises PermissionDenied and InvalidArgument."""
        user = chosen_user(caller, user, "user")
        asked = self._lifetimes.default if lifetime is None else lifetime
        require(plain_text("description", description, DESCRIPTION_LENGTH), self._allowed("lifetime", asked))
        return NewToken(token_id, user, description, asked)

    async def create(self, change: Change, new: NewToken) -> Token:
        """Makes a token. Raises UserNotFound."""
        if await self._store.user(change, new.user) is None:
            raise UserNotFound(f"no user {shown(new.user)}")
        return await self._make(change, new)

    async def page(self, view: View, caller: Principal, user: str, after: str, limit: int) -> Sequence[Token]:
        """Good tokens, newest first, after the place of one. Raises PermissionDenied for another user's."""
        place = TokenPlace.parse(after) if after else None
        return await self._store.tokens(view, listed_user(caller, user), self._clock.now(), place, limit)

    async def revoke(self, change: Change, caller: Principal, token_id: str) -> None:
        """Ends a token; one that was revoked before stays so. Raises TokenNotFound."""
        token = await self._store.token(change, token_id)
        # One that is over may or may not have been swept already: either way it is gone.
        if token is None or change.time >= token.expire_time or not (caller.root or is_own(caller, token.user)):
            raise TokenNotFound(f"no token {shown(token_id)} that is yours to revoke")
        await self._store.revoke_token(change, token_id)

    async def good(self, view: View, token_id: str) -> User | None:
        """Whose token it is, if it is still good. The view is of one moment: names are given again."""
        token = await self._store.token(view, token_id)
        return await self._store.user(view, token.user) if token and token.good(self._clock.now()) else None

    def _allowed(self, path: str, lifetime: timedelta) -> Iterator[Violation]:
        if not timedelta(0) < lifetime <= self._lifetimes.maximum:
            yield Violation(path, f"must be above 0 and at most {self._lifetimes.maximum.total_seconds():.0f} seconds")

    async def _make(self, change: Change, new: NewToken) -> Token:
        token = Token(new.id, new.user, new.description, change.time, expiry(change.time, new.lifetime))
        await self._store.add_token(change, token)
        return token
