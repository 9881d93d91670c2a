"""Whether the result of a step is there already, is being made, or is to be made."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from paddleflow.problems import FileNotFound
from pf_kit.clock import Clock
from pf_kit.unit import Change, Database, View
from pf_pipeline.artifacts.domain import (
    FOR_EVER,
    CachedResult,
    CacheKey,
    Claim,
    NodeKey,
    Output,
    Shelf,
    WorkKey,
)
from pf_pipeline.artifacts.explanations import explanation
from pf_pipeline.artifacts.keys import Contents, StepParts, files_key, step_key
from pf_pipeline.artifacts.ports import Ask, Fault
from pf_pipeline.artifacts.reading import Reading, Spot
from pf_pipeline.artifacts.store import ArtifactStore
from pf_pipeline.documents.model import CacheMode, Value

EACH = 20
"""Results of one key that are looked at: those with other files, or whose artifacts are gone, are passed over."""
Fence = Callable[[Change], Awaitable[None]]
"""Raises Aborted inside of a change if another instance drives the run by now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A step, whose result may be there."""

    by: NodeKey
    component: str
    """The path of the node in its document, without iterations."""
    shelf: Shelf
    parts: StepParts
    user: str
    """In whose name files are read."""
    mode: CacheMode = CacheMode.CONTENT
    inputs: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Paths of input artifacts, in the filesystem of the shelf."""
    scope: Mapping[str, Spot] = field(default_factory=dict)
    """The paths in `fs_scope`, by ``<filesystem>:<path>``."""
    max_expired_time: int = FOR_EVER
    fresh: bool = False
    """The step is to be done, whatever there is; its result is kept."""

    @property
    def cache_key(self) -> CacheKey:
        return CacheKey(self.shelf, step_key(self.parts))


@dataclass(frozen=True, slots=True)
class Known:
    """A step, of which all is known that decides about its result."""

    question: Question
    files: str
    explanation: str

    @property
    def work(self) -> WorkKey:
        return WorkKey(self.question.cache_key, self.files)


@dataclass(frozen=True, slots=True)
class Hit:
    """There is a result, and its artifacts are as they were."""

    known: Known
    result: CachedResult


@dataclass(frozen=True, slots=True)
class Miss:
    """There is none: the step is to be done, and has the claim to it; one that is to be done afresh needs none."""

    known: Known


@dataclass(frozen=True, slots=True)
class Wait:
    """Another node is about to do the same."""

    known: Known
    on: NodeKey


@dataclass(frozen=True, slots=True)
class Unknown:
    """It cannot be told, because files cannot be read: the step is to be done, and its result not to be kept."""

    question: Question
    message: str


Answer = Hit | Miss | Wait | Unknown


