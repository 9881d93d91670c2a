"""Runs of every kind, whose steps are real processes, and what must be true of each in the end."""

from __future__ import annotations

import asyncio
import itertools
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from random import Random
from uuid import uuid4

from paddleflow.pipeline.v1 import pipeline_pb2, run_pb2
from paddleflow.problems import RunStateConflict
from pf_pipeline.documents.model import Strategy
from pf_pipeline.engine.core.stepping import job_id
from pf_pipeline.runs.states import NodeState
from support import run_documents
from support.job_load import Service
from support.plain_rules import joint
from support.run_documents import RULES
from support.waiting import until

MOST_OPEN = 6
"""Runs at a time."""
SETTLING = 60.0
"""Seconds in which all runs end once no more come."""
SUCCEEDED, FAILED, TERMINATED = (
    run_pb2.RUN_STATE_SUCCEEDED,
    run_pb2.RUN_STATE_FAILED,
    run_pb2.RUN_STATE_TERMINATED,
)
OVER = (SUCCEEDED, FAILED, TERMINATED)
UNDER_WAY = (run_pb2.NODE_STATE_PENDING, run_pb2.NODE_STATE_RUNNING, run_pb2.NODE_STATE_TERMINATING)
RAN = (run_pb2.NODE_STATE_SUCCEEDED, run_pb2.NODE_STATE_FAILED)


class Kind(StrEnum):
    """What is done with a run."""

    GRAPH = "graph"
    STOPPED = "stopped"
    FORCED = "forced"
    BROKEN = "broken"
    """Fails, and is tried again by another one."""
    MENDED = "mended"
    """Tries another one again."""
    CACHED = "cached"


@dataclass
class Made:
    """A run that was accepted."""

    id: str
    kind: Kind
    document: str
    token: str
    """Of runs that do the same, the same."""
    over: run_pb2.Run | None = None


@dataclass
class Load:
    """Makes runs, stops and mends some, until it is told to stop."""

    service: Service
    filesystem: str
    folder: Path
    """Of the filesystem."""
    chance: Random
    runs: dict[str, Made] = field(default_factory=dict)
    _numbers: itertools.count[int] = field(default_factory=itertools.count)

    @property
    def open(self) -> int:
        return sum(made.over is None for made in self.runs.values())

    async def make(self, stop: asyncio.Event) -> None:
        """Makes runs one after the other."""
        kinds = (Kind.GRAPH, Kind.STOPPED, Kind.GRAPH, Kind.BROKEN, Kind.GRAPH, Kind.CACHED, Kind.GRAPH, Kind.FORCED)
        while not stop.is_set():
            await until(lambda: self.open < MOST_OPEN or stop.is_set(), SETTLING, 0.01)
            await self._make(kinds[next(self._numbers) % len(kinds)])

    async def _make(self, kind: Kind) -> None:
        token = uuid4().hex[:8]
        match kind:
            case Kind.CACHED:
                document = run_documents.cached(self.filesystem, token)
                await self._create(kind, document, token)
                await self._create(kind, document, token)
            case Kind.BROKEN:
                await self._create(kind, run_documents.mended(self.filesystem, token), token)
            case Kind.STOPPED | Kind.FORCED:
                made = await self._create(kind, run_documents.stopped(self.filesystem), token)
                await asyncio.sleep(self.chance.choice((0, 0.1, 0.5, 1)))
                with suppress(RunStateConflict):
                    await self.service.call(run_pb2.StopRunRequest(id=made.id, force=kind is Kind.FORCED))
            case _:
                await self._create(kind, run_documents.graph(self.chance, self.filesystem), token)

    async def _create(self, kind: Kind, document: str, token: str) -> Made:
        source = pipeline_pb2.Source(document=document, filesystem=self.filesystem)
        request = run_pb2.CreateRunRequest(source=source, request_id=uuid4().hex)
        return self._made((await self.service.call(request)).run.id, kind, document, token)

    def _made(self, id_: str, kind: Kind, document: str, token: str) -> Made:
        self.runs[id_] = Made(id_, kind, document, token)
        return self.runs[id_]

    async def follow(self, stop: asyncio.Event) -> None:
        """Looks how runs stand until all are over; mends those that are to be mended."""
        while not stop.is_set() or self.open:
            for made in [made for made in self.runs.values() if made.over is None]:
                run = (await self.service.call(run_pb2.GetRunRequest(id=made.id))).run
                if run.state in OVER:
                    if made.kind is Kind.BROKEN:
                        await self._mend(made)
                    made.over = run
            await asyncio.sleep(0.02)

    async def _mend(self, made: Made) -> None:
        (self.folder / made.token).touch()
        request = run_pb2.RetryRunRequest(id=made.id, request_id=uuid4().hex)
        self._made((await self.service.call(request)).run.id, Kind.MENDED, made.document, made.token)


