"""How much one call may do."""

from __future__ import annotations

from collections.abc import Callable


class Spent(Exception):
    """The call has done its share; the next one goes on."""


class Budget:
    """A time after which a call stops where it is."""

    def __init__(self, seconds: float, monotonic: Callable[[], float]) -> None:
        self._seconds = seconds
        self._monotonic = monotonic
        self._until = float("inf")
        self._wanted = True

    def begin(self) -> None:
        """The work begins: the call may have waited for others before."""
        self._until = self._monotonic() + self._seconds

    def give_up(self) -> None:
        """Nobody waits for the work any more. May be called by another thread."""
        self._wanted = False

    def check(self) -> None:
        """Raises Spent if the time is over, or nobody waits."""
        if self._monotonic() >= self._until:
            raise Spent
        self.check_wanted()

    def check_wanted(self) -> None:
        """Raises Spent if nobody waits: for work of which nothing is left if it stops."""
        if not self._wanted:
            raise Spent
