"""How values get from the components that have them to those that use them.

The language lets a component refer to its own values, to those of its siblings, and to those of the DAG it is in. What
is used over a longer way is handed through: a DAG gets parameters and input artifacts for what components in it use
from outside, and output artifacts for what others use from inside. They are named after what they hand through.
"""

from __future__ import annotations

from collections.abc import Mapping

from paddleflow.pipeline.dsl.compiler.tree import (
    ARTIFACTS,
    Kind,
    Source,
    Tree,
    Unwired,
    child_towards,
    is_inside,
)
from paddleflow.pipeline.dsl.compiler.wires import Wires, own_names
from paddleflow.pipeline.dsl.component import DAG, Component
from paddleflow.pipeline.dsl.io_types import Artifact, Parameter


class Wiring:
    """The wires of all components of a tree."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self._wires = {component: self._reserved(component) for component in tree.components}

    def of(self, component: Component) -> Wires:
        """The wires of this component."""
        return self._wires[component]

    def _reserved(self, component: Component) -> Wires:
        """What the program itself named, so that it is used again and nothing else gets these names."""
        wires = Wires(taken={name.lower() for name, _ in own_names(component)})
        _remember(self.tree, component.parameters, wires.known)
        _remember(self.tree, component.inputs, wires.known)
        if isinstance(component, DAG):
            _remember(self.tree, component.outputs, wires.exported)
        return wires

    def own_name(self, component: Component, source: Source) -> str:
        """How the component itself calls this value in its texts; brings it in if it is of another one."""
        if source.component is not component:
            return self._brought(component, source)
        if source.kind is Kind.RESULT:
            raise Unwired(f"refers to its own result {source.name}, which is known only when it has ended")
        if source.kind is Kind.OUTPUT and isinstance(component, DAG):
            raise Unwired(f"refers to its own output artifact {source.name}, which is known only when it has ended")
        return "PF_LOOP_ARGUMENT" if source.kind is Kind.ITEM else source.name

    def _brought(self, component: Component, source: Source) -> str:
        """Under which of its own names the component has this value of another one."""
        wires = self.of(component)
        if source not in wires.known:
            brought = self.template(component, source)
            name = wires.new_name(source)
            wires.known[source] = name
            if source.kind in ARTIFACTS:
                wires.inputs[name] = brought
            else:
                wires.parameters[name] = brought
        return wires.known[source]

    def template(self, component: Component, source: Source) -> str:
        """What is written where the component is given this value, among its parameters or input artifacts."""
        owner, parent = source.component, component.parent
        if owner is component:
            return _of_itself(source)
        if parent is None or owner is self.tree.root:
            raise Unwired(f"refers to the {source.kind} {source.name} of the pipeline itself, which has none")
        if source.kind is Kind.INPUT and not is_inside(component, owner):
            # What a component only reads, whoever made it gives as well.
            return self.template(component, self.tree.source_of(owner.inputs[source.name]))
        if owner is parent:
            return _of_parent(source)
        if is_inside(owner, parent):
            return self._of_sibling(component, source)
        return f"{{{{PF_PARENT.{self._brought(parent, source)}}}}}"

    def _of_sibling(self, component: Component, source: Source) -> str:
        """What a sibling has, or a component inside of a sibling."""
        sibling = child_towards(component.parent, source.component)
        if sibling is component:
            raise Unwired(f"refers to the {source.kind} {source.name} of {self._path(source)}, which is inside of it")
        if source.kind is Kind.ITEM:
            raise Unwired(f"refers to the loop item of {self._path(source)}, which only that and what is in it can use")
        name = source.name if sibling is source.component else self.export(sibling, source)
        self.of(component).deps.add(sibling.name)
        return f"{{{{{sibling.name}.{name}}}}}"

    def export(self, dag: Component, source: Source) -> str:
        """Under which name the DAG gives this value of a component in it."""
        if source.kind not in ARTIFACTS:
            raise Unwired(
                f"refers to the {source.kind} {source.name} of {self._path(source)}, which is inside of the DAG"
                f" {self.tree.path(dag)}: only artifacts can leave a DAG"
            )
        wires = self.of(dag)
        if source not in wires.exported:
            handed = self.handed(dag, source)
            name = wires.new_name(source)
            wires.outputs[name], wires.exported[source] = handed, name
        return wires.exported[source]

    def handed(self, dag: Component, source: Source) -> str:
        """What is written where a DAG gives an artifact of a component in it."""
        if source.kind is not Kind.OUTPUT or not is_inside(source.component, dag):
            raise Unwired(f"gives the {source.kind} {source.name} of {self._path(source)}, which is not made in it")
        child = child_towards(dag, source.component)
        name = source.name if child is source.component else self.export(child, source)
        return f"{{{{{child.name}.{name}}}}}"

    def put_after(self, component: Component, other: Component) -> None:
        """Lets the component, or the DAG it is in, begin after the other one."""
        if other is component or is_inside(other, component) or is_inside(component, other):
            raise Unwired(f"is put after {self.tree.path(other)}, but one of them is, or is inside of, the other")
        while not is_inside(other, component.parent):
            component = component.parent
        self.of(component).deps.add(child_towards(component.parent, other).name)

    def _path(self, source: Source) -> str:
        return self.tree.path(source.component)


def _remember(tree: Tree, values: Mapping[str, Parameter | Artifact], names: dict[Source, str]) -> None:
    for name, value in values.items():
        try:
            names.setdefault(tree.source_of(value), name)
        except Unwired:
            # It is said where the value is written down.
            continue


def _of_itself(source: Source) -> str:
    if source.kind is not Kind.ITEM:
        raise Unwired(f"refers to its own {source.kind} {source.name}: name it {{{{{source.name}}}}} in texts")
    return "{{PF_LOOP_ARGUMENT}}"


def _of_parent(source: Source) -> str:
    match source.kind:
        case Kind.ITEM:
            return "{{PF_PARENT.PF_LOOP_ARGUMENT}}"
        case Kind.PARAMETER | Kind.INPUT:
            return f"{{{{PF_PARENT.{source.name}}}}}"
    raise Unwired(f"refers to the {source.kind} {source.name} of the DAG it is in, which is known only after it")
