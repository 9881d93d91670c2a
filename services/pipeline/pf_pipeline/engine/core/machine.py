"""A run under way: what happens to it goes in, what is to be kept and done comes out.

It decides, and does nothing itself; the same happenings in the same order give the same decisions.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime

from pf_pipeline.documents.model import HandlerWhen
from pf_pipeline.engine.core import ending, opening, stepping
from pf_pipeline.engine.core.happening import (
    Asked,
    Broken,
    Event,
    JobSeen,
    Judged,
    Over,
    Passed,
    ResultsRead,
    Told,
)
from pf_pipeline.engine.core.noting import become, count, do, happen, steps_in
from pf_pipeline.engine.core.state import Frame, Live, Outcome, Phase, Stage, State, look_again
from pf_pipeline.plans.domain import Kind, Planned, PlannedStep
from pf_pipeline.runs.domain import Wanted
from pf_pipeline.runs.states import NodeState, RunState, Stop

PREFIXES = {Phase.MAIN: "", Phase.POST: "post_process/", Phase.EXIT: "on_exit/"}
KINDS = {Phase.MAIN: Kind.STEP, Phase.POST: Kind.POST_PROCESS, Phase.EXIT: Kind.EXIT_HANDLER}
RUNTIME_NAMES = {Phase.MAIN: "entry_points", Phase.POST: "post_process", Phase.EXIT: "on_exit"}
NEXT = {Phase.MAIN: Phase.POST, Phase.POST: Phase.EXIT, Phase.EXIT: Phase.OVER}


def apply(state: State, event: Event, now: datetime) -> None:
    """Something has happened. Once the run is over, nothing happens to it any more. Raises ValueError if the run cannot
    go on because of a fault.
    """
    state.now = now
    if state.phase is Phase.OVER:
        return
    match event:
        case Asked():
            _asked(state, event)
        case Passed():
            stepping.due(state, now)
            look_again(state, state.parked)
        case Told():
            _told(state, event)
        case Judged() | JobSeen() | ResultsRead():
            _step_told(state, event)
        case Broken():
            raise ValueError(event.fault)


def _step_told(state: State, event: Judged | JobSeen | ResultsRead) -> None:
    """Something is told of a step that is under way. What comes too late does not count."""
    live = state.lives.get(event.path)
    if live is None:
        return
    match event:
        case Judged() if live.stage is Stage.CACHE:
            stepping.judged(state, live, event)
        case JobSeen():
            stepping.seen(state, live, event)
        case ResultsRead() if live.stage is Stage.RESULTS:
            stepping.results_read(state, live, event)


def following(state: State) -> Iterator[None]:
    """Does all that follows from what has happened, a little with each step.

    Whoever stops in the middle can keep what there is, let more happen, and begin anew: what is left still follows.
    """
    while state.phase is not Phase.OVER:
        if state.halting and not state.halted:
            yield from ending.halt(state)
            state.halted = True
        elif not _follow(state):
            return
        yield


def take(state: State) -> Outcome:
    """What is to be kept and done, told once."""
    outcome, state.out = state.out, Outcome()
    return outcome


def begin_phase(state: State, phase: Phase) -> None:
    """The components of a phase get their turns."""
    planned = planned_of(state, phase)
    state.phase = phase
    state.halting, state.halted = "", False
    state.frame = new_frame(state, phase)
    count(state, waiting=sum(map(steps_in, planned.values())))
    opening.open_frame(state, state.frame, planned)


def new_frame(state: State, phase: Phase) -> Frame:
    return Frame(PREFIXES[phase], f"{state.plan.name}.{RUNTIME_NAMES[phase]}.", KINDS[phase])


def planned_of(state: State, phase: Phase) -> Mapping[str, Planned]:
    """The components of a phase."""
    plan = state.plan
    match phase:
        case Phase.MAIN:
            return plan.entry_points
        case Phase.POST:
            return {plan.post_process.name: plan.post_process} if plan.post_process else {}
        case Phase.EXIT:
            good = verdict(state) is RunState.SUCCEEDED
            return {each.name: each for each in plan.on_exit if is_wanted(each, good=good)}
        case Phase.OVER:
            return {}


def is_wanted(handler: PlannedStep, *, good: bool) -> bool:
    """True if an exit handler is to run, after all before it went well or not."""
    return handler.when is HandlerWhen.ALWAYS or (handler.when is HandlerWhen.SUCCEEDED) is good


def verdict(state: State) -> RunState:
    """How the run ends, as its phases so far have ended."""
    to = ending.joint(state.seen)
    if to is NodeState.FAILED:
        return RunState.FAILED
    if to in (NodeState.TERMINATED, NodeState.CANCELLED):
        return RunState.TERMINATED if state.run.life.stop is not Stop.NO else RunState.FAILED
    return RunState.SUCCEEDED


def _follow(state: State) -> bool:
    """Takes one step of what follows; False if there is none."""
    if not state.ready:
        return _start(state) or _take_turn(state) or _end_phase(state)
    opening.attend(state, state.ready.popleft())
    return True


def _start(state: State) -> bool:
    """Begins an iteration of the component that has waited longest."""
    for _ in range(len(state.startable)):
        member = state.startable.popleft()
        if member.state is not NodeState.PENDING or member.begun >= member.total:
            continue
        state.startable.append(member)
        if opening.can_begin(state, member):
            opening.begin_next(state, member)
            return True
    return False


def _take_turn(state: State) -> bool:
    """Lets a step begin if there is a slot; those that lack a semaphore do not hold up the others, and are not looked
    at again before it may be free.
    """
    if state.used >= state.plan.parallelism:
        return False
    live = _next_in_line(state)
    if live is None:
        return False
    if lacking := stepping.take_turn(state, live):
        state.parked.setdefault(lacking, deque()).append(live)
    return True


def _next_in_line(state: State) -> Live | None:
    """The step that has waited longest of those that may have what they need."""
    while state.freed:
        line = state.parked.get(state.freed[0])
        live = _first(state, line) if line and _is_free(state, state.freed[0]) else None
        if live is not None:
            return live
        name = state.freed.popleft()
        if not line:
            state.parked.pop(name, None)
    return _first(state, state.turns)


def _is_free(state: State, name: str) -> bool:
    return state.semaphores.held[state.run.owner, name] < state.plan.semaphores[name]


def _first(state: State, line: deque[Live]) -> Live | None:
    """Takes the first one out of a line that still waits there."""
    while line:
        live = line.popleft()
        if live.stage is Stage.TURN and state.lives.get(live.node.path) is live:
            return live
    return None


def _end_phase(state: State) -> bool:
    """Goes on to the next phase if nothing of this one is left."""
    if state.frame is None or state.frame.open:
        return False
    state.seen.update(member.state for member in state.frame.members.values())
    upcoming = NEXT[state.phase]
    if upcoming is Phase.OVER:
        _end_run(state)
        return True
    begin_phase(state, upcoming)
    if state.run.life.stop is Stop.FORCE:
        state.halting = _stopped(state)
    return True


def _end_run(state: State) -> None:
    state.phase = Phase.OVER
    to = verdict(state)
    become(state, to, _message(state, to))
    do(state, Over())


def _message(state: State, to: RunState) -> str:
    if to is RunState.TERMINATED:
        return _stopped(state)
    return state.first_failure if to is RunState.FAILED else ""


def _stopped(state: State) -> str:
    return f"stopped by {state.run.life.stopped_by}"


def _asked(state: State, asked: Asked) -> None:
    match asked.wanted:
        case Wanted.BEGIN:
            _begin(state)
        case Wanted.STOP | Wanted.FORCE:
            _begin(state)
            _stop(state, force=asked.wanted is Wanted.FORCE, by=asked.by)
        case Wanted.APPROVE | Wanted.REFUSE:
            live = state.lives.get(asked.path)
            if live is not None:
                agreed = asked.wanted is Wanted.APPROVE
                stepping.approve(state, live, by=asked.by, comment=asked.comment, agreed=agreed)


def _begin(state: State) -> None:
    if state.frame is None:
        become(state, RunState.PENDING)
        begin_phase(state, Phase.MAIN)


def _stop(state: State, *, force: bool, by: str) -> None:
    """Somebody wants the run to end. What runs at its end still does, unless by force."""
    life = state.run.life
    if life.stop is Stop.FORCE or (life.stop is Stop.STOP and not force):
        return
    state.run = replace(state.run, life=replace(life, stop=Stop.FORCE if force else Stop.STOP, stopped_by=by))
    if life.state is not RunState.TERMINATING:
        become(state, RunState.TERMINATING, _stopped(state))
    else:
        happen(state, "forced", message=_stopped(state))
    if force or state.phase is Phase.MAIN:
        state.halting, state.halted = _stopped(state), False


def _told(state: State, told: Told) -> None:
    """Files have been read: the items of a loop, or what a condition is about."""
    member = state.asking.pop(told.path, None)
    if member is not None:
        if member.state is NodeState.PENDING:
            opening.told_items(state, member, next(iter(told.contents.values()), ""), told.problem)
        return
    live = state.lives.get(told.path)
    if live is not None and live.stage is Stage.CONDITION:
        opening.told_contents(state, live, told)
