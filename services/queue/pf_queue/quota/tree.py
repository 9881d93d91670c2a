"""The quota tree of a cluster."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from pf_queue.clusters.domain import Machines
from pf_queue.quota.domain import NOBODY, Beside, Queue
from pf_queue.resources import Resources


class Tree:
    """Queues of one cluster above the machines they share; a value, never changed.

    It need not hold all queues of the cluster: those that a change can touch are enough to judge the change, with the
    sum of those beside.
    """

    __slots__ = ("_beside", "_children", "_limits", "_queues", "machines")

    def __init__(self, queues: Iterable[Queue], machines: Machines | None, beside: Beside = NOBODY) -> None:
        """The machines are None as long as nothing was reported."""
        self.machines = machines
        self._beside = beside
        # By name, so that a tree judges a change in the same words wherever its queues come from.
        self._queues = {queue.name: queue for queue in sorted(queues, key=lambda queue: queue.name)}
        self._children: defaultdict[str, list[Queue]] = defaultdict(list)
        for queue in self._queues.values():
            self._children[queue.parent].append(queue)
        self._limits: dict[str, Resources] = {}

    def get(self, name: str) -> Queue | None:
        """The queue of this name."""
        return self._queues.get(name)

    def children(self, name: str) -> Sequence[Queue]:
        """The queues directly below one; those at the top for the empty name."""
        return self._children.get(name, ())

    def guaranteed(self, name: str) -> Resources:
        """What the queues directly below one, or at the top, are guaranteed together: those that share machines."""
        demands = [child.min for child in self.children(name) if not child.physical]
        return Resources.total([*demands, self._beside.guaranteed] if name == self._beside.parent else demands)

    def above(self, queue: Queue) -> Iterator[Queue]:
        """The queues above one, nearest first."""
        while (parent := self._queues.get(queue.parent)) is not None:
            yield parent
            queue = parent

    def below(self, queue: Queue) -> Iterator[Queue]:
        """All queues below one, each before those below it."""
        for child in self.children(queue.name):
            yield child
            yield from self.below(child)

    def height(self, queue: Queue) -> int:
        """The number of queues from this one down to the deepest below it."""
        return 1 + max((self.height(child) for child in self.children(queue.name)), default=0)

    def limits(self, queue: Queue) -> Resources:
        """What the queue and those above it declare: for each resource the nearest ceiling."""
        if queue.name not in self._limits:
            parent = self._queues.get(queue.parent)
            self._limits[queue.name] = queue.max.over(self.limits(parent)) if parent else queue.max
        return self._limits[queue.name]

    def ceiling(self, queue: Queue) -> Resources:
        """What the queue can hold at most: what no queue limits is limited by the machines they share.

        Below a root of physical isolation there are none to share: all it may use, it declares.
        """
        root = [queue, *self.above(queue)][-1]
        if self.machines is None or root.physical:
            return self.limits(queue)
        return self.limits(queue).over(self.machines.capacity)

    def with_queue(self, queue: Queue) -> Tree:
        """The tree after a queue was added or changed."""
        return Tree((self._queues | {queue.name: queue}).values(), self.machines, self._beside)
