"""Giving and taking the right to use a resource."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Protocol

from paddleflow.problems import (
    GrantNotFound,
    InvalidArgument,
    QueueNotFound,
    UserIsRoot,
    UserNotFound,
    Violation,
)
from pf_kit.changes import ChangeKind
from pf_kit.fields import shown
from pf_kit.principal import Principal
from pf_kit.unit import Change, View
from pf_queue.accounts.domain import (
    ROOT,
    Grant,
    GrantChanged,
    GrantFilter,
    GrantKey,
    ResourceKind,
    is_resource_name,
)
from pf_queue.accounts.service.callers import listed_user
from pf_queue.accounts.store import AccountStore

AT_ONCE = 1000
"""Grants read by one query, where all are wanted."""
RESOURCES_LOCK = "tree"
"""Held by every change that adds or removes a queue or a flavour, by the making of a grant and the end of a user."""


class Resources(Protocol):
    """What can be granted, known by those who keep it."""

    async def exists(self, view: View, kind: ResourceKind, name: str) -> bool:
        """True if there is a resource of this name."""


class Grants:
    """The grants, as callers may use them."""

    def __init__(self, *, store: AccountStore, resources: Resources) -> None:
        self._store = store
        self._resources = resources

    async def create(self, change: Change, key: GrantKey) -> Grant:
        """Makes a grant. Whoever calls holds `RESOURCES_LOCK` too, so that the resource stays.

        Raises UserIsRoot, UserNotFound, QueueNotFound and GrantExists.
        """
        if key.user == ROOT:
            raise UserIsRoot("root may use everything; there is nothing to grant")
        if await self._store.user(change, key.user) is None:
            raise UserNotFound(f"no user {shown(key.user)}")
        await self._check_resource(change, key)
        version = await self._store.next_version(change)
        grant = Grant(key, version, change.time)
        await self._store.add_grant(change, grant)
        change.emit(GrantChanged(ChangeKind.CREATED, grant, version))
        return grant

    async def delete(self, change: Change, key: GrantKey) -> None:
        """Takes a grant back. Raises GrantNotFound."""
        if not await self._drop(change, GrantFilter(key.user, key.kind, key.resource)):
            raise GrantNotFound(f"no grant of {key.kind} {shown(key.resource)} to user {shown(key.user)}")

    async def page(self, view: View, caller: Principal, chosen: GrantFilter, after: str, limit: int) -> Sequence[Grant]:
        """Grants by key, after this one. Raises PermissionDenied for another user's."""
        key = GrantKey.parse(after) if after else None
        visible = replace(chosen, user=listed_user(caller, chosen.user or ""))
        return await self._store.grants(view, visible, key, limit)

    async def all(self, view: View) -> Sequence[Grant]:
        """Every grant, by key."""
        found: list[Grant] = []
        while page := await self._store.grants(view, GrantFilter(), found[-1].key if found else None, AT_ONCE):
            found += page
        return found

    async def allowed(self, view: View, key: GrantKey) -> bool:
        """True if the user may use the resource."""
        return key.user == ROOT or await self._store.grant(view, key) is not None

    async def granted(self, view: View, user: str, kind: ResourceKind) -> frozenset[str]:
        """The names of all resources of this kind that are granted to the user."""
        return await self._store.granted(view, user, kind)

    async def drop_resources(self, change: Change, kind: ResourceKind, names: Collection[str]) -> None:
        """Takes back all grants on resources that are about to be removed."""
        await self._tell(change, await self._store.remove_grants_on(change, kind, names))

    async def drop_user(self, change: Change, name: str) -> None:
        """Takes back all grants of a user that is about to be removed."""
        await self._drop(change, GrantFilter(user=name))

    async def _check_resource(self, view: View, key: GrantKey) -> None:
        match key.kind:
            case ResourceKind.QUEUE:
                # Their owner is only asked for what can be the name of something.
                known = is_resource_name(key.resource)
                if not known or not await self._resources.exists(view, key.kind, key.resource):
                    raise QueueNotFound(f"no queue {shown(key.resource)}")
            case ResourceKind.FILESYSTEM:
                # Another service owns filesystems, and is asked when one is used. A grant on one that does not
                # exist, or not yet, opens nothing.
                if not is_resource_name(key.resource):
                    rule = "must be 1 to 63 letters, digits, `_` and `-`"
                    raise InvalidArgument.of(Violation("grant.resource", rule))

    async def _drop(self, change: Change, chosen: GrantFilter) -> Sequence[Grant]:
        dropped = await self._store.remove_grants(change, chosen)
        await self._tell(change, dropped)
        return dropped

    async def _tell(self, change: Change, dropped: Sequence[Grant]) -> None:
        versions = await self._store.next_versions(change, len(dropped)) if dropped else ()
        for grant, version in zip(dropped, versions, strict=True):
            change.emit(GrantChanged(ChangeKind.DELETED, grant, version))
