"""Texts with templates, as Argo writes them.

Argo replaces whatever stands in double braces, so nothing that somebody wrote may: such texts are refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pf_pipeline.documents.model import Value
from pf_pipeline.documents.templates import LOOP_ARGUMENT, PARENT, Ref, refs, replaced, whole
from pf_pipeline.exports.report import Report
from pf_pipeline.plans.domain import Planned, PlannedStep
from pf_pipeline.plans.values import text_of

RUN = "{{workflow.name}}"
USER = "{{workflow.parameters.pf-user}}"
ITEM = "{{item.value}}"
OWN_ITEM = "{{inputs.parameters.pf-item}}"


def filled(text: str, meaning: Callable[[Ref], str], path: str, report: Report) -> str:
    """The text with Argo's templates in place of ours."""
    if "{{" in replaced(text, lambda _: ""):
        report.refuse(path, "has two braces in a row that are no template, which Argo would take for one of its own")
    return replaced(text, meaning)


def literal(text: str, path: str, report: Report) -> str:
    """A text in which nothing is a template."""
    if "{{" in text:
        report.refuse(path, "has two braces in a row, which Argo would take for a template of its own")
    return text


def own_meaning(step: PlannedStep, parameters: Mapping[str, object], at: str) -> Callable[[Ref], str]:
    """What templates mean in the command and the environment of a step."""
    system = {"PF_RUN_ID": RUN, "PF_USER_NAME": USER, "PF_STEP_NAME": step.name, LOOP_ARGUMENT: OWN_ITEM}

    def meaning(ref: Ref) -> str:
        if ref.name in step.outputs:
            return f"{at}/{ref.name}"
        if ref.name in parameters or ref.name in step.inputs:
            return f"{{{{inputs.parameters.{ref.name}}}}}"
        return system[ref.name]

    return meaning


@dataclass(frozen=True, slots=True)
class Siblings:
    """The nodes of one level, and what their parameters mean there."""

    nodes: Mapping[str, Planned]
    tasks: Mapping[str, str]
    """Names of the tasks of nodes."""
    path: str
    report: Report

    def value(self, name: str, parameter: str, item: str) -> str:
        """A parameter of a node, with templates of Argo; `item` stands for what the node is repeated for."""
        node = self.nodes[name]
        raw = node.parameters[parameter]
        where = f"{self.path}.{name}.parameters.{parameter}"
        if not isinstance(raw, str):
            return literal(text_of(raw), where, self.report)
        return filled(raw, lambda ref: self._meaning(node, ref, item, where), where, self.report)

    def static(self, name: str, parameter: str) -> Value | None:
        """A parameter that is known beforehand; None if it is not."""
        raw = self.nodes[name].parameters[parameter]
        if not isinstance(raw, str) or not refs(raw):
            return raw
        ref = whole(raw)
        if ref and ref.component and ref.component in self.nodes and ref.name in self.nodes[ref.component].parameters:
            return self.static(ref.component, ref.name)
        return None

    def _meaning(self, node: Planned, ref: Ref, item: str, where: str) -> str:
        if ref.component is None:
            system = {"PF_RUN_ID": RUN, "PF_USER_NAME": USER, "PF_STEP_NAME": node.name, LOOP_ARGUMENT: item}
            return system[ref.name]
        if ref.component == PARENT:
            return f"{{{{inputs.parameters.{'pf-item' if ref.name == LOOP_ARGUMENT else ref.name}}}}}"
        sibling = self.nodes[ref.component]
        if ref.name in sibling.parameters:
            return self.value(ref.component, ref.name, self._first_item(sibling, ref.name, where))
        if sibling.loop is not None:
            self.report.refuse(where, f"takes a result of {ref.component}, which is repeated")
        return f"{{{{tasks.{self.tasks[ref.component]}.outputs.parameters.{ref.name}}}}}"

    def _first_item(self, sibling: Planned, parameter: str, where: str) -> str:
        """Whoever refers to a parameter of what is repeated means that of the first iteration."""
        raw = sibling.parameters[parameter]
        if not isinstance(raw, str) or (None, LOOP_ARGUMENT) not in refs(raw):
            return ""
        if isinstance(sibling.loop, tuple) and sibling.loop:
            return literal(text_of(sibling.loop[0]), where, self.report)
        self.report.refuse(where, f"depends on the first item of {sibling.name}, which is known only as it runs")
        return ""
