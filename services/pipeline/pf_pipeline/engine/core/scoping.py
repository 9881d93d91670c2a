"""What a component sees of those around it."""

from __future__ import annotations

from collections.abc import Mapping

from pf_pipeline.documents.model import Value
from pf_pipeline.engine.core.state import Frame, Member
from pf_pipeline.engine.core.words import Scope, Sibling, Turn
from pf_pipeline.plans.domain import PlannedStep
from pf_pipeline.plans.resolving import constants
from pf_pipeline.runs.domain import Node, NodeWork
from pf_pipeline.runs.states import NodeState

NO_WORK = NodeWork()


def scope(member: Member) -> Scope:
    """What a component can refer to."""
    work = _around(member.frame)
    siblings = {name: sibling(member.frame.members[name]) for name in member.planned.deps}
    return Scope(work.parameters, work.inputs, work.loop_argument, siblings)


def sibling(member: Member) -> Sibling:
    """What others can refer to of a component."""
    first = member.first
    parameters = first.work.parameters if first else constants(member.planned)
    told = member.told or _results(member)
    if member.state is not NodeState.PENDING:
        # Each iteration of another loop may ask a loop of many.
        member.told = told
    return Sibling(parameters, told, lambda: joined(member))


def _results(member: Member) -> Mapping[str, Value]:
    """Small results of a component that is over; those of a loop are lists, in the order of its iterations."""
    planned = member.planned
    if not isinstance(planned, PlannedStep):
        return {}
    found = {name: _written(member, name, result.default) for name, result in planned.results.items()}
    if member.is_loop:
        return found
    return {name: values[0] for name, values in found.items() if values}


def _written(member: Member, name: str, default: Value | None) -> tuple[Value, ...]:
    """A small result of each iteration; its default where nobody wrote it. Those that have neither are left out."""
    values = (member.results.get(at, {}).get(name, default) for at in range(member.total or int(not member.is_loop)))
    return tuple(value for value in values if value is not None)


def joined(member: Member) -> Mapping[str, str]:
    """Output artifacts, those of several iterations joined by commas in their order."""
    names = dict.fromkeys(name for each in member.outputs.values() for name in each)
    order = sorted(member.outputs)
    return {name: ",".join(member.outputs[at][name] for at in order if name in member.outputs[at]) for name in names}


def turn(member: Member, node: Node) -> Turn:
    return Turn(member.runtime_name_of(node.iteration), node.iteration, node.work.loop_argument)


def _around(frame: Frame) -> NodeWork:
    return frame.live.node.work if frame.live else NO_WORK
