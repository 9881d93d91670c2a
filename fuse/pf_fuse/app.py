"""Serves one mount in this process."""

from __future__ import annotations

import gc
import os
import secrets
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import FrameType

from pf_backends.opening import open_backend
from pf_fuse.compose import compose
from pf_fuse.control import Control
from pf_fuse.kernel.backing import OwnRegistry
from pf_fuse.kernel.features import USUAL, Feature
from pf_fuse.kernel.mounting import MountOptions, close_mount, open_mount
from pf_fuse.kernel.transport import Transport, greet
from pf_fuse.settings import MountSettings
from pf_fuse.stats import stats

_LOCKS = Feature.POSIX_LOCKS | Feature.FLOCK_LOCKS
"""The kernel keeps locks itself: they hold among the programs of one machine."""


def serve(settings: MountSettings, ready: Callable[[], None]) -> None:
    """Mounts, calls `ready`, and returns when the mount is gone; a signal to end takes it away."""
    settings.state.mkdir(mode=0o700, parents=True, exist_ok=True)
    backend = open_backend(settings.url, settings.properties)
    backend.check()
    parts = compose(backend, settings, lambda: secrets.token_hex(8))
    device = open_mount(settings.place, MountOptions(source=settings.source, read_only=settings.read_only))
    agreement = greet(device, USUAL & ~_LOCKS)
    registry = OwnRegistry(device) if os.geteuid() == 0 else None
    transport = Transport(device, agreement, parts.vfs, registry)
    _unmount_on_signal(settings.place)
    # What lives as long as the process needs not be looked through again and again.
    gc.collect()
    gc.freeze()
    begun = time.monotonic()
    control = Control(settings.state, {"stats": lambda _: stats(transport, parts, begun)})
    control.begin()
    ready()
    try:
        transport.serve()
    finally:
        control.end()


def _unmount_on_signal(place: Path) -> None:
    def unmount(_signal: int, _frame: FrameType | None) -> None:
        with suppress(OSError):
            close_mount(place, detach=True)

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, unmount)
