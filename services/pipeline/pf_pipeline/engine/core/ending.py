"""How iterations, components, DAGs and phases end, and what follows from it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from pf_pipeline.documents.model import Strategy
from pf_pipeline.engine.core.happening import Halt
from pf_pipeline.engine.core.noting import count_over, do, happen, keep, put, steps_in
from pf_pipeline.engine.core.scoping import sibling
from pf_pipeline.engine.core.state import Frame, Live, Member, Stage, State, is_dag, look_again, semaphores_of
from pf_pipeline.plans.domain import Kind, PlannedDag
from pf_pipeline.runs.domain import Node, Waiting
from pf_pipeline.runs.states import NODE_GOOD, NodeState

WITH_JOB = frozenset({Stage.JOB, Stage.RESULTS, Stage.STOPPING})
"""Stages at which a step has a job that counts as running."""


def end(state: State, live: Live, to: NodeState, message: str = "") -> None:
    """An iteration is over."""
    member, node = live.member, live.node
    ran = live.stage in WITH_JOB
    put_back(state, live)
    del member.lives[node.iteration], state.lives[node.path]
    ended = keep(state, live, state=to, message=message, waiting=Waiting.NOTHING, waiting_on=(), finish_time=state.now)
    if not is_dag(member.planned):
        count_over(state, to, ran=ran)
    elif live.frame is None:
        count_over(state, to, amount=steps_in(member.planned))
    happen(state, to.value, ended, message)
    note(member, ended)
    if to is NodeState.FAILED:
        blame(state, member.frame, f"{ended.path} failed")
    settle(state, member)


def blame(state: State, frame: Frame, why: str) -> None:
    """A step has failed: where the run is to fail fast, nothing else goes on. What runs at the end does not care."""
    state.first_failure = state.first_failure or why
    if state.plan.strategy is Strategy.FAIL_FAST and not state.halting and top(frame).kind is Kind.STEP:
        state.halting = why


def put_back(state: State, live: Live) -> None:
    """Gives back what an iteration holds."""
    if not live.slot:
        return
    live.slot = False
    state.used -= 1
    names = semaphores_of(live)
    state.semaphores.give(state.run.owner, names)
    look_again(state, names)


def settle(state: State, member: Member) -> None:
    """A component is over once all its iterations are, and none is to begin any more."""
    if member.lives or member.state is not NodeState.PENDING:
        return
    if member.begun < member.total:
        if not state.halting:
            return
        leave_out(state, member)
    finish(state, member, joint(member.over))


def leave_out(state: State, member: Member) -> None:
    """Iterations that have not begun never will."""
    left = member.total - member.begun
    member.over[NodeState.CANCELLED] += left
    count_over(state, NodeState.CANCELLED, amount=left * steps_in(member.planned))
    member.begun = member.total


def drop(state: State, member: Member, to: NodeState, message: str) -> None:
    """A component that has not begun is over."""
    node = blank(state, member, state=to, message=message, finish_time=state.now)
    put(state, node)
    happen(state, to.value, node, message)
    left = (member.total or 1) - member.begun
    count_over(state, to, amount=left * steps_in(member.planned))
    member.over[to] += 1
    member.begun = member.total
    finish(state, member, to)


def blank(state: State, member: Member, iteration: int = 0, /, **more: object) -> Node:
    """A node of which nothing is known but where it stands in the plan."""
    return Node(
        run=state.run.id,
        path=member.path_of(iteration),
        kind=Kind.DAG if is_dag(member.planned) else member.frame.kind,
        parent=member.frame.path,
        name=member.planned.name,
        reference=member.planned.reference,
        deps=member.planned.deps,
        place=member.place,
        iteration=iteration,
        iterations=member.total if member.is_loop else 0,
        **more,  # type: ignore[arg-type]  # the fields of a node
    )


def finish(state: State, member: Member, to: NodeState) -> None:
    """A component is over: those that depend on it have one less to wait for."""
    member.state = to
    member.frame.open -= 1
    for dependent in member.dependents:
        dependent.blockers -= 1
        if dependent.state is NodeState.PENDING and (dependent.blockers == 0 or to not in NODE_GOOD):
            state.ready.append(dependent)
    if member.frame.open == 0 and member.frame.live is not None:
        close(state, member.frame, member.frame.live)


def close(state: State, frame: Frame, live: Live) -> None:
    """All components of an iteration of a DAG are over."""
    to = joint(Counter(member.state for member in frame.members.values()))
    if to is NodeState.SKIPPED:
        to = NodeState.SUCCEEDED
    work = live.node.work
    planned = live.member.planned
    if to is NodeState.SUCCEEDED and isinstance(planned, PlannedDag) and planned.outputs:
        outputs = state.words.dag_outputs(planned, {name: sibling(each) for name, each in frame.members.items()})
        keep(state, live, work=replace(work, outputs=outputs))
    bad = sorted(name for name, each in frame.members.items() if each.state is NodeState.FAILED)
    end(state, live, to, f"{', '.join(bad[:5])} failed" if bad else "")


def halt(state: State) -> Iterator[None]:
    """Ends all that is under way, and all that would begin; one with each step.

    What was told to end before takes no step: whoever begins anew must get further.
    """
    for live in list(state.lives.values()):
        if stop(state, live):
            yield
    frame = state.frame
    if frame is not None:
        yield from _halt_inside(state, frame)


def stop(state: State, live: Live) -> bool:
    """Ends an iteration of a step; False if there is nothing to do for that now."""
    if live.stage in (Stage.INSIDE, Stage.STOPPING, Stage.RESULTS) or live.node.path not in state.lives:
        return False
    if live.stage is Stage.JOB:
        live.stage = Stage.STOPPING
        live.why = state.halting
        keep(state, live, state=NodeState.TERMINATING, message=state.halting, waiting=Waiting.JOB)
        do(state, Halt(live.node.path, live.node.attempt, live.node.job))
        happen(state, "stopping", live.node, state.halting)
    else:
        end(state, live, NodeState.CANCELLED, state.halting)
    return True


def _halt_inside(state: State, frame: Frame) -> Iterator[None]:
    """Whoever has not begun never will: first those that are furthest inside, whose DAGs end with them."""
    for live in [live for member in frame.members.values() for live in member.lives.values()]:
        if live.frame is not None:
            yield from _halt_inside(state, live.frame)
    for member in list(frame.members.values()):
        if member.state is not NodeState.PENDING or member.lives:
            continue
        if member.begun:
            settle(state, member)
        else:
            drop(state, member, NodeState.CANCELLED, state.halting)
        yield


def joint(ends: Counter[NodeState]) -> NodeState:
    """How a whole ends whose parts ended so."""
    for bad in (NodeState.FAILED, NodeState.TERMINATED, NodeState.CANCELLED):
        if ends[bad]:
            return bad
    return NodeState.SKIPPED if ends[NodeState.SKIPPED] and not ends[NodeState.SUCCEEDED] else NodeState.SUCCEEDED


def top(frame: Frame) -> Frame:
    """The frame of the phase."""
    while frame.live is not None:
        frame = frame.live.member.frame
    return frame


def note(member: Member, ended: Node) -> None:
    """Keeps of an iteration that is over what others may want to know."""
    member.over[ended.state] += 1
    if ended.iteration == 0:
        member.first = ended
    if ended.state is NodeState.SUCCEEDED and ended.work.outputs:
        member.outputs[ended.iteration] = ended.work.outputs
    if ended.state is NodeState.SUCCEEDED and ended.results:
        member.results[ended.iteration] = ended.results
