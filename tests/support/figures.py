"""What measurements say, and against what."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Figure:
    """One measured value, next to the same done without the code that is measured."""

    what: str
    value: float
    unit: str
    reference: float | None = None
    """What the bare parts do on the same machine at the same time; None if nothing compares."""
    at_most: float | None = None
    at_least: float | None = None

    @property
    def ratio(self) -> float | None:
        """The value, as a multiple of the reference."""
        return self.value / self.reference if self.reference else None

    @property
    def target(self) -> str:
        """What was aimed at; empty if nothing."""
        if self.at_most is not None:
            return f"<= {self.at_most:g}"
        return f">= {self.at_least:g}" if self.at_least is not None else ""

    @property
    def verdict(self) -> str:
        """Whether the target is met; empty without a target."""
        if not self.target:
            return ""
        above = self.at_most is not None and self.value > self.at_most
        below = self.at_least is not None and self.value < self.at_least
        return "short" if above or below else "ok"

    def row(self) -> dict[str, str | float | None]:
        """For a table."""
        return {
            "what": self.what,
            "value": self.value,
            "unit": self.unit,
            "reference": self.reference,
            "ratio": self.ratio,
            "target": self.target,
            "verdict": self.verdict,
        }


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that so much of all is not above."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]
