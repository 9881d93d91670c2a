"""Between the messages of the contract and the values of the domain."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, TypeVar

from google.protobuf.json_format import MessageToDict, ParseDict
from google.protobuf.struct_pb2 import Value
from google.protobuf.timestamp_pb2 import Timestamp

from paddleflow.pipeline.v1 import schedule_pb2
from paddleflow.problems import InvalidArgument, PermissionDenied, Violation
from pf_kit.changes import UNBORN
from pf_kit.events import Fact
from pf_kit.fields import one_line, plain_text, require, within
from pf_kit.principal import Principal
from pf_kit.times import time_of
from pf_kit.wire import CHANGE_KINDS, timestamp
from pf_pipeline.runs.values import holds_nul
from pf_pipeline.schedules.backfill import Filled, Span
from pf_pipeline.schedules.cron import LONGEST, CrontabError, UnknownZone, split, timetable
from pf_pipeline.schedules.domain import (
    Catchup,
    Policy,
    Rule,
    Schedule,
    ScheduleChanged,
    ScheduleFilter,
    ScheduleState,
)
from pf_pipeline.schedules.service import Draft

E = TypeVar("E", bound=StrEnum)
SCHEDULE_EVENT = schedule_pb2.ScheduleEvent.DESCRIPTOR.full_name
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{1,49}", re.ASCII)
DESCRIPTION_LENGTH = 256
ID_LENGTH = 128
MOST_RUNS = 1000
"""That a schedule may limit itself to."""
LONGEST_EXPIRY = 10 * 366 * 24 * 3600
"""Seconds."""
MOST_VERSION = 2**31 - 1
MOST_PARAMETERS = 1000
PARAMETERS_BYTES = 2**20
MOST_FILTERED = 1000
"""Values of one filter."""

STATES: Mapping[ScheduleState, schedule_pb2.ScheduleState.ValueType] = {
    state: schedule_pb2.ScheduleState.Value(f"SCHEDULE_STATE_{state.name}") for state in ScheduleState
}
POLICIES: Mapping[Policy, schedule_pb2.ConcurrencyPolicy.ValueType] = {
    policy: schedule_pb2.ConcurrencyPolicy.Value(f"CONCURRENCY_POLICY_{policy.name}") for policy in Policy
}
CATCHUPS: Mapping[Catchup, schedule_pb2.Catchup.ValueType] = {
    catchup: schedule_pb2.Catchup.Value(f"CATCHUP_{catchup.name}") for catchup in Catchup
}


def schedule_message(schedule: Schedule) -> schedule_pb2.Schedule:
    rule, standing = schedule.rule, schedule.standing
    return schedule_pb2.Schedule(
        id=schedule.id,
        name=schedule.name,
        description=schedule.description,
        owner=schedule.owner,
        pipeline_id=schedule.pipeline_id,
        pipeline_version=schedule.pipeline_version,
        crontab=rule.crontab,
        time_zone=rule.time_zone,
        start_time=timestamp(rule.start),
        end_time=_stamp(rule.end),
        concurrency=rule.concurrency,
        concurrency_policy=POLICIES[rule.policy],
        expire_interval=int(rule.expire.total_seconds()),
        catchup=CATCHUPS[rule.catchup],
        parameters={name: _value(value) for name, value in schedule.parameters.items()},
        state=STATES[standing.state],
        message=standing.message,
        next_time=_stamp(standing.next_time),
        create_time=timestamp(schedule.create_time),
        update_time=timestamp(schedule.update_time),
        version=schedule.version,
    )


def draft_of(caller: Principal, message: schedule_pb2.Schedule) -> Draft:
    """The schedule to be made. InvalidArgument names each field that cannot be."""
    if message.owner not in ("", caller.name) and not caller.root:
        raise PermissionDenied("only root makes schedules of other users; leave `owner` out")
    require(_violations(message))
    crontab = split(message.crontab)
    start = time_of("schedule.start_time", message.start_time) if message.HasField("start_time") else None
    end = time_of("schedule.end_time", message.end_time) if message.HasField("end_time") else None
    if start and end and end < start:
        raise InvalidArgument.of(Violation("schedule.end_time", "must not be before `start_time`"))
    rule = Rule(
        crontab=message.crontab.strip(),
        time_zone=message.time_zone or crontab.zone_name,
        start=start or UNBORN,
        end=end,
        concurrency=message.concurrency,
        policy=_chosen(POLICIES, message.concurrency_policy, Policy.SUSPEND, "schedule.concurrency_policy"),
        expire=timedelta(seconds=message.expire_interval),
        catchup=_chosen(CATCHUPS, message.catchup, Catchup.ALL, "schedule.catchup"),
    )
    return Draft(
        owner=message.owner,
        name=message.name,
        description=message.description,
        pipeline_id=message.pipeline_id,
        pipeline_version=message.pipeline_version,
        parameters={name: MessageToDict(value) for name, value in message.parameters.items()},
        rule=rule,
        start=start,
    )


def id_of(id_: str) -> str:
    """The id of a schedule, as a request has it."""
    require(one_line("id", id_, ID_LENGTH))
    return id_


def filter_of(request: schedule_pb2.ListSchedulesRequest) -> ScheduleFilter:
    """Which schedules are asked for."""
    require(_filter_violations(request))
    known = {number: state for state, number in STATES.items()}
    return ScheduleFilter(
        owners=frozenset(request.owners),
        names=frozenset(request.names),
        pipeline_ids=frozenset(request.pipeline_ids),
        pipeline_versions=frozenset(request.pipeline_versions),
        states=frozenset(known[number] for number in request.states),
    )


def span_of(request: schedule_pb2.BackfillRequest) -> Span:
    """Which ticks are to get runs."""
    since: Timestamp = getattr(request, "from")
    if not request.HasField("from") or not request.HasField("until"):
        raise InvalidArgument.of(Violation("until" if request.HasField("from") else "from", "must be given"))
    return Span(
        since=time_of("from", since),
        until=time_of("until", request.until),
        reverse=request.reverse,
        again=request.again,
    )


def filled_message(filled: Filled) -> schedule_pb2.BackfilledTick:
    return schedule_pb2.BackfilledTick(time=timestamp(filled.time), run_id=filled.run, new=filled.new)


def schedule_fact(event: ScheduleChanged) -> Fact:
    """The event, ready to be stored."""
    schedule = event.schedule
    told = schedule_pb2.ScheduleEvent(kind=CHANGE_KINDS[event.kind], schedule=schedule_message(schedule))
    payload = told.SerializeToString(deterministic=True)
    return Fact(SCHEDULE_EVENT, f"schedule/{schedule.id}", schedule.version, payload)


def _violations(message: schedule_pb2.Schedule) -> Iterator[Violation]:
    if not NAME.fullmatch(message.name):
        yield Violation("schedule.name", "must be a letter or '_', then 1 to 49 letters, digits and '_'")
    yield from plain_text("schedule.description", message.description, DESCRIPTION_LENGTH)
    if not message.pipeline_id:
        yield Violation("schedule.pipeline_id", "must be given")
    yield from one_line("schedule.pipeline_id", message.pipeline_id, ID_LENGTH)
    yield from within("schedule.pipeline_version", message.pipeline_version, 0, MOST_VERSION)
    yield from _crontab_violations(message)
    yield from within("schedule.concurrency", message.concurrency, 0, MOST_RUNS)
    yield from within("schedule.expire_interval", message.expire_interval, 0, LONGEST_EXPIRY)
    yield from _parameter_violations(message)


def _crontab_violations(message: schedule_pb2.Schedule) -> Iterator[Violation]:
    written = split(message.crontab[:LONGEST]).zone_name
    if message.time_zone and written not in ("", message.time_zone):
        yield Violation("schedule.time_zone", f"must be left out: the crontab names the zone {written[:64]!r}")
    try:
        timetable(message.crontab, message.time_zone, UNBORN)
    except CrontabError as error:
        yield Violation("schedule.crontab", str(error))
    except UnknownZone as error:
        yield Violation("schedule.crontab" if written else "schedule.time_zone", str(error))


def _parameter_violations(message: schedule_pb2.Schedule) -> Iterator[Violation]:
    if len(message.parameters) > MOST_PARAMETERS:
        yield Violation("schedule.parameters", f"must be at most {MOST_PARAMETERS}")
    if sum(len(name) + value.ByteSize() for name, value in message.parameters.items()) > PARAMETERS_BYTES:
        yield Violation("schedule.parameters", f"must have at most {PARAMETERS_BYTES // 2**20} MiB together")
    for name, value in message.parameters.items():
        if value.WhichOneof("kind") is None or "\0" in name or holds_nul(value):
            yield Violation(f"schedule.parameters[{name[:64]!r}]", "must have a value, and no NUL")
            return


def _filter_violations(request: schedule_pb2.ListSchedulesRequest) -> Iterator[Violation]:
    texts: Mapping[str, Sequence[str]] = {
        "owners": request.owners,
        "names": request.names,
        "pipeline_ids": request.pipeline_ids,
    }
    for field, values in texts.items():
        for value in values:
            yield from one_line(field, value, ID_LENGTH)
    for field in (*texts, "pipeline_versions", "states"):
        if len(getattr(request, field)) > MOST_FILTERED:
            yield Violation(field, f"must be at most {MOST_FILTERED}")
    if unknown := [number for number in request.states if number not in STATES.values()]:
        yield Violation("states", f"{unknown[0]} is none that this server knows")


def _chosen(known: Mapping[E, int], number: int, default: E, field: str) -> E:
    """What an enum says; the default if it says nothing."""
    values = {0: default, **{number: value for value, number in known.items()}}
    if number not in values:
        raise InvalidArgument.of(Violation(field, f"{number} is none that this server knows"))
    return values[number]


def _stamp(time: datetime | None) -> Timestamp | None:
    return timestamp(time) if time else None


def _value(value: Any) -> Value:  # noqa: ANN401 - JSON has no types
    return ParseDict(value, Value())
