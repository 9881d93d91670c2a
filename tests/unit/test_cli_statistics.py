"""Lines of bars, and what people read of amounts."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paddleflow.cli.sparkline import FINE, PLAIN, folded, sparkline
from paddleflow.cli.statistics_tables import readable, series_lines, series_table
from paddleflow.cli.table import Table, as_text
from paddleflow.models.job_specs import Role
from paddleflow.models.statistics import Metric, TaskSeries

VALUES = st.lists(st.none() | st.floats(0, 1e12), max_size=200)


def test_bars_go_from_nothing_to_the_highest() -> None:
    assert sparkline([0, 1, 2, 3, 4, 5, 6, 7], 60, FINE) == FINE
    assert sparkline([0, None, 7], 60, PLAIN) == "_ #"
    assert sparkline([0, 0], 60, PLAIN) == "__"
    assert sparkline([], 60, PLAIN) == ""


def test_neighbours_share_a_bar_if_there_are_many() -> None:
    assert folded([1, 3, None, 5, None, None, 7], 4) == [2, 5, None, 7]


@given(VALUES, st.integers(1, 80))
def test_a_line_is_never_too_long(values: list[float | None], width: int) -> None:
    line = sparkline(values, width, FINE)
    assert len(line) <= width
    assert set(line) <= {*FINE, " "}


@pytest.mark.parametrize(
    ("metric", "value", "text"),
    [
        (Metric.CPU, 1.504, "1.50"),
        (Metric.MEMORY, 64.2 * 2**20, "64.2Mi"),
        (Metric.DISK_READ, 1.5 * 2**30, "1.5Gi/s"),
        (Metric.MEMORY, 1023.4 * 2**10, "1023Ki"),
        (Metric.MEMORY, 17.0, "17"),
        (Metric.DISK_WRITE, 0.25, "0.25/s"),
        (Metric.PROCESSES, 3.0, "3"),
        (Metric.ACCELERATOR, 0.5, "0.5"),
        (Metric.CPU, None, ""),
    ],
)
def test_amounts_are_readable(metric: Metric, value: float | None, text: str) -> None:
    assert readable(metric, value) == text


def test_each_metric_of_a_replica_has_a_line() -> None:
    start, step = datetime(2026, 5, 1, tzinfo=UTC), timedelta(seconds=10)
    values: dict[Metric, list[float | None]] = {Metric.CPU: [0.0, 1.0, None], Metric.MEMORY: [None, None, None]}
    task = TaskSeries(attempt=2, role=Role.WORKER, index=1, start=start, step=step, values=values)
    head, line = series_lines([task], drawing=True, columns=80)
    assert head.startswith("worker/1 (attempt 2)  ")
    assert head.endswith("each 10s")
    assert line == "  cpu     ▁█   average 0.50  peak 1.00"


@pytest.mark.parametrize("columns", [70, 80, 100, 200])
def test_lines_of_bars_fit_the_terminal(columns: int) -> None:
    values: dict[Metric, list[float | None]] = {
        Metric.CPU: [1.0] * 500,
        Metric.ACCELERATOR_MEMORY: [1023.4 * 2**30] * 500,
        Metric.NETWORK_RECEIVE: [1023.4 * 2**20] * 500,
    }
    start, step = datetime(2026, 5, 1, tzinfo=UTC), timedelta(seconds=10)
    task = TaskSeries(attempt=1, role=Role.WORKER, index=1, start=start, step=step, values=values)
    _, *lines = series_lines([task], drawing=True, columns=columns)
    assert len(lines) == 3
    assert max(map(len, lines)) <= columns


def test_steps_tell_of_whole_bytes() -> None:
    values: dict[Metric, list[float | None]] = {Metric.CPU: [0.25], Metric.MEMORY: [3113313.927168]}
    start, step = datetime(2026, 5, 1, tzinfo=UTC), timedelta(seconds=10)
    task = TaskSeries(attempt=1, role=Role.WORKER, index=1, start=start, step=step, values=values)
    [row] = series_table([task]).rows
    assert as_text(Table([], [row[2:]])) == "0.25\t3113314"
