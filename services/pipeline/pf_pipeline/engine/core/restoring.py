"""Makes a run under way anew, of what was kept of it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime

from pf_pipeline.documents.model import Strategy
from pf_pipeline.engine.core import ending, machine, opening
from pf_pipeline.engine.core.happening import Halt, Launch, ReadResults
from pf_pipeline.engine.core.noting import COUNTED, count, do, steps_in
from pf_pipeline.engine.core.scoping import scope
from pf_pipeline.engine.core.state import Frame, Live, Member, Phase, Semaphores, Stage, State, semaphores_of
from pf_pipeline.engine.core.stepping import of_step
from pf_pipeline.engine.core.words import Unsettled, Words
from pf_pipeline.plans.domain import Kind, Plan, PlannedDag
from pf_pipeline.runs.domain import Loop, Node, Run, StepCounts, Waiting
from pf_pipeline.runs.states import NODE_GOOD, NODE_OVER, NodeState, RunState, Stop

Rows = Mapping[str, list[Node]]
"""Iterations by the path of the first one."""


def new_state(run: Run, plan: Plan, words: Words, semaphores: Semaphores, now: datetime) -> State:
    """A run that nothing has happened to yet."""
    return State(run=run, plan=plan, words=words, places=places_of(plan), now=now, semaphores=semaphores)


def places_of(plan: Plan) -> Mapping[str, int]:
    """The place of each component in the order of the document, by its path without iterations."""
    exits = {each.name: each for each in plan.on_exit}
    post = {plan.post_process.name: plan.post_process} if plan.post_process else {}
    return opening.places([("", plan.entry_points), ("post_process/", post), ("on_exit/", exits)])


def restore(state: State, nodes: Iterable[Node], loops: Mapping[str, Loop]) -> None:
    """Lets a run be where it was. What was under way then is told to be done again."""
    if state.run.life.state is RunState.INITIATING:
        return
    state.run = replace(state.run, life=replace(state.run.life, steps=StepCounts()))
    known = list(nodes)
    rows = _by_component(known)
    state.first_failure = _first_failure(state, known)
    for phase in _phases(rows):
        _restore_phase(state, phase, rows, loops)
    _resume(state)


def _first_failure(state: State, nodes: Iterable[Node]) -> str:
    """What made the run fail, as far as its steps go that do not run at its end."""
    bad = {NodeState.FAILED} | ({NodeState.TERMINATED} if state.run.life.stop is Stop.NO else set())
    found = [node for node in nodes if node.state in bad and node.kind in (Kind.STEP, Kind.DAG)]
    first = min(found, key=lambda node: (node.finish_time or state.now, -len(node.path)), default=None)
    return f"{first.path} failed" if first else ""


def _by_component(nodes: Iterable[Node]) -> Rows:
    found: dict[str, list[Node]] = defaultdict(list)
    for node in nodes:
        found[node.first_path].append(node)
    return found


def _phases(rows: Rows) -> Iterable[Phase]:
    """The phases that have begun, for all that is known: the last one may be over."""
    yield Phase.MAIN
    later = [
        phase for phase in (Phase.POST, Phase.EXIT) if any(path.startswith(machine.PREFIXES[phase]) for path in rows)
    ]
    if later:
        yield Phase.POST
    if Phase.EXIT in later:
        yield Phase.EXIT


def _restore_phase(state: State, phase: Phase, rows: Rows, loops: Mapping[str, Loop]) -> None:
    if state.frame is not None:
        _close(state, state.frame)
        state.seen.update(member.state for member in state.frame.members.values())
    planned = machine.planned_of(state, phase)
    state.phase = phase
    state.frame = machine.new_frame(state, phase)
    count(state, waiting=sum(map(steps_in, planned.values())))
    opening.fill(state, state.frame, planned)
    _restore_frame(state, state.frame, rows, loops)


def _close(state: State, frame: Frame) -> None:
    """A phase is over: whatever had not begun when it ended was left out."""
    for member in frame.members.values():
        if member.state is NodeState.PENDING:
            member.begun = member.over.total()
            ending.leave_out(state, member)
            member.state = ending.joint(member.over)
    state.startable.clear()
    state.again.clear()


def _restore_frame(state: State, frame: Frame, rows: Rows, loops: Mapping[str, Loop]) -> None:
    # In the order of dependencies: who refers to others finds them as they were.
    for member in _ordered(frame):
        _restore_member(state, member, rows.get(member.path, []), loops)
        for live in member.lives.values():
            planned = member.planned
            if live.frame is not None and isinstance(planned, PlannedDag):
                opening.fill(state, live.frame, planned.children)
                _restore_frame(state, live.frame, rows, loops)
    frame.open = sum(member.state is NodeState.PENDING for member in frame.members.values())
    for member in frame.members.values():
        ends = [frame.members[name].state for name in member.planned.deps]
        member.blockers = sum(end is NodeState.PENDING for end in ends)
        bad = any(end is not NodeState.PENDING and end not in NODE_GOOD for end in ends)
        if member.state is NodeState.PENDING and not member.total and (bad or not member.blockers):
            state.ready.append(member)


def _ordered(frame: Frame) -> Iterable[Member]:
    """Components after those that they depend on."""
    blockers = {member.planned.name: len(member.planned.deps) for member in frame.members.values()}
    free = [member for member in frame.members.values() if not member.planned.deps]
    while free:
        member = free.pop()
        yield member
        for dependent in member.dependents:
            blockers[dependent.planned.name] -= 1
            if not blockers[dependent.planned.name]:
                free.append(dependent)


def _restore_member(state: State, member: Member, rows: list[Node], loops: Mapping[str, Loop]) -> None:
    loop = loops.get(member.path)
    if member.is_loop and loop is None:
        # Its items are not known: it has ended before they were, or begins again.
        _restore_ended(state, member, rows)
        return
    if not rows and loop is None:
        return
    member.items, member.total = (None, 1) if loop is None else (loop.items, len(loop.items))
    count(state, waiting=(member.total - 1) * steps_in(member.planned))
    if not member.total:
        member.state = NodeState.SUCCEEDED
        return
    member.inputs = next((node.work.inputs for node in rows), {}) or _inputs(state, member)
    _restore_iterations(state, member, {node.iteration: node for node in rows})


def _restore_ended(state: State, member: Member, rows: list[Node]) -> None:
    """A component that has ended before any of its iterations could begin."""
    for node in rows:
        if node.state in NODE_OVER:
            _restore_over(state, member, node)
            member.state = node.state


def _inputs(state: State, member: Member) -> Mapping[str, str]:
    try:
        return state.words.inputs(member.planned, scope(member))
    except Unsettled:
        return {}


def _restore_iterations(state: State, member: Member, rows: Mapping[int, Node]) -> None:
    member.begun = max(rows, default=-1) + 1
    for at in range(member.begun):
        node = rows.get(at)
        if node is None:
            state.again.append((member, at))
        elif node.state in NODE_OVER:
            _restore_over(state, member, node)
        else:
            _restore_live(state, member, node)
    left = member.total - member.begun
    if not member.lives and not left and not any(each is member for each, _ in state.again):
        member.state = ending.joint(member.over)
    elif left:
        state.startable.append(member)


def _restore_over(state: State, member: Member, node: Node) -> None:
    ending.note(member, node)
    amount = steps_in(member.planned)
    cached = int(bool(node.cache.run))
    count(state, **{"waiting": -amount, COUNTED[node.state]: amount, "cached": cached})


def _restore_live(state: State, member: Member, node: Node) -> None:
    live = Live(member, node, _stage(node, member), due=node.not_before)
    member.lives[node.iteration] = state.lives[node.path] = live
    if node.iteration == 0:
        member.first = node
    if live.stage in ending.WITH_JOB:
        _hold(state, live)
        count(state, waiting=-1, running=1)
    if live.stage is Stage.INSIDE:
        opening.frame_of(live)


def _hold(state: State, live: Live) -> None:
    """It has what it had: whether there is enough was asked when it got it."""
    live.slot = True
    state.used += 1
    state.semaphores.held.update((state.run.owner, name) for name in semaphores_of(live))


def _stage(node: Node, member: Member) -> Stage:
    if isinstance(member.planned, PlannedDag):
        return Stage.INSIDE if node.state is NodeState.RUNNING else Stage.CONDITION
    if node.state is NodeState.TERMINATING:
        return Stage.STOPPING
    match node.waiting:
        case Waiting.APPROVAL:
            return Stage.APPROVAL
        case Waiting.RETRY:
            return Stage.BACKOFF
        case Waiting.FILES:
            return Stage.RESULTS if node.attempt else Stage.CONDITION
        case Waiting.JOB | Waiting.NOTHING:
            return Stage.JOB
        case Waiting.ENGINE:
            return Stage.CONDITION
    return Stage.TURN


def _resume(state: State) -> None:
    """What was under way is told to be done again."""
    stop = state.run.life.stop
    if stop is Stop.FORCE or (stop is Stop.STOP and state.phase is Phase.MAIN):
        state.halting = f"stopped by {state.run.life.stopped_by}"
    elif state.phase is Phase.MAIN and state.plan.strategy is Strategy.FAIL_FAST:
        state.halting = state.first_failure
    for live in list(state.lives.values()):
        match live.stage:
            case Stage.JOB:
                do(state, Launch(*of_step(live), resumed=True))
            case Stage.STOPPING:
                live.why = live.node.message
                do(state, Halt(live.node.path, live.node.attempt, live.node.job))
            case Stage.RESULTS:
                do(state, ReadResults(*of_step(live)))
            case Stage.TURN:
                state.turns.append(live)
            case Stage.CONDITION:
                _again(state, live)
    for member, at in state.again:
        opening.begin_iteration(state, member, at)
    state.again.clear()


def _again(state: State, live: Live) -> None:
    try:
        opening.look_at_condition(state, live)
    except Unsettled as problem:
        ending.end(state, live, NodeState.FAILED, str(problem))
