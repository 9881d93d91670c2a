"""Queues in memory, for tests: as durable as the process, and every list is sorted anew."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from paddleflow.problems import QueueExists
from pf_kit.memory import tables
from pf_kit.unit import Change, View
from pf_queue.clusters.memory import clusters_of, next_version
from pf_queue.quota.domain import Beside, Kin, Promises, Queue, QueueFilter, Standing
from pf_queue.quota.tree import Tree
from pf_queue.resources import Resources


def queues_of(view: View) -> dict[str, Queue]:
    return tables(view).table("queues")


def matches(chosen: QueueFilter, queue: Queue) -> bool:
    return (
        (chosen.names is None or queue.name in chosen.names)
        and chosen.cluster in ("", queue.cluster)
        and chosen.namespace in ("", queue.namespace)
        and chosen.parent in ("", queue.parent)
        and (not chosen.states or queue.state in chosen.states)
        and queue.name.startswith(chosen.name_prefix)
        and chosen.labels.items() <= queue.labels.items()
    )


class MemoryQueueStore:
    """Fulfils `QueueStore` over a `MemoryDatabase`."""

    async def standing(self, view: View, name: str) -> Standing | None:
        queue = queues_of(view).get(name)
        return self._standing(view, queue) if queue else None

    async def page(self, view: View, chosen: QueueFilter, after: str, limit: int) -> Sequence[Standing]:
        found = [queue for name, queue in sorted(queues_of(view).items()) if name > after and matches(chosen, queue)]
        return [self._standing(view, queue) for queue in found[:limit]]

    async def kin(self, view: View, cluster: str, name: str, parent: str) -> Kin:
        queues = queues_of(view)
        moved = queues.get(name)
        old_place = self._above(view, cluster, moved.parent) if moved else ()
        names = {name, *self._above(view, cluster, parent), *old_place, *self._below(view, name)}
        found = [queues[name] for name in names if name in queues]
        beside = [queue for queue in self._beside(view, cluster, parent) if queue.name not in names]
        return Kin(found, Beside(parent, _guaranteed(beside)))

    async def promises(self, view: View, cluster: str) -> Promises:
        top = list(self._beside(view, cluster, ""))
        return Promises(_guaranteed(top), {queue.name: queue.min for queue in top if queue.physical})

    async def in_cluster(self, view: View, cluster: str) -> Sequence[Queue]:
        found = [queue for queue in queues_of(view).values() if queue.cluster == cluster]
        return sorted(found, key=lambda queue: (len(list(self._above(view, cluster, queue.parent))), queue.name))

    async def add(self, change: Change, queue: Queue) -> int:
        if queue.name in queues_of(change):
            raise QueueExists(f"a queue {queue.name!r} exists")
        return await self.set(change, queue)

    async def set(self, change: Change, queue: Queue) -> int:
        version = next_version(change)
        queues_of(change)[queue.name] = replace(queue, version=version)
        return version

    async def remove(self, change: Change, name: str) -> int:
        del queues_of(change)[name]
        return next_version(change)

    async def remove_all(self, change: Change, cluster: str) -> Mapping[str, int]:
        return {queue.name: await self.remove(change, queue.name) for queue in await self.in_cluster(change, cluster)}

    def _standing(self, view: View, queue: Queue) -> Standing:
        same = [other for other in queues_of(view).values() if other.cluster == queue.cluster]
        return Standing(queue, Tree(same, clusters_of(view)[queue.cluster].machines).ceiling(queue))

    def _beside(self, view: View, cluster: str, parent: str) -> Iterator[Queue]:
        return (queue for queue in queues_of(view).values() if (queue.cluster, queue.parent) == (cluster, parent))

    def _above(self, view: View, cluster: str, name: str) -> Iterator[str]:
        queue = queues_of(view).get(name)
        while queue is not None and queue.cluster == cluster:
            yield queue.name
            queue = queues_of(view).get(queue.parent)

    def _below(self, view: View, name: str) -> Iterator[str]:
        for queue in queues_of(view).values():
            if name and queue.parent == name:
                yield queue.name
                yield from self._below(view, queue.name)


def _guaranteed(queues: Iterable[Queue]) -> Resources:
    """What they are guaranteed together, as far as they share machines; what that is nothing of, is not named."""
    return Resources.total(queue.min for queue in queues if not queue.physical).less([])
