"""Those who wait, by name and, in each queue, in order."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator, Mapping, MutableMapping
from typing import TypeAlias

from pf_queue.admission.core.wishes import Order
from pf_queue.admission.core.workloads import Workload

FULL = 512
"""Entries after which a block is cut in two halves."""

_Entry: TypeAlias = tuple[Order, str]


class Line:
    """The names of one queue in order, in blocks: nothing that is done to it moves more than one block."""

    __slots__ = ("_blocks", "_count")

    def __init__(self) -> None:
        self._blocks: list[list[_Entry]] = []
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, entry: _Entry) -> None:
        self._count += 1
        if not self._blocks:
            self._blocks.append([entry])
            return
        if entry > self._blocks[-1][-1] and len(self._blocks[-1]) < FULL:
            self._blocks[-1].append(entry)
            return
        at = min(self._block(entry), len(self._blocks) - 1)
        block = self._blocks[at]
        insort(block, entry)
        if len(block) > FULL:
            half = len(block) // 2
            self._blocks[at : at + 1] = [block[:half], block[half:]]

    def remove(self, entry: _Entry) -> None:
        self._count -= 1
        at = self._block(entry)
        block = self._blocks[at]
        del block[bisect_left(block, entry)]
        if not block:
            del self._blocks[at]

    def before(self, entry: _Entry) -> int:
        """How many stand before an entry."""
        at = self._block(entry)
        return sum(map(len, self._blocks[:at])) + bisect_left(self._blocks[at], entry)

    def after(self, order: Order | None) -> Iterator[str]:
        """The names after a place in order; from the first on, if there is none."""
        # Of two with the same order both have been passed: no name is above this one.
        least = (order, "\U0010ffff") if order is not None else ((), "")
        for block in self._blocks[bisect_left(self._blocks, least, key=_last) :]:
            yield from (id_ for _, id_ in block[bisect_left(block, least) :])

    def _block(self, entry: _Entry) -> int:
        return bisect_left(self._blocks, entry, key=_last)


class Waiting(MutableMapping[str, Workload]):
    """Those who wait."""

    __slots__ = ("_lines", "_workloads")

    def __init__(self) -> None:
        self._workloads: dict[str, Workload] = {}
        self._lines: dict[str, Line] = {}

    def __getitem__(self, id_: str) -> Workload:
        return self._workloads[id_]

    def __setitem__(self, id_: str, workload: Workload) -> None:
        if id_ in self._workloads:
            del self[id_]
        self._workloads[id_] = workload
        self._lines.setdefault(workload.queue, Line()).add((workload.order, id_))

    def __delitem__(self, id_: str) -> None:
        workload = self._workloads.pop(id_)
        line = self._lines[workload.queue]
        line.remove((workload.order, id_))
        if not line:
            del self._lines[workload.queue]

    def __iter__(self) -> Iterator[str]:
        return iter(self._workloads)

    def __len__(self) -> int:
        return len(self._workloads)

    def counts(self) -> Mapping[str, int]:
        """How many wait, by queue; none where nobody does."""
        return {queue: len(line) for queue, line in self._lines.items()}

    def count(self, queue: str) -> int:
        return len(self._lines.get(queue, ()))

    def position(self, id_: str) -> int:
        """How many of its queue wait up to somebody, itself included."""
        workload = self._workloads[id_]
        return 1 + self._lines[workload.queue].before((workload.order, id_))

    def in_order(self, queue: str, after: Order | None = None) -> Iterator[Workload]:
        """Those of a queue, after a place in order."""
        line = self._lines.get(queue)
        return (self._workloads[id_] for id_ in line.after(after)) if line else iter(())


def _last(block: list[_Entry]) -> _Entry:
    return block[-1]
