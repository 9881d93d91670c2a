"""Which queues there are, as those who keep grants need to know."""

from __future__ import annotations

from pf_kit.fields import DNS_LABEL
from pf_kit.unit import View
from pf_queue.accounts.domain import ResourceKind
from pf_queue.quota.store import QueueStore


class QueueRegister:
    """Fulfils `Resources` of accounts."""

    def __init__(self, *, store: QueueStore) -> None:
        self._store = store

    async def exists(self, view: View, kind: ResourceKind, name: str) -> bool:
        """True if the resource is a queue, and there is one of this name."""
        known = kind is ResourceKind.QUEUE and DNS_LABEL.fullmatch(name)
        return bool(known) and await self._store.standing(view, name) is not None
