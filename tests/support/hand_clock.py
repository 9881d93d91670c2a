"""A clock that is moved by hand."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

NOW = 1_800_000_000


@dataclass
class HandClock:
    """Stands still until it is moved."""

    wall: float = float(NOW)
    ticks: float = 0.0

    def now(self) -> datetime:
        return datetime.fromtimestamp(self.wall, UTC)

    def monotonic(self) -> float:
        return self.ticks
