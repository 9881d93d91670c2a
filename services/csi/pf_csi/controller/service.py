"""Making and removing volumes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from functools import partial
from typing import TypeVar

from pf_csi.controller.domain import Made, Range, VolumeId, Wanted, check_same, context_of, parse_id, store_of
from pf_csi.controller.folders import opened
from pf_csi.controller.stores import Stores
from pf_csi.places import Place
from pf_csi.records import Record
from pf_csi.refusals import Refusal, Why
from pf_csi.turns import Turns

T = TypeVar("T")
ENDLESS = 1 << 60
"""Bytes that are told of a store which does not know how many it has room for."""


class Volumes:
    """Volumes in stores. For the thread of one event loop."""

    def __init__(self, stores: Stores, workers: Executor, turns: Turns) -> None:
        self._stores = stores
        self._workers = workers
        self._turns = turns

    async def create(self, wanted: Wanted) -> Made:
        """The volume, also if an earlier attempt has made it. Refusal."""
        wanted.check()
        size = wanted.range.size()
        stores = await self._apart(self._stores.all)
        volume = wanted.id(store_of(wanted, stores))
        place = stores[volume.store]
        work = partial(_created, place, volume, Record(wanted.name, size, wanted.digest), wanted)
        return await self._turns.take(str(volume), self._apart(work))

    async def delete(self, text: str) -> None:
        """Nothing if there is no such volume."""
        volume = parse_id(text)
        if volume is None or volume.whole:
            return
        place = (await self._apart(self._stores.all)).get(volume.store)
        if place is None:
            raise Refusal(Why.UNREADY, f"the store {volume.store} is not set up any more; set it up again to remove it")
        await self._turns.take(str(volume), self._apart(partial(_removed, place, volume)))

    async def expand(self, text: str, wanted: Range) -> int:
        """The size it has from then on. Refusal."""
        size, volume = wanted.size(), await self.found(text)
        if volume.id.whole or volume.size >= size:
            return max(size, volume.size)
        place = (await self._apart(self._stores.all))[volume.id.store]
        return await self._turns.take(text, self._apart(partial(_expanded, place, volume.id, size)))

    async def found(self, text: str) -> Made:
        """Refusal if there is no such volume."""
        volume = parse_id(text)
        place = (await self._apart(self._stores.all)).get(volume.store) if volume else None
        if volume is None or place is None:
            raise Refusal(Why.UNKNOWN, "there is no such volume")
        return await self._apart(partial(_looked_up, place, volume))

    async def page(self, most: int, token: str) -> tuple[Sequence[Made], str]:
        """Some volumes, and the token of the next page."""
        if most < 0:
            raise Refusal(Why.MALFORMED, "max_entries cannot be negative")
        if token and parse_id(token) is None:
            raise Refusal(Why.PENDING, "starting_token is none of this list; begin with the first page")
        stores = await self._apart(self._stores.all)
        ids = sorted(str(volume) for volume in await self._apart(partial(_listed, stores)))
        following = [each for each in ids if each > token]
        page = following[:most] if most else following
        made = await self._apart(partial(_described, stores, page))
        return made, page[-1] if len(page) < len(following) else ""

    async def room(self, parameters: Mapping[str, str]) -> int:
        """Bytes."""
        stores = await self._apart(self._stores.all)
        wanted = Wanted("room", Range(), parameters)
        wanted.check()
        names = [store_of(wanted, stores)] if wanted.own.get("store") else list(stores)
        return sum([await self._apart(partial(_room, stores[name])) for name in names])

    async def _apart(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._workers, work)


def _created(place: Place, volume: VolumeId, record: Record, wanted: Wanted) -> Made:
    with opened(place) as store:
        if volume.whole:
            store.check()
            return Made(volume, record.size, context_of(volume, place))
        found = store.record(volume.folder)
        if found is not None:
            check_same(found, wanted)
        else:
            store.write(volume.folder, record)
        store.make(volume.folder)
    return Made(volume, (found or record).size, context_of(volume, place))


def _removed(place: Place, volume: VolumeId) -> None:
    with opened(place) as store:
        store.remove(volume.folder)


def _expanded(place: Place, volume: VolumeId, size: int) -> int:
    with opened(place) as store:
        found = store.record(volume.folder)
        if found is None:
            raise Refusal(Why.UNKNOWN, "there is no such volume")
        store.write(volume.folder, replace(found, size=max(size, found.size)))
        return max(size, found.size)


def _looked_up(place: Place, volume: VolumeId) -> Made:
    if volume.whole:
        return Made(volume, 0, context_of(volume, place))
    with opened(place) as store:
        record = store.record(volume.folder)
    if record is None:
        raise Refusal(Why.UNKNOWN, "there is no such volume")
    return Made(volume, record.size, context_of(volume, place))


def _listed(stores: Mapping[str, Place]) -> list[VolumeId]:
    found: list[VolumeId] = []
    for name, place in stores.items():
        with opened(place) as store:
            found += [VolumeId(name, folder) for folder in store.volumes()]
    return found


def _described(stores: Mapping[str, Place], ids: Sequence[str]) -> list[Made]:
    """Those that are still there."""
    made: list[Made] = []
    volumes = [volume for each in ids if (volume := parse_id(each)) is not None]
    for name in {volume.store for volume in volumes}:
        with opened(stores[name]) as store:
            records = {volume: store.record(volume.folder) for volume in volumes if volume.store == name}
        made += [
            Made(volume, record.size, context_of(volume, stores[name])) for volume, record in records.items() if record
        ]
    return sorted(made, key=lambda each: str(each.id))


def _room(place: Place) -> int:
    with opened(place) as store:
        space = store.space()
    return ENDLESS if space is None else space.free
