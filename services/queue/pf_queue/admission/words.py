"""Why a workload waits, in words, and what would help."""

from __future__ import annotations

from pf_queue.admission.core.explain import Explanation, Reason
from pf_queue.admission.domain import Record
from pf_queue.resources import readable


def held_words(record: Record) -> str:
    return (
        f"It could not be started {record.requeues} times and is held."
        " Find out why, then resume it: paddleflow queue resume."
    )


def aside_words(record: Record) -> str:
    return (
        f"It is set aside: {record.fault}. Admission goes on without it, and what it may hold is charged to nobody."
        " Release it when it does not run any more; its job can then be submitted again."
    )


def words(record: Record, explanation: Explanation) -> str:
    return f"{_what(record, explanation)} {_help(explanation)}".strip()


def _what(record: Record, why: Explanation) -> str:  # noqa: C901 - one line for each reason
    queue = repr(why.place or record.spec.queue)
    match why.reason:
        case Reason.NOT_CONSIDERED:
            return "It is about to be looked at."
        case Reason.QUEUE_FULL:
            return f"Queue {queue} is at its ceiling{_short(why)}."
        case Reason.NOTHING_TO_BORROW:
            return f"The machines have no room that its queue may use{_short(why)}."
        case Reason.NO_MACHINE:
            return f"No machine is large enough for one of its replicas, or there are too few{_short(why)}."
        case Reason.USER_LIMIT:
            return f"User {record.spec.user!r} has as much in queue {queue} as one user may."
        case Reason.JOB_LIMIT:
            return f"Queue {queue} has as many workloads admitted as it may."
        case Reason.BEHIND:
            return f"Queue {queue} lets nobody pass, and {why.behind} comes first."
        case Reason.RESERVED:
            return (
                "There is room, but it is kept for a workload that has waited for too long, or that others leave for."
            )
        case Reason.RECLAIMING:
            return f"Others were told to leave for it; it starts when they have{_short(why)}."
        case Reason.QUEUE_HELD:
            return f"Queue {queue} is held, draining or closed."
        case Reason.BACKOFF:
            return "It could not be started, and waits before it is tried again."
        case Reason.CLUSTER_OFFLINE:
            return f"The cluster {record.cluster!r} is offline."


def _help(why: Explanation) -> str:
    match why.reason:
        case Reason.QUEUE_FULL | Reason.JOB_LIMIT:
            return "It starts when others of the queue end, or when the ceiling is raised."
        case Reason.NOTHING_TO_BORROW:
            return "It starts when others end, when machines are added, or at once if the queue is guaranteed more."
        case Reason.USER_LIMIT:
            return "It starts when another workload of this user ends."
        case Reason.QUEUE_HELD:
            return "It starts after the queue was opened: paddleflow queue open."
        case Reason.NO_MACHINE:
            return "Ask for less in each replica, or add machines."
        case _:
            return ""


def _short(why: Explanation) -> str:
    if not why.short:
        return ""
    found = [
        f"{readable(name, shortage.asked)} of {name} asked, {readable(name, shortage.free)} free"
        for name, shortage in sorted(why.short.items())
    ]
    return f" ({'; '.join(found)})"
