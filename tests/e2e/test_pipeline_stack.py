"""Runs of pipelines in an installation as a user gets it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import grpc
import pytest

from paddleflow.pipeline.v1 import pipeline_pb2, pipeline_pb2_grpc, run_pb2, run_pb2_grpc, schedule_pb2
from paddleflow.pipeline.v1.schedule_pb2_grpc import ScheduleServiceStub
from pf_stack.endpoints import read_endpoints
from support.servers import short_folder
from support.stacks import Stack, new_stack, wait_until

PATIENCE = 60.0
ENDED = frozenset({run_pb2.RUN_STATE_SUCCEEDED, run_pb2.RUN_STATE_FAILED, run_pb2.RUN_STATE_TERMINATED})
TWO_STEPS = """
name: two
docker_env: img
entry_points:
  first: {command: "%s"}
  second: {command: "test {{PF_RUN_ID}} = $PF_RUN_ID", deps: first}
"""

pytestmark = pytest.mark.timeout(180)


@dataclass(frozen=True)
class Pipelines:
    """The pipeline service of a stack, as root calls it."""

    channel: grpc.Channel
    secret: str

    @property
    def runs(self) -> Any:
        return run_pb2_grpc.RunServiceStub(self.channel)

    def create(self, command: str) -> str:
        request = run_pb2.CreateRunRequest(source=pipeline_pb2.Source(document=TWO_STEPS % command))
        return str(self.call(self.runs.CreateRun, request).run.id)

    def until(self, id_: str, is_so: Callable[[run_pb2.Run], bool]) -> run_pb2.Run:
        deadline = time.monotonic() + PATIENCE
        while not is_so(run := self.call(self.runs.GetRun, run_pb2.GetRunRequest(id=id_)).run):
            assert time.monotonic() < deadline, run
            time.sleep(0.02)
        return run  # type: ignore[no-any-return]  # what grpc returns has no type

    def over(self, id_: str) -> run_pb2.RunState.ValueType:
        return self.until(id_, lambda run: run.state in ENDED).state

    def running(self, id_: str) -> None:
        self.until(id_, lambda run: run.steps.running == 1)

    def keep(self) -> tuple[str, str]:
        """A pipeline, and a schedule that never comes to its tick while a test runs."""
        source = pipeline_pb2.Source(document=TWO_STEPS % "true")
        stub: Any = pipeline_pb2_grpc.PipelineServiceStub(self.channel)
        kept = self.call(stub.CreatePipeline, pipeline_pb2.CreatePipelineRequest(source=source)).pipeline.id
        draft = schedule_pb2.Schedule(name="yearly", pipeline_id=kept, crontab="0 3 1 1 *")
        clock: Any = ScheduleServiceStub(self.channel)
        request = schedule_pb2.CreateScheduleRequest(schedule=draft)
        return kept, self.call(clock.CreateSchedule, request).schedule.id

    def call(self, method: Any, request: object) -> Any:
        return method(request, metadata=(("authorization", f"Bearer {self.secret}"),), timeout=20)


@contextmanager
def pipelines_of(stack: Stack) -> Iterator[Pipelines]:
    with stack.connect() as client:
        secret = client.tokens.create("test").secret
    with grpc.insecure_channel(read_endpoints(stack.layout)["pipeline"].target) as channel:
        yield Pipelines(channel, secret)


def test_a_run_succeeds_also_if_the_service_is_killed_meanwhile(stack: Stack) -> None:
    with pipelines_of(stack) as pipelines:
        made = pipelines.create("sleep 2")
        pipelines.running(made)
        before = stack.pid("pipeline")
        stack.kill("pipeline")
        wait_until(lambda: stack.status()["ready"] and stack.pid("pipeline") != before)
    with pipelines_of(stack) as pipelines:
        assert pipelines.over(made) == run_pb2.RUN_STATE_SUCCEEDED


def test_runs_pipelines_and_schedules_are_backed_up_and_restored(stack: Stack) -> None:
    folder = short_folder()
    file = folder / "backup.tar"
    with pipelines_of(stack) as pipelines:
        done = pipelines.create("true")
        pipelines.over(done)
        kept, schedule = pipelines.keep()
    stack.pf("backup", str(file))
    with new_stack() as other:
        other.pf("restore", str(file), "--data", str(other.data))
        other.pf("up")
        with pipelines_of(other) as pipelines:
            assert pipelines.over(done) == run_pb2.RUN_STATE_SUCCEEDED
            found = pipelines.call(
                ScheduleServiceStub(pipelines.channel).GetSchedule, schedule_pb2.GetScheduleRequest(id=schedule)
            ).schedule
            assert (found.pipeline_id, found.state) == (kept, schedule_pb2.SCHEDULE_STATE_RUNNING)
            assert pipelines.over(pipelines.create("true")) == run_pb2.RUN_STATE_SUCCEEDED
    file.unlink()
    folder.rmdir()


def test_a_run_goes_on_when_the_stack_is_up_again() -> None:
    with new_stack() as stack:
        stack.pf("up")
        with pipelines_of(stack) as pipelines:
            made = pipelines.create("sleep 4")
            pipelines.running(made)
        stack.pf("down")
        stack.pf("up")
        with pipelines_of(stack) as pipelines:
            assert pipelines.over(made) == run_pb2.RUN_STATE_SUCCEEDED
