"""How components get their turn: what they are repeated for, and how their iterations begin."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from pf_pipeline.documents.model import Value
from pf_pipeline.engine.core import ending
from pf_pipeline.engine.core.happening import Read, Told
from pf_pipeline.engine.core.noting import count, do, happen, keep, put, steps_in
from pf_pipeline.engine.core.scoping import scope, turn
from pf_pipeline.engine.core.state import Frame, Live, Member, Stage, State
from pf_pipeline.engine.core.words import Unsettled
from pf_pipeline.plans.domain import Planned, PlannedDag, PlannedStep
from pf_pipeline.runs.domain import Loop, NodeWork, Waiting
from pf_pipeline.runs.states import NODE_GOOD, NodeState

LOOP_LIMIT = 2**20
"""Bytes of a file with the items of a loop; it must stay below."""
CONDITION_LIMIT = 2**10
"""Bytes of a file that a condition is about; it must stay below."""


def open_frame(state: State, frame: Frame, planned: Mapping[str, Planned]) -> None:
    """Makes the components of a frame; those that wait for nobody are ready."""
    fill(state, frame, planned)
    state.ready.extend(member for member in frame.members.values() if not member.blockers)


def fill(state: State, frame: Frame, planned: Mapping[str, Planned]) -> None:
    """Makes the components of a frame."""
    above = f"{_component(frame.live.member)}." if frame.live else frame.prefix
    for name, each in planned.items():
        place = state.places[f"{above}{name}"]
        frame.members[name] = Member(frame=frame, planned=each, place=place, blockers=len(each.deps))
    for member in frame.members.values():
        for name in member.planned.deps:
            frame.members[name].dependents.append(member)
    frame.open = len(frame.members)


def _component(member: Member) -> str:
    """The path of a component without iterations."""
    above = member.frame.live
    return (
        f"{_component(above.member)}.{member.planned.name}" if above else f"{member.frame.prefix}{member.planned.name}"
    )


def attend(state: State, member: Member) -> None:
    """A component is ready, or cannot be any more."""
    if member.state is not NodeState.PENDING or member.begun or member.lives or member.total:
        return
    bad = [name for name in member.planned.deps if _is_bad(member.frame.members[name])]
    if state.halting or bad:
        ending.drop(state, member, NodeState.CANCELLED, state.halting or f"{bad[0]} did not succeed")
    elif member.blockers == 0 and member.planned.disabled:
        ending.drop(state, member, NodeState.SKIPPED, "disabled")
    elif member.blockers == 0:
        _begin(state, member)


def _is_bad(member: Member) -> bool:
    return member.state is not NodeState.PENDING and member.state not in NODE_GOOD


def _begin(state: State, member: Member) -> None:
    try:
        member.inputs = state.words.inputs(member.planned, scope(member))
        if file := state.words.loop_file(member.planned, member.inputs) if member.is_loop else "":
            _ask_for_items(state, member, file)
            return
        repeat(state, member, _items(state, member, "") if member.is_loop else None)
    except Unsettled as problem:
        refuse(state, member, str(problem))


def _ask_for_items(state: State, member: Member, file: str) -> None:
    node = ending.blank(state, member, waiting=Waiting.FILES, waiting_on=(file,))
    put(state, node)
    state.asking[node.path] = member
    do(state, Read(node.path, (file,), LOOP_LIMIT))


def told_items(state: State, member: Member, content: str, problem: str) -> None:
    """The file with the items of a loop has been read, or cannot be."""
    if problem:
        refuse(state, member, problem)
        return
    try:
        repeat(state, member, _items(state, member, content))
    except Unsettled as wrong:
        refuse(state, member, str(wrong))


def _items(state: State, member: Member, content: str) -> tuple[Value, ...]:
    parameters = state.words.parameters(member.planned, scope(member), None)
    return state.words.items(member.planned, parameters, member.inputs, content)


def refuse(state: State, member: Member, problem: str) -> None:
    """A component fails before any of its iterations has begun."""
    ending.drop(state, member, NodeState.FAILED, problem)
    ending.blame(state, member.frame, f"{member.path} failed")


def repeat(state: State, member: Member, items: tuple[Value, ...] | None) -> None:
    """It is known for what a component is repeated; None: it is no loop."""
    member.items, member.total = items, 1 if items is None else len(items)
    if items is not None:
        state.out.loops.append(Loop(run=state.run.id, path=member.path, items=items))
        count(state, waiting=(member.total - 1) * steps_in(member.planned))
    if member.total:
        state.startable.append(member)
        return
    node = ending.blank(state, member, state=NodeState.SUCCEEDED, finish_time=state.now, message="nothing to repeat")
    put(state, node)
    happen(state, "succeeded", node, node.message)
    ending.finish(state, member, NodeState.SUCCEEDED)


def can_begin(state: State, member: Member) -> bool:
    """True if another iteration may begin. As many are under way as may run at once, and no more: what a loop of many
    takes is bounded by that.
    """
    most = member.planned.max_parallel or state.plan.parallelism
    return member.begun < member.total and len(member.lives) < min(most, state.plan.parallelism)


def begin_next(state: State, member: Member) -> None:
    """The next iteration of a component begins."""
    member.begun += 1
    begin_iteration(state, member, member.begun - 1)


def begin_iteration(state: State, member: Member, at: int) -> None:
    """An iteration of a component begins. Nothing of it is kept until it has its turn, unless it waits for something
    that is: made anew of rows, a run begins it again.
    """
    argument = None if member.items is None else member.items[at]
    work = NodeWork(inputs=member.inputs, loop_argument=argument)
    live = Live(member, ending.blank(state, member, at, waiting=Waiting.ENGINE, work=work), Stage.CONDITION)
    member.lives[at] = state.lives[live.node.path] = live
    try:
        parameters = state.words.parameters(member.planned, scope(member), argument)
        live.node = replace(live.node, work=replace(work, parameters=parameters))
        look_at_condition(state, live)
    except Unsettled as problem:
        ending.end(state, live, NodeState.FAILED, str(problem))


def look_at_condition(state: State, live: Live) -> None:
    """An iteration goes on if its condition holds. Raises Unsettled."""
    planned = live.member.planned
    if not planned.condition:
        enter(state, live)
    elif files := state.words.condition_files(planned, live.member.inputs):
        keep(state, live, waiting=Waiting.FILES, waiting_on=files)
        do(state, Read(live.node.path, files, CONDITION_LIMIT))
    else:
        decide(state, live, {})


def told_contents(state: State, live: Live, told: Told) -> None:
    """The files that a condition is about have been read, or cannot be."""
    if told.problem:
        ending.end(state, live, NodeState.FAILED, told.problem)
        return
    try:
        decide(state, live, told.contents)
    except Unsettled as problem:
        ending.end(state, live, NodeState.FAILED, str(problem))


def decide(state: State, live: Live, contents: Mapping[str, str]) -> None:
    """An iteration goes on, or is skipped. Raises Unsettled."""
    member, node = live.member, live.node
    text, holds = state.words.condition(member.planned, turn(member, node), node.work, contents)
    live.node = replace(node, work=replace(node.work, condition=text))
    if holds:
        enter(state, live)
    else:
        ending.end(state, live, NodeState.SKIPPED, f"the condition does not hold: {text}")


def enter(state: State, live: Live) -> None:
    """An iteration goes on after its condition."""
    planned = live.member.planned
    if isinstance(planned, PlannedDag):
        enter_dag(state, live, planned)
        return
    live.node = replace(live.node, work=state.words.step(planned, turn(live.member, live.node), live.node.work))
    approval = planned.approval
    if approval is not None:
        live.stage = Stage.APPROVAL
        live.due = state.now + approval.timeout if approval.timeout else None
        who = approval.users or (state.run.owner,)
        keep(state, live, waiting=Waiting.APPROVAL, waiting_on=who, message=approval.message, not_before=live.due)
        happen(state, "approval-wanted", live.node, approval.message)
    else:
        line_up(state, live)


def line_up(state: State, live: Live) -> None:
    """A step waits for a slot. That alone is not worth to be kept."""
    live.stage = Stage.TURN
    live.due = None
    live.node = replace(live.node, waiting=Waiting.PARALLELISM, waiting_on=(), message="", not_before=None)
    if live.node.path in state.out.nodes:
        put(state, live.node)
    state.turns.append(live)


def enter_dag(state: State, live: Live, planned: PlannedDag) -> None:
    """The components of a DAG get their turns."""
    keep(state, live, state=NodeState.RUNNING, waiting=Waiting.CHILDREN, waiting_on=(), start_time=state.now)
    happen(state, "started", live.node)
    frame = frame_of(live)
    open_frame(state, frame, planned.children)


def frame_of(live: Live) -> Frame:
    """The frame of a DAG."""
    member = live.member
    live.stage = Stage.INSIDE
    live.frame = Frame(
        prefix=f"{live.node.path}.",
        runtime_name=f"{member.runtime_name_of(live.node.iteration)}.",
        kind=member.frame.kind,
        live=live,
    )
    return live.frame


def places(plan: Iterable[tuple[str, Mapping[str, Planned]]]) -> Mapping[str, int]:
    """The place of each component in the order of the document, by its path without iterations; from the components of
    each phase and what the paths of these begin with.
    """
    found: dict[str, int] = {}
    for prefix, planned in plan:
        _number(prefix, planned, found)
    return found


def _number(prefix: str, planned: Mapping[str, Planned], found: dict[str, int]) -> None:
    for name, each in planned.items():
        found[f"{prefix}{name}"] = len(found)
        if isinstance(each, PlannedDag):
            _number(f"{prefix}{name}.", each.children, found)


def step_of(live: Live) -> PlannedStep:
    """The step of an iteration that is no DAG."""
    planned = live.member.planned
    if not isinstance(planned, PlannedStep):
        raise TypeError(f"{live.node.path} is no step")
    return planned
