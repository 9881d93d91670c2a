"""When a result is used again, when it is waited for, and when the work is to be done, over each store."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from paddleflow.problems import Aborted, FileUnusable
from pf_kit.clock import SystemClock
from pf_kit.unit import Change, Database
from pf_pipeline.artifacts.domain import CachedResult, NodeKey, ResultFilter, Shelf
from pf_pipeline.artifacts.judging import Answer, Hit, Judging, Known, Miss, Question, Unknown, Wait
from pf_pipeline.artifacts.keys import StepParts
from pf_pipeline.artifacts.ports import Ask
from pf_pipeline.artifacts.reading import Reading, Spot
from pf_pipeline.artifacts.store import ArtifactStore
from pf_pipeline.documents.model import CacheMode
from support.artifact_stores import opened_store
from support.fake_files import FakeFiles

SHELF = Shelf("ada", "fs", "path:run.yaml")
PARTS = StepParts(command="train {{data}} {{model}}", inputs=("data",), outputs=("model",))


async def free(change: Change) -> None:
    """Nobody else drives."""


@dataclass
class World:
    """What is asked, and all that answers."""

    database: Database
    store: ArtifactStore
    files: FakeFiles = field(default_factory=FakeFiles)

    @property
    def judging(self) -> Judging:
        reading = Reading(files=self.files)
        return Judging(database=self.database, store=self.store, reading=reading, clock=SystemClock())

    async def ask(self, *questions: Question) -> Sequence[Answer]:
        return await self.judging.judge(questions, free)

    async def one(self, question: Question) -> Answer:
        (answer,) = await self.ask(question)
        return answer

    async def finish(self, known: Known, output: str = "m1") -> CachedResult:
        """The step has succeeded, with a model of this content."""
        path = f"{known.question.by.run}/model"
        self.files.write(path, output)
        result = await self.judging.finished(known, {"model": path}, {"loss": 0.5}, "job", "data")
        assert result is not None
        async with self.database.change("run") as change:
            (stored,) = await self.store.add_results(change, [result])
            await self.store.release(change, [known.question.by])
        return stored


@pytest.fixture(params=["memory", "postgres"])
async def world(request: pytest.FixtureRequest) -> AsyncIterator[World]:
    async with opened_store(request) as opened:
        yield World(*opened)


def question(run: str, **more: Any) -> Question:
    """The same step in another run, whose input has the same content at another path."""
    given = {"inputs": {"data": ("data",)}, "shelf": SHELF, "parts": PARTS, "user": "ada", "component": "train"}
    return Question(by=NodeKey(run, "train"), **{**given, **more})


@pytest.fixture(autouse=True)
def data(world: World) -> None:
    world.files.write("data", "d1")


async def made(world: World, run: str = "r1", **more: Any) -> CachedResult:
    """A result that a run made."""
    answer = await world.one(question(run, **more))
    assert isinstance(answer, Miss)
    return await world.finish(answer.known)


async def test_what_was_made_is_used_again(world: World) -> None:
    result = await made(world)
    answer = await world.one(question("r2"))
    assert isinstance(answer, Hit)
    assert answer.result == replace(result, explanation="{}")
    assert answer.result.outputs["model"].path == "r1/model"
    assert answer.result.results == {"loss": 0.5}


async def test_inputs_count_by_content_and_not_by_path(world: World) -> None:
    await made(world)
    world.files.write("elsewhere", "d1")
    assert isinstance(await world.one(question("r2", inputs={"data": ("elsewhere",)})), Hit)
    world.files.write("elsewhere", "d2")
    assert isinstance(await world.one(question("r2", inputs={"data": ("elsewhere",)})), Miss)


async def test_the_files_in_scope_count(world: World) -> None:
    def scoped(run: str) -> Question:
        return question(
            run, scope={"code:src": Spot(Ask("ada", "code"), "src"), "code:x": Spot(Ask("ada", "code"), "x")}
        )

    world.files.write("src", "s1", "code")
    answer = await world.one(scoped("r1"))
    assert isinstance(answer, Miss)
    await world.finish(answer.known)
    assert isinstance(await world.one(scoped("r2")), Hit)
    world.files.write("src", "s2", "code")
    changed = await world.one(scoped("r2"))
    assert isinstance(changed, Miss)
    world.files.write("src", "s1", "code")
    world.files.write("x", "now there is something", "code")
    assert isinstance(await world.one(scoped("r3")), Miss)


@pytest.mark.parametrize(
    "other",
    [
        {"shelf": replace(SHELF, origin="path:other.yaml")},
        {"shelf": replace(SHELF, owner="bob")},
        {"parts": replace(PARTS, version="2")},
        {"mode": CacheMode.MTIME},
    ],
)
async def test_whatever_differs_is_not_the_same(world: World, other: dict[str, Any]) -> None:
    await made(world)
    assert isinstance(await world.one(question("r2", **other)), Miss)


async def test_the_newest_result_is_used(world: World) -> None:
    first = await made(world)
    async with world.database.change("run") as change:
        newer = replace(first, made_by=NodeKey("r7", "train"), number=0)
        (newest,) = await world.store.add_results(change, [newer])
    answer = await world.one(question("r2"))
    assert isinstance(answer, Hit)
    assert answer.result.number == newest.number


async def test_a_result_whose_time_is_over_is_not_used(world: World) -> None:
    await made(world)
    assert isinstance(await world.one(question("r2", max_expired_time=300)), Hit)
    assert isinstance(await world.one(question("r2", max_expired_time=0)), Miss)


@pytest.mark.parametrize("became", ["other bytes", None, FileUnusable("a link out")])
async def test_a_result_whose_artifacts_are_gone_or_others_is_forgotten(world: World, became: Any) -> None:
    result = await made(world)
    if became is None:
        del world.files.kept["fs", "r1/model"]
    else:
        world.files.write("r1/model", became)
    answer = await world.one(question("r2"))
    assert isinstance(answer, Miss)
    assert await world.store.result(world.database.newest, result.number) is None


async def test_an_older_result_takes_the_place_of_one_that_is_gone(world: World) -> None:
    first = await made(world)
    async with world.database.change("run") as change:
        gone = replace(
            first, made_by=NodeKey("r7", "train"), outputs={"model": replace(first.outputs["model"], path="x")}
        )
        await world.store.add_results(change, [gone])
    answer = await world.one(question("r2"))
    assert isinstance(answer, Hit)
    assert answer.result.number == first.number


async def test_the_same_work_is_done_once(world: World) -> None:
    first, second = await world.ask(question("r1"), question("r2"))
    third = await world.one(question("r3"))
    assert isinstance(first, Miss)
    assert [second.on, third.on] == [NodeKey("r1", "train")] * 2  # type: ignore[union-attr]  # both wait
    assert isinstance(await world.one(question("r1")), Miss), "asked again, it still has the claim"
    await world.finish(first.known)
    for answer in await world.ask(question("r2"), question("r3")):
        assert isinstance(answer, Hit)


async def test_if_the_one_that_was_waited_for_fails_another_one_does_it(world: World) -> None:
    await world.one(question("r1"))
    assert isinstance(await world.one(question("r2")), Wait)
    async with world.database.change("run") as change:
        await world.store.release(change, [NodeKey("r1", "train")])
    assert isinstance(await world.one(question("r2")), Miss)
    assert isinstance(await world.one(question("r1")), Wait)


async def test_a_result_that_comes_between_two_looks_is_used(world: World) -> None:
    """The other one finishes after it was seen that there is no result, and before the claim."""
    first = await world.one(question("r1"))
    assert isinstance(first, Miss)
    finished = False

    async def late(change: Change) -> None:
        nonlocal finished
        if not finished:
            finished = True
            (result,) = await world.store.add_results(change, [await _result(world, first.known)])
            await world.store.release(change, [first.known.question.by])
            assert result.number

    (answer,) = await world.judging.judge([question("r2")], late)
    assert isinstance(answer, Hit)
    assert await world.store.claimed(world.database.newest, [answer.known.work]) == {}


async def _result(world: World, known: Known) -> CachedResult:
    world.files.write("r1/model", "m1")
    result = await world.judging.finished(known, {"model": "r1/model"}, {}, "job", "data")
    assert result is not None
    return result


async def test_many_at_once_agree(world: World) -> None:
    async with asyncio.timeout(20):
        answers = await asyncio.gather(*(world.one(question(f"r{number}")) for number in range(10)))
    (miss,) = [answer for answer in answers if isinstance(answer, Miss)]
    assert {answer.on for answer in answers if isinstance(answer, Wait)} == {miss.known.question.by}


async def test_whoever_does_not_drive_any_more_claims_nothing(world: World) -> None:
    async def lost(change: Change) -> None:
        raise Aborted("another instance drives")

    with pytest.raises(Aborted):
        await world.judging.judge([question("r1")], lost)
    assert isinstance(await world.one(question("r2")), Miss)


async def test_what_cannot_be_read_is_told_and_claims_nothing(world: World) -> None:
    world.files.write("bad", FileUnusable("a device"))
    inputs, scope = await world.ask(
        question("r1", inputs={"data": ("data", "nothing")}),
        question("r2", scope={"fs:bad": Spot(Ask("ada", "fs"), "bad")}),
    )
    assert isinstance(inputs, Unknown)
    assert isinstance(scope, Unknown)
    assert "input data" in inputs.message
    assert "fs:bad" in scope.message
    assert isinstance(await world.one(question("r3")), Miss)


async def test_a_result_with_an_output_that_is_not_there_is_none(world: World) -> None:
    answer = await world.one(question("r1"))
    assert isinstance(answer, Miss)
    world.files.write("there", "x")
    outputs = {"model": "there", "log": "missing"}
    assert await world.judging.finished(answer.known, outputs, {}, "job", "data") is None
    assert not await world.store.results(world.database.newest, ResultFilter(), 0, 9)


async def test_files_are_read_to_the_end_and_in_the_name_of_the_user(world: World) -> None:
    world.files.slow = {"data", "src"}
    answer = await world.one(question("r1", scope={"code:src": Spot(Ask("ada", "code"), "src")}))
    assert isinstance(answer, Miss)
    assert {(ask, paths) for ask, paths, _ in world.files.asked} == {
        (Ask("ada", "fs"), ("data",)),
        (Ask("ada", "code"), ("src",)),
    }
    assert len(world.files.asked) == 4


async def test_a_step_without_files_has_a_result_too(world: World) -> None:
    bare = {"inputs": {}, "parts": StepParts(command="echo")}
    answer = await world.one(question("r1", **bare))
    assert isinstance(answer, Miss)
    result = await world.judging.finished(answer.known, {}, {"n": 1}, "job", "")
    assert result is not None
    async with world.database.change("run") as change:
        await world.store.add_results(change, [result])
        await world.store.release(change, [answer.known.question.by])
    assert isinstance(await world.one(question("r2", **bare)), Hit)
    assert not await world.ask()
