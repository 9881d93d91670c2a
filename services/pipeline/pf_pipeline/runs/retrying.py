"""Makes a run of one that is over: what went well is taken over, all else runs again."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from paddleflow.problems import NodeNotFound, RunStateConflict
from pf_kit.unit import Change, View
from pf_pipeline.plans.domain import Planned, PlannedDag
from pf_pipeline.plans.requests import Given
from pf_pipeline.runs.domain import CacheTrace, Loop, Node, NodeFilter, Order, Run, RunLife, Waiting
from pf_pipeline.runs.service import Runs
from pf_pipeline.runs.states import NODE_GOOD, RUN_OVER, NodeState, RunState
from pf_pipeline.runs.store import BEGINNING, RunStore, Turn
from pf_pipeline.runs.taking import Plans

PAGE = 2000
"""Nodes that are read at once."""


@dataclass(frozen=True, slots=True)
class Again:
    """What is to run again, beside what did not go well."""

    nodes: frozenset[str] = frozenset()
    """Paths of nodes."""
    parameters: Mapping[str, Given] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Draft:
    """A run that goes on from another one."""

    order: Order
    nodes: Sequence[Node]
    loops: Sequence[Loop]


@dataclass(frozen=True, slots=True)
class Retrying:
    """Makes runs of others."""

    store: RunStore
    runs: Runs
    plans: Plans

    async def draft(self, view: View, run: Run, again: Again) -> Draft:
        """What a new run takes over. Raises what RetryRun's contract lists."""
        _require_over(run, again)
        order = replace(
            run.order,
            retry_of=run.id,
            schedule_id="",
            scheduled_time=None,
            parameters={**run.order.parameters, **again.parameters},
        )
        plan = self.plans.plan(order)
        nodes = {node.path: node for node in await self._nodes(view, run.id)}
        if unknown := sorted(again.nodes - nodes.keys()):
            raise NodeNotFound(f"run {run.id!r} has no node {unknown[0][:200]!r}")
        whole = _Whole(nodes, await self.store.loops(view, run.id), again.nodes)
        whole.walk(plan.entry_points, "")
        return Draft(order, whole.kept_nodes(), whole.kept_loops())

    async def create(self, change: Change, run: Run, draft: Draft) -> Run:
        """Keeps the new run, which begins at once."""
        life = RunLife(create_time=change.time, state=RunState.PENDING)
        made = await self.runs.begin(change, run.whose, draft.order, life)
        nodes = [_begun(node, made.id, change.time) for node in draft.nodes]
        loops = [replace(loop, run=made.id) for loop in draft.loops]
        (saved,) = await self.store.save(change, [Turn(run=made, nodes=nodes, loops=loops)])
        return saved

    async def _nodes(self, view: View, id_: str) -> Sequence[Node]:
        found: list[Node] = []
        after = BEGINNING
        while page := await self.store.nodes(view, id_, NodeFilter(), after, PAGE):
            found += page
            after = page[-1].place, page[-1].iteration, page[-1].path
        return found


def _require_over(run: Run, again: Again) -> None:
    state = run.life.state
    if state not in RUN_OVER:
        raise RunStateConflict(f"run {run.id!r} is {state}; stop it, or wait until it is over")
    if state in (RunState.SUCCEEDED, RunState.SKIPPED) and not again.nodes:
        raise RunStateConflict(f"run {run.id!r} has {state}; name the nodes that are to run again")


def _as_kept(node: Node) -> Node:
    """A DAG in which something runs again goes on; all else stays as it ended."""
    if node.state in NODE_GOOD:
        return node
    return replace(
        node,
        state=NodeState.RUNNING,
        message="",
        waiting=Waiting.CHILDREN,
        finish_time=None,
        cache=CacheTrace(),
    )


def _begun(node: Node, run: str, now: datetime) -> Node:
    """A node of the new run. What goes on in it begins with it; what was done was done when it was."""
    return replace(node, run=run, start_time=now if node.state is NodeState.RUNNING else node.start_time)


@dataclass(slots=True)
class _Whole:
    """Finds what is taken over."""

    nodes: Mapping[str, Node]
    loops: Mapping[str, Loop]
    again: Collection[str]
    kept: set[str] = field(default_factory=set)
    """Paths of nodes, with the DAGs that they are in."""
    empty: set[str] = field(default_factory=set)
    """Paths of loops that have no items."""
    inside: Mapping[str, Sequence[str]] = field(init=False)
    """Paths of the nodes in each DAG."""

    def __post_init__(self) -> None:
        inside: defaultdict[str, list[str]] = defaultdict(list)
        for node in self.nodes.values():
            inside[node.parent].append(node.path)
        self.inside = inside

    def kept_nodes(self) -> Sequence[Node]:
        return [_as_kept(node) for node in self.nodes.values() if node.path in self.kept]

    def kept_loops(self) -> Sequence[Loop]:
        """Loops of which an iteration is taken over: their items stay what they were, whatever runs again."""
        firsts = {self.nodes[path].first_path for path in self.kept} | self.empty
        return [loop for path, loop in self.loops.items() if path in firsts]

    def walk(self, planned: Mapping[str, Planned], prefix: str) -> None:
        """Looks at the components of one iteration of a DAG; whoever depends on one that runs again runs again."""
        fresh: set[str] = set()
        for name in _ordered(planned):
            each = planned[name]
            late = any(dep in fresh for dep in each.deps)
            if not self._keep(each, f"{prefix}{name}", late=late):
                fresh.add(name)

    def _keep(self, planned: Planned, path: str, *, late: bool) -> bool:
        """Takes over the iterations of a component that went well; true if none of it runs again."""
        if late or path in self.again:
            return False
        iterations = self._iterations(path)
        if not iterations:
            self.empty.add(path)
        done = [node is not None and self._keep_one(planned, node) for node in iterations]
        return all(done)

    def _keep_one(self, planned: Planned, node: Node) -> bool:
        if node.path in self.again:
            return False
        good = node.state in NODE_GOOD and not any(path.startswith(f"{node.path}.") for path in self.again)
        if good:
            self._keep_whole(node.path)
        elif isinstance(planned, PlannedDag) and node.start_time is not None:
            self.kept.add(node.path)
            self.walk(planned.children, f"{node.path}.")
        return good

    def _keep_whole(self, path: str) -> None:
        self.kept.add(path)
        for child in self.inside.get(path, ()):
            self._keep_whole(child)

    def _iterations(self, path: str) -> Sequence[Node | None]:
        """The iterations of a component; None for one that has not begun."""
        count = len(self.loops[path].items) if path in self.loops else 1
        return [self.nodes.get(f"{path}[{at}]" if at else path) for at in range(count)]


def _ordered(planned: Mapping[str, Planned]) -> Sequence[str]:
    """Components after those that they depend on."""
    left = {name: set(each.deps) for name, each in planned.items()}
    order: list[str] = []
    free = [name for name, deps in left.items() if not deps]
    users: dict[str, list[str]] = {name: [] for name in planned}
    for name, deps in left.items():
        for dep in deps:
            users[dep].append(name)
    while free:
        name = free.pop()
        order.append(name)
        for user in users[name]:
            left[user].discard(name)
            if not left[user]:
                free.append(user)
    return order
