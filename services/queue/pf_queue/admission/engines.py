"""Where the leader has its engines from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from pf_queue.admission.core.pool import Tuning
from pf_queue.admission.domain import Patience
from pf_queue.admission.engine import Engine


class Engines(Protocol):
    """Makes engines, and is told what becomes of what the last one decides."""

    def new(self) -> Engine:
        """An engine that is empty. Those before it decide no more."""

    def stored(self) -> None:
        """All that was decided is stored."""

    async def rest(self, now: int) -> None:
        """Between two turns, when all is stored, there is time for other things."""


@dataclass(frozen=True, slots=True)
class PlainEngines:
    """Engines that nobody looks at."""

    tuning: Tuning
    patience: Patience

    def new(self) -> Engine:
        return Engine(self.tuning, self.patience)

    def stored(self) -> None:
        """Is of no interest."""

    async def rest(self, now: int) -> None:
        """There is nothing to do."""
