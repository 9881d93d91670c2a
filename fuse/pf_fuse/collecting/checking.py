"""Reading a whole cache for somebody who follows it."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

from pf_fuse.pages.cache import PageCache
from pf_fuse.pages.checking import Report, check_each

EVERY = 0.2
"""Seconds between two reports."""
_MOST_TOLD = 1000


def check_all(cache: PageCache) -> Iterator[Mapping[str, Any]]:
    """Reports until it is over; the last one says what was removed."""
    done, gone, due = Report(), list[str](), time.monotonic()
    for folder in cache.usable:
        for each in check_each(folder):
            done += each.report
            if each.report.removed and len(gone) < _MOST_TOLD:
                gone.append(f"{each.key.address}: {each.key.path}" if each.key else "a file of which nothing is known")
            if time.monotonic() >= due:
                due = time.monotonic() + EVERY
                yield {"over": False, **asdict(done)}
    troubles = [f"{each.path}: {each.trouble}" for each in cache.stats().folders if each.trouble]
    yield {"over": True, **asdict(done), "gone": gone, "troubles": troubles}
