"""What can be done with flavours.

Methods that take a `Change` are one step of it: whoever calls them holds `TREE_LOCK`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from paddleflow.problems import ClusterNotFound, FlavourExists, FlavourNotFound, PermissionDenied, Violation
from pf_kit.changes import ChangeKind
from pf_kit.fields import require, shown
from pf_kit.principal import Principal, PrincipalKind
from pf_kit.unit import Change, View
from pf_queue.clusters.domain import Flavour, FlavourChanged, FlavourFilter
from pf_queue.clusters.fields import CLUSTER_NAME, FLAVOUR_NAME, flavour_violations
from pf_queue.clusters.store import ClusterStore, FlavourStore
from pf_queue.edits import Editable, edited, require_etag

EDITABLE = Editable(whole=frozenset({"cluster"}), resources=frozenset({"resources"}))


class Flavours:
    """The flavours, as callers may use them."""

    def __init__(self, *, store: FlavourStore, clusters: ClusterStore) -> None:
        self._store = store
        self._clusters = clusters

    async def get(self, view: View, name: str) -> Flavour:
        """The flavour of this name. Raises FlavourNotFound."""
        flavour = await self._store.flavour(view, name) if FLAVOUR_NAME.fullmatch(name) else None
        if flavour is None:
            raise FlavourNotFound(f"no flavour {shown(name)}")
        return flavour

    async def page(self, view: View, chosen: FlavourFilter, after: str, limit: int) -> Sequence[Flavour]:
        """The flavours after this name."""
        return await self._store.flavours(view, chosen, after, limit)

    async def create(self, change: Change, caller: Principal, draft: Flavour) -> Flavour:
        """Adds a flavour. Raises FlavourExists and ClusterNotFound."""
        if await self._store.flavour(change, draft.name) is not None:
            raise FlavourExists(f"a flavour {draft.name!r} exists; choose another name")
        await self._require_cluster(change, draft.cluster)
        # A service that acts for nobody is no user, though one may have its name.
        creator = caller.name if caller.kind is PrincipalKind.USER else caller.label
        flavour = replace(draft, creator=creator, create_time=change.time, update_time=change.time)
        flavour = replace(flavour, version=await self._store.add(change, flavour))
        change.emit(FlavourChanged(ChangeKind.CREATED, flavour, flavour.version))
        return flavour

    async def update(
        self, change: Change, caller: Principal, given: Flavour, etag: str, mask: Sequence[str]
    ) -> Flavour:
        """Changes the fields that the mask names. Raises what UpdateFlavour's contract lists."""
        current = await self._own(change, caller, given.name)
        require_etag(etag, current.etag)
        flavour = edited(current, given, mask, EDITABLE)
        require(flavour_violations(flavour))
        if flavour == current:
            return current
        await self._require_cluster(change, flavour.cluster)
        return await self._save(change, flavour)

    async def hand_over(self, change: Change, user: str, heir: str) -> None:
        """Makes the heir the maker of all flavours that the user has made."""
        for flavour in await self._store.made_by(change, user):
            await self._save(change, replace(flavour, creator=heir))

    async def delete(self, change: Change, caller: Principal, name: str, etag: str) -> None:
        """Removes a flavour. Raises what DeleteFlavour's contract lists."""
        flavour = await self._own(change, caller, name)
        require_etag(etag, flavour.etag)
        change.emit(FlavourChanged(ChangeKind.DELETED, flavour, await self._store.remove(change, name)))

    async def _save(self, change: Change, flavour: Flavour) -> Flavour:
        flavour = replace(flavour, update_time=change.time)
        flavour = replace(flavour, version=await self._store.set(change, flavour))
        change.emit(FlavourChanged(ChangeKind.UPDATED, flavour, flavour.version))
        return flavour

    async def _own(self, view: View, caller: Principal, name: str) -> Flavour:
        flavour = await self.get(view, name)
        if not caller.root and caller.name != flavour.creator:
            raise PermissionDenied(
                f"flavour {name!r} was made by {flavour.creator!r}; only its maker and root change it"
            )
        return flavour

    async def _require_cluster(self, view: View, name: str) -> None:
        if name and not (CLUSTER_NAME.fullmatch(name) and await self._clusters.cluster(view, name)):
            message = f"no cluster {shown(name)}"
            raise ClusterNotFound(message, violations=(Violation("flavour.cluster", message),))
