"""Whose things are. A name can be given again; together with the time since when it was given it cannot."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Protocol

from pf_kit.call import current_call
from pf_kit.changes import UNBORN
from pf_kit.principal import Principal, PrincipalKind


@dataclass(frozen=True, slots=True, order=True)
class Owner:
    """The user to whom something belongs."""

    name: str
    since: datetime = UNBORN
    """When the user was added."""

    def is_of(self, user: Owner) -> bool:
        """True if what it owns is that of a user who is there now, and not only of somebody of the same name."""
        return self.name == user.name and self.since >= user.since


NOBODY = Owner("", datetime.max.replace(tzinfo=UTC))


class Users(Protocol):
    """Whoever keeps users."""

    async def since(self, name: str) -> datetime:
        """When the user of a name was added. Raises UserNotFound, and Unavailable if nobody can tell."""


def identity(caller: Principal) -> Owner:
    """The caller, as the owner of what it makes. Services own nothing, nor does whoever is not known well enough."""
    if caller.kind is not PrincipalKind.USER or caller.since is None:
        return NOBODY
    return Owner(caller.name, caller.since)


def eyes(caller: Principal) -> Owner | None:
    """By whom things have to be seen; None for root, who sees all."""
    return None if caller.root else identity(caller)


def owns(caller: Principal, owner: Owner) -> bool:
    """True if the caller may do with something whatever its owner may."""
    return caller.root or owner.is_of(identity(caller))


def is_gone(owner: Owner, known: Mapping[str, datetime]) -> bool:
    """True unless the owner is among the users that are known."""
    return owner.name not in known or not owner.is_of(Owner(owner.name, known[owner.name]))


@dataclass(frozen=True, slots=True)
class Callers:
    """Knows since when callers have their names."""

    users: Users

    async def current(self) -> Principal:
        """Who calls. Of whoever did not come with a token of its own it is asked since when it is there."""
        caller = current_call().principal
        if caller.kind is PrincipalKind.USER and caller.since is None:
            return replace(caller, since=await self.users.since(caller.name))
        return caller

    async def owner(self, caller: Principal, name: str) -> Owner:
        """The user of a name, whose something of the caller's is to be. Raises UserNotFound."""
        known = identity(caller)
        return known if name == known.name else Owner(name, await self.users.since(name))
