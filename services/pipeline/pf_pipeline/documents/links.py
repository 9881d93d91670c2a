"""What components may take from others: those that they depend on, the DAG they are in, their children."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

from paddleflow.documents.reader import shown
from pf_pipeline.documents.findings import Finding, Path
from pf_pipeline.documents.hints import did_you_mean
from pf_pipeline.documents.model import Component, Dag, Node, Reference, Step
from pf_pipeline.documents.templates import LOOP_ARGUMENT, PARENT, REMOVED, SYSTEM, Ref, refs, too_long, whole


@dataclass(frozen=True, slots=True)
class Scope:
    """What is around a component."""

    siblings: Mapping[str, Node]
    parent: Dag | None = None
    open: bool = False
    """True of a component that nobody refers to: what will be around it is not known."""
    outputs: dict[str, Collection[str]] = field(default_factory=dict)
    """Names of output artifacts of those siblings that have been asked for them."""

    def outputs_of(self, node: Step | Dag) -> Collection[str]:
        if node.name not in self.outputs:
            self.outputs[node.name] = frozenset(node.outputs)
        return self.outputs[node.name]


@dataclass(frozen=True, slots=True)
class View:
    """A component, and what it sees."""

    node: Step | Dag
    deps: Collection[str]
    scope: Scope


def check_links(node: Step | Dag, path: Path, scope: Scope) -> Iterator[Finding]:
    """What a component takes in vain."""
    seen = View(node, frozenset(node.deps), scope)
    for name, parameter in node.parameters.items():
        if isinstance(parameter.value, str) and "{{" in parameter.value:
            yield from _parameter(seen, parameter.value, (*path, "parameters", name))
    for name, text in node.inputs.items():
        yield from _input(seen, name, text, (*path, "artifacts", "input", name))
    if isinstance(node, Dag):
        yield from _outputs(node, path)


def _parameter(seen: View, text: str, path: Path) -> Iterator[Finding]:
    what = f"parameter {path[-1]} of {seen.node.name}"
    for ref in refs(text):
        if message := _parameter_fault(seen, ref):
            yield Finding(path, f"{what} refers to {ref}: {message}")
    for long, first in too_long(text):
        if first == PARENT or first in seen.deps:
            yield Finding(path, f"{what} has {shown(long)}: a template has one dot at most")


def _parameter_fault(seen: View, ref: Ref) -> str:
    """Why a parameter cannot refer to this; empty if it can."""
    if not ref.component:
        return _system_fault(seen.node, ref)
    if ref.component == PARENT:
        return _parent_fault(seen.node, ref, seen.scope)
    if ref.component not in seen.deps:
        return _no_dep(seen, ref)
    dep = seen.scope.siblings.get(ref.component)
    if not isinstance(dep, Step | Dag) or ref.name in dep.parameters:
        return ""
    if isinstance(dep, Step) and ref.name in dep.results:
        return ""
    known = (*dep.parameters, *dep.results) if isinstance(dep, Step) else tuple(dep.parameters)
    return f"{ref.component} has no parameter {ref.name}{did_you_mean(ref.name, known)}"


def _system_fault(node: Step | Dag, ref: Ref) -> str:
    if ref == (None, LOOP_ARGUMENT) and node.loop is None:
        return no_loop(node)
    if ref.component is None and ref.name in SYSTEM:
        return ""
    if ref.name in REMOVED:
        return f"{ref.name} does not exist any more"
    if ref.name in node.parameters:
        return "parameters of one component cannot refer to one another"
    return f"there is no such variable of the system{did_you_mean(ref.name, SYSTEM)}"


def _parent_fault(node: Step | Dag, ref: Ref, scope: Scope) -> str:
    if scope.open:
        return ""
    parent = scope.parent
    if parent is None:
        return f"{node.name} stands at the top, and has no {PARENT}"
    if ref.name == LOOP_ARGUMENT:
        return "" if parent.loop is not None else no_loop(parent)
    if ref.name in parent.parameters:
        return ""
    if ref.name in parent.inputs:
        return f"{ref.name} is an artifact of {parent.name}, and this must be a parameter"
    return f"{parent.name} has no parameter {ref.name}{did_you_mean(ref.name, parent.parameters)}"


def no_loop(node: Component) -> str:
    return f"{node.name} has no loop_argument, so there is no {LOOP_ARGUMENT}"


def _no_dep(seen: View, ref: Ref) -> str:
    component = ref.component or ""
    if seen.scope.open:
        return ""
    if component in seen.scope.siblings:
        return f"{component} is not in deps of {seen.node.name}; add it there"
    hint = did_you_mean(component, seen.deps)
    return f"{component} is not in deps of {seen.node.name}, and there is no such component{hint}"


def _input(seen: View, name: str, text: str, path: Path) -> Iterator[Finding]:
    ref = whole(text)
    what = f"input artifact {name} of {seen.node.name}"
    if ref is None or not ref.component:
        if not (seen.scope.open and not text):
            said = shown(text)
            yield Finding(path, f"{what} must be exactly one template, {{{{component.output}}}}, and is {said}")
    elif message := _input_fault(seen, ref):
        yield Finding(path, f"{what} refers to {ref}: {message}")


def _input_fault(seen: View, ref: Ref) -> str:
    component = ref.component or ""
    if component == PARENT:
        return _parent_input_fault(seen.node, ref, seen.scope)
    if component not in seen.deps:
        return _no_dep(seen, ref)
    dep = seen.scope.siblings.get(component)
    return "" if dep is None or isinstance(dep, Reference) else _output_fault(dep, ref.name, seen.scope)


def _parent_input_fault(node: Step | Dag, ref: Ref, scope: Scope) -> str:
    if scope.open:
        return ""
    if scope.parent is None:
        return f"{node.name} stands at the top, and has no {PARENT}"
    if ref.name in scope.parent.inputs:
        return ""
    return f"{scope.parent.name} has no input artifact {ref.name}{did_you_mean(ref.name, scope.parent.inputs)}"


def _output_fault(node: Step | Dag, name: str, scope: Scope) -> str:
    if name not in scope.outputs_of(node):
        return f"{node.name} has no output artifact {name}{did_you_mean(name, tuple(node.outputs))}"
    if node.condition:
        return f"{node.name} has a condition, so it may be skipped, and nobody can rely on its artifacts"
    return ""


def _outputs(dag: Dag, path: Path) -> Iterator[Finding]:
    scope = Scope(dag.children)
    for name, text in dag.outputs.items():
        place = (*path, "artifacts", "output", name)
        what = f"output artifact {name} of {dag.name}"
        ref = whole(text)
        if ref is None or not ref.component:
            yield Finding(place, f"{what} must be exactly one template, {{{{child.output}}}}, and is {shown(text)}")
            continue
        child = dag.children.get(ref.component)
        if child is None:
            yield Finding(place, f"{what} refers to {ref}: {dag.name} does not consist of {ref.component}")
        elif not isinstance(child, Reference) and (message := _output_fault(child, ref.name, scope)):
            yield Finding(place, f"{what} refers to {ref}: {message}")
