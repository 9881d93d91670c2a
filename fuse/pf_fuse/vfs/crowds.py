"""Folders of which many single names are asked for: to list them takes the backend one answer for all."""

from __future__ import annotations

from pf_fuse.vfs.freshness import Freshness

_MOST = 10_000
"""Folders of which it is counted; about 200 bytes each."""


class Crowds:
    """Counts who is asked for. Whoever calls holds the lock of the tree."""

    def __init__(self, freshness: Freshness) -> None:
        self._freshness = freshness
        self._asked: dict[int, tuple[float, int]] = {}
        """Since when, and how often, single names of a folder were asked for."""

    def asked(self, folder: int, now: float) -> bool:
        """A name of a folder is. True once there are many within the time for which answers are good."""
        since, times = self._asked.get(folder, (now, 0))
        if now - since > self._freshness.seconds:
            since, times = now, 0
        if len(self._asked) > _MOST:
            # Who forgets it lists some folder a little later.
            self._asked.clear()
        self._asked[folder] = since, times + 1
        return times >= self._freshness.crowd
