"""Those who have come and said nothing so far: they are let go after a while, and the first of them when more come."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator

NEWCOMERS = 16
"""That say nothing at once. Clients say at once what they come for."""


class Newcomers:
    """Each of them, and until when there is time for it, in the order in which they came."""

    def __init__(self, patience: float) -> None:
        """Seconds."""
        self._patience = patience
        self._until: dict[socket.socket, float] = {}

    def come(self, newcomer: socket.socket) -> None:
        self._until[newcomer] = time.monotonic() + self._patience

    def heard(self, newcomer: socket.socket) -> None:
        """It has said something, or is gone."""
        del self._until[newcomer]

    def late(self) -> Iterator[socket.socket]:
        """Those that are to be let go now."""
        while self._until:
            first = next(iter(self._until))
            if len(self._until) <= NEWCOMERS and self._until[first] > time.monotonic():
                return
            del self._until[first]
            yield first

    @property
    def pause(self) -> float | None:
        """Seconds until somebody is to be let go; None if nobody is there."""
        return next((max(0.0, until - time.monotonic()) for until in self._until.values()), None)
