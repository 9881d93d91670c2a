"""What the small server of `fake_paddleflow` answers about the use of resources."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from google.protobuf.duration_pb2 import Duration

from paddleflow.job.v1 import spec_pb2
from paddleflow.job.v1 import statistics_pb2 as pb
from paddleflow.problems import JobNotFound
from support.fake_services import BEGAN, World, page

MIB = 2**20
GPU = "nvidia.com/gpu"


@dataclass
class Statistics:
    world: World

    def GetJobStatistics(self, request: Any) -> Any:  # noqa: N802
        self._require(request.id)
        return self.world.statistics.get(request.id, pb.GetJobStatisticsResponse())

    def GetJobSeries(self, request: Any) -> Any:  # noqa: N802
        self._require(request.id)
        return self.world.series.get(request.id, pb.GetJobSeriesResponse())

    def GetCardTimes(self, request: Any) -> Any:  # noqa: N802
        known = self.world.card_times.get(request.group, [])
        chosen = [each for each in known if not request.queues or each.queue in request.queues]
        items, token = page(chosen, request, lambda each: f"{each.queue}/{each.user}/{each.job}")
        return pb.GetCardTimesResponse(card_times=items, next_page_token=token)

    def _require(self, id_: str) -> None:
        if id_ not in self.world.jobs:
            raise JobNotFound(f"no job {id_!r}")


def measure(world: World) -> None:
    """Tells what `trained` of `employ` used, and for how long it and another held cards."""
    tasks = [_task(0, 0.5), _task(1, 1.5)]
    notes = ["networks are not measured: replicas share those of their machine"]
    world.statistics["trained"] = pb.GetJobStatisticsResponse(job=_metrics(2.0), tasks=tasks, notes=notes)
    world.series["trained"] = pb.GetJobSeriesResponse(
        start=BEGAN, step=Duration(seconds=60), steps=3, coarser=True, tasks=[_series(0), _series(1)], notes=notes
    )
    jobs = [_held("trained", 2, 7_200.0), _held("other", 1, 1_830.0, running=True)]
    both = {"jobs": 2, "running": 1, "seconds": 5_430.0, "cards": {GPU: 9_030.0}, "card_seconds": 9_030.0}
    more = {"core_seconds": 5_430.0, "memory_byte_seconds": 5_430.0 * 2**30}
    world.card_times = {
        pb.CARD_TIME_GROUP_QUEUE: [pb.CardTime(queue="busy", **both, **more)],  # type: ignore[arg-type]
        pb.CARD_TIME_GROUP_USER: [pb.CardTime(queue="busy", user="alice", **both, **more)],  # type: ignore[arg-type]
        pb.CARD_TIME_GROUP_JOB: sorted(jobs, key=lambda each: each.job),
    }


def _metrics(cores: float) -> list[pb.MetricStatistics]:
    return [
        pb.MetricStatistics(metric=pb.METRIC_CPU, average=cores, peak=cores * 2, total=cores * 180, asked=2),
        pb.MetricStatistics(metric=pb.METRIC_MEMORY, average=100 * MIB, peak=128 * MIB, asked=1024 * MIB),
        pb.MetricStatistics(metric=pb.METRIC_DISK_WRITE, average=MIB, peak=5 * MIB, total=180 * MIB),
        pb.MetricStatistics(metric=pb.METRIC_ACCELERATOR, average=0.5, peak=1, asked=1),
    ]


def _task(index: int, cores: float) -> pb.TaskStatistics:
    task = pb.TaskStatistics(attempt=1, role=spec_pb2.ROLE_WORKER, index=index, start_time=BEGAN, finish_time=BEGAN)
    task.metrics.extend(_metrics(cores))
    return task


def _series(index: int) -> pb.TaskSeries:
    return pb.TaskSeries(
        attempt=1,
        role=spec_pb2.ROLE_WORKER,
        index=index,
        restart=index,
        series=[
            pb.MetricSeries(metric=pb.METRIC_CPU, values=[0.25, 1.0, math.nan]),
            pb.MetricSeries(metric=pb.METRIC_MEMORY, values=[math.nan, 64 * MIB, 128 * MIB]),
        ],
    )


def _held(job: str, cards: int, seconds: float, *, running: bool = False) -> pb.CardTime:
    found = pb.CardTime(queue="busy", user="alice", job=job, jobs=1, running=int(running), seconds=seconds / cards)
    found.MergeFrom(pb.CardTime(card_seconds=seconds, cards={GPU: seconds}, core_seconds=60, most_cards=cards))
    found.MergeFrom(pb.CardTime(accept_time=BEGAN, start_time=BEGAN, finish_time=None if running else BEGAN))
    return found
