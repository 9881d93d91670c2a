"""Ends a run that cannot be driven any further, because of a fault that has nothing to do with others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from pf_pipeline.engine.core.happening import Halt
from pf_pipeline.plans.domain import Kind
from pf_pipeline.runs.domain import Happening, Node, Run, Waiting
from pf_pipeline.runs.states import NODE_OVER, NodeState, RunState


@dataclass(frozen=True, slots=True)
class GivenUp:
    """What is to be kept and done."""

    run: Run
    nodes: Sequence[Node]
    happening: Happening
    halts: Sequence[Halt]


def give_up(run: Run, nodes: Sequence[Node], why: str, now: datetime) -> GivenUp:
    """The run has failed; whatever was under way ends with it."""
    left = [node for node in nodes if node.state not in NODE_OVER]
    life, steps = run.life, run.life.steps
    cancelled = steps.cancelled + steps.waiting + steps.running
    changed = replace(
        life,
        state=RunState.FAILED,
        message=why,
        finish_time=now,
        happenings=life.happenings + 1,
        steps=replace(steps, waiting=0, running=0, cancelled=cancelled),
    )
    happening = Happening(
        run=run.id,
        number=changed.happenings,
        time=now,
        what=RunState.FAILED.value,
        message=why,
        run_state=RunState.FAILED,
    )
    return GivenUp(replace(run, life=changed), [_ended(node, why, now) for node in left], happening, [*_halts(left)])


def _ended(node: Node, why: str, now: datetime) -> Node:
    to = NodeState.TERMINATED if node.attempt else NodeState.CANCELLED
    return replace(node, state=to, message=why, waiting=Waiting.NOTHING, waiting_on=(), finish_time=now)


def _halts(left: Sequence[Node]) -> Iterator[Halt]:
    for node in left:
        if node.job and node.kind is not Kind.DAG:
            yield Halt(node.path, node.attempt, node.job)
