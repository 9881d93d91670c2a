"""How much is measured: all of it, or a share to see that a measurement works (`BENCH_SHARE=0.02`)."""

from __future__ import annotations

import os

SHARE = float(os.environ.get("BENCH_SHARE", "1"))
"""Figures have targets only if all is measured."""


def sized(count: int, at_least: int = 2) -> int:
    """So many, or the share of it."""
    return max(at_least, round(count * SHARE))


def goal(value: float) -> float | None:
    """A target, which holds for the whole size alone."""
    return value if SHARE == 1.0 else None
