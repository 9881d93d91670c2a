"""The two processes of a mount: one that keeps it, and one that serves it and may come and go."""

from __future__ import annotations

import gc
import logging
import os
import secrets
import sys
import time
from collections.abc import Mapping
from contextlib import suppress

from pf_backends.linked import LinkedBackend
from pf_backends.opening import Surroundings, open_backend
from pf_backends.port import Backend
from pf_fuse.compose import compose
from pf_fuse.control import Control
from pf_fuse.holder.children import SOCKET_VARIABLE
from pf_fuse.holder.client import take
from pf_fuse.holder.holder import Holder
from pf_fuse.holder.settings import HolderSettings
from pf_fuse.kernel.features import USUAL, Feature
from pf_fuse.kernel.transport import Transport
from pf_fuse.settings import MountSettings
from pf_fuse.stats import stats
from pf_fuse.vfs.vfs import Vfs

_LOCKS = Feature.POSIX_LOCKS | Feature.FLOCK_LOCKS
"""The kernel keeps locks itself: they hold among the programs of one machine."""
_SOCKET = "holder"
READY = b"ready\n"
"""What is written to the standard output when programs can use the mount."""


def hold(settings: MountSettings, told: bytes) -> None:
    """Mounts, and keeps the mount until it is taken away; whoever serves it is told the settings, and started again."""
    settings.state.mkdir(mode=0o700, parents=True, exist_ok=True)
    backend = _opened(settings)
    try:
        backend.check()
    finally:
        backend.close()
    holder = HolderSettings(
        place=str(settings.place),
        socket=str(settings.state / _SOCKET),
        command=(sys.executable, "-m", "pf_fuse", "serve"),
        source=settings.source,
        read_only=not settings.writable,
        wanted=int(USUAL & ~_LOCKS),
    )
    Holder(holder, told).run()


def serve(settings: MountSettings) -> None:
    """Serves the mount of the holder that has started this process; returns when it is gone."""
    begun = time.monotonic()
    held = take(os.environ[SOCKET_VARIABLE])
    backend = _opened(settings)
    with suppress(OSError):
        # What it can do is found out by asking. If it does not answer, it is not known to check conditions.
        backend.check()
    parts = compose(backend, settings, lambda: secrets.token_hex(8))
    transport = Transport(held.device, held.agreement, parts.vfs, held.registry)
    control = Control(
        settings.state, {"stats": lambda _: stats(transport, parts, begun), "sync": lambda _: _synced(parts.vfs)}
    )
    control.begin()
    # What lives as long as the process needs not be looked through again and again.
    gc.collect()
    gc.freeze()
    with suppress(OSError):
        # Whoever waited for the first one may be gone when this is not the first.
        os.write(sys.stdout.fileno(), READY)
    logging.getLogger(__name__).info("serving %s at %s", backend.address, settings.place)
    try:
        transport.serve(held.resumed)
    finally:
        control.end()
    # Not after a fault: then another process serves the mount.
    held.holder.ended()


def _synced(vfs: Vfs) -> Mapping[str, object]:
    """The backend has all that was written so far. Fails with what it does not take."""
    vfs.sync()
    return {}


def _opened(settings: MountSettings) -> Backend:
    """What is mounted, with the places that are linked into it."""
    around = Surroundings(read_only=not settings.writable)
    backend = open_backend(settings.url, settings.properties, around)
    links = {link.path: open_backend(link.url, link.properties, around) for link in settings.links}
    return LinkedBackend(backend, links) if links else backend
