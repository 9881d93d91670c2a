"""What is written down while a run goes on."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pf_pipeline.engine.core.happening import Effect
from pf_pipeline.engine.core.state import Live, State
from pf_pipeline.plans.domain import Planned, PlannedDag
from pf_pipeline.runs.domain import Happening, Node
from pf_pipeline.runs.states import NODE_TRANSITIONS, RUN_OVER, RUN_TRANSITIONS, NodeState, RunState


def keep(state: State, live: Live, /, **changes: Any) -> Node:  # noqa: ANN401 -- the fields of a node
    """Changes what is kept of an iteration."""
    node = replace(live.node, **changes)
    if node.state is not live.node.state and node.state not in NODE_TRANSITIONS[live.node.state]:
        raise ValueError(f"{node.path} cannot become {node.state} from {live.node.state}")
    live.node = node
    put(state, node)
    return node


def put(state: State, node: Node) -> None:
    state.out.nodes[node.path] = node


def do(state: State, effect: Effect) -> None:
    state.out.effects.append(effect)


def happen(state: State, what: str, node: Node | None = None, message: str = "") -> None:
    """Notes that something happened, to a node or to the run."""
    life = state.run.life
    number = life.happenings + 1
    state.run = replace(state.run, life=replace(life, happenings=number))
    state.out.happenings.append(
        Happening(
            run=state.run.id,
            number=number,
            time=state.now,
            what=what,
            path=node.path if node else "",
            message=message,
            node_state=node.state if node else None,
            run_state=life.state,
            attempt=node.attempt if node else 0,
            job=node.job if node else "",
        )
    )


def become(state: State, to: RunState, message: str = "") -> None:
    """Changes where the run stands."""
    life = state.run.life
    if to not in RUN_TRANSITIONS[life.state]:
        raise ValueError(f"{state.run.id} cannot become {to} from {life.state}")
    begins = to is RunState.RUNNING and life.start_time is None
    changed = replace(
        life,
        state=to,
        message=message or life.message,
        start_time=state.now if begins else life.start_time,
        finish_time=state.now if to in RUN_OVER else None,
    )
    state.run = replace(state.run, life=changed)
    happen(state, to.value, message=message)


def count(state: State, **more: int) -> None:
    """Adds to how many steps stand where."""
    steps = state.run.life.steps
    added = {name: getattr(steps, name) + amount for name, amount in more.items()}
    state.run = replace(state.run, life=replace(state.run.life, steps=replace(steps, **added)))


COUNTED = {
    NodeState.SUCCEEDED: "succeeded",
    NodeState.FAILED: "failed",
    NodeState.SKIPPED: "skipped",
    NodeState.TERMINATED: "cancelled",
    NodeState.CANCELLED: "cancelled",
}


def count_over(state: State, to: NodeState, *, amount: int = 1, ran: bool = False) -> None:
    """Notes that steps are over."""
    count(state, **{"running" if ran else "waiting": -amount, COUNTED[to]: amount})


def steps_in(planned: Planned) -> int:
    """Steps of a component, loops counted once."""
    if not isinstance(planned, PlannedDag):
        return 1
    return sum(map(steps_in, planned.children.values()))
