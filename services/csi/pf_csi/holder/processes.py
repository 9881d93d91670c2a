"""Clients that are processes of this machine: `pf-fuse`, two of them for each mount.

One keeps the device, and the other serves. Whichever dies is replaced by the other; so whoever supervises them has
nothing to lose, and may be killed and started again while programs use what is mounted.
"""

from __future__ import annotations

import logging
import os
import signal
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Thread
from typing import Any

from paddleflow.mounted import NotMounted, SlowToAnswer, Unanswered, ask_whoever_serves
from paddleflow.mountinfo import read_mounts
from paddleflow.mounting import LOG, CannotMount, start
from pf_csi.holder.diagnosing import diagnosed
from pf_csi.holder.keepers import HOLDER, Keeper, answers, hangs, is_served, keeper_of, take_off
from pf_csi.holder.places import Folders, KeyFolder
from pf_csi.holder.quotas import recorded_quota

logger = logging.getLogger(__name__)

_OURS = ("cacheSize", "record", "size")
"""What the client is not told."""
_LOOK = 0.05
_WITHOUT_A_WORD = 15.0
"""Seconds after which whoever keeps a mount is killed that nobody serves any more."""


@dataclass(frozen=True, slots=True)
class Cache:
    """Where this machine keeps what is read."""

    folders: tuple[str, ...]
    size: int | None = None


class LocalProcesses:
    """Fulfils `Clients`."""

    def __init__(self, folders: Folders, cache: Cache, patience: float, user: int | None = None) -> None:
        self._folders = folders
        self._cache = cache
        self.patience = patience
        """Seconds in which a client is ready, or has failed."""
        self._user = user
        """Of clients that come by themselves; None: processes that are begun here serve what they keep."""

    def begin(self, key: str, mount: Mapping[str, Any]) -> Keeper:
        folder = self._folders.of(key)
        folder.make()
        folder.remember(mount)
        keeper = keeper_of(folder)
        if keeper is not None:
            # Two must not keep one mount.
            return keeper
        if not is_served(folder):
            take_off(folder.at)
        return self._started(folder, mount)

    def found(self, key: str) -> Keeper | None:
        return keeper_of(self._folders.of(key))

    def renew(self, key: str, properties: Mapping[str, str]) -> None:
        folder = self._folders.of(key)
        if mount := folder.remembered():
            folder.remember({**mount, "properties": dict(properties)})

    def refresh(self, key: str) -> None:
        folder = self._folders.of(key)
        mount = folder.remembered()
        if mount is not None and mount.get("record"):
            size = recorded_quota(mount)
            with suppress(NotMounted, SlowToAnswer, Unanswered):
                ask_whoever_serves(folder.served, folder.at, "quota", bytes=size, files=None)

    def unmount(self, key: str) -> None:
        take_off(self._folders.of(key).at)

    def end(self, key: str, waited: float) -> bool:
        """True if it was killed."""
        folder = self._folders.of(key)
        if not hangs(folder) and (waited <= _WITHOUT_A_WORD or answers(folder)):
            return False
        logger.warning("a client that does not answer is killed", extra={"key": key})
        _kill(folder)
        return True

    def abort(self, key: str) -> bool:
        """True if it was killed."""
        folder = self._folders.of(key)
        if answers(folder):
            return False
        _kill(folder)
        return True

    def clear(self, key: str) -> bool:
        try:
            return self._folders.of(key).remove()
        except FileNotFoundError:
            return True

    def known(self) -> Mapping[str, Mapping[str, Any] | None]:
        return {key: self._folders.of(key).remembered() for key in self._folders.all()}

    def _started(self, folder: KeyFolder, mount: Mapping[str, Any]) -> Keeper:
        """One that takes up a mount which is served says nothing, but can be seen."""
        started = _apart(partial(start, self._kept_with(folder, mount), os.environ, patience=self.patience))
        if (keeper := _seen(folder, started)) is not None:
            return keeper
        try:
            started.result()
        except CannotMount as problem:
            _kill(folder)
            raise diagnosed(mount, problem.message) from None
        keeper = keeper_of(folder)
        if keeper is None:
            raise diagnosed(mount, "whoever serves the mount ended at once")
        return keeper

    def _kept_with(self, folder: KeyFolder, mount: Mapping[str, Any]) -> Mapping[str, Any]:
        settings = self.settings(folder, mount)
        if self._user is None:
            return settings
        clients = {"socket": str(folder.served / HOLDER), "user": self._user}
        return {**settings, "clients": clients}

    def settings(self, folder: KeyFolder, mount: Mapping[str, Any]) -> Mapping[str, Any]:
        sizes = [size for size in (self._cache.size, mount.get("cacheSize")) if size]
        told = {name: value for name, value in mount.items() if name not in _OURS}
        most = recorded_quota(mount) or mount.get("size")
        return {
            **told,
            **({"filesystemQuota": {"bytes": most}} if most else {}),
            "place": str(folder.at),
            "state": str(folder.state),
            "cache": {"folders": list(self._cache.folders), "size": min(sizes, default=None)},
            "renewal": {"command": ["cat", str(folder.secret)]},
        }


def _seen(folder: KeyFolder, started: Future[None]) -> Keeper | None:
    """Whoever takes up a mount that is served; None if it is made anew, which is told."""
    there = read_mounts().top(str(folder.at)) is not None
    while not started.done():
        keeper = keeper_of(folder) if there else None
        if keeper is not None:
            return keeper
        time.sleep(_LOOK)
    return None


def _kill(folder: KeyFolder) -> None:
    """All who serve, keep or begin the mount: their complaints go to its log."""
    log = str(folder.state / LOG)
    for process in Path("/proc").iterdir():
        with suppress(OSError):
            if process.name.isdigit() and str((process / "fd" / "2").readlink()) == log:
                os.kill(int(process.name), signal.SIGKILL)


def _apart(work: Callable[[], None]) -> Future[None]:
    """By a thread that nobody waits for when the process ends."""
    done: Future[None] = Future()

    def run() -> None:
        try:
            work()
        except BaseException as error:  # noqa: BLE001  # whoever asks for the result raises it
            done.set_exception(error)
        else:
            done.set_result(None)

    Thread(target=run, name="start", daemon=True).start()
    return done
