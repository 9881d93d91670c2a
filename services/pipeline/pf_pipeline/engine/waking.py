"""Wakes whoever waits until a node is over."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, field
from weakref import WeakValueDictionary

from pf_pipeline.artifacts.domain import NodeKey

REMEMBERED = 10_000
"""Nodes that were over last: one may be while somebody is about to wait for it."""


@dataclass(slots=True)
class Waking:
    """Who waits for which node, as far as one instance knows."""

    _bells: WeakValueDictionary[NodeKey, asyncio.Event] = field(default_factory=WeakValueDictionary)
    """Those that nobody waits for vanish."""
    _over: dict[NodeKey, None] = field(default_factory=dict)

    def wake(self, over: Iterable[NodeKey]) -> None:
        """These nodes are over."""
        for key in over:
            self._over[key] = None
            if bell := self._bells.get(key):
                bell.set()
        for key in list(self._over)[: max(0, len(self._over) - REMEMBERED)]:
            del self._over[key]

    async def is_woken(self, key: NodeKey, patience: float) -> bool:
        """True once a node is over; False if that was so before, or is not within so many seconds."""
        if key in self._over:
            return False
        bell = self._bells.setdefault(key, asyncio.Event())
        try:
            async with asyncio.timeout(patience):
                return await bell.wait()
        except TimeoutError:
            return False