def wrongs(load: Load, nodes: Mapping[str, Sequence[run_pb2.Node]]) -> Sequence[str]:
    """What is not as it should be, of runs that are over."""
    found: list[str] = []
    for made in load.runs.values():
        found += [f"{made.id} ({made.kind}): {wrong}" for wrong in _wrongs(load, made, nodes[made.id])]
    return [*found, *_made_twice(load, nodes)]


def _wrongs(load: Load, made: Made, nodes: Sequence[run_pb2.Node]) -> Sequence[str]:
    run = made.over
    assert run is not None
    told = {node.path: node.message for node in nodes if node.message}
    wrong = [] if run.state == _wanted(load, made) else [f"{run_pb2.RunState.Name(run.state)}: {run.message} {told}"]
    wrong += [f"{node.path} is not over" for node in nodes if node.state in UNDER_WAY]
    if run.steps.waiting or run.steps.running:
        wrong.append(f"there are steps left: {run.steps}")
    return wrong + _wrong_starts(_lines(load, made), made, nodes)


def _wanted(load: Load, made: Made) -> run_pb2.RunState.ValueType:
    match made.kind:
        case Kind.STOPPED | Kind.FORCED:
            return TERMINATED
        case Kind.BROKEN:
            return FAILED
        case Kind.GRAPH:
            ends = RULES.expected(run_documents.plan_of(made.document, load.filesystem).entry_points)
            return FAILED if joint(ends.values()) in (NodeState.FAILED, NodeState.CANCELLED) else SUCCEEDED
    return SUCCEEDED


def _lines(load: Load, made: Made) -> Counter[str]:
    """How often each job of a run was started."""
    file = load.folder / run_documents.LINES
    return Counter(line for line in file.read_text().split() if line.startswith(f"job-{made.id}-"))


def _wrong_starts(lines: Counter[str], made: Made, nodes: Sequence[run_pb2.Node]) -> list[str]:
    """No try of a step was started twice, and none that has ended was not."""
    tries = {
        job_id(made.id, node.path, node.name, attempt): (node, attempt)
        for node in nodes
        for attempt in range(1, node.attempt + 1)
    }
    wrong = [f"{id_} was started {count} times" for id_, count in lines.items() if count > 1]
    wrong += [f"{id_} belongs to no step" for id_ in lines if id_ not in tries]
    for id_, (node, attempt) in tries.items():
        own = node.job_id == job_id(made.id, node.path, node.name, node.attempt)
        ended = node.state in RAN or attempt < node.attempt
        if own and ended and not node.cache_run_id and not lines[id_]:
            wrong.append(f"try {attempt} of {node.path} was never started")
    return wrong


def _made_twice(load: Load, nodes: Mapping[str, Sequence[run_pb2.Node]]) -> Sequence[str]:
    """Of runs that do the same, only one does it."""
    starts: Counter[str] = Counter()
    told: defaultdict[str, list[str]] = defaultdict(list)
    for made in load.runs.values():
        if made.kind is Kind.CACHED:
            starts[made.token] += _lines(load, made).total()
            told[made.token] += [f"{made.id}/{node.path}: {node.message}" for node in nodes[made.id]]
    return [f"{count} steps were started, and not 3: {told[token]}" for token, count in starts.items() if count != 3]


def wrong_components(load: Load, made: Made, nodes: Sequence[run_pb2.Node]) -> Sequence[str]:
    """Components at the top that did not end as the plain rules say, in a run that nothing stops."""
    plan = run_documents.plan_of(made.document, load.filesystem)
    if made.kind is not Kind.GRAPH or plan.strategy is not Strategy.CONTINUE:
        return []
    ended = {
        name: joint(_state(node) for node in nodes if node.name == name and not node.parent)
        for name in plan.entry_points
    }
    return [
        f"{made.id}: {name} ended as {ended[name]}, and not as {end}"
        for name, end in RULES.expected(plan.entry_points).items()
        if ended[name] is not end
    ]


def _state(node: run_pb2.Node) -> NodeState:
    return NodeState(run_pb2.NodeState.Name(node.state).removeprefix("NODE_STATE_").lower())
