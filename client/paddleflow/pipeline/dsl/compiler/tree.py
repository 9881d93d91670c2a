"""The components of a pipeline, and whose value it is that something refers to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeGuard

from paddleflow.pipeline.dsl.component import DAG, Component, ContainerStep
from paddleflow.pipeline.dsl.io_types import (
    Artifact,
    ArtifactPlaceholder,
    LoopItem,
    LoopPlaceholder,
    Parameter,
    ParameterPlaceholder,
    Placeholder,
    Result,
    ResultPlaceholder,
)

Referring = Parameter | Artifact | Result | LoopItem | Placeholder
"""What refers to a value of a component."""


class Unwired(Exception):
    """Something cannot be referred to from here; the text says why, and what to do."""


class Kind(StrEnum):
    """What of a component is referred to, in the words of messages."""

    PARAMETER = "parameter"
    RESULT = "result"
    INPUT = "input artifact"
    OUTPUT = "output artifact"
    ITEM = "loop item"


ARTIFACTS = frozenset({Kind.INPUT, Kind.OUTPUT})


@dataclass(frozen=True, slots=True)
class Source:
    """A value, and the component it belongs to."""

    component: Component
    kind: Kind
    name: str


def refers(value: object) -> TypeGuard[Referring]:
    """Whether this stands for a value of a component."""
    return isinstance(value, Referring)


def is_inside(component: Component, dag: Component) -> bool:
    """Whether the component is in this DAG, however deep."""
    above = component.parent
    while above is not None and above is not dag:
        above = above.parent
    return above is dag


def child_towards(dag: Component, component: Component) -> Component:
    """The component directly in the DAG that this one is, or is in."""
    while component.parent is not dag:
        component = component.parent
    return component


class Tree:
    """A DAG or a step, with all that is in it."""

    def __init__(self, root: Component) -> None:
        self.root = root
        self.components = list(_all(root))
        self._named = _names(self.components)

    def path(self, component: Component) -> str:
        """The names from below the root down to the component, joined by dots; of the root its own."""
        return component.full_name.removeprefix(f"{self.root.full_name}.")

    def named(self, full_name: str) -> Component:
        """The component that has, or had, this full name."""
        found = self._named.get(full_name)
        if found is None:
            raise Unwired(f"refers to {full_name}, which is not in this pipeline, or is not the only one of that name")
        return found

    def source(self, value: Referring) -> Source:
        """What the value stands for; raises Unwired if its component has no such thing, or is not in the tree."""
        if isinstance(value, Placeholder):
            return self._by_name(value)
        component = value.component
        if component is None:
            raise Unwired(f"refers to a {type(value).__name__} that belongs to no step or DAG")
        if component is not self.root and not is_inside(component, self.root):
            raise Unwired(f"refers to {component.full_name}, which it cannot use: it is not in the same pipeline")
        return _owned(component, value)

    def source_of(self, value: Parameter | Artifact) -> Source:
        """What a parameter or an artifact was set to; raises Unwired if that is nothing of a component."""
        if not refers(value.ref):
            raise Unwired(f"refers to {value.ref!r}, which is nothing of a step or DAG")
        return self.source(value.ref)

    def _by_name(self, mention: Placeholder) -> Source:
        component = self.named(mention.component_full_name)
        match mention:
            case ParameterPlaceholder():
                return _existing(component, Kind.PARAMETER, mention.name)
            case ResultPlaceholder():
                return _existing(component, Kind.RESULT, mention.name)
            case LoopPlaceholder():
                return _existing(component, Kind.ITEM, mention.name)
            case ArtifactPlaceholder() if mention.name in component.inputs:
                return Source(component, Kind.INPUT, mention.name)
        return _existing(component, Kind.OUTPUT, mention.name)


def _owned(component: Component, value: Parameter | Artifact | Result | LoopItem) -> Source:
    match value:
        case LoopItem():
            return _existing(component, Kind.ITEM, "")
        case Parameter():
            return _existing(component, Kind.PARAMETER, value.name or "")
        case Result():
            return _existing(component, Kind.RESULT, value.name or "")
    name = value.name or ""
    made = component.outputs.get(name) is value or name not in component.inputs
    return _existing(component, Kind.OUTPUT if made else Kind.INPUT, name)


def _existing(component: Component, kind: Kind, name: str) -> Source:
    if kind is Kind.ITEM:
        if component.loop_argument is None:
            raise Unwired(f"refers to the loop item of {component.full_name}, which is not repeated any more")
        # There is one, whatever it is called in a text.
        return Source(component, kind, "item")
    if name not in _values(component, kind):
        raise Unwired(f"refers to the {kind} {name} of {component.full_name}, which has none of that name")
    return Source(component, kind, name)


def _values(component: Component, kind: Kind) -> set[str]:
    match kind:
        case Kind.PARAMETER:
            return set(component.parameters)
        case Kind.INPUT:
            return set(component.inputs)
        case Kind.OUTPUT:
            return set(component.outputs)
    return set(component.results) if isinstance(component, ContainerStep) else set()


def _all(component: Component) -> Iterator[Component]:
    """The component, then those in it, in the order they were written."""
    yield component
    if isinstance(component, DAG):
        for child in component.entry_points.values():
            yield from _all(child)


def _names(components: list[Component]) -> dict[str, Component | None]:
    """Components by their full names and by those they had; None where such a name was that of several."""
    found: dict[str, Component | None] = {}
    present = {component.full_name: component for component in components}
    for component in components:
        for name in component.known_as:
            found[name] = None if name in found else component
    return found | present
