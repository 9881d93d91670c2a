"""Values in a row as a line of small bars."""

from __future__ import annotations

from collections.abc import Sequence

FINE = "▁▂▃▄▅▆▇█"
PLAIN = "_.:-=+*#"
UNKNOWN = " "


def sparkline(values: Sequence[float | None], width: int, bars: str) -> str:
    """Bars from nothing to the highest of the values, in so many columns at most."""
    shown = folded(values, width)
    highest = max((value for value in shown if value is not None), default=0.0)
    return "".join(_bar(value, highest, bars) for value in shown)


def folded(values: Sequence[float | None], width: int) -> list[float | None]:
    """The means of as many neighbours each as it takes for so many columns."""
    size = -(-len(values) // width) or 1
    return [_mean(values[begin : begin + size]) for begin in range(0, len(values), size)]


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _bar(value: float | None, highest: float, bars: str) -> str:
    if value is None:
        return UNKNOWN
    return bars[min(len(bars) - 1, int(value / highest * len(bars)))] if highest > 0 else bars[0]
