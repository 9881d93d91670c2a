"""The two processes of a mount: one that keeps it, and one that serves it and may come and go."""

from __future__ import annotations

import gc
import logging
import os
import resource
import secrets
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any

from pf_backends.port import Backend
from pf_fuse.alone import alone
from pf_fuse.compose import compose
from pf_fuse.control import Control
from pf_fuse.holder.client import Held, take
from pf_fuse.holder.holder import Holder
from pf_fuse.holder.settings import HolderSettings
from pf_fuse.kernel.backing import OwnRegistry, Registry
from pf_fuse.kernel.features import USUAL, Feature
from pf_fuse.kernel.transport import Transport
from pf_fuse.metrics.exposition import exposition
from pf_fuse.metrics.port import listen, parse_address
from pf_fuse.metrics.port import serve as serve_metrics
from pf_fuse.opening import opened
from pf_fuse.questions import questions
from pf_fuse.settings import MountSettings
from pf_fuse.snapshots.loading import load
from pf_fuse.staging.format import require_known
from pf_fuse.stats import stats
from pf_fuse.threads import started

_LOCKS = Feature.POSIX_LOCKS | Feature.FLOCK_LOCKS
"""The kernel keeps locks itself: they hold among the programs of one machine."""
_SOCKET = "holder"
_KNOWN = "known"
"""What the holder keeps once a process has taken up what is written down: all of it is of this mount from then on."""
_GARBAGE = 20_000
"""Things between two looks for such as hold one another, of which there are next to none."""
READY = b"ready\n"
"""What is written to the standard output when programs can use the mount."""


def hold(settings: MountSettings) -> None:
    """Mounts, and keeps the mount until it is taken away; whoever serves it is started again when it dies."""
    settings.state.mkdir(mode=0o700, parents=True, exist_ok=True)
    require_known(settings.state)
    _look(settings)
    if settings.metrics:
        # Whether it is free is better told now than found in the log.
        listen(parse_address(settings.metrics)).close()
    clients = settings.clients
    holder = HolderSettings(
        place=str(settings.place),
        socket=str(clients.socket if clients else settings.state / _SOCKET),
        user=clients.user if clients else None,
        source=settings.source,
        read_only=not settings.writable,
        wanted=int(USUAL & ~_LOCKS),
        linux=settings.linux,
    )
    # What is loaded by now, each client has too: none of it needs to be looked through again.
    gc.collect()
    gc.freeze()
    keeping = Holder(holder, None if clients else partial(serve, settings))
    if clients:
        _say_ready()
    keeping.run()


def _look(settings: MountSettings) -> None:
    """Whether what lies there answers. What it can do when it is written to, whoever serves it finds out."""
    if settings.checked and not settings.snapshot:
        return
    backend = _opened(settings, read_only=True)
    try:
        backend.check()
        if settings.snapshot:
            load(backend, settings)
    finally:
        backend.close()


def serve(settings: MountSettings) -> None:
    """Serves the mount of the holder that has started this process; returns when it is gone."""
    begun = time.monotonic()
    _allow_open_files()
    held = take(str(settings.state / _SOCKET))
    with alone(settings.state):
        _serve(settings, held, begun)
    # Not after a fault: then another process serves the mount.
    held.holder.ended()


def _serve(settings: MountSettings, held: Held, begun: float) -> None:
    backend = _opened(settings, read_only=not settings.writable)
    started("find-out", _find_out, backend)
    # One that ended before it got so far has left what is written down of an earlier mount.
    parts = compose(backend, settings, lambda: secrets.token_hex(8), resumed=held.resumed and held.kept == _KNOWN)
    held.holder.keep(_KNOWN)
    transport = Transport(held.device, held.agreement, parts.operations, _registry(held))
    telling = partial(stats, transport, parts, settings.state, begun)
    control = Control(settings.state, questions(transport, parts, backend, settings, telling))
    control.begin()
    if settings.metrics:
        _serve_metrics(settings, telling)
    # What lives as long as the process needs not be looked through again and again.
    gc.collect()
    gc.freeze()
    gc.set_threshold(_GARBAGE)
    _say_ready()
    logging.getLogger(__name__).info("serving %s at %s", backend.address, settings.place)
    try:
        transport.serve(held.resumed)
    finally:
        control.end()


def _say_ready() -> None:
    """Whoever waited for the first one may be gone when this is not the first."""
    with suppress(OSError):
        os.write(sys.stdout.fileno(), READY)


def _serve_metrics(settings: MountSettings, telling: Callable[[], Mapping[str, Any]]) -> None:
    """A port that somebody else has taken meanwhile keeps nobody from reading files."""
    try:
        listening = listen(parse_address(settings.metrics))
    except OSError as error:
        logging.getLogger(__name__).warning("no metrics at %s: %s", settings.metrics, error.strerror)
        return
    serve_metrics(listening, lambda: exposition(telling(), str(settings.place)))


def _registry(held: Held) -> Registry | None:
    """Whoever may register files with the kernel: this process, if it may, as asking the holder costs much more.

    The tree writes down by which numbers files are registered, so the process after this one uses the same ones.
    """
    own = OwnRegistry(held.device)
    return own if own.allowed else held.registry


def _find_out(backend: Backend) -> None:
    """What it can do is found out by asking, before the first write needs to know it. Nobody waits for that."""
    with suppress(OSError):
        backend.check()


def _allow_open_files() -> None:
    """As many as the machine lets this user have: each file that somebody has open may be one here."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def _opened(settings: MountSettings, *, read_only: bool) -> Backend:
    return opened(
        settings.url,
        settings.properties,
        settings.links,
        read_only=read_only,
        renewal=settings.renewal,
    )
