"""Files that a backend is to have: how much they are together is known without looking at each."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import dataclass, field

from pf_fuse.vfs.nodes import Node


@dataclass(slots=True, eq=False)
class Debt:
    """A file that the backend is to have."""

    node: Node
    since: float
    """Changed by `Debts.begin_anew` alone."""
    size: int
    """Changed by `Debts.resize` alone."""
    pause: float
    """Seconds until it is tried again, the next time that it fails."""
    again: bool = False
    """It was closed once more."""
    due: float | None = None
    """When it is tried again; None while somebody tries."""
    faulty: bool = False
    """The last attempt failed by a fault, which another one may meet as well."""
    paid: Future[None] = field(default_factory=Future)
    """The last attempt."""


class Debts:
    """All of them, one of a file at most, in the order of their times. Whoever calls holds the lock of the tree."""

    def __init__(self) -> None:
        self._debts = OrderedDict[int, Debt]()
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._debts)

    def __iter__(self) -> Iterator[Debt]:
        return iter(self._debts.values())

    def of(self, node: Node) -> Debt | None:
        return self._debts.get(node.id)

    @property
    def bytes(self) -> int:
        return self._bytes

    @property
    def oldest(self) -> float | None:
        """The time of the first; None if there are none."""
        return next((debt.since for debt in self), None)

    def add(self, debt: Debt) -> None:
        """No other is of its file, and none is of a later time."""
        self._debts[debt.node.id] = debt
        self._bytes += debt.size

    def resize(self, debt: Debt, size: int) -> None:
        self._bytes += size - debt.size
        debt.size = size

    def begin_anew(self, debt: Debt, since: float) -> None:
        """It is of another time, which is no earlier than that of any other."""
        debt.since = since
        self._debts.move_to_end(debt.node.id)

    def remove(self, debt: Debt) -> None:
        del self._debts[debt.node.id]
        self._bytes -= debt.size
