"""How much one call may do."""

from __future__ import annotations

from collections.abc import Callable


class Spent(Exception):
    """The call has done its share; the next one goes on."""


class Budget:
    """A time after which a call stops where it is."""

    def __init__(self, seconds: float, monotonic: Callable[[], float]) -> None:
        self._until = monotonic() + seconds
        self._monotonic = monotonic

    def check(self) -> None:
        """Raises Spent if the time is over."""
        if self._monotonic() >= self._until:
            raise Spent
