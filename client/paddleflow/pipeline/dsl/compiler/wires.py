"""What a component is given and gives, as templates."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count

from paddleflow.pipeline.dsl.compiler.tree import Source
from paddleflow.pipeline.dsl.component import Component, ContainerStep
from paddleflow.pipeline.dsl.names import MOST_OF_A_VARIABLE


@dataclass(slots=True)
class Wires:
    """What is written of one component."""

    parameters: dict[str, object] = field(default_factory=dict)
    inputs: dict[str, str] = field(default_factory=dict)
    outputs: dict[str, str] = field(default_factory=dict)
    """Of a DAG only: steps make what they give."""
    deps: set[str] = field(default_factory=set)
    """Names of siblings that it comes after."""
    condition: str | None = None
    loop: object = None
    command: str | None = None
    env: dict[str, str] = field(default_factory=dict)
    job: object = None
    known: dict[Source, str] = field(default_factory=dict)
    """Under which of its own names something of another component is at hand here."""
    exported: dict[Source, str] = field(default_factory=dict)
    """Under which name a DAG gives something of a component in it."""
    taken: set[str] = field(default_factory=set)
    """Its names so far, in lower case: two must differ in more than that, since variables are made of them."""

    def new_name(self, source: Source) -> str:
        """A name for what comes from there that it has not yet."""
        name = next(name for name in _candidates(source) if name.lower() not in self.taken)
        self.taken.add(name.lower())
        return name


def _candidates(source: Source) -> Iterator[str]:
    owner = source.component.name.replace("-", "_")
    yield source.name
    yield f"{owner}_{source.name}"[:MOST_OF_A_VARIABLE]
    for number in count(2):
        ending = f"_{number}"
        yield f"{owner}_{source.name}"[: MOST_OF_A_VARIABLE - len(ending)] + ending


def own_names(component: Component) -> list[tuple[str, str]]:
    """Each name that the component has, with what it is the name of."""
    names = [(name, "parameter") for name in component.parameters]
    names += [(name, "input artifact") for name in component.inputs]
    names += [(name, "output artifact") for name in component.outputs]
    if isinstance(component, ContainerStep):
        names += [(name, "result") for name in component.results]
    return names
