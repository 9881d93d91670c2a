"""Gives all boxes and edges of a picture their places: layers from left to right, boxes of a DAG inside of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pf_pipeline.drawings.graph import Box, edges
from pf_pipeline.drawings.layers import Layered, layered, neighbours
from pf_pipeline.drawings.words import LINE, lines, width

PAD = 10.0
"""Between a box and what is in it."""
GAP = 14.0
"""Between boxes of a layer."""
AISLE = 48.0
"""Between layers, where edges run."""
TIP = 8.0
"""Before a box, where an edge is level again: as long as its arrow."""
SWEEPS = 4

Point = tuple[float, float]
Span = tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """A box with its place, in pixels from the corner of what it is in."""

    box: Box
    lines: tuple[str, ...]
    x: float = 0.0
    y: float = 0.0
    width: float
    height: float
    inside: Area | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Area:
    """Boxes beside one another, and the edges between them."""

    boxes: tuple[Placed, ...]
    edges: tuple[tuple[Point, ...], ...]
    """The points that each passes: from the first to the second it is level, to the third it is not, and so on."""
    width: float
    height: float


def area(boxes: Sequence[Box]) -> Area:
    """The boxes with their places."""
    sized = [_sized(box) for box in boxes]
    graph = layered(len(boxes), edges(boxes))
    ys = _ys(graph, [each.height for each in sized])
    columns = _columns(graph, [each.width for each in sized])
    placed = tuple(replace(each, x=(sum(columns[at]) - each.width) / 2, y=ys[at]) for at, each in enumerate(sized))
    return Area(
        boxes=placed,
        edges=tuple(_route(path, placed, columns, ys) for path in graph.paths.values()),
        width=max((right for _, right in columns.values()), default=0.0),
        height=max((each.y + each.height for each in placed), default=0.0),
    )


def _sized(box: Box) -> Placed:
    told = lines(box)
    wide, high = max(map(width, told)) + 2 * PAD, len(told) * LINE + PAD
    if not box.parts:
        return Placed(box=box, lines=told, width=wide, height=high)
    inside = area(box.parts)
    return Placed(
        box=box,
        lines=told,
        width=max(wide, inside.width + 2 * PAD),
        height=high + inside.height + 2 * PAD,
        inside=inside,
    )


def _columns(graph: Layered, widths: Sequence[float]) -> dict[int, Span]:
    """From where to where the layer of each node and bend reaches."""
    spans: dict[int, Span] = {}
    at = 0.0
    for layer in graph.layers:
        widest = max((widths[node] for node in layer if node < graph.nodes), default=0.0)
        spans |= dict.fromkeys(layer, (at, at + widest))
        at += widest + AISLE
    return spans


def _ys(graph: Layered, heights: Sequence[float]) -> dict[int, float]:
    """The upper ends of nodes and bends: near the middle of their neighbours, and apart from one another."""
    height = {node: heights[node] if node < graph.nodes else 0.0 for layer in graph.layers for node in layer}
    before, after = neighbours(graph.paths.values())
    middles: dict[int, float] = {}
    for layer in graph.layers:
        middles |= _spread(layer, height, dict.fromkeys(layer, 0.0))
    for sweep in range(SWEEPS):
        near = after if sweep % 2 else before
        for layer in graph.layers[::-1] if sweep % 2 else graph.layers:
            wanted = {node: _mean([middles[each] for each in near.get(node, ())], middles[node]) for node in layer}
            middles |= _spread(layer, height, wanted)
    top = min((middles[node] - height[node] / 2 for node in middles), default=0.0)
    return {node: middle - height[node] / 2 - top for node, middle in middles.items()}


def _mean(found: Sequence[float], otherwise: float) -> float:
    return sum(found) / len(found) if found else otherwise


def _spread(layer: Sequence[int], height: dict[int, float], wanted: dict[int, float]) -> dict[int, float]:
    """Middles as near to the wanted ones as order and distance allow: neighbours that would overlap move as one.

    Pool-adjacent-violators, over places from which the room that those before need has been taken.
    """
    offsets, at = dict[int, float](), 0.0
    for place, node in enumerate(layer):
        at += (height[layer[place - 1]] + height[node]) / 2 + GAP if place else 0.0
        offsets[node] = at
    blocks: list[tuple[float, int]] = []
    for node in layer:
        total, count = wanted[node] - offsets[node], 1
        while blocks and blocks[-1][0] / blocks[-1][1] > total / count:
            more, many = blocks.pop()
            total, count = total + more, count + many
        blocks.append((total, count))
    means = [total / count for total, count in blocks for _ in range(count)]
    return {node: mean + offsets[node] for node, mean in zip(layer, means, strict=True)}


def _route(
    path: tuple[int, ...], placed: Sequence[Placed], columns: dict[int, Span], ys: dict[int, float]
) -> tuple[Point, ...]:
    """Level through layers, so that it runs behind no box; between them as it must."""
    first, last = placed[path[0]], placed[path[-1]]
    leaves, arrives = first.y + first.height / 2, last.y + last.height / 2
    return (
        (first.x + first.width, leaves),
        (columns[path[0]][1], leaves),
        *((x, ys[node]) for node in path[1:-1] for x in columns[node]),
        (columns[path[-1]][0] - TIP, arrives),
        (last.x, arrives),
    )
