"""Clients that have no rights on the machine, as pods: the holder keeps their mounts, and they come to serve them.

What a client is told lies in a file in memory that only its user may read.
"""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import mkstemp
from typing import Any

from pf_csi.held import SOURCE
from pf_csi.holder.door import Door
from pf_csi.holder.keepers import Keeper, answers, is_served, kill
from pf_csi.holder.places import Folders, KeyFolder
from pf_csi.holder.processes import LocalProcesses
from pf_csi.refusals import Refusal, Why

_LOOK = 0.05
_RETURN = 5.0
"""Seconds in which clients that serve already come to a new holder, before others are sent to their mounts."""


class PodClients:
    """Fulfils `Clients`."""

    def __init__(self, folders: Folders, keepers: LocalProcesses, door: Door, told: Path, user: int) -> None:
        """`told`: the folder in memory that clients see. For the thread of an event loop, which is the door's."""
        self._folders = folders
        self._keepers = keepers
        self._door = door
        self._told = told
        self._user = user
        self._loop = asyncio.get_running_loop()

    def begin(self, key: str, mount: Mapping[str, Any]) -> Keeper:
        folder = self._folders.of(key)
        self._expect(key, mount)
        give(folder.served, self._user)
        self._tell(key, folder, mount)
        try:
            keeper = self._keepers.begin(key, mount)
        except Refusal:
            # Whoever served it before may live, and not answer. Who does answer hands the mount to the next keeper.
            if not is_served(folder):
                self._at_door(self._door.end, key)
            raise
        self._at_door(self._door.want, key)
        try:
            self._until_served(folder, keeper)
        except BaseException:
            _end(keeper)
            raise
        return keeper

    def found(self, key: str) -> Keeper | None:
        """Whoever serves it comes to the door by himself, if he lives."""
        keeper = self._keepers.found(key)
        if keeper is not None:
            self._loop.call_soon_threadsafe(self._loop.call_later, _RETURN, self._door.want, key)
        return keeper

    def renew(self, key: str, properties: Mapping[str, str]) -> None:
        self._keepers.renew(key, properties)
        folder = self._folders.of(key)
        if mount := folder.remembered():
            self._tell(key, folder, mount)

    def refresh(self, key: str) -> None:
        self._keepers.refresh(key)

    def unmount(self, key: str) -> None:
        self._at_door(self._door.unwant, key)
        self._keepers.unmount(key)

    def end(self, key: str, waited: float) -> None:
        if self._keepers.end(key, waited):
            self._at_door(self._door.end, key)

    def is_taken(self, key: str) -> bool:
        return self._keepers.is_taken(key)

    def abort(self, key: str) -> None:
        self._at_door(self._door.unwant, key)
        if self._keepers.abort(key):
            self._at_door(self._door.end, key)

    def clear(self, key: str) -> bool:
        cleared = self._keepers.clear(key)
        if cleared:
            self._untell(key)
        return cleared

    def leave(self, key: str) -> None:
        self._keepers.leave(key)

    def take_up(self, key: str) -> None:
        self._keepers.take_up(key)

    def left_for(self, key: str) -> float | None:
        return self._keepers.left_for(key)

    def forget(self, key: str) -> None:
        self._untell(key)
        self._keepers.forget(key)

    def waits(self, key: str) -> bool:
        return self._keepers.waits(key)

    def answers(self, key: str) -> bool:
        return self._keepers.answers(key)

    def replace(self, key: str) -> None:
        self._at_door(self._door.end, key)

    def break_off(self, key: str) -> None:
        self._keepers.break_off(key)
        self._at_door(self._door.end, key)

    def known(self) -> Mapping[str, Mapping[str, Any] | None]:
        """All of them are expected from now on, and so it is known what is not."""
        known = self._keepers.known()
        for key, mount in known.items():
            if mount is not None:
                self._expect(key, mount)
        self._loop.call_soon_threadsafe(self._door.all_expected.set)
        return known

    def _expect(self, key: str, mount: Mapping[str, Any]) -> None:
        volume = str(mount.get("source", "")).removeprefix(SOURCE)
        self._loop.call_soon_threadsafe(self._door.expect, key, volume)

    def _untell(self, key: str) -> None:
        (self._told / f"{key}.json").unlink(missing_ok=True)
        self._at_door(self._door.forget, key)

    def _tell(self, key: str, folder: KeyFolder, mount: Mapping[str, Any]) -> None:
        """Who reads it sees what was there before, or all of it."""
        path = self._told / f"{key}.json"
        settings = {**self._keepers.settings(folder, mount), "state": str(folder.served)}
        settings["renewal"] = {"command": ["cat", str(path)]}
        descriptor, new = mkstemp(".new", f"{key}.", self._told)
        with os.fdopen(descriptor, "w") as file:
            os.fchown(descriptor, self._user, -1)
            os.fchmod(descriptor, 0o400)
            json.dump({"answer": {"properties": mount["properties"]}, "settings": settings}, file)
        Path(new).rename(path)

    def _until_served(self, folder: KeyFolder, keeper: Keeper) -> None:
        """Refusal if nobody comes in time: then the kubelet asks again."""
        deadline = time.monotonic() + self._keepers.patience.ready
        while not answers(folder):
            if keeper.is_gone():
                raise Refusal(Why.UNREACHABLE, "whoever kept the mount ended before it was served; try again")
            if time.monotonic() > deadline:
                raise Refusal(
                    Why.PENDING,
                    "no client has come to serve the storage; its pods and their events tell why: "
                    "kubectl get pods --all-namespaces --selector app.kubernetes.io/component=csi-client",
                )
            time.sleep(_LOOK)

    def _at_door(self, do: Callable[[str], None], key: str) -> None:
        self._loop.call_soon_threadsafe(do, key)


def _end(keeper: Keeper) -> None:
    """Whoever comes later finds the one that is begun when the mount is asked for again."""
    try:
        if not keeper.is_gone():
            kill([keeper.process])
    finally:
        keeper.close()


def give(folder: Path, user: int) -> None:
    """A folder that is this user's alone, with all that another user had in it before."""
    folder.parent.mkdir(mode=0o711, parents=True, exist_ok=True)
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.lstat().st_uid == user:
        return
    for above, folders, files in os.walk(folder):
        for name in (*folders, *files):
            os.chown(Path(above, name), user, -1, follow_symlinks=False)
    # Last: until then all of it is done again.
    os.chown(folder, user, -1, follow_symlinks=False)
