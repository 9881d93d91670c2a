"""The attempt that follows one that was sent back."""

from __future__ import annotations

from dataclasses import replace
from hashlib import blake2b

from pf_queue.admission.domain import Key, Outcome, Patience, Record, WorkloadState


def following(over: Record, patience: Patience, now: int) -> Record:
    """It keeps the place of the one before. If that was not started it waits for a while; after too many it is held."""
    spec = replace(over.spec, key=over.spec.key.next)
    again = Record(
        spec=spec,
        number=over.number,
        submitted=over.submitted,
        cluster=over.cluster,
        requeues=over.requeues,
        version=spec.key.first_version,
    )
    if over.outcome is not Outcome.NOT_STARTED:
        return again
    failures = over.requeues + 1
    if failures > patience.requeues:
        return replace(again, requeues=failures, state=WorkloadState.HELD)
    return replace(again, requeues=failures, not_before=now + backoff(spec.key, failures, patience))


def backoff(key: Key, failures: int, patience: Patience) -> int:
    """Twice as long each time, and up to a tenth more, which is the same for the same attempt."""
    wait = min(patience.longest_backoff, patience.backoff << min(failures - 1, 32))
    chance = int.from_bytes(blake2b(str(key).encode(), digest_size=4).digest()) / 2**32
    return wait + int(wait * chance / 10)
