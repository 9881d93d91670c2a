"""Puts the nodes of a graph into layers, so that edges lead forward, and orders each so that few of them cross."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from itertools import pairwise

Edge = tuple[int, int]
SWEEPS = 6
MOST = 5_000
"""Nodes and bends; with more, edges have no bends, and nodes stand in the order they come in."""


@dataclass(frozen=True, slots=True)
class Layered:
    """A graph in layers. Numbers from `nodes` on are bends of edges, where they pass a layer."""

    nodes: int
    layers: tuple[tuple[int, ...], ...]
    """From left to right, each from top to bottom."""
    paths: Mapping[Edge, tuple[int, ...]]
    """The numbers that each edge passes, its ends included."""


def layered(nodes: int, edges: Sequence[Edge]) -> Layered:
    """The graph in layers; edges that would close a cycle are left out."""
    levels, kept = _levels(nodes, edges)
    bends = sum(levels[after] - levels[before] - 1 for before, after in kept)
    if nodes + bends > MOST:
        return Layered(nodes, _rows(levels), {edge: edge for edge in kept})
    paths = _paths(nodes, levels, kept)
    for edge, path in paths.items():
        levels.extend(range(levels[edge[0]] + 1, levels[edge[0]] + len(path) - 1))
    return Layered(nodes, _ordered(_rows(levels), list(paths.values())), paths)


def _levels(nodes: int, edges: Sequence[Edge]) -> tuple[list[int], list[Edge]]:
    """The level of each node, one more than those of all before it; and the edges that are no part of a cycle."""
    after: list[list[int]] = [[] for _ in range(nodes)]
    waiting = [0] * nodes
    for before, behind in edges:
        after[before].append(behind)
        waiting[behind] += 1
    ready = [node for node in range(nodes) if not waiting[node]]
    heapify(ready)
    levels, done = [0] * nodes, set[int]()
    while ready:
        node = heappop(ready)
        done.add(node)
        for behind in after[node]:
            levels[behind] = max(levels[behind], levels[node] + 1)
            waiting[behind] -= 1
            if not waiting[behind]:
                heappush(ready, behind)
    levels = [level if node in done else 0 for node, level in enumerate(levels)]
    return levels, [(before, behind) for before, behind in edges if before in done and behind in done]


def _rows(levels: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    rows: list[list[int]] = [[] for _ in range(max(levels, default=-1) + 1)]
    for node, level in enumerate(levels):
        rows[level].append(node)
    return tuple(map(tuple, rows))


def _paths(nodes: int, levels: Sequence[int], edges: Sequence[Edge]) -> dict[Edge, tuple[int, ...]]:
    paths, free = {}, nodes
    for before, after in edges:
        bends = levels[after] - levels[before] - 1
        paths[before, after] = (before, *range(free, free + bends), after)
        free += bends
    return paths


def _ordered(rows: tuple[tuple[int, ...], ...], paths: Sequence[tuple[int, ...]]) -> tuple[tuple[int, ...], ...]:
    """The rows with few crossings: each node near the middle of its neighbours, from left to right and back."""
    before, after = neighbours(paths)
    best, fewest = rows, crossings(rows, after)
    for sweep in range(SWEEPS):
        if not fewest:
            break
        rows = _swept(rows, after, backward=True) if sweep % 2 else _swept(rows, before, backward=False)
        if (found := crossings(rows, after)) < fewest:
            best, fewest = rows, found
    return best


def neighbours(paths: Iterable[tuple[int, ...]]) -> tuple[dict[int, list[int]], dict[int, list[int]]]:
    """What stands before each, and what after it."""
    before: dict[int, list[int]] = {}
    after: dict[int, list[int]] = {}
    for path in paths:
        for one, other in pairwise(path):
            after.setdefault(one, []).append(other)
            before.setdefault(other, []).append(one)
    return before, after


def _swept(
    rows: tuple[tuple[int, ...], ...], near: Mapping[int, Sequence[int]], *, backward: bool
) -> tuple[tuple[int, ...], ...]:
    made: list[tuple[int, ...]] = []
    for row in rows[::-1] if backward else rows:
        places = {node: at for at, node in enumerate(made[-1])} if made else {}
        middles = {node: _middle(near.get(node, ()), places, at) for at, node in enumerate(row)}
        made.append(tuple(sorted(row, key=lambda node: middles[node])))
    return tuple(made[::-1] if backward else made)


def _middle(near: Sequence[int], places: Mapping[int, int], own: int) -> float:
    return sum(places[node] for node in near) / len(near) if near else own


def crossings(rows: Sequence[Sequence[int]], after: Mapping[int, Sequence[int]]) -> int:
    """How many pairs of edges cross between neighbouring rows."""
    return sum(_between(upper, lower, after) for upper, lower in pairwise(rows))


def _between(upper: Sequence[int], lower: Sequence[int], after: Mapping[int, Sequence[int]]) -> int:
    places = {node: at for at, node in enumerate(lower)}
    count, seen = 0, list[int]()
    for node in upper:
        ends = sorted(places[behind] for behind in after.get(node, ()))
        for end in ends:
            count += len(seen) - bisect_right(seen, end)
        for end in ends:
            insort(seen, end)
    return count
