"""Follows references: in place of each comes a copy of the component, with what the reference sets.

Copies share what is below them, so that this takes no more memory than the document, however often it refers to what.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from paddleflow.documents.reader import shown
from pf_pipeline.documents.cycles import cycle
from pf_pipeline.documents.findings import Finding, Path
from pf_pipeline.documents.hints import did_you_mean, one_of
from pf_pipeline.documents.model import Dag, Document, ExitHandler, Node, Parameter, Reference, Step
from pf_pipeline.documents.sizes import Sizes, too_much
from pf_pipeline.documents.types import wrong_type


def expanded(document: Document) -> tuple[Document, tuple[Finding, ...]]:
    """The document without references, and what is wrong with them; one that is wrong stays where it is."""
    expansion = _Expansion(document.components)
    expansion.prepare()
    entry_points = expansion.nodes(document.entry_points, ("entry_points",))
    post_process = {name: expansion.last(step, ("post_process", name)) for name, step in document.post_process.items()}
    on_exit = {
        name: ExitHandler(expansion.last(handler.step, ("on_exit", name)), handler.when)
        for name, handler in document.on_exit.items()
    }
    if told := too_much(expansion.sizes.of_all(entry_points)):
        return replace(document, entry_points={}), (*expansion.findings, Finding(("entry_points",), told))
    components = {name: expansion.ready.get(name, node) for name, node in document.components.items()}
    made = replace(
        document, entry_points=entry_points, components=components, post_process=post_process, on_exit=on_exit
    )
    return made, tuple(expansion.findings)


def referred(document: Document) -> frozenset[str]:
    """The components that something outside of `components` refers to, or one of these in turn."""
    lasts = (*document.post_process.values(), *(handler.step for handler in document.on_exit.values()))
    waiting = list({name for node in (*document.entry_points.values(), *lasts) for name in _references(node)})
    found: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += _references(document.components[name]) if name in document.components else ()
    return frozenset(found)


@dataclass(slots=True)
class _Expansion:
    components: Mapping[str, Node]
    ready: dict[str, Node] = field(default_factory=dict)
    """Components without references."""
    findings: list[Finding] = field(default_factory=list)
    sizes: Sizes = field(default_factory=Sizes)
    copied: int = 0
    """Parameters of copies, which these do not share."""

    def prepare(self) -> None:
        """Makes the components ready, each after those that it refers to."""
        graph = {name: set(_references(node)) & self.components.keys() for name, node in self.components.items()}
        if circle := cycle(graph):
            told = " -> ".join((*circle, circle[0]))
            message = f"components refer to one another in a cycle: {told}"
            self.findings.append(Finding(("components", circle[0]), message))
        users: dict[str, list[str]] = {name: [] for name in graph}
        for name, used in graph.items():
            for each in used:
                users[each].append(name)
        missing = {name: len(used) for name, used in graph.items()}
        waiting = [name for name, count in missing.items() if not count]
        while waiting:
            name = waiting.pop()
            node = self.node(self.components[name], ("components", name))
            if told := too_much(self.sizes.of(node)):
                self.findings.append(Finding(("components", name), told))
                break
            self.ready[name] = node
            for user in users[name]:
                missing[user] -= 1
                if not missing[user]:
                    waiting.append(user)

    def nodes(self, nodes: Mapping[str, Node], path: Path) -> Mapping[str, Node]:
        made = {name: self.node(node, (*path, name)) for name, node in nodes.items()}
        return made if any(made[name] is not node for name, node in nodes.items()) else nodes

    def node(self, node: Node, path: Path) -> Node:
        if isinstance(node, Step):
            return node
        if isinstance(node, Dag):
            children = self.nodes(node.children, (*path, "entry_points"))
            return node if children is node.children else replace(node, children=children)
        return self._copy(node, path)

    def last(self, step: Step | Reference, path: Path) -> Step | Reference:
        node = self.node(step, path)
        if isinstance(node, Dag):
            self.findings.append(Finding((*path, "reference"), f"{path[0]} must be a step, and {step.name} is a DAG"))
            return step
        return node

    def _copy(self, reference: Reference, path: Path) -> Node:
        component = self.ready.get(reference.component)
        if component is None:
            if reference.component not in self.components:
                hint = one_of(reference.component, self.components)
                message = f"{reference.name} refers to {shown(reference.component)}, which components do not have{hint}"
                self.findings.append(Finding((*path, "reference", "component"), message))
            return reference
        if isinstance(component, Reference):
            return reference
        self.findings += _mistakes(reference, component, path)
        self.copied += len(component.parameters) if reference.parameters else 0
        if self.copied > _MOST_COPIED:
            self.ready.clear()
            self.findings.append(Finding(path, "copies of components have too many parameters"))
            return reference
        return replace(
            component,
            name=reference.name,
            deps=reference.deps,
            parameters=_overridden(component.parameters, reference.parameters)
            if reference.parameters
            else component.parameters,
            inputs=reference.inputs,
            reference=reference.component,
        )


_MOST_COPIED = 1_000_000


def _overridden(parameters: Mapping[str, Parameter], by: Mapping[str, Parameter]) -> Mapping[str, Parameter]:
    return {
        name: Parameter(by[name].value, by[name].kind or parameter.kind) if name in by else parameter
        for name, parameter in parameters.items()
    }


def _mistakes(reference: Reference, component: Step | Dag, path: Path) -> Iterator[Finding]:
    """What a reference sets that it cannot, and what it does not set."""
    name, copied = reference.name, reference.component
    for parameter, said in reference.parameters.items():
        known = component.parameters.get(parameter)
        place = (*path, "parameters", parameter)
        if known is None:
            hint = did_you_mean(parameter, component.parameters)
            yield Finding(place, f"{name} sets parameter {shown(parameter)}, which {copied} does not have{hint}")
        elif said.kind and known.kind and said.kind != known.kind:
            yield Finding(
                place, f"{name} sets parameter {parameter} as {said.kind}, and {copied} has it as {known.kind}"
            )
        elif said.value is not None and (wrong := wrong_type(said.value, known.kind)):
            yield Finding(place, f"parameter {parameter} of {name} {wrong}")
    if path[0] != "components":
        for parameter, known in component.parameters.items():
            if known.value is None and parameter not in reference.parameters:
                yield Finding((*path, "reference"), f"{name} must set {parameter}, which {copied} leaves open")
    for missing in component.inputs.keys() - reference.inputs.keys():
        yield Finding((*path, "reference"), f"{name} must say where the input artifact {missing} comes from")
    for unknown in reference.inputs.keys() - component.inputs.keys():
        message = f"{name} sets the input artifact {shown(unknown)}, which {copied} does not have"
        yield Finding((*path, "artifacts", "input", unknown), message)


def _references(node: Node) -> list[str]:
    """The components that a node, and whatever is below it, refers to."""
    if isinstance(node, Reference):
        return [node.component]
    return [name for child in node.children.values() for name in _references(child)] if isinstance(node, Dag) else []
