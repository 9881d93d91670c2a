"""DAGs in Argo: tasks with what they wait for, what they are given, and when they are left out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pf_pipeline.documents.model import Strategy
from pf_pipeline.documents.templates import LOOP_ARGUMENT, Ref, refs, whole
from pf_pipeline.exports.argo.loops import Loops
from pf_pipeline.exports.argo.names import unused
from pf_pipeline.exports.argo.places import Folder, Places
from pf_pipeline.exports.argo.steps import READER, Steps, reader
from pf_pipeline.exports.argo.texts import RUN, USER, Siblings, filled
from pf_pipeline.exports.report import Report
from pf_pipeline.plans.domain import Plan, Planned, PlannedStep


@dataclass(slots=True)
class Templates:
    """Makes the templates of a workflow."""

    plan: Plan
    report: Report
    made: dict[str, dict[str, Any]] = field(default_factory=dict)

    def level(self, name: str, path: str, nodes: Mapping[str, Planned], folder: Folder, given: Sequence[str]) -> None:
        """The template of a DAG, and those of all in it."""
        self.made[name] = {}  # keeps its place, before those of its parts
        tasks: dict[str, str] = {}
        for node in nodes:
            tasks[node] = unused(node, set(tasks.values()))
        siblings = Siblings(nodes, tasks, path, self.report)
        loops = Loops(siblings)
        level = _Level(self, siblings, loops, Places(folder, siblings, loops), name)
        told = [task for node in nodes.values() for task in level.tasks(node)]
        dag: dict[str, Any] = {"tasks": told}
        if self.plan.strategy is Strategy.CONTINUE:
            dag["failFast"] = False
        inputs = {"inputs": {"parameters": [{"name": each} for each in given]}} if given else {}
        self.made[name] = {"name": name, **inputs, "dag": dag}

    def node(self, above: str, path: str, node: Planned) -> str:
        """The name of the template of a node, which is made."""
        name = unused(node.name if above == "main" else f"{above}-{node.name}", self.made)
        if isinstance(node, PlannedStep):
            self.made[name] = Steps(self.plan, self.report).template(name, path, node)
        else:
            self.level(name, f"{path}.entry_points", node.children, Folder(), given_to(self.plan, node))
        return name

    def reader(self) -> str:
        self.made.setdefault(READER, reader(self.plan))
        return READER

    def approval(self) -> str:
        self.made.setdefault("approval", {"name": "approval", "suspend": {}})
        return "approval"


def given_to(plan: Plan, node: Planned) -> list[str]:
    """The names of what the template of a node is given."""
    place = ["pf-at"] if plan.main_fs else []
    return [*node.parameters, *node.inputs, *place, *(["pf-item"] if node.loop is not None else [])]


@dataclass(frozen=True, slots=True)
class _Level:
    """The tasks of one DAG."""

    templates: Templates
    siblings: Siblings
    loops: Loops
    places: Places
    name: str

    def tasks(self, node: Planned) -> list[dict[str, Any]]:
        """The task of a node, behind those that it needs."""
        path = f"{self.siblings.path}.{node.name}"
        before = [self.siblings.tasks[dep] for dep in node.deps]
        helpers = [] if node.disabled else [*self._readers(node, before), *self._approvals(node, before, path)]
        waits = [*before, *(helper["name"] for helper in helpers)]
        if node.max_parallel:
            self.templates.report.lost(f"{path}.max_parallel", "all iterations may run at once")
        task: dict[str, Any] = {
            "name": self.siblings.tasks[node.name],
            "template": self.templates.node(self.name, path, node),
            **_depends(waits),
            **self._when(node, path),
            "arguments": {"parameters": self._arguments(node)},
            **({} if node.disabled else self.loops.fields(node)),
        }
        if node.disabled and node.loop is not None:
            task["withItems"] = [{"seq": "0", "value": ""}]
        return [*helpers, task]

    def _arguments(self, node: Planned) -> list[dict[str, str]]:
        item = self.loops.item(node)
        told = {name: self.siblings.value(node.name, name, item) for name in node.parameters}
        told |= {name: self.places.input(node, name) for name in node.inputs}
        if self.templates.plan.main_fs:
            told["pf-at"] = f"{self.places.folder.text}/{node.name}-{self.loops.number(node)}"
        if node.loop is not None:
            told["pf-item"] = item
        return [{"name": name, "value": value} for name, value in told.items()]

    def _when(self, node: Planned, path: str) -> dict[str, str]:
        if node.disabled:
            return {"when": "false"}
        if not node.condition:
            return {}
        return {"when": filled(node.condition, self._meaning(node), f"{path}.condition", self.templates.report)}

    def _meaning(self, node: Planned) -> Callable[[Ref], str]:
        """What templates mean in a condition: values, and contents of files."""
        item = self.loops.item(node)
        system = {"PF_RUN_ID": RUN, "PF_USER_NAME": USER, "PF_STEP_NAME": node.name, LOOP_ARGUMENT: item}

        def meaning(ref: Ref) -> str:
            if ref.name in node.parameters:
                return self.siblings.value(node.name, ref.name, item)
            if ref.name in node.inputs:
                return f"{{{{tasks.{self.loops.reader(node, ref.name)}.outputs.parameters.text}}}}"
            return system[ref.name]

        return meaning

    def _readers(self, node: Planned, before: Sequence[str]) -> list[dict[str, Any]]:
        """Tasks that read files which decide about a node."""
        loop = whole(node.loop) if isinstance(node.loop, str) else None
        wanted = [*([loop] if loop else []), *refs(node.condition)]
        names = dict.fromkeys(ref.name for ref in wanted if ref.name in node.inputs)
        for name in names:
            message = f"a task of its own reads {name} before, and takes no more than 1 MiB"
            self.templates.report.emulated(f"{self.siblings.path}.{node.name}.artifacts.input.{name}", message)
        return [
            {
                "name": self.loops.reader(node, name),
                "template": self.templates.reader(),
                **_depends(before),
                "arguments": {"parameters": [{"name": "file", "value": self.places.input(node, name)}]},
            }
            for name in names
        ]

    def _approvals(self, node: Planned, before: Sequence[str], path: str) -> list[dict[str, Any]]:
        if not isinstance(node, PlannedStep) or node.approval is None:
            return []
        message = "the workflow is suspended before; whoever may resume workflows agrees by that, and nobody can refuse"
        self.templates.report.emulated(f"{path}.approval", message)
        if node.approval.timeout:
            self.templates.report.lost(f"{path}.approval.timeout", "it waits for ever")
        name = f"{self.siblings.tasks[node.name]}-approval"
        return [{"name": name, "template": self.templates.approval(), **_depends(before)}]


def _depends(names: Sequence[str]) -> dict[str, str]:
    """What succeeded or was skipped is enough: this is what Argo means, too."""
    return {"depends": " && ".join(names)} if names else {}
