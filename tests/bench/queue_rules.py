"""The trees that admission is measured on without a database."""

from __future__ import annotations

from collections.abc import Mapping

from pf_queue.admission.core.places import QueueRules

GROUPS = 20
"""Inner queues of a pool, at most."""
GUARANTEED = 0.75
"""Of what a queue brings in, so that there is something to borrow."""


def grouped(
    queues: int, capacity: Mapping[str, int], part: Mapping[str, float], most: Mapping[str, int], prefix: str = ""
) -> list[QueueRules]:
    """Groups of queues that share all there is; `part` is what each queue brings in, `most` its ceiling."""
    groups = min(GROUPS, queues)
    shared = {name: amount // groups for name, amount in capacity.items()}
    guaranteed = {name: int(amount * GUARANTEED) for name, amount in part.items()}
    inner = [
        QueueRules(name=f"{prefix}g{group}", min=shared, max={}, lend_limit={}, max_per_user={})
        for group in range(groups)
    ]
    return inner + [
        QueueRules(
            name=f"{prefix}q{queue}",
            parent=f"{prefix}g{queue % groups}",
            min=guaranteed,
            max=most,
            lend_limit={},
            max_per_user={},
        )
        for queue in range(queues)
    ]
