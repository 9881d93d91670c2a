"""Other engines beside this one, with the same number of steps at once.

Each is compared to what its steps are: those that run in one process to steps that do nothing here (A), those that run
in processes of their own to jobs here (B). Here and of Airflow it is the times that a run has on record; of the others,
whose call is the engine, the time of the call.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import partial

from bench.bench_pipeline_nodes import CHAIN, FAN, chain_seconds, fan_seconds
from bench.bench_pipeline_site import Site, of
from bench.engine_programs import Engine, Measured, Result, measured
from bench.report import Part
from bench.sizes import sized
from support.figures import Figure, percentile

AFTERWARDS = 120.0
"""Seconds for what is measured here beside."""
QUICK_LOOKS = {"AIRFLOW__SCHEDULER__SCHEDULER_IDLE_SLEEP_TIME": "0.1"}
ENGINES: Mapping[str, Engine] = {
    "celery": Engine("Celery 5.7.0 and Valkey, not durable", "celery", "celery_tasks", 180.0, durable=False),
    "dbos": Engine("DBOS 3.3.0", "dbos", "dbos_workflows", 240.0),
    "prefect": Engine("Prefect 3.4.25", "prefect", "prefect_flows", 300.0),
    "dagster": Engine("Dagster 1.13.27", "dagster", "dagster_jobs", 600.0),
    "airflow": Engine("Airflow 3.3.2", "airflow", "airflow_runs", 900.0),
    "airflow-tuned": Engine(
        "Airflow 3.3.2, scheduler_idle_sleep_time=0.1", "airflow", "airflow_runs", 900.0, settings=QUICK_LOOKS
    ),
}
Ours = Mapping[tuple[str, bool], float]
"""Seconds here, by what was run and whether steps were processes."""


def peers() -> Mapping[str, Part]:
    """A part for each."""
    return {name: partial(_beside, engine) for name, engine in ENGINES.items()}


def _beside(engine: Engine) -> list[Figure]:
    """What an engine does, and right after it the same here."""
    theirs = measured(engine, CHAIN, sized(FAN))
    kinds = {result.processes for result in theirs.results}

    async def ours(stack: Site) -> list[Figure]:
        return told(engine, theirs, await _ours(stack, kinds))

    return of(ours, engine.title, AFTERWARDS)() if kinds else told(engine, theirs, {})


async def _ours(stack: Site, kinds: set[bool]) -> Ours:
    found: dict[tuple[str, bool], float] = {}
    for real in sorted(kinds):
        found["chain", real] = await chain_seconds(stack, real=real)
        found["fan", real] = await fan_seconds(stack, real=real)
    return found


def told(engine: Engine, theirs: Measured, ours: Ours) -> list[Figure]:
    """A row for each thing that was measured in each way, and one for what is missing."""
    ways: defaultdict[tuple[str, str], list[Result]] = defaultdict(list)
    for result in theirs.results:
        ways[result.what, result.how].append(result)
    rows = [_row(engine, results, ours) for results in ways.values()]
    if theirs.trouble:
        there = ", ".join(sorted({what for what, _ in ways})) or "nothing"
        rows.append(Figure(f"{engine.title}: is missing ({there} was measured), as {theirs.trouble}", 0.0, ""))
    return rows


def _row(engine: Engine, results: Sequence[Result], ours: Ours) -> Figure:
    one = results[0]
    who = f"{engine.title}, {one.how}" if one.how else engine.title
    reference = ours[one.what, one.processes]
    seconds = percentile([each.seconds for each in results], 0.5)
    if one.what == "chain":
        what = f"chain of {CHAIN}"
    elif one.done == sized(FAN):
        what = f"fan-out of {one.done:,}"
    else:
        what = f"fan-out of {sized(FAN):,}, reckoned from {one.done:,}"
        seconds *= sized(FAN) / one.done
    least = reference if engine.durable else None
    return Figure(f"{'B' if one.processes else 'A'}: {what} by {who}", seconds, "s", reference, at_least=least)
