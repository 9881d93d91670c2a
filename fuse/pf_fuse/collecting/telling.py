"""Collecting for somebody who follows it."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any

from pf_backends.port import Backend
from pf_fuse.collecting.checking import EVERY
from pf_fuse.collecting.collector import Places, Why, forgotten, judged, kept
from pf_fuse.pages.cache import PageCache

_AT_ONCE = 16
Told = Mapping[str, Any]


def collect(cache: PageCache, places: Places, uploads_before: int, *, dry_run: bool) -> Iterator[Told]:
    """Reports until it is over; what is counted as removed would be, in a dry run."""
    files, removed, freed, busy = 0, Counter[str](), 0, 0
    due = time.monotonic()
    with ThreadPoolExecutor(_AT_ONCE, "ask") as askers, closing(_all(cache, places, askers)) as looked:
        for each, why in looked:
            files += 1
            if why and (dry_run or each.remove()):
                removed[why] += 1
                freed += each.bytes
            elif why:
                busy += 1
            if time.monotonic() >= due:
                due = time.monotonic() + EVERY
                yield {"over": False, "files": files, "freed": freed}
    evicted = 0 if dry_run else _evicted(cache)
    uploads, troubles = _dropped(places.backends, uploads_before, dry_run=dry_run)
    yield {
        "over": True,
        "files": files,
        "freed": freed,
        "removed": {str(why): removed[why] for why in Why},
        "busy": busy,
        "evicted": evicted,
        "uploads": uploads,
        "troubles": troubles,
    }


def _all(cache: PageCache, places: Places, askers: ThreadPoolExecutor) -> Any:  # noqa: ANN401  # a generator
    return judged(kept(cache), places, askers)


def _evicted(cache: PageCache) -> int:
    """Files that had to go because there is not so much room."""
    before = sum(folder.removed for folder in cache.stats().folders)
    cache.look()
    while cache.tidy():
        pass
    return sum(folder.removed for folder in cache.stats().folders) - before


def _dropped(backends: Sequence[Backend], before: int, *, dry_run: bool) -> tuple[list[Told], list[str]]:
    """Uploads that nobody finishes, and what went wrong."""
    done: list[Told] = []
    troubles: list[str] = []
    for backend in backends if before else ():
        try:
            for upload in forgotten(backend, before):
                if not dry_run:
                    backend.drop(upload)
                done.append({"address": backend.address, "path": upload.path, "begun": upload.begun / 1e9})
        except OSError as error:
            troubles.append(f"{backend.address}: {error.strerror or error}")
    return done, troubles
