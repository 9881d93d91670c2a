"""Why a workload is not taken, in words."""

from __future__ import annotations

from dataclasses import replace

from paddleflow.problems import GrantMismatch, NeverFits, ResourceNotDeclared, WorkloadExists
from pf_queue.admission.core.amounts import UNLIMITED
from pf_queue.admission.core.impossible import Impossible, impossible
from pf_queue.admission.core.pool import Pool
from pf_queue.admission.domain import Record, Spec
from pf_queue.admission.restore import workload_of
from pf_queue.resources import readable


def mismatch(record: Record, grant: str) -> GrantMismatch:
    told = f"holds {record.grant!r}" if record.grant else "holds nothing"
    return GrantMismatch(f"the workload {record.id} {told}, and not {grant!r}")


def still_over(over: Record, grant: str) -> Record:
    """What is released already stays so, for whoever names what it held."""
    if over.grant != grant:
        raise GrantMismatch(f"the workload {over.id} is over, and did not hold {grant!r}")
    return over


def submitted_before(known: Record, spec: Spec) -> Record:
    """What has become of a workload, for whoever submits the same again. Its priority may have changed since."""
    if replace(known.spec, priority=spec.priority, revision=spec.revision) != spec:
        raise WorkloadExists(f"the workload {spec.key} was submitted before, and asked for something else")
    return known


def require_declared(pool: Pool, spec: Spec) -> None:
    tree = pool.yard.tree
    place = tree.by_name[spec.queue]
    names = {name for role in spec.roles for name, amount in role.per_replica.items() if amount}
    for name in sorted(names):
        if name not in tree.space.names[1:] or all(
            at.max[tree.space.names.index(name)] == UNLIMITED for at in place.path
        ):
            raise ResourceNotDeclared(f"the queue {spec.queue!r} has no resource {name!r}", metadata={"resource": name})


def require_possible(pool: Pool, spec: Spec) -> None:
    trial = Record(spec=spec, number=0, submitted=0)
    if found := impossible(pool, workload_of(trial, pool.yard.tree.space)):
        raise _never_fits(found)


def _never_fits(found: Impossible) -> NeverFits:
    where = f"queue {found.queue!r}" if found.queue else "machines"
    if found.role and found.resource:
        asked, most = readable(found.resource, found.asked), readable(found.resource, found.most)
        text = f"a replica of role {found.role!r} asks for {asked} of {found.resource}; the nearest machine has {most}"
    elif found.role:
        text = (
            f"role {found.role!r} needs {found.asked} replicas at once; all machines together could hold {found.most}"
        )
    elif not found.resource:
        text = f"it can never run in the {where}, which admits no workload"
    else:
        asked, most = readable(found.resource, found.asked), readable(found.resource, found.most)
        whose = " for each user" if found.user else ""
        text = f"it asks for {asked} of {found.resource}; the ceiling of the {where}{whose} is {most}"
    told = {
        "resource": found.resource,
        "asked": str(found.asked),
        "most": str(found.most),
        "queue": found.queue,
        "role": found.role,
    }
    return NeverFits(
        f"the workload can never run: {text}", metadata={key: value for key, value in told.items() if value}
    )
