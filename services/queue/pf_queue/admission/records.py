"""The records of those that are not over, also by what is asked about them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, MutableMapping, ValuesView

from pf_queue.admission.domain import Record, WorkloadState


class Records(MutableMapping[str, Record]):
    """Records by name. No question about a queue, or about one of them, costs a look at all."""

    __slots__ = ("_held", "_leaving", "_queues", "_records")

    def __init__(self) -> None:
        self._records: dict[str, Record] = {}
        self._queues: Counter[str] = Counter()
        self._held: defaultdict[str, dict[str, None]] = defaultdict(dict)
        self._leaving: defaultdict[str, dict[str, None]] = defaultdict(dict)

    def __getitem__(self, id_: str) -> Record:
        return self._records[id_]

    def __setitem__(self, id_: str, record: Record) -> None:
        if (before := self._records.get(id_)) is not None:
            self._unlist(before)
        self._records[id_] = record
        self._queues[record.spec.queue] += 1
        if record.state is WorkloadState.HELD:
            self._held[record.spec.queue][id_] = None
        if record.leaves_for:
            self._leaving[record.leaves_for][id_] = None

    def __delitem__(self, id_: str) -> None:
        self._unlist(self._records.pop(id_))

    def __iter__(self) -> Iterator[str]:
        return iter(self._records)

    def __len__(self) -> int:
        return len(self._records)

    def __contains__(self, id_: object) -> bool:
        return id_ in self._records

    def values(self) -> ValuesView[Record]:
        """All of them, without a look for each by its name."""
        return self._records.values()

    @property
    def queues(self) -> Collection[str]:
        """The queues that have any."""
        return self._queues.keys()

    def held(self, queue: str) -> Collection[Record]:
        """Those of a queue that are held."""
        return [self._records[id_] for id_ in self._held.get(queue, ())]

    def leaving_for(self, id_: str) -> Collection[Record]:
        """Those who were told to leave for somebody, and have not yet."""
        return [self._records[other] for other in self._leaving.get(id_, ())]

    def _unlist(self, record: Record) -> None:
        queue = record.spec.queue
        self._queues[queue] -= 1
        if not self._queues[queue]:
            del self._queues[queue]
        for index, name in ((self._held, queue), (self._leaving, record.leaves_for)):
            if name in index and index[name].pop(record.id, True) is None and not index[name]:
                del index[name]
