"""Airflow: its scheduler, its DAG processor and its API server beside Postgres, steps in processes of LocalExecutor."""

from __future__ import annotations

import os
import secrets
import socket
import subprocess
import sys
from pathlib import Path

import psycopg2

from bench.engines.taking import AT_ONCE, CHAIN, DATABASE, FAN, FOLDER, POSTGRES, ended, postgres, server, tell, until

SOME = min(FAN, 100)
"""Steps of a fan-out; a thousand take a quarter of an hour."""
PATIENCE = 400.0
PARTS = ("api-server", "dag-processor", "scheduler")


def settings() -> dict[str, str]:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = str(probe.getsockname()[1])
    return {
        "DO_NOT_TRACK": "1",
        "BENCH_SOME": str(SOME),
        "BENCH_CHAIN": str(CHAIN),
        "AIRFLOW_HOME": str(FOLDER),
        "AIRFLOW__API__HOST": "127.0.0.1",
        "AIRFLOW__API__PORT": port,
        "AIRFLOW__API__BASE_URL": f"http://127.0.0.1:{port}",
        "AIRFLOW__API__SECRET_KEY": secrets.token_hex(32),
        "AIRFLOW__API_AUTH__JWT_SECRET": secrets.token_hex(32),
        "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"http://127.0.0.1:{port}/execution/",
        "AIRFLOW__CORE__DAGS_FOLDER": str(Path(__file__).parent / "dags"),
        "AIRFLOW__CORE__DAGS_ARE_PAUSED_AT_CREATION": "False",
        "AIRFLOW__CORE__EXECUTOR": "LocalExecutor",
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__CORE__MAX_ACTIVE_TASKS_PER_DAG": str(AT_ONCE),
        "AIRFLOW__CORE__PARALLELISM": str(AT_ONCE),
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": postgres("postgresql+psycopg2"),
        "AIRFLOW__LOGGING__LOGGING_LEVEL": "WARNING",
        "AIRFLOW__USAGE_DATA_COLLECTION__ENABLED": "False",
    }


def main() -> None:
    os.environ |= settings()
    airflow("db", "migrate")
    servers = [server("airflow", part) for part in PARTS]
    until(lambda: asked("select count(distinct dag_id) from serialized_dag") == 2, "the DAGs of Airflow")
    ran("chain", "warm-up")
    for number in range(2):
        tell("chain", ran("chain", f"chain-{number}"), processes=True)
    tell("fan", ran("fan", "fan-0"), done=SOME, processes=True)
    ended(servers)


def airflow(*args: str) -> None:
    subprocess.run([sys.executable, "-m", "airflow", *args], check=True, cwd=FOLDER)


def ran(dag: str, run: str) -> float:
    """Seconds of a run, by its own times: from its acceptance to its end."""
    airflow("dags", "trigger", dag, "--run-id", run)
    of_run = f"from dag_run where run_id = '{run}'"
    until(lambda: bool(asked(f"select state in ('success', 'failed') {of_run}")), f"{dag} of Airflow", PATIENCE, 0.5)
    state = asked(f"select state {of_run}")
    assert state == "success", state
    return float(asked(f"select extract(epoch from end_date - queued_at) {of_run}"))


def asked(query: str) -> float | str | bool:
    """The only value that a query finds."""
    connection = psycopg2.connect(host=POSTGRES, dbname=DATABASE, user="test")
    try:
        with connection.cursor() as cursor:
            cursor.execute(query)
            (value,) = cursor.fetchone()
            found: float | str | bool = value
            return found
    finally:
        connection.close()


if __name__ == "__main__":
    main()
