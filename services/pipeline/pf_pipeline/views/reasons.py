"""Why a node stands where it stands, in sentences for people: what matters most first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from pf_pipeline.documents.model import Value
from pf_pipeline.plans.domain import Plan, Planned, PlannedDag, PlannedStep
from pf_pipeline.plans.values import text_of
from pf_pipeline.runs.domain import Node, Run, Waiting
from pf_pipeline.runs.states import NodeState, RunState

MOST = 10
"""Names in one sentence, and sentences of one kind."""


ENDED_BADLY = {
    NodeState.FAILED: "failed",
    NodeState.TERMINATED: "was stopped",
    NodeState.CANCELLED: "never began",
}
THINGS = {
    Waiting.DEPENDENCIES: "others",
    Waiting.PARALLELISM: "its turn",
    Waiting.SEMAPHORE: "a semaphore",
    Waiting.APPROVAL: "an approval",
    Waiting.RETRY: "its next try",
    Waiting.CACHE: "the same step of another run",
    Waiting.JOB: "its job to begin",
    Waiting.FILES: "files to be read",
    Waiting.CHILDREN: "what it consists of",
    Waiting.ENGINE: "its turn",
    Waiting.PHASE: "all that comes before it",
}


@dataclass(frozen=True, slots=True)
class Beside:
    """A component that a node depends on."""

    name: str
    first: Node | None = None
    """Its first iteration, if that has begun."""
    over: int = 0
    items: int | None = None
    """How many iterations it has; None: it is no loop, or nobody knows yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What is known around a node."""

    run: Run
    plan: Plan
    node: Node
    planned: Planned | None
    deps: Sequence[Beside] = ()
    holders: Sequence[str] = ()
    """Who holds the semaphore that it waits for: `<run> <path>`."""
    job: str = ""
    """What is said of its job."""
    causes: Sequence[Node] = ()
    """Of a DAG that did not end well, steps in it that failed."""
    progress: tuple[int, int] = (0, 0)
    """Of a DAG under way, how many of its components are over, and how many it has."""


def reasons(facts: Facts) -> Sequence[str]:
    return [sentence for sentence in (*_why(facts), *_approved(facts.node), *_cache(facts)) if sentence]


def _why(facts: Facts) -> Iterator[str]:
    node = facts.node
    match node.state:
        case NodeState.PENDING:
            yield from _waits(facts)
        case NodeState.RUNNING:
            yield from _runs(facts)
        case NodeState.TERMINATING:
            yield f"its job is about to end: {node.message}"
            yield _explain(node)
        case NodeState.SUCCEEDED:
            yield f"it succeeded: {node.message}" if node.message else "it succeeded"
        case NodeState.SKIPPED:
            yield from _skipped(facts)
        case NodeState.FAILED:
            yield from _failed(facts)
        case NodeState.TERMINATED:
            yield f"its job was stopped: {node.message}"
            yield _explain(node)
        case NodeState.CANCELLED:
            yield f"it never began: {node.message}"
            yield from _bad_deps(facts)


def _skipped(facts: Facts) -> Iterator[str]:
    node, planned = facts.node, facts.planned
    if planned is not None and planned.disabled:
        source = "as the run was asked to do without it" if _is_asked_off(facts) else "by its document"
        yield f"it is disabled, {source}"
        return
    yield node.message
    if planned is not None and planned.condition != node.work.condition:
        yield f"the condition is written as {planned.condition}"
    yield from _values(node)


def _is_asked_off(facts: Facts) -> bool:
    return facts.node.name in facts.run.order.disabled or facts.node.path in facts.run.order.disabled


def _values(node: Node) -> Iterator[str]:
    if node.work.parameters:
        told = [f"{name} = {_short(value)}" for name, value in node.work.parameters.items()]
        yield f"its parameters are {_some(told)}"


def _short(value: Value) -> str:
    text = text_of(value)
    return text if len(text) <= 80 else f"{text[:79]}\u2026"


def _failed(facts: Facts) -> Iterator[str]:
    node, planned = facts.node, facts.planned
    yield f"it failed: {node.message}" if node.message else "it failed"
    for cause in facts.causes[:MOST]:
        yield f"{cause.path} failed: {cause.message}"
    if isinstance(planned, PlannedStep) and planned.retry and node.attempt:
        most = planned.retry.limit + 1
        spent = "that was the last try" if node.attempt >= most else "it is not to be tried again after such an end"
        yield f"try {node.attempt} of {most}: {spent}"
    if node.job:
        yield f"`paddleflow job logs {node.job}` shows what it wrote"
        yield _explain(node)


def _explain(node: Node) -> str:
    return f"`paddleflow job explain {node.job}` tells more of its job" if node.job else ""


def _bad_deps(facts: Facts) -> Iterator[str]:
    for beside in facts.deps[:MOST]:
        first = beside.first
        if first is not None and first.state in ENDED_BADLY:
            yield f"{beside.name} {ENDED_BADLY[first.state]}: {first.message}"


def _runs(facts: Facts) -> Iterator[str]:
    node = facts.node
    if isinstance(facts.planned, PlannedDag):
        over, whole = facts.progress
        yield f"it runs: {over} of the {whole} nodes it consists of are over"
        return
    yield f"it waits for its small results to be read: {_some(node.waiting_on)}" if node.waiting else "its job runs"
    yield facts.job and f"its job says: {facts.job}"
    yield _explain(node)


def _waits(facts: Facts) -> Iterator[str]:
    node = facts.node
    match node.waiting:
        case Waiting.DEPENDENCIES:
            yield from (f"it waits for {_standing(beside)}" for beside in facts.deps[:MOST])
            yield f"it waits for {len(facts.deps) - MOST} more" if len(facts.deps) > MOST else ""
        case Waiting.PARALLELISM:
            yield from _turn(facts)
        case Waiting.SEMAPHORE:
            yield from _semaphore(facts)
        case Waiting.JOB:
            yield f"its job waits: {facts.job}" if facts.job else "its job waits for its turn in its queue"
            yield _explain(node)
        case _:
            yield _waits_for(node)
            yield node.message
            if node.waiting is Waiting.APPROVAL:
                yield f"`paddleflow run approve {node.run} {node.path}` lets it go on"


def _waits_for(node: Node) -> str:
    """What a node waits for of which nobody has to be asked more."""
    until = _time(node.not_before)
    match node.waiting:
        case Waiting.APPROVAL:
            return f"it waits for the approval of {_some(node.waiting_on)}{until and f', until {until}'}"
        case Waiting.RETRY:
            return f"it is tried again{until and f' at {until}'}"
        case Waiting.CACHE if node.waiting_on:
            return f"it waits for the same step of run {_some(node.waiting_on)}, whose result it will take"
        case Waiting.CACHE:
            return "the cache is being asked for its result"
        case Waiting.FILES:
            return f"it waits for files to be read: {_some(node.waiting_on)}"
        case Waiting.PHASE:
            return "it waits until all that comes before it in the run is over, however that ends"
    return "nobody has come to it yet: it begins within seconds"


def _standing(beside: Beside) -> str:
    first = beside.first
    if first is None:
        return f"{beside.name}, which has not begun"
    if beside.items and beside.items > 1:
        return f"{beside.name}, of whose {beside.items} iterations {beside.over} are over"
    if first.state is NodeState.PENDING and first.waiting:
        return f"{beside.name}, which waits for {THINGS[first.waiting]}"
    return f"{beside.name}, which is {first.state}"


def _turn(facts: Facts) -> Iterator[str]:
    running, most = facts.run.life.steps.running, facts.plan.parallelism
    planned = facts.planned
    if facts.run.life.state is RunState.TERMINATING:
        yield "its run is about to end"
    if running >= most:
        yield f"it waits for its turn: {running} of the {most} steps that may run at once do (`parallelism`)"
    elif planned is not None and planned.max_parallel and planned.loop is not None:
        yield f"it waits for its turn: of its iterations {planned.max_parallel} may run at once (`max_parallel`)"
    else:
        yield f"it waits for its turn: {running} steps run, {most} may at once (`parallelism`)"
    yield facts.node.message


def _semaphore(facts: Facts) -> Iterator[str]:
    for name in facts.node.waiting_on:
        slots = facts.plan.semaphores.get(name, 0)
        yield f"it waits for the semaphore {name}, which {slots} may hold at once"
    if facts.holders:
        yield f"those who hold it: {_some(facts.holders)}"


def _approved(node: Node) -> Iterator[str]:
    if node.approved_by:
        yield f"{node.approved_by} approved it"


def _cache(facts: Facts) -> Iterator[str]:
    """Why the cache was not asked, of a step that has run."""
    node, planned = facts.node, facts.planned
    asked = node.cache.key or node.cache.message
    if asked or not isinstance(planned, PlannedStep) or not node.attempt or node.state is NodeState.PENDING:
        return
    if not planned.cache.enable:
        yield "its result is not cached: `cache.enable` is not set for it"


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST} more" if len(names) > MOST else ""
    return f"{', '.join(names[:MOST])}{more}"


def _time(time: datetime | None) -> str:
    return f"{time:%Y-%m-%d %H:%M:%S %Z}" if time else ""
