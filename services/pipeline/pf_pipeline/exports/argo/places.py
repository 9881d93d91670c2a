"""Where artifacts lie in Argo: folders named after nodes and iterations, so that no step has to tell another.

A node lies in the folder of the DAG it is in: `<folder>/<name>-<iteration>`. Each has it as its parameter `pf-at`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from pf_pipeline.documents.templates import PARENT, whole
from pf_pipeline.exports.argo.loops import Loops
from pf_pipeline.exports.argo.texts import RUN, Siblings
from pf_pipeline.plans.domain import Plan, Planned, PlannedDag
from pf_pipeline.plans.paths import MOUNTS

OWN = "{{inputs.parameters.pf-at}}"


@dataclass(frozen=True, slots=True)
class Folder:
    """The folder of a DAG, as a text and in expressions."""

    text: str = OWN
    expression: str = "inputs.parameters['pf-at']"


def mount_path(plan: Plan) -> str:
    """Where steps see the main filesystem."""
    main = plan.main_fs
    return (main.mount_path.rstrip("/") or f"{MOUNTS}/{main.name.rpartition('/')[2]}") if main else ""


def top(plan: Plan) -> Folder:
    """The folder of the run."""
    before = f"{mount_path(plan)}/.pipeline/"
    # JSON's way to quote is also that of expressions.
    return Folder(f"{before}{RUN}/{plan.name}", f"{json.dumps(before)} + workflow.name + '/{plan.name}'")


@dataclass(frozen=True, slots=True)
class Places:
    """Where the artifacts of the nodes of one level are."""

    folder: Folder
    siblings: Siblings
    loops: Loops

    def input(self, node: Planned, name: str) -> str:
        """An input artifact of a node: a path, or several joined by commas."""
        ref = whole(node.inputs[name])
        if ref is None or ref.component is None:
            return ""
        if ref.component == PARENT:
            return f"{{{{inputs.parameters.{ref.name}}}}}"
        return self._output(self.siblings.nodes[ref.component], ref.name)

    def _output(self, node: Planned, name: str) -> str:
        inner = _inner(node, name, self)
        if node.loop is None:
            return f"{self.folder.text}/{node.name}-0/{inner}"
        items = self.loops.static(node)
        if items is not None:
            return ",".join(f"{self.folder.text}/{node.name}-{at}/{inner}" for at in range(len(items)))
        count = self.loops.count(node)
        each = f"{self.folder.expression} + '/{node.name}-' + string(#) + '/{inner}'"
        return f"{{{{=join(map(0..({count} - 1), {{{each}}} ), ',')}}}}"


def _inner(node: Planned, name: str, places: Places) -> str:
    """The rest of the path of an output, below the folder of a node."""
    if not isinstance(node, PlannedDag):
        return name
    ref = whole(node.outputs[name])
    child = node.children[ref.component] if ref and ref.component else None
    if ref is None or child is None:
        return name
    if child.loop is not None:
        where = f"{places.siblings.path}.{node.name}.artifacts.output.{name}"
        places.siblings.report.refuse(where, f"is made of all iterations of {child.name}, which Argo cannot hand out")
    return f"{child.name}-0/{_inner(child, ref.name, places)}"
