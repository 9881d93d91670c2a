"""The DAGs of Airflow."""

from __future__ import annotations

import os
from datetime import UTC, datetime

from airflow.providers.standard.operators.python import PythonOperator
from airflow.sdk import DAG

BEGIN = datetime(2024, 1, 1, tzinfo=UTC)
AT_ONCE = 16
CHAIN = int(os.environ["BENCH_CHAIN"])
SOME = int(os.environ["BENCH_SOME"])


def nothing() -> None:
    pass


def step(name: str) -> PythonOperator:
    return PythonOperator(task_id=name, python_callable=nothing, do_xcom_push=False)


with DAG("chain", schedule=None, start_date=BEGIN, catchup=False, max_active_tasks=AT_ONCE):
    before = step("n0")
    for at in range(1, CHAIN):
        after = step(f"n{at}")
        before >> after
        before = after

with DAG("fan", schedule=None, start_date=BEGIN, catchup=False, max_active_tasks=AT_ONCE):
    first, last = step("first"), step("last")
    first >> [step(f"m{at}") for at in range(SOME)] >> last
