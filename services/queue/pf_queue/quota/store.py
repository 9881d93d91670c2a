"""Where queues are kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from pf_kit.unit import Change, View
from pf_queue.quota.domain import Kin, Promises, Queue, QueueFilter, Standing


class QueueStore(Protocol):
    """The port to the rows of queues. Whoever writes holds the lock `TREE_LOCK`.

    Names that are asked for are well-formed; services see to it.
    """

    async def standing(self, view: View, name: str) -> Standing | None:
        """The queue of this name, as it stands in its tree."""

    async def page(self, view: View, chosen: QueueFilter, after: str, limit: int) -> Sequence[Standing]:
        """The queues whose names come after this one, by name."""

    async def kin(self, view: View, cluster: str, name: str, parent: str) -> Kin:
        """What it takes to judge a change of one queue when it comes to stand below `parent`: the queue, all above and
        below it as it stands now, and all above that place; of the others directly below `parent`, the sum.
        """

    async def promises(self, view: View, cluster: str) -> Promises:
        """What the queues at the top of a cluster are guaranteed."""

    async def in_cluster(self, view: View, cluster: str) -> Sequence[Queue]:
        """All queues of a cluster, each after the one above it."""

    async def add(self, change: Change, queue: Queue) -> int:
        """Keeps a new queue and returns its version. Raises QueueExists if the name is taken."""

    async def set(self, change: Change, queue: Queue) -> int:
        """Replaces what is kept of an existing queue and returns its new version."""

    async def remove(self, change: Change, name: str) -> int:
        """Forgets a queue, that has none below it, and returns the version of its end."""

    async def remove_all(self, change: Change, cluster: str) -> Mapping[str, int]:
        """Forgets all queues of a cluster and returns the versions of their ends, by name."""
