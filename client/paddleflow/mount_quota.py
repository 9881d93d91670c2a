"""How much may lie in a filesystem, as whoever serves a mount of it is told."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from paddleflow.mounted import ask_whoever_serves


def take_over(state: Path, place: Path, stats: Mapping[str, Any], limits: Mapping[str, int | None]) -> bool:
    """Has a mount that tells this of itself hold the limits of the filesystem; False if it does already.

    Raises NotMounted and Unanswered.
    """
    # A mount that was made by an older version knows of none.
    if stats.get("quota", {}).get("place", limits) == limits:
        return False
    ask_whoever_serves(state, place, "quota", **limits)
    return True
