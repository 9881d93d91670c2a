"""Each reason for which calls about pipelines fail comes over a socket, from services as they are."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.message import Message

from fixtures_pipelines import PipelineSite
from paddleflow.pipeline.v1 import artifact_pb2, errors_pb2, pipeline_pb2, run_pb2, schedule_pb2
from paddleflow.problems import Problem

PREFIX = "PIPELINE_REASON_"
REASONS = [name.removeprefix(PREFIX) for name in errors_pb2.PipelineReason.keys()[1:]]
STEP = "docker_env: img\nentry_points: {never: {command: x, condition: '1 == 2'}}\n"
CAKE = """
name: cake
docker_env: img
cache: {enable: true}
entry_points: {bake: {command: "echo flour > {{dough}}", artifacts: {output: [dough]}}}
"""


@dataclass(frozen=True)
class World:
    """The services, and what a test needs there."""

    site: PipelineSite
    folder: Path

    def source(self, **fields: Any) -> pipeline_pb2.Source:
        return pipeline_pb2.Source(**fields or {"document": f"name: p{self.site.tag}\n{STEP}"})

    async def pipeline(self) -> pipeline_pb2.Pipeline:
        made: pipeline_pb2.Pipeline = (await self.call(self.creation())).pipeline
        return made

    def creation(self, **source: str) -> pipeline_pb2.CreatePipelineRequest:
        return pipeline_pb2.CreatePipelineRequest(source=self.source(**source))

    async def schedule(self) -> schedule_pb2.CreateScheduleRequest:
        """How a schedule was made that there is."""
        draft = schedule_pb2.Schedule(
            name=f"s{self.site.tag}", pipeline_id=(await self.pipeline()).id, crontab="@daily"
        )
        request = schedule_pb2.CreateScheduleRequest(schedule=draft)
        await self.call(request)
        return request

    async def over(self, **source: str) -> run_pb2.Run:
        """A run that is over."""
        request = run_pb2.CreateRunRequest(source=self.source(**source))
        return await self.site.over((await self.call(request)).run.id)

    async def call(self, request: Message) -> Any:
        return await self.site.root(request)


async def pipeline_exists(world: World) -> Message:
    await world.pipeline()
    return world.creation()


async def no_such_version(world: World) -> Message:
    return pipeline_pb2.GetPipelineVersionRequest(pipeline_id=(await world.pipeline()).id, number=9)


async def last_version(world: World) -> Message:
    return pipeline_pb2.DeletePipelineVersionRequest(pipeline_id=(await world.pipeline()).id, number=1)


async def unreadable(world: World) -> Message:
    return world.creation(filesystem=await world.site.filesystem(world.folder / "disk"), path="none.yaml")


async def stopped_when_over(world: World) -> Message:
    return run_pb2.StopRunRequest(id=(await world.over()).id)


async def used_by_another(world: World) -> Message:
    disk = await world.site.filesystem(world.folder / "disk")
    first, second = [await world.over(document=CAKE, filesystem=disk) for _ in range(2)]
    assert second.steps.cached == 1
    return run_pb2.DeleteRunRequest(id=first.id, keep_if_used=True)


async def no_such_node(world: World) -> Message:
    return run_pb2.ExplainNodeRequest(run_id=(await world.over()).id, path="none")


async def schedule_exists(world: World) -> Message:
    return await world.schedule()


async def stopped_twice(world: World) -> Message:
    await world.schedule()
    owned = schedule_pb2.ListSchedulesRequest(names=[f"s{world.site.tag}"])
    (schedule,) = (await world.call(owned)).schedules
    await world.call(schedule_pb2.StopScheduleRequest(id=schedule.id))
    return schedule_pb2.StopScheduleRequest(id=schedule.id)


def plainly(request: Message) -> Callable[[World], Awaitable[Message]]:
    async def made(_world: World) -> Message:
        return request

    return made


STRICT = pipeline_pb2.ExportDocumentRequest(
    source=pipeline_pb2.Source(document=f"name: p\ncache: {{enable: true}}\n{STEP}"),
    target=pipeline_pb2.EXPORT_TARGET_ARGO,
    strict=True,
)
FAILING: Mapping[str, Callable[[World], Awaitable[Message]]] = {
    "PIPELINE_NOT_FOUND": plainly(pipeline_pb2.GetPipelineRequest(id="ppl-999999")),
    "PIPELINE_EXISTS": pipeline_exists,
    "PIPELINE_VERSION_NOT_FOUND": no_such_version,
    "PIPELINE_IN_USE": last_version,
    "DOCUMENT_INVALID": plainly(run_pb2.CreateRunRequest(source=pipeline_pb2.Source(document="name: x"))),
    "DOCUMENT_UNREADABLE": unreadable,
    "RUN_NOT_FOUND": plainly(run_pb2.GetRunRequest(id="run-999999")),
    "RUN_STATE": stopped_when_over,
    "RUN_IN_USE": used_by_another,
    "NODE_NOT_FOUND": no_such_node,
    "SCHEDULE_NOT_FOUND": plainly(schedule_pb2.GetScheduleRequest(id="schedule-999999")),
    "SCHEDULE_EXISTS": schedule_exists,
    "SCHEDULE_STATE": stopped_twice,
    "CACHED_RESULT_NOT_FOUND": plainly(artifact_pb2.GetCachedResultRequest(id="cch-999999")),
    "NOT_EXPORTABLE": plainly(STRICT),
}
"""What makes a call that fails for a reason, and does all that must be before it."""


def test_no_reason_is_without_a_test() -> None:
    assert [reason for reason in REASONS if reason not in FAILING] == []


@pytest.mark.parametrize("reason", FAILING)
async def test_a_call_fails_for_its_reason(pipeline_site: PipelineSite, tmp_path: Path, reason: str) -> None:
    world = World(pipeline_site, tmp_path)
    request = await FAILING[reason](world)
    with pytest.raises(Problem) as failed:
        await world.call(request)
    assert (failed.value.reason, bool(failed.value.message)) == (reason, True)
