"""Files, artifacts and the cache, as runs need them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

from paddleflow.problems import FileNotFound
from pf_kit.unit import Change, Database, View
from pf_pipeline.artifacts.desk import Desk
from pf_pipeline.artifacts.domain import ArtifactEvent, CachedResult, NodeKey, Taken, Use
from pf_pipeline.artifacts.judging import Answer, Hit, Judging, Known, Miss, Unknown, Wait
from pf_pipeline.artifacts.ports import Ask, Fault, Files, Piece
from pf_pipeline.artifacts.store import ArtifactStore
from pf_pipeline.documents.model import Result, Value
from pf_pipeline.engine.core.happening import Judge, Judged, Read, ReadResults, ResultsRead, Told, Verdict
from pf_pipeline.engine.ports import Fence
from pf_pipeline.engine.questions import AFRESH, question_of, uses_cache
from pf_pipeline.engine.trying import LASTING, again
from pf_pipeline.engine.waking import Waking
from pf_pipeline.plans.domain import Kind, Plan
from pf_pipeline.plans.paths import SEPARATOR
from pf_pipeline.plans.values import Unsettled, result_of
from pf_pipeline.runs.domain import CacheTrace, Executor, Node, Run, Waiting
from pf_pipeline.runs.states import NODE_OVER, NodeState
from pf_pipeline.runs.store import Turn

LARGEST_RESULT = 64 * 2**10
"""Bytes of a small result."""
LOOK_SECONDS = 5.0
"""After so many it is made sure that another node with the same work, and the one that waits for it, still go on."""


class Nodes(Protocol):
    """The port to nodes, as far as they are waited for."""

    async def node(self, view: View, run: str, path: str) -> Node | None:
        """The node of a path."""


@dataclass(slots=True, kw_only=True)
class ArtifactLibrary:
    """Fulfils `Library` and `Chronicle`."""

    database: Database
    store: ArtifactStore
    files: Files
    judging: Judging
    desk: Desk
    fence: Fence
    nodes: Nodes
    waking: Waking = field(default_factory=Waking)
    _known: dict[NodeKey, Known] = field(default_factory=dict)
    """Steps that missed the cache, whose results are to be kept."""
    _made: dict[NodeKey, CachedResult] = field(default_factory=dict)
    """Results that are to be kept with the end of their steps."""

    async def read(self, run: Run, _plan: Plan, wanted: Read) -> Told:
        """Reads files of the main filesystem."""
        if run.order.executor is Executor.NOTHING:
            return Told(wanted.path, dict.fromkeys(wanted.files, ""))
        ask = Ask(run.owner, run.order.filesystem_id, run.owner_since)
        try:
            pieces = await again("read files", lambda: self.files.read(ask, wanted.files, wanted.limit))
            contents = {
                path: _text(path, piece, wanted.limit) for path, piece in zip(wanted.files, pieces, strict=True)
            }
        except (*LASTING, Unsettled) as problem:
            return Told(wanted.path, {}, str(problem))
        return Told(wanted.path, contents)

    async def read_results(self, run: Run, plan: Plan, wanted: ReadResults) -> ResultsRead:
        """Reads the small results of a step, and finds out what its artifacts are told by if they are cached."""
        node, planned = wanted.node, wanted.planned
        try:
            results = await self._results(run, node, planned.results)
        except (*LASTING, Unsettled) as problem:
            return ResultsRead(node.path, {}, str(problem))
        if uses_cache(node, planned):
            await self._conclude(run, plan, wanted, results)
        return ResultsRead(node.path, results)

    async def judge(self, run: Run, plan: Plan, wanted: Judge) -> AsyncIterator[Judged]:
        """Asks the cache, until it says more than to wait."""
        waits = ""
        while True:
            answer = await self._answer(run, plan, wanted)
            told = self._judged(wanted.node, answer)
            if told.waiting_on != waits or not isinstance(answer, Wait):
                waits = told.waiting_on
                yield told
            if not isinstance(answer, Wait) or not await self._waits(wanted.node, answer.on):
                return

    async def record(self, change: Change, turns: Sequence[Turn]) -> None:
        """Keeps which step read and wrote what, results that may be used again, and who took which."""
        events = [event for turn in turns for node in turn.nodes for event in _events(turn.run, node)]
        if events:
            await self.store.record(change, events)
        over = [node for turn in turns for node in turn.nodes if node.cache.key and node.state in NODE_OVER]
        if over:
            await self._close(change, over)

    def kept(self, turns: Sequence[Turn]) -> None:
        """Wakes those who wait for what is over."""
        nodes = [node for turn in turns for node in turn.nodes if node.cache.key and node.state in NODE_OVER]
        self.waking.wake(NodeKey(node.run, node.path) for node in nodes)

    async def _close(self, change: Change, over: Sequence[Node]) -> None:
        keys = {NodeKey(node.run, node.path): node for node in over}
        made = [
            self._made[key] for key, node in keys.items() if key in self._made and node.state is NodeState.SUCCEEDED
        ]
        if made:
            await self.store.add_results(change, made)
        if taken := [_taken(node) for node in over if node.cache.run]:
            await self.store.take(change, taken)
        await self.store.release(change, list(keys))
        for key in keys:
            self._known.pop(key, None)
            self._made.pop(key, None)

    async def _waits(self, node: Node, on: NodeKey) -> bool:
        """Waits until another node is over, or it is time to look whether it is; False if this one waits no longer."""
        woken = await self.waking.is_woken(on, LOOK_SECONDS)
        return woken or await again("look who waits", partial(self._goes_on, node, on))

    async def _goes_on(self, node: Node, on: NodeKey) -> bool:
        """True if a node still waits. If the one it waits for is over, that one's claim came after its end: it is
        given up here, lest all others wait for ever.
        """
        if await self._is_over(NodeKey(node.run, node.path)):
            return False
        if await self._is_over(on):
            async with self.database.change() as change:
                await self.fence(change)
                await self.store.release(change, [on])
        return True

    async def _is_over(self, key: NodeKey) -> bool:
        found = await self.nodes.node(self.database.newest, key.run, key.node)
        return found is None or found.state in NODE_OVER

    async def _answer(self, run: Run, plan: Plan, wanted: Judge) -> Answer:
        question = question_of(run, plan, wanted)
        try:
            return await again("ask the cache", lambda: self.desk.ask(question))
        except LASTING as problem:
            return Unknown(question, problem.message)

    def _judged(self, node: Node, answer: Answer) -> Judged:
        key = NodeKey(node.run, node.path)
        match answer:
            case Hit(known, result):
                trace = _trace(known, f"as in {result.made_by.run}, {result.made_by.node}", result)
                outputs = {name: output.path for name, output in result.outputs.items()}
                return Judged(node.path, Verdict.HIT, trace, outputs, result.results)
            case Miss(known):
                self._known[key] = known
                message = AFRESH if known.question.fresh else "there is no result that fits"
                return Judged(node.path, Verdict.MISS, _trace(known, message))
            case Wait(known, on):
                trace = _trace(known, f"{on.run} is about to do the same in {on.node}")
                return Judged(node.path, Verdict.WAIT, trace, waiting_on=on.run)
            case Unknown(_, message):
                return Judged(node.path, Verdict.MISS, CacheTrace(message=message))

    async def _conclude(self, run: Run, plan: Plan, wanted: ReadResults, results: Mapping[str, Value]) -> None:
        """Makes the result that is kept with the end of a step."""
        node = wanted.node
        key = NodeKey(run.id, node.path)
        known = self._known.get(key)
        if known is None:
            # It was asked before this instance began to drive the run.
            answer = await self._answer(run, plan, Judge(node, wanted.planned, wanted.runtime_name))
            known = answer.known if isinstance(answer, Miss) else None
        if known is None:
            return
        # A step whose artifacts are gone has succeeded all the same: nobody else will use them.
        with suppress(*LASTING):
            made = await again(
                "look at artifacts",
                lambda: self.judging.finished(known, node.work.outputs, results, node.job, run.order.filesystem),
            )
            if made is not None:
                self._made[key] = made

    async def _results(self, run: Run, node: Node, wanted: Mapping[str, Result]) -> Mapping[str, Value]:
        """Small results as a step wrote them. Raises Unsettled."""
        if not wanted:
            return {}
        ask = Ask(run.owner, run.order.filesystem_id, run.owner_since)
        paths = [node.work.result_files[name] for name in wanted]
        pieces = await again("read results", lambda: self.files.read(ask, paths, LARGEST_RESULT))
        return {
            name: _result(name, result, piece, path)
            for (name, result), piece, path in zip(wanted.items(), pieces, paths, strict=True)
        }


def _text(path: str, piece: Piece | Fault, limit: int) -> str:
    """The content of a file. Raises Unsettled."""
    if isinstance(piece, Fault):
        raise Unsettled(f"{path} cannot be read: {piece.problem.message}")
    if piece.size >= limit:
        raise Unsettled(f"{path} has {piece.size} bytes, and must have less than {limit}")
    try:
        text = piece.data.decode()
    except UnicodeDecodeError:
        raise Unsettled(f"{path} is no text in UTF-8") from None
    if "\0" in text:
        raise Unsettled(f"{path} is no text: it holds a byte of zero")
    return text


def _result(name: str, result: Result, piece: Piece | Fault, path: str) -> Value:
    if isinstance(piece, Fault) and isinstance(piece.problem, FileNotFound) and result.default is not None:
        return result.default
    return result_of(result, name, _text(path, piece, LARGEST_RESULT))


def _trace(known: Known, message: str, result: CachedResult | None = None) -> CacheTrace:
    parts = {"explanation": known.explanation, "result": result.number if result else 0}
    return CacheTrace(
        key=known.question.cache_key.step,
        run=result.made_by.run if result else "",
        job=result.job if result else "",
        message=message,
        parts=parts,
    )


def _taken(node: Node) -> Taken:
    return Taken(int(str(node.cache.parts["result"])), node.cache.run, node.run)


def _events(run: Run, node: Node) -> Sequence[ArtifactEvent]:
    """What a node has read as it began, and written as it succeeded."""
    if node.kind is Kind.DAG or run.order.executor is Executor.NOTHING:
        return []
    begins = node.attempt == 1 and node.state is NodeState.PENDING and node.waiting is Waiting.JOB
    cached = node.state is NodeState.SUCCEEDED and bool(node.cache.run)
    found = _uses(run, node, Use.INPUT, node.work.inputs) if begins or cached else []
    if node.state is NodeState.SUCCEEDED:
        found += _uses(run, node, Use.OUTPUT, node.work.outputs)
    return found


def _uses(run: Run, node: Node, use: Use, artifacts: Mapping[str, str]) -> list[ArtifactEvent]:
    order = run.order
    return [
        ArtifactEvent(
            key=NodeKey(run.id, node.path),
            use=use,
            artifact=name,
            step=node.name,
            filesystem_id=order.filesystem_id,
            filesystem=order.filesystem,
            owner=run.owner,
            owner_since=run.owner_since,
            paths=tuple(paths.split(SEPARATOR)) if paths else (),
            job=node.cache.job or node.job,
            cached=bool(node.cache.run),
            run_time=run.life.create_time,
        )
        for name, paths in artifacts.items()
    ]
