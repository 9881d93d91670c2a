"""Workloads, and what was decided about them, as tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from paddleflow.cli.parameters import lasting
from paddleflow.cli.table import Cell, Table
from paddleflow.models.admission import Decision, DecisionKind, Explanation, SimulatedWorkload, Waiting
from paddleflow.models.workloads import PendingReason, RoleGrant, RoleRequest, Workload
from paddleflow.original import original_time
from paddleflow.quantity import format_amount, format_resources

LIST_HEADINGS = [
    "job",
    "user",
    "priority",
    "status",
    "reason",
    "asked",
    "held",
    "minimum",
    "cluster name",
    "create time",
    "requeues",
]
DECISION_HEADINGS = ["id", "time", "job", "queue", "kind", "reason", "for", "replicas"]
SIMULATED_HEADINGS = ["job", "outcome", "reason", "message"]

# What holds a workload up that no queue of its own does.
_MACHINES = frozenset({PendingReason.NOTHING_TO_BORROW, PendingReason.NO_MACHINE})


def workload_list(workloads: Iterable[Workload]) -> Table:
    return Table(LIST_HEADINGS, [_workload(each) for each in workloads])


def decision_table(decisions: Iterable[Decision]) -> Table:
    return Table(DECISION_HEADINGS, [_decision(each) for each in decisions])


def simulated_decisions(decisions: Iterable[Decision]) -> Table:
    """Without what decisions that are not made do not have."""
    return Table(DECISION_HEADINGS[2:], [_decision(each)[2:] for each in decisions])


def simulated_table(workloads: Iterable[SimulatedWorkload]) -> Table:
    return Table(SIMULATED_HEADINGS, [_simulated(each) for each in workloads])


def explanation_table(explained: Explanation) -> Table:
    """All there is to say, in one row, for programs."""
    workload, waiting = explained.workload, explained.waiting
    [row] = workload_list([workload]).objects()
    decisions: list[Cell] = [*decision_table(explained.decisions).objects()]
    fields: dict[str, Cell] = {**row, "queue": workload.queue, **_told(waiting), "decisions": decisions}
    return Table(list(fields), [list(fields.values())])


def headline(explained: Explanation) -> str:
    workload, waiting = explained.workload, explained.waiting
    why = f": {waiting.reason}" if waiting else ""
    return f"{workload.key}  queue {workload.queue}  user {workload.user}  {workload.state}{why}"


def plain_facts(explained: Explanation) -> Table:
    """A fact in each row, for scripts."""
    workload, waiting = explained.workload, explained.waiting
    told = {"job": str(workload.key), "queue": workload.queue, "user": workload.user, "status": str(workload.state)}
    if waiting is not None:
        told |= {"reason": str(waiting.reason), "message": waiting.message}
    return Table(["what", "value"], [[about, text] for about, text in (told | facts(explained)).items()])


def facts(explained: Explanation) -> dict[str, str]:
    """What there is to know of a workload beside why it waits, in words for people; by what it is about."""
    told = {"asks for": _words(asked(explained.workload)), "at least": _words(minimum(explained.workload))}
    if explained.workload.admitted is not None:
        told["holds"] = _words(held(explained.workload))
        told["runs in"] = explained.workload.admitted.cluster
    if explained.waiting is not None:
        told.update(_waiting_facts(explained.waiting))
    return {about: text for about, text in told.items() if text}


def _waiting_facts(waiting: Waiting) -> dict[str, str]:
    position = waiting.position
    estimate = f", probably {lasting(position.estimate)}" if position.estimate else ""
    return {
        "held up by": _where(waiting),
        "short of": ", ".join(
            f"{each.resource}: {format_amount(each.resource, each.asked)} asked,"
            f" {format_amount(each.resource, each.free)} free"
            for each in waiting.shortages
        ),
        "position": f"{position.position} of {position.waiting}{estimate}" if position.position else "",
        "behind": str(waiting.behind or ""),
        "leaving for it": ", ".join(map(str, waiting.leaving)),
        "room kept until": original_time(waiting.kept_until),
        "not before": original_time(waiting.not_before),
    }


def _told(waiting: Waiting | None) -> dict[str, Cell]:
    """Why a workload waits, for programs; empty values if it does not."""
    told = waiting or Waiting(PendingReason.UNSPECIFIED)
    estimate = told.position.estimate
    return {
        "reason": str(told.reason),
        "message": told.message,
        "held up by": told.queue,
        "short": {
            each.resource: {
                "asked": format_amount(each.resource, each.asked),
                "free": format_amount(each.resource, each.free),
            }
            for each in told.shortages
        },
        "position": told.position.position,
        "waiting": told.position.waiting,
        "estimate": lasting(estimate) if estimate else "",
        "behind": str(told.behind or ""),
        "leaving": [str(key) for key in told.leaving],
        "kept until": original_time(told.kept_until),
        "not before": original_time(told.not_before),
    }


def _where(waiting: Waiting) -> str:
    if waiting.queue:
        return f"queue {waiting.queue}"
    return "the machines" if waiting.shortages or waiting.reason in _MACHINES else ""


def _workload(workload: Workload) -> list[Cell]:
    return [
        str(workload.key),
        workload.user,
        workload.priority,
        str(workload.state),
        str(workload.pending_reason),
        asked(workload),
        held(workload),
        minimum(workload),
        workload.admitted.cluster if workload.admitted else "",
        original_time(workload.create_time),
        workload.requeue_count,
    ]


def asked(workload: Workload) -> dict[str, Cell]:
    """Replicas by role: ``4``, or ``2-8`` where more than the minimum is of use."""
    return {role.role: _range(role) for role in workload.roles}


def held(workload: Workload) -> dict[str, Cell]:
    """Replicas by role: ``4``, or ``4+2`` where two are surplus."""
    return _grants(workload.admitted.roles if workload.admitted else ())


def minimum(workload: Workload) -> Mapping[str, Cell]:
    """What the workload cannot run without."""
    total: Counter[str] = Counter()
    for role in workload.roles:
        total.update({name: amount * role.min_replicas for name, amount in role.per_replica.items()})
    return {**format_resources(total)}


def _range(role: RoleRequest) -> str:
    more = role.max_replicas > role.min_replicas
    return f"{role.min_replicas}-{role.max_replicas}" if more else str(role.min_replicas)


def _grants(grants: Iterable[RoleGrant]) -> dict[str, Cell]:
    return {each.role: f"{each.base or ''}{f'+{each.surplus}' if each.surplus else ''}" for each in grants}


_SIGNS = {DecisionKind.ADMIT: "+", DecisionKind.GROW: "+", DecisionKind.EVICT: "-"}


def _decision(decision: Decision) -> list[Cell]:
    sign = _SIGNS.get(decision.kind, "")
    return [
        decision.id,
        original_time(decision.time),
        str(decision.key),
        decision.queue,
        str(decision.kind),
        str(decision.eviction_reason),
        str(decision.beneficiary or ""),
        {each.role: f"{sign}{each.base + each.surplus}" for each in decision.replicas},
    ]


def _simulated(workload: SimulatedWorkload) -> list[Cell]:
    key = str(workload.key)
    if workload.refusal is not None:
        return [key, "refused", workload.refusal.reason, workload.refusal.message]
    if workload.waiting is not None:
        at = workload.waiting.position
        where = f" It would stand {at.position}. of {at.waiting}." if at.position else ""
        return [key, "waits", str(workload.waiting.reason), workload.waiting.message + where]
    return [key, "admitted" if workload.admitted else "", "", ""]


def _words(cells: Mapping[str, Cell]) -> str:
    return ", ".join(f"{name} {cell}" for name, cell in cells.items())
