"""Workloads after what somebody wants of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from paddleflow.problems import WorkloadStateConflict
from pf_queue.admission.domain import Record


def revised(record: Record, priority: int, revision: int) -> Record:
    """One that waits, with another priority; the same if a later wish is known. Revision 0 is whatever comes last."""
    if not record.waits:
        raise WorkloadStateConflict(f"the workload {record.id} is {record.state}; only one that waits can be changed")
    spec = record.spec
    if 0 < revision <= spec.revision:
        return record
    wanted = replace(spec, priority=priority, revision=max(revision, spec.revision))
    return record if wanted == spec else replace(record, spec=wanted, version=record.version + 1)


def smaller(record: Record, left: Mapping[str, int]) -> tuple[Record, tuple[int, ...]]:
    """One with so much surplus left, and how many replicas of each role it has given back."""
    has = {role.role: above for role, above in zip(record.spec.roles, record.surplus, strict=True)}
    counts = tuple(above - left.get(role, above) for role, above in has.items())
    for role, count in zip(record.spec.roles, counts, strict=True):
        if count < 0 or count % role.step:
            raise WorkloadStateConflict(
                f"the workload {record.id} has {has} replicas above its minimum;"
                f" it can give them back in steps of {role.step}, and gets more when there is room"
            )
    if not any(counts):
        return record, counts
    shrinking = tuple(max(0, a - b) for a, b in zip(record.shrinking, counts, strict=True))
    shrunk = replace(
        record,
        surplus=tuple(above - count for above, count in zip(record.surplus, counts, strict=True)),
        shrinking=shrinking,
        leaves_for=record.leaves_for if any(shrinking) else "",
        grant_version=record.grant_version + 1,
        version=record.version + 1,
    )
    return shrunk, counts
