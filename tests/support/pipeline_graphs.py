"""Where the values of steps come from, whatever the names are under which they are handed through DAGs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pf_pipeline.documents.expanding import expanded
from pf_pipeline.documents.model import Cache, Dag, Document, Mount, Node, Parameter, Reference, Step
from pf_pipeline.documents.reading import Reading, read
from pf_pipeline.plans.planning import examined
from pf_pipeline.plans.requests import Request

TEMPLATE = re.compile(r"\{\{\s*([A-Za-z0-9_.-]+)\s*\}\}")
SYSTEM = ("PF_RUN_ID", "PF_STEP_NAME", "PF_USER_NAME")


@dataclass(frozen=True)
class Seen:
    """A step, as it looks to whoever runs it."""

    command: str
    condition: str
    loop: object
    env: Mapping[str, str]
    image: str
    inputs: frozenset[str]
    """Where its input artifacts are made."""
    outputs: frozenset[str]
    deps: frozenset[str]
    cache: Cache
    extra_fs: tuple[Mount, ...]


@dataclass(frozen=True)
class Place:
    """A component in a document."""

    path: str
    node: Step | Dag
    siblings: Mapping[str, Node]
    above: Place | None = None

    def sibling(self, name: str) -> Place:
        node = self.siblings[name]
        assert not isinstance(node, Reference)
        return Place(f"{self.above.path}.{name}" if self.above else name, node, self.siblings, self.above)

    def children(self) -> Iterator[Place]:
        assert isinstance(self.node, Dag)
        for name, node in self.node.children.items():
            assert not isinstance(node, Reference)
            yield Place(f"{self.path}.{name}", node, self.node.children, self)


def accepted(text: str | bytes, filesystem: str = "") -> Reading:
    """The document, which the service would run."""
    reading = read(text)
    _, problems = examined(reading, Request(filesystem=filesystem))
    assert [f"{problem.path}: {problem.message}" for problem in problems] == []
    return reading


def graph(document: Document) -> dict[str, Seen]:
    """All steps by their paths."""
    made, findings = expanded(document)
    assert findings == ()
    return {place.path: seen(place) for place in _steps(made)}


def _steps(document: Document) -> Iterator[Place]:
    for name, node in document.entry_points.items():
        assert not isinstance(node, Reference)
        yield from _below(Place(name, node, document.entry_points))


def _below(place: Place) -> Iterator[Place]:
    if isinstance(place.node, Step):
        yield place
        return
    for child in place.children():
        yield from _below(child)


def seen(place: Place) -> Seen:
    node = place.node
    assert isinstance(node, Step)
    return Seen(
        command=told(place, node.command),
        condition=told(place, node.condition),
        loop=told(place, node.loop) if isinstance(node.loop, str) else node.loop,
        env={name: told(place, text) for name, text in node.env.items()},
        image=node.docker_env,
        inputs=frozenset(named(place, name) for name in node.inputs),
        outputs=frozenset(node.outputs),
        deps=frozenset(place.sibling(dep).path for dep in node.deps),
        cache=node.cache,
        extra_fs=node.extra_fs,
    )


def told(place: Place, text: str) -> str:
    """A text of the component, with what its templates stand for."""
    return TEMPLATE.sub(lambda found: f"<{named(place, found[1])}>", text)


def named(place: Place, name: str) -> str:
    """What the component's own name stands for."""
    node = place.node
    if name in SYSTEM:
        return name
    if name == "PF_LOOP_ARGUMENT":
        return f"item of {place.path}"
    if name in node.parameters:
        return _value(place, node.parameters[name])
    if name in node.inputs:
        return _given(place, node.inputs[name])
    assert name in node.outputs
    return f"{name} of {place.path}"


def _value(place: Place, parameter: Parameter) -> str:
    if not isinstance(parameter.value, str):
        return repr(parameter.value)
    return TEMPLATE.sub(lambda found: _given(place, found[0]), parameter.value)


def _given(place: Place, template: str) -> str:
    """What a template among parameters or inputs stands for."""
    found = TEMPLATE.fullmatch(template)
    assert found is not None
    first, _, name = found[1].partition(".")
    if not name:
        return named(place, first) if first == "PF_LOOP_ARGUMENT" else first
    if first == "PF_PARENT":
        assert place.above is not None
        return named(place.above, name)
    return _gives(place.sibling(first), name)


def _gives(place: Place, name: str) -> str:
    """What others get from the component under this name."""
    node = place.node
    if isinstance(node, Step) or name in node.parameters:
        if isinstance(node, Step) and name in node.results:
            return f"result {name} of {place.path}"
        return named(place, name)
    found = TEMPLATE.fullmatch(node.outputs[name])
    assert found is not None
    child, _, output = found[1].partition(".")
    inner = next(each for each in place.children() if each.path == f"{place.path}.{child}")
    return _gives(inner, output)
