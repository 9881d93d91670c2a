"""What whoever serves a mount can be asked."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from pf_backends.paths import is_path
from pf_backends.port import Backend
from pf_fuse.compose import Parts
from pf_fuse.control import Answer, Answering
from pf_fuse.kernel.accesses import Accesses
from pf_fuse.kernel.transport import Transport
from pf_fuse.metrics.exposition import exposition
from pf_fuse.settings import MountSettings
from pf_fuse.vfs.quota import Limits
from pf_fuse.vfs.renewing import renew
from pf_fuse.vfs.tree import Tree
from pf_fuse.warming.telling import warm
from pf_fuse.warming.warmer import Warmer

_MOST_AT_ONCE = 64
LOG = "accesses"
"""The file in the folder of the mount in which accesses are written down while somebody wants to know them."""
_BEAT = 0.2
"""Seconds between two signs that they are: to find out that nobody wants to know any more."""
_PATIENCE = 1.0
"""Seconds that somebody who has just gone may take to be noticed."""


def questions(
    transport: Transport, parts: Parts, backend: Backend, settings: MountSettings, telling: Callable[[], Answer]
) -> Mapping[str, Answering]:
    """By their names; `telling` says how the mount is doing."""

    def warming(asked: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
        at_once = max(1, min(_MOST_AT_ONCE, int(asked.get("at_once", 8))))
        return warm(Warmer(backend, parts.cache, at_once), _paths(asked))

    def accesses(_: Answer) -> Iterator[Answer]:
        return _accesses(transport.accesses, settings.state / LOG)

    def paths(asked: Answer) -> Answer:
        return {"paths": _paths_of(parts.tree, asked.get("nodes", ()))}

    def sync(_: Answer) -> Answer:
        parts.operations.sync()
        return {}

    def renewed(_: Answer) -> Answer:
        renew(parts.tree, transport)
        return {}

    def limited(asked: Answer) -> Answer:
        parts.limiting.become(Limits(_amount(asked, "bytes"), _amount(asked, "files")))
        return {}

    return {
        "stats": lambda _: telling(),
        "metrics": lambda _: {"text": exposition(telling(), str(settings.place))},
        "sync": sync,
        "renew": renewed,
        "quota": limited,
        "warm": warming,
        "accesses": accesses,
        "paths": paths,
    }


def _paths(asked: Mapping[str, Any]) -> list[str]:
    """Those that are asked about; ValueError if there is none, or one that leads out."""
    paths = asked.get("paths")
    if not isinstance(paths, list) or not paths or not all(isinstance(path, str) for path in paths):
        raise ValueError('paths: must be a list of texts, as in ["folder/file"]')
    for path in paths:
        if path and not is_path(path):
            raise ValueError(f"{path!r} is no path within the mount")
    return paths


def _amount(asked: Answer, name: str) -> int | None:
    """None: any. ValueError if it is no amount."""
    amount = asked.get(name)
    if amount is not None and (not isinstance(amount, int) or amount < 0):
        raise ValueError(f"{name}: must be a whole number, and not negative")
    return amount


def _accesses(log: Accesses, file: Path) -> Iterator[Answer]:
    """They are written down as long as somebody listens."""
    _wait_until_off(log)
    file.unlink(missing_ok=True)
    log.begin(str(file))
    try:
        while log.on:
            yield {"log": str(file)}
            time.sleep(_BEAT)
    finally:
        log.end()
        file.unlink(missing_ok=True)


def _wait_until_off(log: Accesses) -> None:
    """ValueError if it stays on."""
    until = time.monotonic() + _PATIENCE
    while log.on:
        if time.monotonic() > until:
            raise ValueError("somebody else looks at the accesses already")
        time.sleep(_BEAT)


def _paths_of(tree: Tree, nodes: Sequence[int]) -> Mapping[str, str]:
    """Of those that have one."""
    found: dict[str, str] = {}
    for node in nodes:
        with tree.lock, suppress(OSError):
            found[str(node)] = tree.nodes[node].path
    return found
