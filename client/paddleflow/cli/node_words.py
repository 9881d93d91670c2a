"""What is said of a node in words: for how long, what it waits for, where its result came from."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta

from paddleflow.cli.parameters import lasting
from paddleflow.models.nodes import NodeState, NodeWaiting, RunNode
from paddleflow.original import original_time

COLOURS = {
    NodeState.RUNNING: "cyan",
    NodeState.SUCCEEDED: "green",
    NodeState.FAILED: "red",
    NodeState.TERMINATING: "yellow",
    NodeState.TERMINATED: "yellow",
    NodeState.CANCELLED: "yellow",
}
_PLAIN = {
    NodeWaiting.PARALLELISM: "waits until fewer others run",
    NodeWaiting.FILES: "waits for files",
    NodeWaiting.CHILDREN: "",
    NodeWaiting.ENGINE: "is about to begin",
    NodeWaiting.PHASE: "waits until all before it is over",
}
SHORT = timedelta(seconds=10)
MOST_NAMES = 5


def duration(node: RunNode, now: datetime) -> str:
    """For how long it has run, or ran; empty if it did not."""
    if node.start_time is None:
        return ""
    return span((node.finish_time or now) - node.start_time)


def span(time: timedelta) -> str:
    """A time, of which short ones are told in tenths of seconds."""
    shown = max(time, timedelta())
    return f"{shown.total_seconds():.1f}s" if shown < SHORT else lasting(shown)


def remark(node: RunNode, over: Collection[str] = ()) -> str:
    """What there is to know beside the state; `over` are names of siblings that are not waited for any more."""
    told = [waiting(node, over), *_outcome(node)]
    if node.attempt > 1:
        told.insert(0, f"try {node.attempt}")
    return "; ".join(filter(None, told))


def waiting(node: RunNode, over: Collection[str] = ()) -> str:
    """What a node waits for; empty if it waits for nothing."""
    if node.state is not NodeState.PENDING and node.waiting is NodeWaiting.UNSPECIFIED:
        return ""
    if node.waiting in _PLAIN:
        return _PLAIN[node.waiting]
    on = _names([name for name in node.waiting_on if name not in over])
    match node.waiting:
        case NodeWaiting.SEMAPHORE:
            return f"waits for the semaphore {on}"
        case NodeWaiting.APPROVAL:
            return f"waits for the approval of {on}" if on else "waits for approval"
        case NodeWaiting.RETRY:
            at = f" at {original_time(node.not_before)}" if node.not_before else ""
            return f"is tried again{at}"
        case NodeWaiting.CACHE:
            return f"waits for the same step of {on}"
        case NodeWaiting.JOB:
            return f"its job {on or node.job_id} waits in its queue"
        case _:
            left = on or _names([name for name in node.deps if name not in over])
            return f"waits for {left}" if left else ""


def _outcome(node: RunNode) -> list[str]:
    """Where its result came from, and what is said of it; not the same twice."""
    if not node.cache_run_id:
        return [node.message]
    if node.cache_run_id in node.message:
        return [f"from the cache, {node.message}"]
    return [f"from the cache of {node.cache_run_id}", node.message]


def _names(names: Collection[str]) -> str:
    shown = list(names)[:MOST_NAMES]
    more = f" and {len(names) - len(shown)} more" if len(names) > len(shown) else ""
    return ", ".join(shown) + more
