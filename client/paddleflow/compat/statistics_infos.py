"""What jobs used and held as the compatible interface returns it, with the attributes of the original."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from paddleflow.models.statistics import CardTime, JobStatistics, Metric, MetricStatistics, TaskSeries
from paddleflow.original import original_time

UNKNOWN = "N/A"
"""In place of what is not measured."""
HOUR = 3_600
SHARES = {"cpu_usage_rate": Metric.CPU, "memory_usage_rate": Metric.MEMORY, "gpu_util": Metric.ACCELERATOR}
"""Told as parts of what was asked for."""
AMOUNTS = {"memory_usage": Metric.MEMORY, "gpu_memory_usage": Metric.ACCELERATOR_MEMORY}
RATES = {
    "net_receive_bytes": Metric.NETWORK_RECEIVE,
    "net_send_bytes": Metric.NETWORK_SEND,
    "disk_read_rate": Metric.DISK_READ,
    "disk_write_rate": Metric.DISK_WRITE,
}
UNMEASURED = ("disk_usage", "gpu_memory_util")


@dataclass(frozen=True, slots=True)
class StatisticsJobInfo:
    """Averages over the time of a job, by the names of the original, as texts with their units."""

    metrics_info: Mapping[str, str]

    @classmethod
    def of(cls, found: JobStatistics) -> StatisticsJobInfo:
        shares = {name: _share(found.metrics.get(metric)) for name, metric in SHARES.items()}
        amounts = {name: _text(found.metrics.get(metric), "(Bytes)") for name, metric in AMOUNTS.items()}
        rates = {name: _text(found.metrics.get(metric), "(B/s)") for name, metric in RATES.items()}
        return cls({**shares, **amounts, **rates, **dict.fromkeys(UNMEASURED, UNKNOWN)})


@dataclass(frozen=True, slots=True)
class TaskInfo:
    """One metric of a replica: pairs of a time, in seconds since the epoch, and a value."""

    metric: str
    values: Sequence[Sequence[float]]


@dataclass(frozen=True, slots=True)
class Result:
    """What a replica used, step by step."""

    task_name: str
    task_info: Sequence[TaskInfo]

    @classmethod
    def of(cls, task: TaskSeries, asked: Mapping[Metric, MetricStatistics]) -> Result:
        return cls(f"{task.role}-{task.index}", list(_told(task, asked)))


@dataclass(frozen=True, slots=True)
class StatisticsJobDetailInfo:
    """What the replicas of a job used, step by step."""

    result: Sequence[Result]
    truncated: bool
    """True if the steps are longer than asked for. Nothing is left out."""


@dataclass(frozen=True, slots=True)
class CardTimeJob:
    """A job, and for how many hours it held cards."""

    job_id: str
    card_time: float
    create_time: str
    start_time: str
    finish_time: str
    device_count: int

    @classmethod
    def of(cls, job: CardTime, device: str) -> CardTimeJob:
        return cls(
            job.job,
            _hours(job, device),
            original_time(job.accept_time),
            original_time(job.start_time),
            original_time(job.finish_time),
            job.most_cards,
        )


@dataclass(frozen=True, slots=True)
class Detail:
    """The jobs of a user."""

    user_name: str
    job_info_list: Sequence[CardTimeJob]
    job_count: int
    total_card_time: float

    @classmethod
    def of(cls, user: CardTime, jobs: Sequence[CardTime], device: str) -> Detail:
        mine = [CardTimeJob.of(job, device) for job in jobs if job.user == user.user and _has(job, device)]
        return cls(user.user, mine, len(mine), _hours(user, device))


@dataclass(frozen=True, slots=True)
class CardTimeResult:
    """For how many hours cards of one kind were held by the jobs of a queue."""

    queue_name: str
    card_time: float
    device_type: str
    """Empty if no job held any."""
    detail: Sequence[Detail]


@dataclass(frozen=True, slots=True)
class CardTimeInfo:
    """For how many hours cards were held, by queue and kind."""

    data: Sequence[CardTimeResult]

    @classmethod
    def of(cls, queues: Sequence[CardTime], users: Sequence[CardTime], jobs: Sequence[CardTime]) -> CardTimeInfo:
        return cls([result for queue in queues for result in _results(queue, users, jobs)])


def _results(queue: CardTime, users: Sequence[CardTime], jobs: Sequence[CardTime]) -> Iterator[CardTimeResult]:
    ours = [job for job in jobs if job.queue == queue.queue]
    for device in sorted(queue.cards) or [""]:
        there = [user for user in users if user.queue == queue.queue and _has(user, device)]
        details = [Detail.of(user, ours, device) for user in there]
        yield CardTimeResult(queue.queue, _hours(queue, device), device, details)


def _has(found: CardTime, device: str) -> bool:
    return not device or device in found.cards


def _hours(found: CardTime, device: str) -> float:
    """With two places, never more than it was."""
    return found.cards.get(device, 0.0) * 100 // HOUR / 100


def _share(found: MetricStatistics | None) -> str:
    if found is None or found.average is None:
        return UNKNOWN
    return f"{found.average / (found.asked or 1.0) * 100:.2f}%"


def _text(found: MetricStatistics | None, unit: str) -> str:
    return UNKNOWN if found is None or found.average is None else f"{found.average:.2f}{unit}"


def _told(task: TaskSeries, asked: Mapping[Metric, MetricStatistics]) -> Iterator[TaskInfo]:
    for name, metric in {**SHARES, **AMOUNTS, **RATES}.items():
        if metric in task.values:
            whole = (asked[metric].asked if metric in asked else None) or 1.0
            yield TaskInfo(name, list(_pairs(task, metric, whole if name in SHARES else 1.0)))


def _pairs(task: TaskSeries, metric: Metric, unit: float) -> Iterator[Sequence[float]]:
    for number, value in enumerate(task.values[metric]):
        if value is not None:
            yield [(task.start + number * task.step).timestamp(), value / unit]
