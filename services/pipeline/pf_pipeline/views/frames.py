"""The components that a run has come to: those of its phase, and those of each DAG that is under way."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from pf_pipeline.documents.model import HandlerWhen, Strategy
from pf_pipeline.engine.core.machine import KINDS, PREFIXES, is_wanted
from pf_pipeline.engine.core.state import Phase
from pf_pipeline.plans.domain import Kind, Plan, Planned, PlannedDag, PlannedStep
from pf_pipeline.plans.paths import component
from pf_pipeline.runs.domain import Node, NodeFilter, Progress, Run, Waiting
from pf_pipeline.runs.states import NodeState, RunState, Stop

LATER = {Phase.MAIN: (Phase.POST, Phase.EXIT), Phase.POST: (Phase.EXIT,), Phase.EXIT: ()}
"""The phases that come after one that is under way."""
ONLY_IF = {
    HandlerWhen.SUCCEEDED: "runs only if the run succeeds",
    HandlerWhen.FAILED: "runs only if the run fails or is stopped",
}


@dataclass(frozen=True, slots=True)
class Frame:
    """One iteration of a DAG, or a phase of the run."""

    prefix: str
    """What the paths of its components begin with."""
    bare: str
    """The same without iterations."""
    kind: Kind
    """What its steps are."""
    planned: Mapping[str, Planned]
    parent: str = ""
    """The path of the DAG."""
    upcoming: bool = False
    """It is a phase that has not begun."""


@dataclass(frozen=True, slots=True)
class Component:
    """A component of a frame."""

    frame: Frame
    planned: Planned
    place: int

    @property
    def path(self) -> str:
        """That of its first iteration."""
        return f"{self.frame.prefix}{self.planned.name}"

    @property
    def deps(self) -> Mapping[str, str]:
        """Paths of those that it depends on, by name."""
        return {name: f"{self.frame.prefix}{name}" for name in self.planned.deps}

    def path_of(self, iteration: int) -> str:
        return f"{self.path}[{iteration}]" if iteration else self.path

    def concerns(self, chosen: NodeFilter) -> bool:
        """True if one of its iterations may be below what was chosen."""
        return chosen.is_below(self.path) or chosen.below.startswith(f"{self.path}[")


def upcoming_frames(plan: Plan, phase: Phase, *, good: bool) -> Iterator[Frame]:
    """The frames of later phases, with all that may run in them yet: what went well so far may still fail."""
    for later in LATER[phase]:
        frame = phase_frame(plan, later, good=good)
        if later is Phase.EXIT and good:
            frame = replace(frame, planned={each.name: each for each in plan.on_exit})
        yield replace(frame, upcoming=True)


def phase_frame(plan: Plan, phase: Phase, *, good: bool) -> Frame:
    """The frame of a phase; whether all before it went well decides which exit handlers run."""
    planned: Mapping[str, Planned] = {}
    if phase is Phase.MAIN:
        planned = plan.entry_points
    elif phase is Phase.POST and plan.post_process:
        planned = {plan.post_process.name: plan.post_process}
    elif phase is Phase.EXIT:
        planned = {each.name: each for each in plan.on_exit if is_wanted(each, good=good)}
    return Frame(PREFIXES[phase], PREFIXES[phase], KINDS[phase], planned)


def dag_paths(plan: Plan) -> Iterator[str]:
    """The paths of all DAGs, without iterations."""
    return _dag_paths("", plan.entry_points)


def _dag_paths(prefix: str, level: Mapping[str, Planned]) -> Iterator[str]:
    for name, planned in level.items():
        if isinstance(planned, PlannedDag):
            yield f"{prefix}{name}"
            yield from _dag_paths(f"{prefix}{name}.", planned.children)


def dag_frames(plan: Plan, nodes: Iterable[Node]) -> Iterable[Frame]:
    """The frames of those nodes that are DAGs; all DAGs belong to the main phase."""
    for node in nodes:
        planned = component_at(plan, node.path) if node.kind is Kind.DAG else None
        if isinstance(planned, PlannedDag):
            yield Frame(f"{node.path}.", f"{component(node.path)}.", Kind.STEP, planned.children, node.path)


def component_at(plan: Plan, path: str) -> Planned | None:
    """The component of a path of the main phase."""
    level: Mapping[str, Planned] = plan.entry_points
    found: Planned | None = None
    for name in component(path).split("."):
        found = level.get(name)
        level = found.children if isinstance(found, PlannedDag) else {}
    return found


def planned_at(plan: Plan, node: Node) -> Planned | None:
    """What a node is a part of in its plan."""
    match node.kind:
        case Kind.POST_PROCESS:
            return plan.post_process
        case Kind.EXIT_HANDLER:
            return next((each for each in plan.on_exit if each.name == node.name), None)
    return component_at(plan, node.path)


def is_halting(run: Run, plan: Plan, phase: Phase, first_bad: Node | None) -> bool:
    """True if nothing new begins in a phase: whatever has not begun then was left out in the same moment.

    `first_bad` is the first node in the order of the document that failed or was stopped.
    """
    stop = run.life.stop
    if stop is Stop.FORCE or phase is not Phase.MAIN:
        return stop is Stop.FORCE
    failed = first_bad is not None and first_bad.kind in (Kind.STEP, Kind.DAG)
    return stop is Stop.STOP or (failed and plan.strategy is Strategy.FAIL_FAST)


def components(frames: Iterable[Frame], places: Mapping[str, int]) -> list[Component]:
    """The components of frames in the order in which they are listed."""
    found = [
        Component(frame, planned, places[f"{frame.bare}{name}"])
        for frame in frames
        for name, planned in frame.planned.items()
    ]
    return sorted(found, key=lambda each: (each.place, each.path))


def asked(chosen: Iterable[Component], places: Mapping[str, int]) -> Mapping[str, int]:
    """Whose progress has to be known to tell what components wait for."""
    found: dict[str, int] = {}
    for each in chosen:
        found[each.path] = each.place
        found.update((path, places[f"{each.frame.bare}{name}"]) for name, path in each.deps.items())
    return found


def unbegun(run: Run, one: Component, progress: Mapping[str, Progress]) -> Node | None:
    """What has not begun of a component; one node stands for all its iterations. None if there is nothing."""
    own = progress[one.path]
    if own.kept >= max(1, own.items or 0):
        return None
    left = (own.items or 1) - own.kept
    message = f"{left} iterations have not begun" if left > 1 else only_if(one)
    return node_of(run, one, progress, own.gap, message)


def only_if(one: Component) -> str:
    """Of an exit handler that waits for the end, how the run has to end."""
    step = one.planned
    return ONLY_IF.get(step.when, "") if one.frame.upcoming and isinstance(step, PlannedStep) else ""


def node_of(run: Run, one: Component, progress: Mapping[str, Progress], iteration: int, message: str) -> Node:
    """A node of which nothing is kept."""
    planned = one.planned
    waiting_on = tuple(name for name, path in one.deps.items() if not progress[path].is_over)
    return Node(
        run=run.id,
        path=one.path_of(iteration),
        kind=Kind.DAG if isinstance(planned, PlannedDag) else one.frame.kind,
        parent=one.frame.parent,
        name=planned.name,
        reference=planned.reference,
        deps=planned.deps,
        place=one.place,
        iteration=iteration,
        iterations=progress[one.path].items or 0,
        state=NodeState.PENDING,
        message=message,
        waiting=Waiting.DEPENDENCIES if waiting_on else _waiting(run, one.frame),
        waiting_on=waiting_on,
    )


def _waiting(run: Run, frame: Frame) -> Waiting:
    if frame.upcoming:
        return Waiting.PHASE
    return Waiting.ENGINE if run.life.state is RunState.INITIATING else Waiting.PARALLELISM
