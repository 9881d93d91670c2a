"""What `pf-fuse` does beside serving mounts: for somebody who follows it, one line of JSON after the other."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from typing import Any

from pf_fuse.opening import opened, page_cache
from pf_fuse.settings import WarmSettings, read
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


def _generated(errand: Errand, told: bytes) -> Any:  # noqa: ANN401  # a generator, which can be closed
    return errand(told)


ERRANDS: Mapping[str, Errand] = {"warm": warm_up}
