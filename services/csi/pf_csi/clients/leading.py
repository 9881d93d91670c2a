"""One of several processes leads: whoever holds a lease of Kubernetes, and renews it in time."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pf_csi.kubernetes import Api, ApiFailed, Kind, Thing
from pf_kit.start import CannotStart

logger = logging.getLogger(__name__)

_TIME = "%Y-%m-%dT%H:%M:%S.%fZ"


@dataclass(frozen=True, slots=True)
class Pace:
    """In seconds."""

    lasts: float
    """A lease that was not renewed for so long is anybody's."""
    gives_up: float
    """Who could not renew it for so long leads no more."""
    every: float


@dataclass(frozen=True, slots=True)
class Seen:
    """What the lease said, and since when by the own clock: those of others may be wrong."""

    said: str = ""
    since: float = 0.0


def claimed(lease: Thing | None, me: str, now: datetime, pace: Pace, *, expired: bool) -> Mapping[str, Any] | None:
    """What the lease is to say so that I lead; None if another does."""
    spec: Mapping[str, Any] = lease["spec"] if lease else {}
    holder = spec.get("holderIdentity") or ""
    if holder not in {"", me} and not expired:
        return None
    mine = holder == me
    text = now.strftime(_TIME)
    return {
        "holderIdentity": me,
        "leaseDurationSeconds": max(1, round(pace.lasts)),
        "acquireTime": spec["acquireTime"] if mine else text,
        "renewTime": text,
        "leaseTransitions": int(spec.get("leaseTransitions") or 0) + (0 if mine or not lease else 1),
    }


class Leading:
    """For the thread of one event loop."""

    def __init__(self, api: Api, namespace: str, name: str, me: str, pace: Pace, now: Callable[[], datetime]) -> None:
        self._api = api
        self._kind = Kind("coordination.k8s.io/v1", "leases", namespace)
        self._name = name
        self._me = me
        self._pace = pace
        self._now = now
        self._seen = Seen()
        self._renewed = 0.0
        """By the clock of the loop: what was asked then has made the lease mine."""

    async def until_leading(self) -> None:
        while True:
            if await self._attempt():
                logger.info("leads", extra={"who": self._me})
                return
            await asyncio.sleep(self._pace.every)

    async def keep(self) -> None:
        """Returns never; CannotStart when another may lead."""
        while True:
            try:
                # An answer may take longer than the lease lasts.
                async with asyncio.timeout_at(self._renewed + self._pace.gives_up):
                    await asyncio.sleep(self._pace.every)
                    await self._attempt()
            except TimeoutError:
                raise CannotStart("the lease was not renewed in time; another one may lead by now") from None

    async def release(self) -> None:
        """Another one may lead at once."""
        with suppress(ApiFailed):
            await asyncio.to_thread(self._let_go)

    def _let_go(self) -> None:
        lease = self._api.find(self._kind, self._name)
        if lease is not None and lease["spec"].get("holderIdentity") == self._me:
            self._api.replace(self._kind, self._name, {**lease, "spec": {**lease["spec"], "holderIdentity": ""}})

    async def _attempt(self) -> bool:
        """True if it is mine for a while."""
        begun = asyncio.get_running_loop().time()
        try:
            mine = await asyncio.to_thread(self._claim, begun)
        except ApiFailed as failed:
            if not failed.conflict:
                logger.warning("the lease is not renewed", extra={"why": failed.text})
            return False
        if mine:
            self._renewed = begun
        return mine

    def _claim(self, clock: float) -> bool:
        lease = self._api.find(self._kind, self._name)
        said = repr(lease["spec"]) if lease else ""
        if said != self._seen.said:
            self._seen = Seen(said, clock)
        expired = clock - self._seen.since > self._pace.lasts
        spec = claimed(lease, self._me, self._now(), self._pace, expired=expired)
        if spec is None:
            return False
        if lease is None:
            thing = {"apiVersion": self._kind.group, "kind": "Lease", "metadata": {"name": self._name}, "spec": spec}
            self._api.create(self._kind, thing)
        else:
            self._api.replace(self._kind, self._name, {**lease, "spec": spec})
        return True
