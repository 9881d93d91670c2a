"""Between the messages of the contract and runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from enum import StrEnum
from typing import TypeVar

from google.protobuf import struct_pb2
from google.protobuf.timestamp_pb2 import Timestamp

from paddleflow.common.v1 import event_pb2
from paddleflow.pipeline.v1 import pipeline_pb2, run_pb2
from paddleflow.problems import InvalidArgument, Violation
from pf_kit.events import Fact
from pf_kit.fields import shown
from pf_pipeline.documents.model import Cache, Mount, Strategy
from pf_pipeline.owners import Owner
from pf_pipeline.plans.domain import Kind, Planned, PlannedStep
from pf_pipeline.plans.requests import Given
from pf_pipeline.runs.domain import (
    Executor,
    Happening,
    Node,
    NodeFilter,
    Run,
    RunChanged,
    RunFilter,
    Source,
    StepCounts,
    Waiting,
)
from pf_pipeline.runs.ports import Wanted
from pf_pipeline.runs.states import NodeState, RunState
from pf_pipeline.runs.taking import Draft
from pf_pipeline.runs.values import given_message, given_of, holds_nul, value_message, value_messages

E = TypeVar("E", bound=StrEnum)

RUN_STATES = {state: run_pb2.RunState.Value(f"RUN_STATE_{state.name}") for state in RunState}
NODE_STATES = {state: run_pb2.NodeState.Value(f"NODE_STATE_{state.name}") for state in NodeState}
KINDS = {kind: run_pb2.NodeKind.Value(f"NODE_KIND_{kind.name}") for kind in Kind}
STRATEGIES = {each: run_pb2.FailureStrategy.Value(f"FAILURE_STRATEGY_{each.name}") for each in Strategy}
EXECUTORS = {each: run_pb2.Executor.Value(f"EXECUTOR_{each.name}") for each in Executor}
WAITINGS = {
    each: run_pb2.Waiting.Value(f"WAITING_{each.name}") if each else run_pb2.WAITING_UNSPECIFIED for each in Waiting
}
RUN_EVENT = run_pb2.RunEvent.DESCRIPTOR.full_name
MOST_NAMES = 1000
"""Names in a filter or a request."""
LONGEST_TEXT = 256


def run_message(run: Run) -> run_pb2.Run:
    """The run; its document is there if it was read."""
    order, life = run.order, run.life
    message = run_pb2.Run(
        id=run.id,
        name=order.title,
        description=order.description,
        owner=run.owner,
        state=RUN_STATES[life.state],
        message=life.message,
        source=_source_message(order.source, order.filesystem),
        origin=order.origin,
        document=order.document,
        parameters={name: given_message(value) for name, value in order.parameters.items()},
        filesystem=order.filesystem,
        docker_env=order.docker_env,
        disabled=order.disabled,
        failure_strategy=STRATEGIES[order.strategy] if order.strategy else run_pb2.FAILURE_STRATEGY_UNSPECIFIED,
        schedule_id=order.schedule_id,
        retry_of=order.retry_of,
        steps=_counts_message(life.steps),
        version=run.version,
        executor=EXECUTORS[order.executor],
    )
    _set(message.owner_since, run.owner_since)
    _set(message.create_time, life.create_time)
    _set(message.start_time, life.start_time)
    _set(message.finish_time, life.finish_time)
    _set(message.update_time, run.update_time)
    _set(message.scheduled_time, order.scheduled_time)
    return message


def owner_in(message: run_pb2.Run) -> Owner:
    """Whose run a message tells of."""
    return Owner(message.owner, message.owner_since.ToDatetime(UTC))


def node_message(node: Node, planned: Planned | None = None) -> run_pb2.Node:
    """What is told of a node; with what it is a part of in its plan, also how that is cached and what it sees."""
    work = node.work
    message = run_pb2.Node(
        path=node.path,
        name=node.name,
        kind=KINDS[node.kind],
        parent=node.parent,
        iteration=node.iteration,
        iterations=node.iterations,
        deps=node.deps,
        reference=node.reference,
        state=NODE_STATES[node.state],
        message=node.message,
        waiting=WAITINGS[node.waiting],
        waiting_on=node.waiting_on,
        attempt=node.attempt,
        job_id=node.job,
        job_name=node.job_name,
        command=work.command,
        parameters=value_messages(work.parameters),
        env=work.env,
        docker_env=work.docker_env,
        inputs=work.inputs,
        outputs=work.outputs,
        results=value_messages(node.results),
        cache_run_id=node.cache.run,
        cache_job_id=node.cache.job,
        condition=work.condition,
    )
    if work.loop_argument is not None:
        message.loop_argument.CopyFrom(value_message(work.loop_argument))
    _set(message.start_time, node.start_time)
    _set(message.finish_time, node.finish_time)
    _set(message.not_before, node.not_before)
    if isinstance(planned, PlannedStep):
        message.cache.CopyFrom(_cache_message(planned.cache))
        message.extra_fs.extend(map(_mount_message, planned.extra_fs))
    return message


def _cache_message(cache: Cache) -> run_pb2.CacheSettings:
    return run_pb2.CacheSettings(
        enable=bool(cache.enable),
        max_expired_time=-1 if cache.max_expired_time is None else cache.max_expired_time,
        fs_scope=[run_pb2.CacheScope(name=each.name, path=each.path) for each in cache.fs_scope],
    )


def _mount_message(mount: Mount) -> run_pb2.ExtraFilesystem:
    return run_pb2.ExtraFilesystem(
        name=mount.name, mount_path=mount.mount_path, sub_path=mount.sub_path, read_only=mount.read_only
    )


def happening_message(happening: Happening) -> run_pb2.Happening:
    state = happening.node_state
    message = run_pb2.Happening(
        number=happening.number,
        path=happening.path,
        what=happening.what,
        message=happening.message,
        node_state=NODE_STATES[state] if state else run_pb2.NODE_STATE_UNSPECIFIED,
        run_state=RUN_STATES[happening.run_state],
        attempt=happening.attempt,
        job_id=happening.job,
    )
    _set(message.time, happening.time)
    return message


def existing(run: Run) -> run_pb2.RunEvent:
    return run_pb2.RunEvent(kind=event_pb2.CHANGE_KIND_EXISTING, run=run_message(run))


def encode_run(event: RunChanged) -> Fact:
    """The event, ready to be stored. Documents are not told: they never change, and may be large."""
    kind = event_pb2.CHANGE_KIND_UPDATED
    if event.born or event.forgotten:
        kind = event_pb2.CHANGE_KIND_CREATED if event.born else event_pb2.CHANGE_KIND_DELETED
    message = run_message(event.run)
    message.ClearField("document")
    payload = run_pb2.RunEvent(kind=kind, run=message)
    return Fact(RUN_EVENT, f"run/{event.run.id}", event.run.version, payload.SerializeToString())


def draft_of(request: run_pb2.CreateRunRequest) -> Draft:
    """The run that somebody asks for. InvalidArgument names each field that cannot be."""
    if wrong := tuple(_violations(request)):
        raise InvalidArgument.of(*wrong)
    return Draft(
        wanted=wanted_of(request.source),
        title=request.name,
        description=request.description,
        owner=request.owner,
        parameters=parameters_of(request.parameters),
        disabled=tuple(request.disabled),
        docker_env=request.docker_env,
        strategy=_ours(request.failure_strategy, STRATEGIES),
        executor=_ours(request.executor, EXECUTORS) or Executor.JOBS,
        fresh=tuple(request.fresh),
    )


def parameters_of(messages: Mapping[str, struct_pb2.Value]) -> Mapping[str, Given]:
    """Values of parameters. InvalidArgument names each that cannot be."""
    wrong = [name for name, value in messages.items() if "\0" in name or holds_nul(value)]
    if wrong:
        raise InvalidArgument.of(*(Violation(f"parameters.{shown(name)}", "must not hold NUL") for name in wrong))
    return {name: given_of(value) for name, value in messages.items()}


def wanted_of(source: pipeline_pb2.Source) -> Wanted:
    return Wanted(
        document=source.document,
        pipeline_id=source.pipeline_id,
        pipeline_version=source.pipeline_version,
        path=source.path,
        filesystem=source.filesystem,
    )


def run_filter(request: run_pb2.ListRunsRequest) -> RunFilter:
    """The runs to list. InvalidArgument names each field that cannot be."""
    lists = {
        name: getattr(request, name) for name in ("owners", "filesystems", "ids", "names") if getattr(request, name)
    }
    wrong = [Violation(name, TOO_MANY) for name, values in lists.items() if not _are_names(values)]
    ids = {name: getattr(request, name) for name in ("schedule_id", "pipeline_id")}
    wrong += [Violation(name, "must not hold NUL") for name, id_ in ids.items() if "\0" in id_]
    if wrong:
        raise InvalidArgument.of(*wrong)
    return RunFilter(
        owners=frozenset(request.owners),
        states=frozenset(state for state, number in RUN_STATES.items() if number in request.states),
        filesystems=frozenset(request.filesystems),
        ids=frozenset(request.ids),
        names=frozenset(request.names),
        schedule_id=request.schedule_id,
        pipeline_id=request.pipeline_id,
    )


def node_filter(request: run_pb2.ListNodesRequest) -> NodeFilter:
    if "\0" in request.below:
        raise InvalidArgument.of(Violation("below", "must not hold NUL"))
    states = frozenset(state for state, number in NODE_STATES.items() if number in request.states)
    return NodeFilter(below=request.below, states=states)


TOO_MANY = f"must be at most {MOST_NAMES} names without NUL"


def _are_names(values: list[str]) -> bool:
    return len(values) <= MOST_NAMES and not any("\0" in value for value in values)


def _violations(request: run_pb2.CreateRunRequest) -> Iterator[Violation]:
    for name in ("name", "description", "docker_env"):
        text = getattr(request, name)
        if len(text) > LONGEST_TEXT or "\0" in text:
            yield Violation(name, f"must have at most {LONGEST_TEXT} characters, and no NUL")
    for name in ("disabled", "fresh"):
        if not _are_names(getattr(request, name)):
            yield Violation(name, TOO_MANY)
    if request.failure_strategy and _ours(request.failure_strategy, STRATEGIES) is None:
        yield Violation("failure_strategy", "is none that this server knows")
    if request.executor and _ours(request.executor, EXECUTORS) is None:
        yield Violation("executor", "is none that this server knows")


def _ours(number: int, known: Mapping[E, int]) -> E | None:
    return next((ours for ours, theirs in known.items() if theirs == number), None)


def _source_message(source: Source, filesystem: str) -> pipeline_pb2.Source:
    return pipeline_pb2.Source(
        pipeline_id=source.pipeline_id,
        pipeline_version=source.pipeline_version,
        path=source.path,
        filesystem=filesystem,
    )


def _counts_message(steps: StepCounts) -> run_pb2.StepCounts:
    return run_pb2.StepCounts(
        waiting=steps.waiting,
        running=steps.running,
        succeeded=steps.succeeded,
        failed=steps.failed,
        skipped=steps.skipped,
        cancelled=steps.cancelled,
        cached=steps.cached,
    )


def _set(message: Timestamp, time: datetime | None) -> None:
    if time is not None:
        message.FromDatetime(time)