class Judging:
    """Asks what is kept, for many steps at once."""

    def __init__(self, *, database: Database, store: ArtifactStore, reading: Reading, clock: Clock) -> None:
        self._database = database
        self._store = store
        self._reading = reading
        self._clock = clock

    async def judge(self, questions: Sequence[Question], fence: Fence) -> Sequence[Answer]:
        """An answer for each question, in their order. Raises what `Files` and the database do."""
        looked = await self._looked_at(questions)
        answers: dict[NodeKey, Answer] = {each.question.by: each for each in looked if isinstance(each, Unknown)}
        known = [each for each in looked if isinstance(each, Known)]
        answers |= {each.question.by: Miss(each) for each in known if each.question.fresh}
        open_ = [each for each in known if not each.question.fresh]
        while open_:
            hits = await self._hits(open_)
            answers |= {hit.known.question.by: hit for hit in hits}
            claims = await self._claim([each for each in open_ if each.question.by not in answers], fence)
            answers |= {each.known.question.by: each for each in claims}
            # A result that came between two looks is looked at once more.
            open_ = [each for each in open_ if each.question.by not in answers]
        return [answers[question.by] for question in questions]

    async def foresee(self, questions: Sequence[Question]) -> Sequence[Hit | Miss | Unknown]:
        """What the answers would be if nobody else did anything. Changes nothing. Raises as `judge` does."""
        looked = await self._looked_at(questions)
        matches = await self._matches(self._database.newest, [each for each in looked if isinstance(each, Known)])
        spoiled = await self._spoiled(matches)
        hits = {hit.known.question.by: hit for hit in matches if hit.result.number not in spoiled}
        return [each if isinstance(each, Unknown) else hits.get(each.question.by, Miss(each)) for each in looked]

    async def finished(
        self, known: Known, outputs: Mapping[str, str], results: Mapping[str, Value], job: str, filesystem: str
    ) -> CachedResult | None:
        """The result of a step that succeeded, to be kept with its end; None if an output cannot be read.

        Outputs are paths in the filesystem of the shelf, by name; the filesystem is named for people.
        """
        question = known.question
        digests = await self._reading.digests(question.mode, [_spot(question, path) for path in outputs.values()])
        found = dict(zip(outputs, digests, strict=True))
        if any(isinstance(digest, Fault) for digest in digests):
            return None
        return CachedResult(
            cache_key=question.cache_key,
            files=known.files,
            made_by=question.by,
            component=question.component,
            job=job,
            filesystem=filesystem,
            max_expired_time=question.max_expired_time,
            outputs={name: Output(outputs[name], str(digest)) for name, digest in found.items()},
            results=results,
            explanation=known.explanation,
        )

    async def _looked_at(self, questions: Sequence[Question]) -> Sequence[Known | Unknown]:
        """The second level of each key."""
        digests: dict[tuple[CacheMode, Spot], str | Fault] = {}
        for mode in CacheMode:
            spots = {spot for question in questions if question.mode is mode for spot in _spots(question)}
            found = await self._reading.digests(mode, [*spots])
            digests |= {(mode, spot): digest for spot, digest in zip(spots, found, strict=True)}
        return [_known(question, digests) for question in questions]

    async def _hits(self, knowns: Sequence[Known]) -> Sequence[Hit]:
        """Those of which there is a result whose artifacts are as they were. Other results are forgotten."""
        hits, wanted = list[Hit](), list(knowns)
        while matches := await self._matches(self._database.newest, wanted):
            spoiled = await self._spoiled(matches)
            hits += [hit for hit in matches if hit.result.number not in spoiled]
            wanted = [hit.known for hit in matches if hit.result.number in spoiled]
            if spoiled:
                async with self._database.change() as change:
                    await self._store.remove_results(change, spoiled)
        return hits

    async def _matches(self, view: View, knowns: Sequence[Known]) -> Sequence[Hit]:
        """Those of which there is a result, whatever became of its artifacts."""
        if not knowns:
            return []
        now, keys = self._clock.now(), {known.question.cache_key for known in knowns}
        kept = await self._store.candidates(view, keys, now, EACH)
        found = [(known, _match(known, kept.get(known.question.cache_key, ()), now)) for known in knowns]
        return [Hit(known, result) for known, result in found if result is not None]

    async def _spoiled(self, matches: Sequence[Hit]) -> frozenset[int]:
        """Results whose artifacts are gone, or others by now."""
        spoiled = set[int]()
        for mode in CacheMode:
            outputs = [
                (hit.result.number, _spot(hit.known.question, output.path), output.digest)
                for hit in matches
                if hit.known.question.mode is mode
                for output in hit.result.outputs.values()
            ]
            found = await self._reading.digests(mode, [spot for _, spot, _ in outputs])
            spoiled |= {number for (number, _, before), now in zip(outputs, found, strict=True) if now != before}
        return frozenset(spoiled)

    async def _claim(self, knowns: Sequence[Known], fence: Fence) -> Sequence[Miss | Wait]:
        """Who is to do what; without those of which a result came meanwhile."""
        if not knowns:
            return []
        async with self._database.change() as change:
            await fence(change)
            holders = await self._store.claim(change, [Claim(known.work, known.question.by) for known in knowns])
            own = [known for known in knowns if holders[known.work] == known.question.by]
            came = {hit.known.question.by for hit in await self._matches(change, own)}
            await self._store.release(change, came)
        return [_claimed(known, holders[known.work]) for known in knowns if known.question.by not in came]


def _claimed(known: Known, holder: NodeKey) -> Miss | Wait:
    return Miss(known) if holder == known.question.by else Wait(known, holder)


def _known(question: Question, digests: Mapping[tuple[CacheMode, Spot], str | Fault]) -> Known | Unknown:
    """The second level of a key, and what both levels were made of."""
    inputs: dict[str, tuple[str, ...]] = {}
    for name, paths in question.inputs.items():
        found = [digests[question.mode, _spot(question, path)] for path in paths]
        if fault := next((each for each in found if isinstance(each, Fault)), None):
            return Unknown(question, f"the input {name} cannot be read: {fault.problem.message}")
        inputs[name] = tuple(map(str, found))
    scope: dict[str, str] = {}
    for place, spot in question.scope.items():
        match digests[question.mode, spot]:
            case Fault(FileNotFound()):
                scope[place] = ""
            case Fault(problem):
                return Unknown(question, f"{place}, which is in fs_scope, cannot be read: {problem.message}")
            case digest:
                scope[place] = digest
    contents = Contents(question.mode, inputs, scope)
    return Known(question, files_key(contents), explanation(question.parts, contents))


def _match(known: Known, results: Sequence[CachedResult], now: datetime) -> CachedResult | None:
    """The newest result that fits."""
    limit = known.question.max_expired_time
    return next((each for each in results if each.files == known.files and each.is_valid(now, limit)), None)


def _spot(question: Question, path: str) -> Spot:
    return Spot(Ask(question.user, question.shelf.filesystem_id, question.shelf.owner_since), path)


def _spots(question: Question) -> Iterator[Spot]:
    yield from (_spot(question, path) for paths in question.inputs.values() for path in paths)
    yield from question.scope.values()
