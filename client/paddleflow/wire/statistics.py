"""What jobs used and held, from the wire."""

from __future__ import annotations

import math
from collections.abc import Iterable
from datetime import UTC, timedelta

from paddleflow.job.v1 import statistics_pb2 as pb
from paddleflow.models.statistics import (
    CardTime,
    CardTimeFilter,
    CardTimeGroup,
    Metric,
    MetricStatistics,
    TaskSeries,
    TaskStatistics,
    UsageOptions,
)
from paddleflow.wire.base import EnumCodec, build, duration_to_wire, time_from_wire, time_to_wire
from paddleflow.wire.job_specs import ROLE

METRIC = EnumCodec(Metric, pb.Metric, "METRIC_")
GROUP = EnumCodec(CardTimeGroup, pb.CardTimeGroup, "CARD_TIME_GROUP_")


def statistics_request(id_: str, options: UsageOptions, size: int, token: str) -> pb.GetJobStatisticsRequest:
    return build(
        pb.GetJobStatisticsRequest,
        id=id_,
        attempt=options.get("attempt", 0),
        start=time_to_wire("start", options["start"]) if "start" in options else None,
        end=time_to_wire("end", options["end"]) if "end" in options else None,
        page_size=size,
        page_token=token,
    )


def series_request(
    id_: str, step: timedelta | None, options: UsageOptions, size: int, token: str
) -> pb.GetJobSeriesRequest:
    return build(
        pb.GetJobSeriesRequest,
        id=id_,
        attempt=options.get("attempt", 0),
        start=time_to_wire("start", options["start"]) if "start" in options else None,
        end=time_to_wire("end", options["end"]) if "end" in options else None,
        step=duration_to_wire("step", step) if step is not None else None,
        page_size=size,
        page_token=token,
    )


def card_times_request(group: CardTimeGroup, chosen: CardTimeFilter, size: int, token: str) -> pb.GetCardTimesRequest:
    return build(
        pb.GetCardTimesRequest,
        group=GROUP.number(group),
        queues=chosen.get("queues", ()),
        users=chosen.get("users", ()),
        start=time_to_wire("start", chosen["start"]) if "start" in chosen else None,
        end=time_to_wire("end", chosen["end"]) if "end" in chosen else None,
        page_size=size,
        page_token=token,
    )


def metrics_from_wire(metrics: Iterable[pb.MetricStatistics]) -> dict[Metric, MetricStatistics]:
    """What this client knows of."""
    known = ((METRIC.member(each.metric), each) for each in metrics)
    return {metric: _metric(each) for metric, each in known if metric}


def task_statistics_from_wire(task: pb.TaskStatistics) -> TaskStatistics:
    return TaskStatistics(
        attempt=task.attempt,
        role=ROLE.member(task.role),
        index=task.index,
        restart=task.restart,
        start_time=time_from_wire(task, "start_time"),
        finish_time=time_from_wire(task, "finish_time"),
        metrics=metrics_from_wire(task.metrics),
    )


def task_series_from_wire(reply: pb.GetJobSeriesResponse, task: pb.TaskSeries) -> TaskSeries:
    known = ((METRIC.member(each.metric), each.values) for each in task.series)
    return TaskSeries(
        attempt=task.attempt,
        role=ROLE.member(task.role),
        index=task.index,
        restart=task.restart,
        start=reply.start.ToDatetime(UTC),
        step=reply.step.ToTimedelta(),
        coarser=reply.coarser,
        values={
            metric: [None if math.isnan(value) else value for value in values] for metric, values in known if metric
        },
    )


def card_time_from_wire(found: pb.CardTime) -> CardTime:
    return CardTime(
        queue=found.queue,
        user=found.user,
        job=found.job,
        jobs=found.jobs,
        running=found.running,
        seconds=found.seconds,
        card_seconds=found.card_seconds,
        cards=dict(found.cards),
        core_seconds=found.core_seconds,
        memory_byte_seconds=found.memory_byte_seconds,
        most_cards=found.most_cards,
        accept_time=time_from_wire(found, "accept_time"),
        start_time=time_from_wire(found, "start_time"),
        finish_time=time_from_wire(found, "finish_time"),
    )


def _metric(each: pb.MetricStatistics) -> MetricStatistics:
    return MetricStatistics(
        average=each.average if each.HasField("average") else None,
        peak=each.peak,
        total=each.total if each.HasField("total") else None,
        asked=each.asked if each.HasField("asked") else None,
    )
