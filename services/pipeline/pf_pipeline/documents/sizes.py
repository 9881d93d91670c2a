"""How large a document becomes with all copies of components, before anybody goes through these."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from pf_pipeline.documents.model import Dag, Node, Step, Value

MOST_COMPONENTS = 100_000
"""Steps and DAGs of a document, with all copies, each loop counted once."""
LONGEST = 16 * 2**20
"""Characters of all their texts: of the document as it runs."""
DEEPEST = 48
"""DAGs in one another; so many can be written without references."""


class Size(NamedTuple):
    """How large something is with all copies in it."""

    nodes: int = 0
    """Steps and DAGs."""
    length: int = 0
    """Characters of texts."""
    depth: int = 0
    """DAGs in one another."""


def too_much(size: Size) -> str:
    """Why something is too large; empty if it is not."""
    if size.nodes > MOST_COMPONENTS:
        return f"the document has {size.nodes} steps and DAGs with all copies, and may have {MOST_COMPONENTS}"
    if size.length > LONGEST:
        return f"the document has more than {LONGEST // 2**20} MiB with all copies"
    if size.depth > DEEPEST:
        return f"DAGs are nested deeper than {DEEPEST} with all copies"
    return ""


@dataclass(slots=True)
class Sizes:
    """Sizes of nodes; those of what copies share are found once."""

    known: dict[int, Size] = field(default_factory=dict)
    """Of the children of DAGs, by the identity of what copies share."""
    kept: list[Mapping[str, Node]] = field(default_factory=list)
    """So that no identity is given out again."""

    def of_all(self, nodes: Mapping[str, Node]) -> Size:
        if id(nodes) not in self.known:
            sizes = [self.of(node) for node in nodes.values()]
            depth = max((size.depth for size in sizes), default=0)
            total = Size(sum(size.nodes for size in sizes), sum(size.length for size in sizes), depth)
            self.known[id(nodes)] = total
            self.kept.append(nodes)
        return self.known[id(nodes)]

    def of(self, node: Node) -> Size:
        own = sum(_length(parameter.value) for parameter in node.parameters.values()) + sum(
            map(len, node.inputs.values())
        )
        if isinstance(node, Dag):
            size = self.of_all(node.children)
            own += _length(node.loop) + len(node.condition) + sum(map(len, node.outputs.values()))
            return Size(size.nodes + 1, size.length + own, size.depth + 1)
        if isinstance(node, Step):
            texts = (node.command, node.condition, *node.env.values(), *node.outputs)
            own += _length(node.loop) + sum(map(len, texts)) + (len(str(node.job)) if node.job else 0)
        return Size(1, own, 0)


def _length(value: Value | None) -> int:
    if isinstance(value, tuple):
        return sum(map(_length, value)) + len(value)
    return len(value) if isinstance(value, str) else 8
