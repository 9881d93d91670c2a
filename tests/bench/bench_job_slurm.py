"""The same jobs by Slurm, on the same machine in the same run."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from bench import slurm
from bench.bench_job_site import BATCH, Site, of
from support.figures import Figure, percentile

ALONE = 20
"""Jobs one after the other."""
MANY = 500
"""Jobs at once. More take Slurm minutes, and none of them is quicker."""
SETTINGS: Mapping[str, str] = {
    "as it comes": "",
    "tuned": "batch_sched_delay=0,sched_min_interval=0,sched_interval=1,default_queue_depth=10000,max_rpc_cnt=0",
}


@dataclass(frozen=True)
class Result:
    """What one of them made of it."""

    p50: float
    p99: float
    """Milliseconds from acceptance to start on an idle machine."""
    rate: float
    """Jobs a second."""


def beside_slurm() -> list[Figure]:
    """All figures of Slurm, and ours beside the best of them."""
    if why := slurm.obstacle():
        return [Figure(f"Slurm was not measured: {why}", 0.0, "")]
    results = {name: _measured(parameters) for name, parameters in SETTINGS.items()}
    told = [figure for name, result in results.items() for figure in _figures(f"Slurm, {name}", result)]
    best = Result(
        min(each.p50 for each in results.values()),
        min(each.p99 for each in results.values()),
        max(each.rate for each in results.values()),
    )
    return [*told, *of(lambda stack: _ours(stack, best))()]


def _measured(parameters: str) -> Result:
    with slurm.running(parameters) as running:
        waits = [running.wait_to_run() for _ in range(ALONE)]
        rates = [_rate(running, submit) for submit in (running.submit, running.submit_array)]
    return Result(percentile(waits, 0.5), percentile(waits, 0.99), max(rates))


def _rate(running: slurm.Slurm, submit: Callable[[int], None]) -> float:
    begun = time.perf_counter()
    submit(MANY)
    running.until_over()
    return MANY / (time.perf_counter() - begun)


def _figures(who: str, result: Result) -> list[Figure]:
    return [
        Figure(f"{who}: submit to running, p50", result.p50, "ms"),
        Figure(f"{who}: submit to running, p99", result.p99, "ms"),
        Figure(f"{who}: jobs that do nothing", result.rate, "1/s"),
    ]


async def _ours(stack: Site, best: Result) -> list[Figure]:
    waits = [await stack.wait_to_run() for _ in range(ALONE)]
    begun = time.perf_counter()
    await stack.create_many(MANY // BATCH * BATCH)
    await stack.until_over()
    rate = MANY / (time.perf_counter() - begun)
    p50, p99 = percentile(waits, 0.5), percentile(waits, 0.99)
    return [
        Figure("beside the best of Slurm: submit to running, p50", p50, "ms", best.p50, at_most=best.p50),
        Figure("beside the best of Slurm: submit to running, p99", p99, "ms", best.p99, at_most=best.p99),
        Figure("beside the best of Slurm: jobs that do nothing", rate, "1/s", best.rate, at_least=best.rate),
    ]
