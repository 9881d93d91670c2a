"""Makes and deletes client pods until they are those that there should be."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pf_csi.clients.domain import Create, Forget, Remove, Step, steps
from pf_csi.clients.manifests import client_pod, digest, read_machines, read_pod
from pf_csi.clients.watching import Watched
from pf_csi.kubernetes import Api, ApiFailed, Kind, Thing
from pf_csi.mount_objects import kind, read

logger = logging.getLogger(__name__)

_LOOK = 5.0
"""Seconds between two looks if nothing happens: pods that have failed are replaced after a while."""
_TOGETHER = 0.02
"""Seconds in which what happens is looked at together."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What an administrator has chosen."""

    namespace: str
    driver: str
    template: Thing
    spares: int


class Converging:
    """For the thread of one event loop."""

    def __init__(self, api: Api, wish: Wish, now: Callable[[], datetime]) -> None:
        self._api = api
        self._wish = wish
        self._now = now
        self._happened = asyncio.Event()
        self._pods_kind, self._mounts_kind = Kind("v1", "pods", wish.namespace), kind(wish.namespace)
        changed = self._happened.set
        self._nodes = Watched(api, Kind("v1", "nodes"), changed)
        self._plugins = Watched(api, Kind("storage.k8s.io/v1", "csinodes"), changed)
        self._pods = Watched(api, self._pods_kind, changed)
        self._mounts = Watched(api, self._mounts_kind, changed)

    async def run(self) -> None:
        """Until it is cancelled."""
        watched = (self._nodes, self._plugins, self._pods, self._mounts)
        for each in watched:
            each.begin()
        for each in watched:
            await each.complete.wait()
        while True:
            self._happened.clear()
            for step in self._steps():
                await self._do(step)
            with suppress(TimeoutError):
                async with asyncio.timeout(_LOOK):
                    await self._happened.wait()
            await asyncio.sleep(_TOGETHER)

    def _steps(self) -> list[Step]:
        now = self._now()
        return steps(
            read_machines(self._nodes.things, self._plugins.things, self._wish.driver),
            [read(thing) for thing in self._mounts.things.values()],
            [read_pod(thing, now) for thing in self._pods.things.values()],
            digest(self._wish.template),
            self._wish.spares,
        )

    async def _do(self, step: Step) -> None:
        try:
            match step:
                case Create(name, machine):
                    pod = client_pod(self._wish.template, name, machine)
                    made = await asyncio.to_thread(self._api.create, self._pods_kind, pod)
                    self._pods.learn(made)
                    _tell("a client pod is made", pod=name, machine=machine.name)
                case Remove(name, uid):
                    await asyncio.to_thread(self._api.delete, self._pods_kind, name, uid)
                    there = self._pods.things.get(name)
                    if there is not None and there["metadata"]["uid"] == uid:
                        self._pods.learn(_ending(there))
                    _tell("a client pod is deleted", pod=name)
                case Forget(key):
                    await asyncio.to_thread(self._api.delete, self._mounts_kind, key)
                    _tell("a mount is forgotten", key=key)
        except ApiFailed as failed:
            if not failed.conflict:
                logger.warning("not done", extra={"step": type(step).__name__, "why": failed.text})


def _ending(thing: Thing) -> Thing:
    """As it is heard of in a moment."""
    metadata: dict[str, Any] = {"deletionTimestamp": "", **thing["metadata"]}
    return {**thing, "metadata": metadata}


def _tell(words: str, **about: str) -> None:
    logger.info(words, extra=about)
