"""Plans as pictures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pf_pipeline.drawings.graph import Box, Picture
from pf_pipeline.drawings.mermaid import mermaid
from pf_pipeline.drawings.svg import svg
from pf_pipeline.pipelines.ports import Form
from pf_pipeline.plans.domain import Plan, Planned, PlannedDag, PlannedNode, PlannedStep


def drawn(plan: Plan, form: Form) -> str:
    """The graph of a plan. Fulfils `Drawing`."""
    return render(picture_of(plan), form)


def render(picture: Picture, form: Form) -> str:
    """A picture in a form."""
    return svg(picture) if form is Form.SVG else mermaid(picture)


def picture_of(plan: Plan) -> Picture:
    """What a plan looks like."""
    last = [plan.post_process] if plan.post_process else []
    return Picture(
        title=plan.name, boxes=_boxes(plan.entry_points), lasts=tuple(_box(step) for step in (*last, *plan.on_exit))
    )


def _boxes(nodes: Mapping[str, Planned]) -> tuple[Box, ...]:
    return tuple(_box(node) for node in nodes.values())


def _box(node: Planned) -> Box:
    parts = _boxes(node.children) if isinstance(node, PlannedDag) else ()
    own = _step_marks(node) if isinstance(node, PlannedStep) else ()
    return Box(name=node.name, marks=(*marks(node), *own), after=node.deps, parts=parts)


def marks(node: PlannedNode) -> Iterator[str]:
    """What people should see of any node, also of a run."""
    if node.disabled:
        yield "disabled"
    if node.condition:
        yield f"if {node.condition}"
    if node.loop is not None:
        yield f"for each of {len(node.loop)}" if isinstance(node.loop, tuple) else f"for each of {node.loop}"


def _step_marks(step: PlannedStep) -> Iterator[str]:
    if step.approval:
        yield "needs approval"
    if step.retry and step.retry.limit:
        yield f"up to {step.retry.limit} retries"
    if step.when != "always":
        yield f"if {step.when}"
