"""What jobs used and held, as tables and as lines of bars."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime

from paddleflow.cli.parameters import lasting
from paddleflow.cli.sparkline import FINE, PLAIN, sparkline
from paddleflow.cli.table import Cell, Table
from paddleflow.models.statistics import (
    CardTime,
    CardTimeGroup,
    JobStatistics,
    Metric,
    MetricStatistics,
    TaskSeries,
    TaskStatistics,
)
from paddleflow.original import original_time

WHOLE = "all"
"""What stands in place of a replica."""
MOST_BARS, FEWEST_BARS = 60, 10
"""Columns of a line of bars."""
WORDS = 40
"""Columns that stand behind the bars at most."""
SIZES = (("Ti", 2**40), ("Gi", 2**30), ("Mi", 2**20), ("Ki", 2**10))
HOUR = 3_600
GIB = 2**30
DIGITS = 6
RATES = frozenset(
    {Metric.DISK_READ, Metric.DISK_WRITE, Metric.NETWORK_RECEIVE, Metric.NETWORK_SEND},
)
BYTES = RATES | {Metric.MEMORY, Metric.ACCELERATOR_MEMORY}
PLACES: Mapping[CardTimeGroup, Sequence[str]] = {
    CardTimeGroup.QUEUE: ("queue", "jobs", "running"),
    CardTimeGroup.USER: ("queue", "user", "jobs", "running"),
    CardTimeGroup.JOB: ("queue", "user", "job"),
}
HELD = ("card_seconds", "core_seconds", "memory", "seconds")
TIMES = ("start_time", "finish_time")
MORE = ("cards", "most_cards", "accept_time")
HEADINGS_OF: Mapping[str, str] = {
    "queue": "queue",
    "user": "user",
    "job": "job id",
    "jobs": "jobs",
    "running": "running",
    "card_seconds": "card hours",
    "core_seconds": "core hours",
    "memory": "GiB hours",
    "seconds": "hours",
    "start_time": "start time",
    "finish_time": "finish time",
    "cards": "cards",
    "most_cards": "most cards",
    "accept_time": "accept time",
}
HEADINGS = ["task", "metric", "average", "peak", "total", "asked"]


def statistics_table(found: JobStatistics, *, exact: bool) -> Table:
    """A row for each metric: of all replicas, and if they are several, of each. Not exact: as people read them."""
    rows = _rows(WHOLE if len(found.tasks) > 1 else _only(found.tasks), found.metrics, exact=exact)
    if len(found.tasks) > 1:
        rows += [row for task in found.tasks for row in _rows(task_name(task), task.metrics, exact=exact)]
    return Table(HEADINGS, rows)


def series_table(tasks: Sequence[TaskSeries]) -> Table:
    """A row for each replica and step."""
    metrics = [metric for metric in Metric if any(metric in task.values for task in tasks)]
    rows = [row for task in tasks for row in _steps(task, metrics)]
    return Table(["task", "timestamp", *(str(metric) for metric in metrics)], rows)


def series_lines(tasks: Sequence[TaskSeries], *, drawing: bool, columns: int) -> Iterator[str]:
    """A line of bars for each replica and metric, in so many columns unless they are too few."""
    longest = max((len(metric) for task in tasks for metric in task.values), default=0)
    room = min(MOST_BARS, max(FEWEST_BARS, columns - longest - WORDS))
    for task in tasks:
        steps = max(map(len, task.values.values()), default=0)
        until = task.start + steps * task.step
        yield f"{task_name(task)}  {original_time(task.start)} to {original_time(until)}, each {lasting(task.step)}"
        for metric, values in task.values.items():
            known = [value for value in values if value is not None]
            if known:
                bars = sparkline(values, room, FINE if drawing else PLAIN)
                mean, peak = readable(metric, sum(known) / len(known)), readable(metric, max(known))
                yield f"  {metric:<{longest}}  {bars}  average {mean}  peak {peak}"


def card_time_table(found: Sequence[CardTime], group: CardTimeGroup, *, whole: bool) -> Table:
    """A row for each queue, user or job. Not whole: without what does not fit beside the rest."""
    fields = [*PLACES[group], *HELD, *(TIMES if group is CardTimeGroup.JOB else ()), *(MORE if whole else ())]
    return Table([HEADINGS_OF[field] for field in fields], [_cells(each, fields) for each in found])


def task_name(task: TaskStatistics | TaskSeries) -> str:
    """As in ``worker/0``; with the attempt and the restart if these are not the first."""
    later = [f"attempt {task.attempt}"] if task.attempt > 1 else []
    later += [f"restart {task.restart}"] if task.restart else []
    return f"{task.role}/{task.index}" + (f" ({', '.join(later)})" if later else "")


def in_use(metric: Metric, found: MetricStatistics | None) -> str:
    """How much of something is used, of what was asked for: as in ``0.98/2.00``."""
    if found is None:
        return ""
    used = readable(metric, found.peak if found.average is None else found.average)
    return used if found.asked is None else f"{used}/{readable(metric, found.asked)}"


def readable(metric: Metric, value: float | None) -> str:
    if value is None:
        return ""
    if metric in BYTES:
        return _size(value) + ("/s" if metric in RATES else "")
    return f"{value:.2f}".rstrip("0").rstrip(".") if metric is not Metric.CPU else f"{value:.2f}"


def _size(amount: float) -> str:
    """Bytes in three figures, or four where three would be written with an exponent."""
    suffix, factor = next(((suffix, factor) for suffix, factor in SIZES if amount >= factor), ("", 1))
    parts = amount / factor
    return f"{parts:.{4 if parts >= 999.5 else 3}g}{suffix}"


def _only(tasks: Sequence[TaskStatistics]) -> str:
    return task_name(tasks[0]) if tasks else WHOLE


def _rows(name: str, metrics: Mapping[Metric, MetricStatistics], *, exact: bool) -> list[list[Cell]]:
    return [[name, str(metric), *_amounts(metric, each, exact=exact)] for metric, each in metrics.items()]


def _amounts(metric: Metric, each: MetricStatistics, *, exact: bool) -> list[Cell]:
    if exact:
        return [_number(each.average), _number(each.peak), _number(each.total), _number(each.asked)]
    return [readable(metric, each.average), readable(metric, each.peak), _total(metric, each), _asked(metric, each)]


def _total(metric: Metric, each: MetricStatistics) -> str:
    if each.total is None:
        return ""
    return f"{each.total:.2f} core-s" if metric is Metric.CPU else _size(each.total)


def _asked(metric: Metric, each: MetricStatistics) -> str:
    """With how much of it was used on the whole."""
    if each.asked is None:
        return ""
    share = "" if each.average is None else f" ({each.average / each.asked:.0%} used)"
    return readable(metric, each.asked) + share


def _number(value: float | None) -> float | None:
    return None if value is None else round(value, DIGITS)


def _steps(task: TaskSeries, metrics: Sequence[Metric]) -> Iterator[list[Cell]]:
    for number in range(max(map(len, task.values.values()), default=0)):
        moment = (task.start + number * task.step).astimezone(UTC)
        values = [task.values[metric][number] if metric in task.values else None for metric in metrics]
        if any(value is not None for value in values):
            yield [task_name(task), _stamp(moment), *map(_step, metrics, values)]


def _step(metric: Metric, value: float | None) -> float | None:
    """Bytes are whole: parts of them come of dividing only."""
    return round(value) if metric in BYTES and value is not None else _number(value)


def _stamp(moment: datetime) -> float:
    """Seconds since the epoch, as the original has them."""
    return round(moment.timestamp(), 3)


def _cells(each: CardTime, fields: Sequence[str]) -> list[Cell]:
    cards: Cell = {name: _hours(amount) for name, amount in each.cards.items()}
    known: dict[str, Cell] = {
        "queue": each.queue,
        "user": each.user,
        "job": each.job,
        "jobs": each.jobs,
        "running": each.running,
        "card_seconds": _hours(each.card_seconds),
        "core_seconds": _hours(each.core_seconds),
        "memory": _hours(each.memory_byte_seconds / GIB),
        "seconds": _hours(each.seconds),
        "start_time": original_time(each.start_time),
        "finish_time": original_time(each.finish_time),
        "cards": cards,
        "most_cards": each.most_cards,
        "accept_time": original_time(each.accept_time),
    }
    return [known[field] for field in fields]


def _hours(seconds: float) -> float:
    return round(seconds / HOUR, DIGITS)
