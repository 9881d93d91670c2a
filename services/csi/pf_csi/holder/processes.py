"""Clients that are processes of this machine: `pf-fuse`, two of them for each mount.

One keeps the device, and the other serves. Whichever dies is replaced by the other; so whoever supervises them has
nothing to lose, and may be killed and started again while programs use what is mounted.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Mapping
from concurrent.futures import Future, wait
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from paddleflow.mounted import NotMounted, SlowToAnswer, Unanswered, ask_whoever_serves
from paddleflow.mountinfo import read_mounts
from paddleflow.mounting import Begin, CannotMount, start
from pf_csi.holder.diagnosing import check_soon, diagnosed
from pf_csi.holder.keepers import (
    HOLDER,
    Keeper,
    answers,
    hangs,
    is_served,
    is_taken,
    keeper_of,
    kill,
    processes_of,
    take_off,
)
from pf_csi.holder.lanes import apart
from pf_csi.holder.places import Folders, KeyFolder
from pf_csi.holder.quotas import recorded_quota
from pf_csi.kernel.connections import Connections
from pf_csi.refusals import Refusal, Why

logger = logging.getLogger(__name__)

_OURS = ("cacheSize", "record", "size")
"""What the client is not told."""
_LOOK = 0.05
_WITHOUT_A_WORD = 15.0
"""Seconds after a mount was taken off in which it may end by itself. Then it is ended if it has nothing to upload: only
somebody with a copy of it can still use it. So it is if nobody answers for it.
"""


@dataclass(frozen=True, slots=True)
class Cache:
    """Where this machine keeps what is read."""

    folders: tuple[str, ...]
    size: int | None = None


@dataclass(frozen=True, slots=True)
class Patience:
    """How long clients are waited for, in seconds."""

    ready: float
    """Until one serves, or has failed."""
    hanging: float
    """Until one that lives and does not answer is ended."""


class LocalProcesses:
    """Fulfils `Clients`."""

    def __init__(
        self,
        folders: Folders,
        cache: Cache,
        patience: Patience,
        connections: Connections | None,
        user: int | None,
        begin: Begin,
    ) -> None:
        """`connections`: None where the kernel does not show them."""
        self._folders = folders
        self._cache = cache
        self.patience = patience
        self._connections = connections
        self._user = user
        """Of clients that come by themselves; None: processes that are begun here serve what they keep."""

        self._begin = begin

    def begin(self, key: str, mount: Mapping[str, Any]) -> Keeper:
        folder = self._folders.of(key)
        folder.make()
        folder.remember(mount)
        keeper = keeper_of(folder)
        if keeper is not None:
            # Two must not keep one mount.
            return keeper
        # Who goes on with a mount that is served needs no storage for it.
        checked = self._goes_on(folder)
        if not checked:
            take_off(folder.at)
            checked = check_soon(mount)
        return self._started(folder, mount, checked=checked)

    def found(self, key: str) -> Keeper | None:
        return keeper_of(self._folders.of(key))

    def renew(self, key: str, properties: Mapping[str, str]) -> None:
        folder = self._folders.of(key)
        if (mount := folder.remembered()) and mount["properties"] != properties:
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
        late = waited > min(_WITHOUT_A_WORD, self.patience.hanging)
        if late and folder.is_uploaded():
            logger.warning("a mount that is used elsewhere, though it was taken off, is ended", extra={"key": key})
        elif hangs(folder) or (late and not answers(folder)):
            logger.warning("a client that does not answer is killed", extra={"key": key})
        else:
            return False
        kill(processes_of(folder))
        return True

    def is_taken(self, key: str) -> bool:
        return is_taken(self._folders.of(key))

    def abort(self, key: str) -> bool:
        """True if it was killed."""
        folder = self._folders.of(key)
        if answers(folder):
            return False
        kill(processes_of(folder))
        return True

    def clear(self, key: str) -> bool:
        folder = self._folders.of(key)
        try:
            cleared = folder.remove()
            if cleared and folder.path.exists():
                logger.error("what the storage refuses is kept", extra={"key": key, "where": str(folder.served)})
            return cleared
        except FileNotFoundError:
            return True

    def leave(self, key: str) -> None:
        self._folders.of(key).leave()

    def take_up(self, key: str) -> None:
        self._folders.of(key).take_up()

    def left_for(self, key: str) -> float | None:
        left = self._folders.of(key).left_at()
        return None if left is None else max(0.0, time.time() - left)

    def forget(self, key: str) -> None:
        self._folders.of(key).forget()

    def waits(self, key: str) -> bool:
        number = _connection(self._folders.of(key))
        if self._connections is None:
            return True
        return number is not None and self._connections.waiting(number) > 0

    def answers(self, key: str) -> bool:
        return answers(self._folders.of(key))

    def replace(self, key: str) -> None:
        folder = self._folders.of(key)
        keeper = keeper_of(folder)
        if keeper is not None:
            keeper.close()
        kill(each for each in processes_of(folder) if keeper is None or each != keeper.process)

    def break_off(self, key: str) -> None:
        folder = self._folders.of(key)
        number = _connection(folder)
        if self._connections is not None and number is not None:
            self._connections.abort(number)
        kill(processes_of(folder))

    def _goes_on(self, folder: KeyFolder) -> bool:
        """Whether a client serves that has lost its keeper, and hands its mount to the next one.

        One that is slow to answer is waited for, and ended then: two must not have one folder. Refusal if it cannot be.
        """
        until = time.monotonic() + self.patience.hanging
        while (processes_of(folder) or is_taken(folder)) and time.monotonic() < until:
            if is_served(folder):
                return True
            time.sleep(_LOOK)
        kill(processes_of(folder))
        if is_taken(folder):
            raise Refusal(Why.PENDING, "whoever served the mount before lives, and does not answer; try again")
        return False

    def known(self) -> Mapping[str, Mapping[str, Any] | None]:
        return {key: self._folders.of(key).remembered() for key in self._folders.all()}

    def _started(self, folder: KeyFolder, mount: Mapping[str, Any], *, checked: bool) -> Keeper:
        """One that takes up a mount which is served says nothing, but can be seen.

        If it fails, whoever serves goes on, and is handed to the next.
        """
        before = set(processes_of(folder))
        told = {**self._kept_with(folder, mount), "checked": checked}
        started = apart(partial(start, told, os.environ, patience=self.patience.ready, begin=self._begin))
        if (keeper := _seen(folder, started)) is not None:
            return keeper
        try:
            started.result()
        except CannotMount as problem:
            kill(set(processes_of(folder)) - before)
            raise diagnosed(mount, problem.message) from None
        except OSError:
            kill(set(processes_of(folder)) - before)
            raise
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
        wait([started], _LOOK)
    return None


def _connection(folder: KeyFolder) -> str | None:
    """By which number the kernel knows whoever serves the mount."""
    top = read_mounts().top(str(folder.at))
    return top.connection if top is not None and top.ours else None
