"""Dagster: steps in this process or in processes of their own, what happens in Postgres."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

from dagster import (
    DagsterInstance,
    DynamicOut,
    DynamicOutput,
    execute_job,
    in_process_executor,
    job,
    multiprocess_executor,
    op,
    reconstructable,
)

from bench.engines.taking import AT_ONCE, CHAIN, FAN, FOLDER, postgres, tell, timed

SOME = min(FAN, 50)
"""Processes of a fan-out; a thousand take half an hour."""
SETTINGS = f"""
telemetry: {{enabled: false}}
storage:
  postgres:
    postgres_url: "{postgres("postgresql")}"
"""
QUIET = {"loggers": {"console": {"config": {"log_level": "ERROR"}}}}
PROCESSES = multiprocess_executor.configured({"max_concurrent": AT_ONCE})


@op
def first() -> int:
    return 0


@op
def nothing(given: int) -> int:
    return given


@op
def last(given: list[int]) -> int:
    return len(given)


@op(out=DynamicOut(int))
def all_items(given: int) -> Iterator[DynamicOutput[int]]:
    for item in range(FAN):
        yield DynamicOutput(given + item, mapping_key=str(item))


@op(out=DynamicOut(int))
def some_items(given: int) -> Iterator[DynamicOutput[int]]:
    for item in range(SOME):
        yield DynamicOutput(given + item, mapping_key=str(item))


def one_after_the_other() -> None:
    given = first()
    for at in range(CHAIN - 1):
        given = nothing.alias(f"n{at}")(given)


@job(executor_def=in_process_executor)
def chain() -> None:
    one_after_the_other()


@job(executor_def=PROCESSES)
def chain_of_processes() -> None:
    one_after_the_other()


@job(executor_def=in_process_executor)
def fan() -> None:
    last(all_items(first()).map(nothing).collect())


@job(executor_def=PROCESSES)
def fan_of_processes() -> None:
    last(some_items(first()).map(nothing).collect())


def get_chain() -> Any:
    return chain


def get_chain_of_processes() -> Any:
    return chain_of_processes


def get_fan() -> Any:
    return fan


def get_fan_of_processes() -> Any:
    return fan_of_processes


def executed(of: Callable[[], Any], instance: DagsterInstance) -> None:
    assert execute_job(reconstructable(of), instance=instance, run_config=QUIET).success


def main() -> None:
    (FOLDER / "dagster.yaml").write_text(SETTINGS)
    os.environ |= {"DAGSTER_HOME": str(FOLDER), "DO_NOT_TRACK": "1", "DAGSTER_DISABLE_TELEMETRY": "1"}
    with DagsterInstance.get() as instance:
        executed(get_chain, instance)
        for _ in range(3):
            tell("chain", timed(lambda: executed(get_chain, instance)), how="in one process")
        tell("fan", timed(lambda: executed(get_fan, instance)), how="in one process")
        seconds = timed(lambda: executed(get_chain_of_processes, instance))
        tell("chain", seconds, how="in processes", processes=True)
        seconds = timed(lambda: executed(get_fan_of_processes, instance))
        tell("fan", seconds, how="in processes", done=SOME, processes=True)


if __name__ == "__main__":
    main()
