"""Between the messages of the contract and the values of the domain."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Literal, TypeVar

from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp

from paddleflow.job.v1 import statistics_pb2 as pb
from paddleflow.problems import InvalidArgument, Violation
from pf_job.jobs.domain import Task
from pf_job.specs.convert import ROLES
from pf_job.specs.domain import Role
from pf_job.statistics.curves import RATES, Grid, Metric
from pf_job.statistics.domain import CardQuery, CardTime, Group, Metered, Place, Summary, Window
from pf_kit.times import time_of
from pf_kit.wire import timestamp

T = TypeVar("T")

ID_LENGTH = 512
MOST_NAMES = 100
ALL_ATTEMPTS = -1
USUAL = timedelta(days=30)
"""How far back to look for what jobs held, if nobody says."""
LONGEST_STEP = timedelta(days=3_660)
METRICS: Mapping[Metric, pb.Metric.ValueType] = {metric: pb.Metric.Value(f"METRIC_{metric.name}") for metric in Metric}
GROUPS: Mapping[int, Group] = {
    pb.CARD_TIME_GROUP_UNSPECIFIED: Group.QUEUE,
    pb.CARD_TIME_GROUP_QUEUE: Group.QUEUE,
    pb.CARD_TIME_GROUP_USER: Group.USER,
    pb.CARD_TIME_GROUP_JOB: Group.JOB,
}


def require_job(request: pb.GetJobStatisticsRequest | pb.GetJobSeriesRequest) -> None:
    """Raises InvalidArgument, which names each field that cannot be."""
    if wrong := tuple(_job_violations(request)):
        raise InvalidArgument.of(*wrong)


def window_of(
    request: pb.GetJobStatisticsRequest | pb.GetJobSeriesRequest, tasks: Sequence[Task], now: datetime
) -> Window:
    """The time that is asked about, as far as any of these tasks ran in it. It ends before it begins if none did."""
    begun = [task.start_time for task in tasks if task.start_time is not None]
    ended = [task.finish_time or now for task in tasks if task.start_time is not None]
    first, last = min(begun, default=now), max(ended, default=now)
    begin, end = max(first, _time("start", request, first)), min(last, _time("end", request, last))
    return Window(_microseconds(begin), _microseconds(end))


def step_of(request: pb.GetJobSeriesRequest) -> int | None:
    """Microseconds; None if the server may choose."""
    return request.step.ToMicroseconds() if request.HasField("step") else None


def summary_message(metric: Metric, found: Summary) -> pb.MetricStatistics:
    total = found.total if metric in RATES else None
    return pb.MetricStatistics(
        metric=METRICS[metric], average=found.average, peak=found.peak, total=total, asked=found.asked
    )


def task_statistics(task: Task, metered: Metered) -> pb.TaskStatistics:
    key = task.key
    return pb.TaskStatistics(
        attempt=key.attempt,
        role=ROLES[Role(key.role)],
        index=key.index,
        restart=key.restart,
        start_time=_stamp(task.start_time),
        finish_time=_stamp(task.finish_time),
        metrics=[summary_message(metric, found) for metric, found in metered.summaries.items()],
    )


def task_series(metered: Metered) -> pb.TaskSeries:
    key = metered.key
    return pb.TaskSeries(
        attempt=key.attempt,
        role=ROLES[Role(key.role)],
        index=key.index,
        restart=key.restart,
        series=[
            pb.MetricSeries(metric=METRICS[metric], values=[math.nan if mean is None else mean for mean in means])
            for metric, means in metered.means.items()
        ],
    )


def series_reply(grid: Grid, metered: Sequence[Metered], next_token: str) -> pb.GetJobSeriesResponse:
    start, step = Timestamp(), Duration()
    start.FromMicroseconds(grid.start)
    step.FromMicroseconds(grid.step)
    return pb.GetJobSeriesResponse(
        start=start,
        step=step,
        steps=grid.count,
        coarser=grid.coarser,
        tasks=map(task_series, metered),
        notes=notes_of(metered),
        next_page_token=next_token,
    )


def notes_of(metered: Sequence[Metered]) -> Sequence[str]:
    """Each once."""
    return list(dict.fromkeys(note for each in metered for note in each.notes))


def card_query(request: pb.GetCardTimesRequest, now: datetime) -> CardQuery:
    """What is asked, for whoever may see all. InvalidArgument names each field that cannot be."""
    if wrong := tuple(_card_violations(request)):
        raise InvalidArgument.of(*wrong)
    end = min(now, _time("end", request, now))
    return CardQuery(
        group=GROUPS[request.group],
        start=_time("start", request, end - USUAL),
        end=end,
        queues=frozenset(request.queues) or None,
        users=frozenset(request.users) or None,
    )


def card_times_reply(query: CardQuery, found: Sequence[CardTime], next_token: str) -> pb.GetCardTimesResponse:
    return pb.GetCardTimesResponse(
        card_times=map(_card_time, found),
        start=_stamp(query.start),
        end=_stamp(query.end),
        next_page_token=next_token,
    )


def position_of(place: Place) -> str:
    return json.dumps([place.queue, place.user, place.job])


def place_of(position: str) -> Place:
    """The place of a position; the empty one comes before all."""
    return Place(*json.loads(position)) if position else Place()


def _card_time(found: CardTime) -> pb.CardTime:
    place = found.place
    return pb.CardTime(
        queue=place.queue,
        user=place.user,
        job=place.job,
        jobs=found.jobs,
        running=found.running,
        seconds=found.seconds,
        card_seconds=sum(found.cards.values()),
        cards=found.cards,
        core_seconds=found.cores,
        memory_byte_seconds=found.memory,
        most_cards=found.most_cards,
        accept_time=_stamp(found.accept_time),
        start_time=_stamp(found.start_time),
        finish_time=_stamp(found.finish_time),
    )


def _job_violations(request: pb.GetJobStatisticsRequest | pb.GetJobSeriesRequest) -> Iterator[Violation]:
    if not 0 < len(request.id) <= ID_LENGTH or "\0" in request.id:
        yield Violation("id", f"must be text of 1 to {ID_LENGTH} characters")
    if request.attempt < ALL_ATTEMPTS:
        yield Violation("attempt", "must be that of an attempt, 0 for the last, or -1 for all")
    yield from _window_violations(request)
    if isinstance(request, pb.GetJobSeriesRequest) and request.HasField("step"):
        yield from _step_violations(request.step)


def _step_violations(step: Duration) -> Iterator[Violation]:
    if not 1 <= step.seconds <= LONGEST_STEP.total_seconds() or not 0 <= step.nanos < 10**9:
        yield Violation("step", f"must be from a second to {LONGEST_STEP.days} days")


def _card_violations(request: pb.GetCardTimesRequest) -> Iterator[Violation]:
    if request.group not in GROUPS:
        yield Violation("group", "is none that this server knows")
    for field in ("queues", "users"):
        names: Sequence[str] = getattr(request, field)
        if len(names) > MOST_NAMES or not all(len(name) <= ID_LENGTH and "\0" not in name for name in names):
            yield Violation(field, f"must be at most {MOST_NAMES} names")
    yield from _window_violations(request)


def _window_violations(
    request: pb.GetJobStatisticsRequest | pb.GetJobSeriesRequest | pb.GetCardTimesRequest,
) -> Iterator[Violation]:
    start, end = _time("start", request, None), _time("end", request, None)
    if start is not None and end is not None and end < start:
        yield Violation("end", "must not lie before `start`")


def _time(
    field: Literal["start", "end"],
    request: pb.GetJobStatisticsRequest | pb.GetJobSeriesRequest | pb.GetCardTimesRequest,
    other: T,
) -> datetime | T:
    return time_of(field, getattr(request, field)) if request.HasField(field) else other


def _microseconds(time: datetime) -> int:
    return int((time - datetime.fromtimestamp(0, UTC)) / timedelta(microseconds=1))


def _stamp(time: datetime | None) -> Timestamp | None:
    return None if time is None else timestamp(time)
