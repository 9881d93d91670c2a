"""Adding, changing and removing users."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from paddleflow.problems import (
    InvalidArgument,
    PasswordTooWeak,
    UserIsRoot,
    UserNotFound,
    Violation,
    WrongPassword,
)
from pf_kit.changes import ChangeKind
from pf_kit.fields import shown
from pf_kit.principal import Principal
from pf_kit.unit import Change, View
from pf_queue.accounts.domain import ROOT, User, UserChanged, is_user_name
from pf_queue.accounts.passwords import LONGEST, weakness
from pf_queue.accounts.service.callers import chosen_user, is_own, require_own
from pf_queue.accounts.service.credentials import Credentials
from pf_queue.accounts.service.grants import Grants
from pf_queue.accounts.store import AccountStore
from pf_queue.edits import require_etag

AT_ONCE = 1000
"""Users read by one query, where all are wanted."""


class Belongings(Protocol):
    """What users have made, known by those who keep it."""

    async def hand_over(self, change: Change, user: str, heir: str) -> None:
        """Makes the heir the maker of all that the user has made."""


@dataclass(frozen=True, slots=True)
class NewUser:
    """A user to be added."""

    name: str
    password: str = field(repr=False)
    """Hashed, as all passwords here."""


@dataclass(frozen=True, slots=True)
class NewPassword:
    """A password to be set."""

    user: str
    password: str = field(repr=False)
    own: bool
    """True if the caller sets its own: then it must have known the one so far."""
    known: str | None = field(repr=False)
    """The password that the caller knew."""


def check_password(path: str, password: str, others: Sequence[Violation]) -> None:
    """Refuses a bad password, together with the other fields that are wrong."""
    lacks = weakness(password)
    weak = [Violation(path, f"must {lacks}")] if lacks else []
    long = [Violation(path, f"must have at most {LONGEST} characters")] if len(password) > LONGEST else []
    if weak and not long and not others:
        raise PasswordTooWeak.of(*weak)
    if violations := [*others, *weak, *long]:
        raise InvalidArgument.of(*violations)


class Users:
    """The users, as callers may use them."""

    def __init__(
        self, *, store: AccountStore, credentials: Credentials, grants: Grants, belongings: Belongings
    ) -> None:
        self._store = store
        self._credentials = credentials
        self._grants = grants
        self._belongings = belongings

    async def draft(self, name: str, password: str) -> NewUser:
        """Checks what is asked for, and hashes: that is slow, and therefore done before a change begins."""
        rule = Violation("user.name", "must be 4 to 16 letters and digits")
        check_password("password", password, [] if is_user_name(name) else [rule])
        return NewUser(name, await self._credentials.hash(password))

    async def create(self, change: Change, new: NewUser) -> User:
        """Adds a user. Raises UserExists."""
        version = await self._store.next_version(change)
        user = User(new.name, new.password, version, change.time, change.time)
        await self._store.add_user(change, user)
        change.emit(UserChanged(ChangeKind.CREATED, user, version))
        return user

    async def get(self, view: View, caller: Principal, name: str) -> User:
        """A user. Raises UserNotFound, and PermissionDenied if it is another one than the caller."""
        require_own(caller, name)
        return await self._existing(view, name)

    async def page(self, view: View, after: str, limit: int) -> Sequence[User]:
        """The users whose names come after this one, by name."""
        return await self._store.users(view, after, limit)

    async def all(self, view: View) -> Sequence[User]:
        """Every user, by name."""
        found: list[User] = []
        while page := await self._store.users(view, found[-1].name if found else "", AT_ONCE):
            found += page
        return found

    async def draft_password(self, view: View, caller: Principal, name: str, old: str, new: str) -> NewPassword:
        """Checks, compares and hashes what is asked for.

        A wrong old password is left to `set_password`: a repetition of a call that has succeeded has one, and is due
        the reply of the first.
        """
        name = chosen_user(caller, name, "name")
        check_password("new_password", new, [])
        own = is_own(caller, name)
        owner = await self._credentials.owner(view, name, old) if own else None
        return NewPassword(name, await self._credentials.hash(new), own, owner.password if owner else None)

    async def set_password(self, change: Change, new: NewPassword) -> None:
        """Sets a password and revokes all tokens of its user. Raises UserNotFound and WrongPassword."""
        user = await self._existing(change, new.user)
        if new.own and user.password != new.known:
            raise WrongPassword("the old password is wrong")
        version = await self._store.next_version(change)
        changed = replace(user, password=new.password, version=version, update_time=change.time)
        await self._store.set_user(change, changed)
        await self._store.revoke_tokens(change, user.name)
        change.emit(UserChanged(ChangeKind.UPDATED, changed, version))

    async def delete(self, change: Change, name: str, etag: str) -> None:
        """Removes a user, its tokens and its grants; what it made is root's from then on.

        Whoever calls holds `RESOURCES_LOCK` too. Raises UserNotFound, UserIsRoot and EtagMismatch.
        """
        user = await self._existing(change, name)
        if user.root:
            raise UserIsRoot("the user root cannot be deleted")
        require_etag(etag, user.etag)
        await self._grants.drop_user(change, name)
        # Else it would belong to whoever gets the name next.
        await self._belongings.hand_over(change, name, ROOT)
        await self._store.remove_user(change, name)
        change.emit(UserChanged(ChangeKind.DELETED, user, await self._store.next_version(change)))

    async def _existing(self, view: View, name: str) -> User:
        user = await self._store.user(view, name)
        if user is None:
            raise UserNotFound(f"no user {shown(name)}")
        return user
