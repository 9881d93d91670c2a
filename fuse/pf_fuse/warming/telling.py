"""Warming for somebody who follows it, and who ends it by going away."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from pf_fuse.warming.warmer import Warmer

EVERY = 0.2
"""Seconds between two reports."""


def warm(warmer: Warmer, paths: Sequence[str]) -> Iterator[Mapping[str, Any]]:
    """Reports until it is over; the last one is marked. Whoever closes it before ends the warming."""
    warmer.begin(paths)
    try:
        while not warmer.wait(EVERY):
            yield {"over": False, **_counts(warmer)}
    finally:
        warmer.stop()
    yield {"over": True, **_counts(warmer), "failures": [asdict(each) for each in warmer.progress().failures]}


def _counts(warmer: Warmer) -> Mapping[str, Any]:
    return {name: value for name, value in asdict(warmer.progress()).items() if name != "failures"}
