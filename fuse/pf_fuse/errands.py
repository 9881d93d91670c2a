"""What `pf-fuse` does beside serving mounts: for somebody who follows it, one line of JSON after the other."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from importlib import import_module
from typing import Any

from pf_backends.errors import Malformed
from pf_backends.port import Backend
from pf_fuse.collecting.checking import check_all
from pf_fuse.collecting.collector import Places
from pf_fuse.collecting.telling import collect
from pf_fuse.opening import opened, page_cache
from pf_fuse.settings import (
    CheckSettings,
    CollectSettings,
    IndexSettings,
    SourceSettings,
    TakeSettings,
    WarmSettings,
    read,
)
from pf_fuse.snapshots.index import build
from pf_fuse.warming.telling import warm
from pf_fuse.warming.warmer import Warmer

Errand = Callable[[bytes], Iterator[Mapping[str, Any]]]
INTERRUPTED = 130


def run(errand: Errand, told: bytes) -> int:
    """0 when it is done; it is ended by a signal, or when nobody follows it any more."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        # Closed at once, whatever happens: what was begun must not go on.
        with closing(_generated(errand, told)) as reports:
            for report in reports:
                sys.stdout.write(json.dumps(report) + "\n")
                sys.stdout.flush()
    except (KeyboardInterrupt, BrokenPipeError):
        return INTERRUPTED
    return 0


def warm_up(told: bytes) -> Iterator[Mapping[str, Any]]:
    """Brings files into a cache that mounts of this machine use, too."""
    settings = read(told, WarmSettings)
    source = settings.source
    backend = opened(source.url, source.properties, source.links, read_only=True)
    cache = page_cache(source.cache)
    try:
        yield from warm(Warmer(backend, cache, settings.at_once), settings.paths)
    finally:
        cache.end()
        backend.close()


def check(told: bytes) -> Iterator[Mapping[str, Any]]:
    """Reads a whole cache, and removes what is not as it was written."""
    cache = page_cache(read(told, CheckSettings).cache)
    try:
        yield from check_all(cache)
    finally:
        cache.end()


def collect_garbage(told: bytes) -> Iterator[Mapping[str, Any]]:
    """Removes what nobody can use any more."""
    settings = read(told, CollectSettings)
    backends, unknown = _opened_all(settings.sources)
    cache = page_cache(settings.cache)
    try:
        yield from collect(cache, Places(backends, not unknown), settings.uploads_before, dry_run=settings.dry_run)
    finally:
        cache.end()
        for backend in backends:
            backend.close()


def _opened_all(sources: Sequence[SourceSettings]) -> tuple[list[Backend], int]:
    """Backends, and how many cannot be opened: secrets are not told to who may only read."""
    backends, unknown = list[Backend](), 0
    for source in sources:
        try:
            backends.append(opened(source.url, source.properties, source.links, read_only=source.read_only))
        except (Malformed, OSError):
            unknown += 1
    return backends, unknown


def take_snapshot(told: bytes) -> Iterator[Mapping[str, Any]]:
    """Writes down all that there is."""
    settings = read(told, TakeSettings)
    source = settings.source
    backend = opened(source.url, source.properties, source.links, read_only=not settings.to.startswith(":"))
    try:
        yield from _with_parquet("taking").take(backend, settings.to, settings.at_once)
    finally:
        backend.close()


def index_snapshot(told: bytes) -> Iterator[Mapping[str, Any]]:
    """Makes a snapshot ready for a mount, whose process is not to read Parquet itself."""
    settings = read(told, IndexSettings)
    yield {"things": build(_with_parquet("manifest").rows(settings.snapshot), settings.index)}


def _with_parquet(name: str) -> Any:  # noqa: ANN401  # a module
    """A module that needs what few have installed, and that takes memory."""
    try:
        return import_module(f"pf_fuse.snapshots.{name}")
    except ModuleNotFoundError as error:
        raise ValueError(f"{error.name} is not installed: pip install 'paddleflow-server[snapshots]'") from None


def _generated(errand: Errand, told: bytes) -> Any:  # noqa: ANN401  # a generator, which can be closed
    return errand(told)


ERRANDS: Mapping[str, Errand] = {
    "warm": warm_up,
    "check": check,
    "collect": collect_garbage,
    "snapshot": take_snapshot,
    "index": index_snapshot,
}
