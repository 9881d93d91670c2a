"""Runs, and what happens in them, to and from the wire."""

from __future__ import annotations

from collections.abc import Iterator

from paddleflow.models.pipelines import Source
from paddleflow.models.runs import (
    Executor,
    FailureStrategy,
    Run,
    RunFilter,
    RunHappening,
    RunOptions,
    RunState,
    StepCounts,
)
from paddleflow.models.watches import Change
from paddleflow.pipeline.v1 import run_pb2
from paddleflow.wire import nodes
from paddleflow.wire.audit import CHANGE_KIND
from paddleflow.wire.base import EnumCodec, build, time_from_wire
from paddleflow.wire.pipelines import source_from_wire, source_to_wire
from paddleflow.wire.values import values_from_wire, values_to_wire

STATE = EnumCodec(RunState, run_pb2.RunState, "RUN_STATE_")
STRATEGY = EnumCodec(FailureStrategy, run_pb2.FailureStrategy, "FAILURE_STRATEGY_")
EXECUTOR = EnumCodec(Executor, run_pb2.Executor, "EXECUTOR_")


def create_request(source: Source, options: RunOptions) -> run_pb2.CreateRunRequest:
    return build(
        run_pb2.CreateRunRequest,
        source=source_to_wire(source),
        name=options.get("name", ""),
        description=options.get("description", ""),
        owner=options.get("owner", ""),
        parameters=values_to_wire("parameters", options.get("parameters", {})),
        disabled=options.get("disabled", ()),
        docker_env=options.get("docker_env", ""),
        failure_strategy=STRATEGY.number(options.get("failure_strategy", FailureStrategy.UNSPECIFIED)),
        executor=EXECUTOR.number(options.get("executor", Executor.UNSPECIFIED)),
        fresh=options.get("fresh", ()),
    )


def list_request(chosen: RunFilter, size: int, token: str) -> run_pb2.ListRunsRequest:
    return build(
        run_pb2.ListRunsRequest,
        states=[STATE.number(state) for state in chosen.get("states", ())],
        owners=chosen.get("owners", ()),
        filesystems=chosen.get("filesystems", ()),
        ids=chosen.get("ids", ()),
        names=chosen.get("names", ()),
        schedule_id=chosen.get("schedule_id", ""),
        pipeline_id=chosen.get("pipeline_id", ""),
        page_size=size,
        page_token=token,
    )


def run_from_wire(run: run_pb2.Run) -> Run:
    return Run(
        id=run.id,
        name=run.name,
        description=run.description,
        owner=run.owner,
        state=STATE.member(run.state),
        message=run.message,
        source=source_from_wire(run.source),
        origin=run.origin,
        document=run.document,
        parameters=values_from_wire(run.parameters),
        filesystem=run.filesystem,
        docker_env=run.docker_env,
        disabled=tuple(run.disabled),
        failure_strategy=STRATEGY.member(run.failure_strategy),
        schedule_id=run.schedule_id,
        scheduled_time=time_from_wire(run, "scheduled_time"),
        retry_of=run.retry_of,
        used_by=tuple(run.used_by),
        create_time=time_from_wire(run, "create_time"),
        start_time=time_from_wire(run, "start_time"),
        finish_time=time_from_wire(run, "finish_time"),
        update_time=time_from_wire(run, "update_time"),
        steps=_counts_from_wire(run.steps),
        version=run.version,
        executor=EXECUTOR.member(run.executor),
    )


def run_changes_from_wire(message: run_pb2.WatchRunsResponse) -> Iterator[Change[Run]]:
    for event in message.events:
        yield Change(CHANGE_KIND.member(event.kind), run_from_wire(event.run))


def happening_from_wire(happening: run_pb2.Happening) -> RunHappening:
    return RunHappening(
        number=happening.number,
        time=time_from_wire(happening, "time"),
        path=happening.path,
        what=happening.what,
        message=happening.message,
        node_state=nodes.STATE.member(happening.node_state),
        run_state=STATE.member(happening.run_state),
        attempt=happening.attempt,
        job_id=happening.job_id,
    )


def _counts_from_wire(counts: run_pb2.StepCounts) -> StepCounts:
    return StepCounts(
        waiting=counts.waiting,
        running=counts.running,
        succeeded=counts.succeeded,
        failed=counts.failed,
        skipped=counts.skipped,
        cancelled=counts.cancelled,
        cached=counts.cached,
    )
