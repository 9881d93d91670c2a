"""Tells Kubernetes which mounts of this machine need clients: objects are made what the door knows."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeVar

from pf_csi.holder.door import Door
from pf_csi.kubernetes import Api, ApiFailed, Kind
from pf_csi.mount_objects import MACHINE, MountObject, label, manifest, read, status

T = TypeVar("T")
logger = logging.getLogger(__name__)

_LOOK = 60.0
"""Seconds between two looks at what is there."""
_AGAIN = 2.0


@dataclass(frozen=True, slots=True)
class Create:
    """A mount is new."""

    mount: MountObject


@dataclass(frozen=True, slots=True)
class Describe:
    """Somebody else serves it, or nobody."""

    mount: MountObject


@dataclass(frozen=True, slots=True)
class Delete:
    """A mount is gone."""

    key: str


Step = Create | Describe | Delete


def steps(wanted: Mapping[str, MountObject], there: Mapping[str, MountObject]) -> list[Step]:
    """What makes the second the first."""
    found: list[Step] = [Delete(key) for key in there if key not in wanted]
    for key, mount in wanted.items():
        before = there.get(key)
        if before is None:
            found.append(Create(mount))
        if (before.pod if before else "") != mount.pod:
            found.append(Describe(mount))
    return found


class Telling:
    """For the thread of one event loop."""

    def __init__(self, api: Api, kind: Kind, machine: str, door: Door) -> None:
        self._api = api
        self._kind = kind
        self._machine = machine
        self._door = door

    async def run(self) -> None:
        """Until it is cancelled. Mounts go on without the API."""
        await self._door.all_expected.wait()
        while True:
            try:
                await self._converge()
            except ApiFailed as failed:
                logger.warning("Kubernetes is not told of mounts", extra={"why": failed.text})
                await asyncio.sleep(_AGAIN)

    async def _converge(self) -> None:
        """As long as what is there is surely known."""
        chosen = {"labelSelector": f"{MACHINE}={label(self._machine)}"}
        listed, _ = await asyncio.to_thread(lambda: self._api.list(self._kind, **chosen))
        there = {mount.key: mount for mount in map(read, listed)}
        deadline = asyncio.get_running_loop().time() + _LOOK
        while asyncio.get_running_loop().time() < deadline:
            self._door.changed.clear()
            wanted = self._wanted()
            for step in steps(wanted, there):
                await asyncio.to_thread(self._do, step)
            there = dict(wanted)
            with suppress(TimeoutError):
                async with asyncio.timeout_at(deadline):
                    await self._door.changed.wait()

    def _wanted(self) -> Mapping[str, MountObject]:
        serving = self._door.serving
        return {
            key: MountObject(key, self._machine, volume, serving.get(key, ""))
            for key, volume in self._door.expected.items()
        }

    def _do(self, step: Step) -> None:
        match step:
            case Create(mount):
                _unless_conflict(lambda: self._api.create(self._kind, manifest(mount)))
            case Describe(mount):
                self._api.change(self._kind, mount.key, "status", status(mount.pod))
            case Delete(key):
                self._api.delete(self._kind, key)


def _unless_conflict(do: Callable[[], T]) -> None:
    """It may be there already."""
    try:
        do()
    except ApiFailed as failed:
        if not failed.conflict:
            raise
