"""Which queues a caller may see."""

from __future__ import annotations

from paddleflow.problems import QueueNotGranted
from pf_kit.principal import Principal
from pf_kit.unit import View
from pf_queue.accounts.domain import GrantKey, ResourceKind
from pf_queue.quota.ports import Grants


class Visibility:
    """Root and services that act for nobody see all queues, others those that are granted to them."""

    def __init__(self, *, grants: Grants) -> None:
        self._grants = grants

    async def names(self, view: View, caller: Principal) -> frozenset[str] | None:
        """The queues the caller may see; None for all."""
        if caller.root:
            return None
        return await self._grants.granted(view, caller.name, ResourceKind.QUEUE)

    async def require(self, view: View, caller: Principal, queue: str) -> None:
        """Raises QueueNotGranted if the caller may not see the queue."""
        if not caller.root and not await self._grants.allowed(view, GrantKey(caller.name, ResourceKind.QUEUE, queue)):
            raise QueueNotGranted(f"queue {queue!r} is not granted to {caller.name!r}; ask root for a grant")
