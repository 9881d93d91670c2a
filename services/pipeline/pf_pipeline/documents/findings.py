"""What is wrong with a document, and where that stands in its text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

from paddleflow.documents.nodes import Fields, Listing, Node, Scalar, Spot, spot
from paddleflow.problems import DocumentInvalid, Violation
from pf_pipeline.documents.keys import written

MOST_FOUND = 300
"""More are not looked for."""
LONGEST = 1000
"""Characters of a message."""
MOST_TOLD = 100
"""More are not told: nobody reads them."""
_SHOWN = 80
_COMPONENTS = "components"

Path = tuple[str | int, ...]
"""The names on the way to something, and the numbers of items of lists."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong."""

    path: Path
    message: str
    of_request: bool = False
    """It stands in the request, not in the document."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong, with its place in the text."""

    path: str
    message: str
    line: int = 0
    """From 1; 0: it is not in one place."""
    column: int = 0

    @property
    def place(self) -> tuple[int, int]:
        return (self.line, self.column)


def dotted(path: Path) -> str:
    """As people write it: `entry_points.a.extra_fs[0].name`."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part[:_SHOWN]}" for part in path)
    return text.removeprefix(".")


def located(tree: Node, findings: Iterable[Finding]) -> tuple[Problem, ...]:
    """The findings with their places, in the order of the document, each once."""
    problems = {}
    for finding in islice(findings, MOST_FOUND):
        path, place = (finding.path, (0, 0)) if finding.of_request else _found(tree, finding.path)
        problems[Problem(dotted(path), finding.message[:LONGEST], *place)] = place
    return tuple(sorted(problems, key=lambda problem: problem.place))


def refusal(problems: Sequence[Problem]) -> DocumentInvalid:
    """What callers are told of them."""
    told = [Violation(problem.path or "file", _with_place(problem)) for problem in problems[:MOST_TOLD]]
    if len(problems) > MOST_TOLD:
        told.append(Violation("file", f"has {len(problems) - MOST_TOLD} more problems"))
    return DocumentInvalid("; ".join(f"{each.field}: {each.description}" for each in told), violations=tuple(told))


def _with_place(problem: Problem) -> str:
    return f"{problem.message} ({Spot(*problem.place)})" if problem.line else problem.message


def _found(tree: Node, path: Path) -> tuple[Path, tuple[int, int]]:
    """The path as it is written, and the place of it or of the nearest thing that is there.

    What a copy has and does not say itself stands in the component that it is a copy of.
    """
    node, place = tree, tree.spot if tree.mark else Spot(0, 0)
    walked: Path = ()
    seen: set[str] = set()
    rest = list(path)
    while rest:
        below = _below(node, rest[0])
        if below is None:
            component = _component(node)
            if component is None or component in seen:
                break
            seen.add(component)
            rest = [_COMPONENTS, component, *rest]
            node, walked = tree, ()
            continue
        node, place = below
        walked = (*walked, rest.pop(0))
    return (*walked, *rest), place


def _below(node: Node, part: str | int) -> tuple[Node, Spot] | None:
    if isinstance(node, Listing) and isinstance(part, int) and part < len(node.items):
        return node.items[part], node.items[part].spot
    if isinstance(node, Fields) and isinstance(part, str):
        name = next((name for name in written(part) if name in node.items), None)
        if name is not None:
            return node.items[name], spot(node.marks[name])
    return None


def _component(node: Node) -> str | None:
    """The component that a node is a copy of."""
    reference = node.items.get("reference") if isinstance(node, Fields) else None
    component = reference.items.get("component") if isinstance(reference, Fields) else None
    return component.text if isinstance(component, Scalar) else None
