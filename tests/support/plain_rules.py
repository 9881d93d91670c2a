"""How runs end if nothing stops them, as plainly as can be said: one component after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from pf_pipeline.plans.domain import Planned, PlannedDag
from pf_pipeline.runs.states import NodeState


@dataclass(frozen=True)
class Rules:
    """What is known of the steps of a run before it begins."""

    fate: Callable[[str], NodeState]
    """How the step of a path ends."""
    conditions: Mapping[str, NodeState]
    """How a component ends whose condition is one of these; all other conditions hold."""
    contents: str = ""
    """The words of each file of items."""

    def expected(self, components: Mapping[str, Planned], prefix: str = "") -> dict[str, NodeState]:
        """How components end, by path."""
        ends: dict[str, NodeState] = {}
        left = dict(components)
        while left:
            name = next(name for name, each in left.items() if all(dep in ends for dep in each.deps))
            ends[name] = self._component(left.pop(name), prefix, ends)
        return {f"{prefix}{name}": end for name, end in ends.items()}

    def _component(self, each: Planned, prefix: str, ends: Mapping[str, NodeState]) -> NodeState:
        if any(ends[dep] not in (NodeState.SUCCEEDED, NodeState.SKIPPED) for dep in each.deps):
            return NodeState.CANCELLED
        if each.disabled:
            return NodeState.SKIPPED
        count = 1 if each.loop is None else len(self.contents.split() if isinstance(each.loop, str) else each.loop)
        paths = [f"{prefix}{each.name}{f'[{at}]' if at else ''}" for at in range(count)]
        return joint(self._iteration(each, path) for path in paths)

    def _iteration(self, each: Planned, path: str) -> NodeState:
        if each.condition in self.conditions:
            return self.conditions[each.condition]
        if isinstance(each, PlannedDag):
            inside = joint(self.expected(each.children, f"{path}.").values())
            return NodeState.SUCCEEDED if inside is NodeState.SKIPPED else inside
        return self.fate(path)


def joint(ends: Iterable[NodeState]) -> NodeState:
    """How a whole ends whose parts ended so."""
    found = set(ends)
    for bad in (NodeState.FAILED, NodeState.CANCELLED):
        if bad in found:
            return bad
    return NodeState.SKIPPED if found == {NodeState.SKIPPED} else NodeState.SUCCEEDED
