"""Graphs drawn in lines of text: each node in a row, and what depends on it reached by lanes beside it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

MOST_LANES = 8
"""With more of them nobody can follow one."""
LARGEST = 300
"""Nodes of a graph that is drawn."""
NODE, DOWN, NOTHING = "●", "│", " "


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a drawing."""

    cells: str
    """The lanes, two characters each."""
    name: str = ""
    """The node it is about; empty if it only joins or parts lanes."""
    below: str = ""
    """The lanes beside what the node consists of."""


def drawn(names: Sequence[str], deps: Mapping[str, Sequence[str]]) -> list[Row] | None:
    """The graph, every node behind those that it depends on; None if it cannot be drawn so that it helps.

    The names are in the order in which those come that could come at once.
    """
    if len(names) > LARGEST or len(order := ordered(names, deps)) != len(names):
        return None
    drawing = _Drawing(_dependents(order, deps))
    rows = [row for name in order for row in drawing.rows(name)]
    return rows if drawing.widest <= MOST_LANES else None


def ordered(names: Sequence[str], deps: Mapping[str, Sequence[str]]) -> list[str]:
    """The names, each behind those that it depends on; without those of a cycle."""
    known, done = set(names), dict[str, None]()
    left = list(names)
    while left:
        ready = [name for name in left if all(dep in done or dep not in known for dep in deps[name])]
        if not ready:
            break
        done.update(dict.fromkeys(ready))
        left = [name for name in left if name not in done]
    return list(done)


def _dependents(order: Sequence[str], deps: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """Who depends on each, without what follows from the rest."""
    before: dict[str, set[str]] = {}
    found: dict[str, list[str]] = defaultdict(list)
    for name in order:
        direct = [dep for dep in dict.fromkeys(deps[name]) if dep in before]
        before[name] = {earlier for dep in direct for earlier in (dep, *before[dep])}
        for dep in direct:
            if not any(dep in before[other] for other in direct):
                found[dep].append(name)
    return found


@dataclass(slots=True)
class _Drawing:
    dependents: Mapping[str, Sequence[str]]
    lanes: list[str] = field(default_factory=list)
    """The node that each lane leads to; empty where there is none."""
    widest: int = 0

    def rows(self, name: str) -> Iterator[Row]:
        at, *others = [lane for lane, target in enumerate(self.lanes) if target == name] or [self._free(0)]
        self.lanes[at] = name
        if others:
            yield Row(self._span(at, others, "┴", "╯"))
        for other in others:
            self.lanes[other] = ""
        cells = self._cells({at: NODE})
        first, *further = self.dependents.get(name) or [""]
        self.lanes[at] = first
        yield Row(cells, name, self._cells({}))
        parted = []
        for target in further:
            parted.append(self._free(at + 1))
            self.lanes[parted[-1]] = target
        if parted:
            yield Row(self._span(at, parted, "┬", "╮"))
        while self.lanes and not self.lanes[-1]:
            self.lanes.pop()

    def _free(self, first: int) -> int:
        """A lane that leads nowhere, from this one on."""
        for lane in range(first, len(self.lanes)):
            if not self.lanes[lane]:
                return lane
        self.lanes.append("")
        self.widest = max(self.widest, len(self.lanes))
        return len(self.lanes) - 1

    def _cells(self, marks: Mapping[int, str]) -> str:
        return "".join(f"{marks.get(lane, DOWN if target else NOTHING)} " for lane, target in enumerate(self.lanes))

    def _span(self, at: int, others: Sequence[int], between: str, end: str) -> str:
        """A row in which other lanes meet the one at `at`, or leave it."""
        last = max(others)
        cells = []
        for lane, target in enumerate(self.lanes):
            if lane == at:
                cells.append("├─")
            elif at < lane <= last:
                joint = (end if lane == last else between) if lane in others else ("┼" if target else "─")
                cells.append(joint + ("─" if lane < last else " "))
            else:
                cells.append(f"{DOWN if target else NOTHING} ")
        return "".join(cells)
