"""What a run would do, as it is told to whoever asks."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, replace

from paddleflow.pipeline.v1 import run_pb2
from pf_kit.clock import Clock
from pf_pipeline.documents.reading import read
from pf_pipeline.documents.writing import yaml_of
from pf_pipeline.owners import Owner
from pf_pipeline.plans.domain import Plan, Planned, PlannedStep
from pf_pipeline.plans.planning import accepted
from pf_pipeline.runs.convert import node_message
from pf_pipeline.runs.domain import Node, Order
from pf_pipeline.runs.states import NODE_GOOD, NodeState
from pf_pipeline.runs.taking import request_of
from pf_pipeline.views.dry_words import ITEM
from pf_pipeline.views.foretelling import Prediction, depends_on
from pf_pipeline.views.frames import planned_at
from pf_pipeline.views.hinges import Hinges, hinges_of
from pf_pipeline.views.listing import place_of
from pf_pipeline.views.rehearsing import Rehearsal, Rehearsing, bare

MOST_BYTES = 3 * 2**20
"""Of all nodes together: clients take messages of 4 MiB."""
PREDICTIONS = {
    Prediction.NONE: run_pb2.CACHE_PREDICTION_UNSPECIFIED,
    Prediction.OFF: run_pb2.CACHE_PREDICTION_OFF,
    Prediction.HIT: run_pb2.CACHE_PREDICTION_HIT,
    Prediction.MISS: run_pb2.CACHE_PREDICTION_MISS,
    Prediction.UNKNOWN: run_pb2.CACHE_PREDICTION_UNKNOWN,
}


@dataclass(frozen=True, slots=True)
class Planning:
    """Tells what runs would do."""

    rehearsing: Rehearsing
    clock: Clock

    async def planned(self, owner: Owner, order: Order, plan: Plan) -> run_pb2.PlanRunResponse:
        """What a run would do."""
        rehearsal = await self.rehearsing.rehearsed(owner, order, plan, self.clock.now())
        told = run_pb2.PlanRunResponse(document=await asyncio.to_thread(_document, order))
        teller = _Teller(rehearsal, plan, hinges_of(rehearsal.nodes, rehearsal.foretold))
        left = MOST_BYTES - len(told.document)
        for node in sorted(rehearsal.nodes.values(), key=place_of):
            message = teller.message(node)
            await asyncio.sleep(0)
            left -= message.ByteSize()
            if left < 0:
                told.left_out += 1
            else:
                told.nodes.append(message)
        told.left_out += sum(_unshown(rehearsal))
        return told


def _document(order: Order) -> str:
    return yaml_of(accepted(read(order.document), request_of(order)).document)


def _unshown(rehearsal: Rehearsal) -> Iterator[int]:
    """Iterations that were not thought through, of each loop."""
    for path, length in rehearsal.lengths.items():
        node = rehearsal.nodes.get(path)
        if node is not None:
            yield max(0, length - max(1, node.iterations))


@dataclass(frozen=True, slots=True)
class _Teller:
    """Tells of each node what would become of it."""

    rehearsal: Rehearsal
    plan: Plan
    hinges: Hinges

    def message(self, node: Node) -> run_pb2.PlannedNode:
        planned = planned_at(self.plan, node)
        prediction, why = self._prediction(node, planned)
        told = bare(node)
        if node.first_path in self.rehearsal.lengths:
            told = replace(told, iterations=self.rehearsal.lengths[node.first_path])
        told = replace(told, message="; ".join((*self._notes(node), *filter(None, [node.message]))))
        message = node_message(told, planned)
        return run_pb2.PlannedNode(node=message, prediction=PREDICTIONS[prediction], message=why)

    def _notes(self, node: Node) -> Iterator[str]:
        """What nobody knows before the run goes on."""
        if node.path in self.rehearsal.approvals:
            yield f"it would wait for the approval of {', '.join(self.rehearsal.approvals[node.path])}"
        if "{{" in node.work.condition:
            yield "whether its condition holds is not known yet"
        if node.work.loop_argument == ITEM:
            yield "what it is repeated for is not known yet"

    def _prediction(self, node: Node, planned: Planned | None) -> tuple[Prediction, str]:
        foretold = self.rehearsal.foretold.get(node.path)
        if foretold is not None and foretold.prediction is Prediction.UNKNOWN and depends_on(node):
            return foretold.prediction, self.hinges.told(node) or foretold.message
        if foretold is not None:
            return foretold.prediction, foretold.message
        if not isinstance(planned, PlannedStep) or node.state is not NodeState.SUCCEEDED:
            return Prediction.NONE, "" if node.state in NODE_GOOD else node.message
        return Prediction.OFF, _why_off(planned)


def _why_off(planned: PlannedStep) -> str:
    if not planned.cache.enable:
        return "`cache.enable` is not set for it"
    if not planned.command:
        return "it has no command"
    return "the run is not to run any command"
