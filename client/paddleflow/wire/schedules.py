"""Schedules to and from the wire."""

from __future__ import annotations

from datetime import timedelta

from paddleflow.models.schedules import (
    BackfilledTick,
    Catchup,
    ConcurrencyPolicy,
    Schedule,
    ScheduleFilter,
    ScheduleState,
)
from paddleflow.pipeline.v1 import schedule_pb2
from paddleflow.wire.base import EnumCodec, build, time_from_wire, time_to_wire
from paddleflow.wire.values import values_from_wire, values_to_wire

STATE = EnumCodec(ScheduleState, schedule_pb2.ScheduleState, "SCHEDULE_STATE_")
POLICY = EnumCodec(ConcurrencyPolicy, schedule_pb2.ConcurrencyPolicy, "CONCURRENCY_POLICY_")
CATCHUP = EnumCodec(Catchup, schedule_pb2.Catchup, "CATCHUP_")


def schedule_to_wire(schedule: Schedule) -> schedule_pb2.Schedule:
    """The fields that a new schedule has."""
    return build(
        schedule_pb2.Schedule,
        name=schedule.name,
        description=schedule.description,
        owner=schedule.owner,
        pipeline_id=schedule.pipeline_id,
        pipeline_version=schedule.pipeline_version,
        crontab=schedule.crontab,
        time_zone=schedule.time_zone,
        start_time=time_to_wire("start_time", schedule.start_time) if schedule.start_time else None,
        end_time=time_to_wire("end_time", schedule.end_time) if schedule.end_time else None,
        concurrency=schedule.concurrency,
        concurrency_policy=POLICY.number(schedule.concurrency_policy),
        expire_interval=int(schedule.expire_interval.total_seconds()),
        catchup=CATCHUP.number(schedule.catchup),
        parameters=values_to_wire("parameters", schedule.parameters),
    )


def schedule_from_wire(schedule: schedule_pb2.Schedule) -> Schedule:
    return Schedule(
        id=schedule.id,
        name=schedule.name,
        description=schedule.description,
        owner=schedule.owner,
        pipeline_id=schedule.pipeline_id,
        pipeline_version=schedule.pipeline_version,
        crontab=schedule.crontab,
        time_zone=schedule.time_zone,
        start_time=time_from_wire(schedule, "start_time"),
        end_time=time_from_wire(schedule, "end_time"),
        concurrency=schedule.concurrency,
        concurrency_policy=POLICY.member(schedule.concurrency_policy),
        expire_interval=timedelta(seconds=schedule.expire_interval),
        catchup=CATCHUP.member(schedule.catchup),
        parameters=values_from_wire(schedule.parameters),
        state=STATE.member(schedule.state),
        message=schedule.message,
        next_time=time_from_wire(schedule, "next_time"),
        create_time=time_from_wire(schedule, "create_time"),
        update_time=time_from_wire(schedule, "update_time"),
        version=schedule.version,
    )


def list_request(chosen: ScheduleFilter, size: int, token: str) -> schedule_pb2.ListSchedulesRequest:
    return build(
        schedule_pb2.ListSchedulesRequest,
        owners=chosen.get("owners", ()),
        names=chosen.get("names", ()),
        pipeline_ids=chosen.get("pipeline_ids", ()),
        pipeline_versions=chosen.get("pipeline_versions", ()),
        states=[STATE.number(state) for state in chosen.get("states", ())],
        page_size=size,
        page_token=token,
    )


def tick_from_wire(tick: schedule_pb2.BackfilledTick) -> BackfilledTick:
    return BackfilledTick(time_from_wire(tick, "time"), tick.run_id, tick.new)
