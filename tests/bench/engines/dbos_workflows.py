"""DBOS: steps in this process, each one's result in Postgres."""

from __future__ import annotations

from dbos import DBOS

from bench.engines.taking import AT_ONCE, CHAIN, FAN, postgres, tell, timed

QUEUE = "wide"
POLL_SECONDS = 0.05
"""As it comes it is 1."""


@DBOS.step()
def nothing() -> None:
    pass


@DBOS.workflow()
def one() -> None:
    nothing()


@DBOS.workflow()
def one_after_the_other() -> None:
    for _ in range(CHAIN):
        nothing()


@DBOS.workflow()
def fan_out() -> None:
    nothing()
    for handle in [DBOS.enqueue_workflow(QUEUE, one) for _ in range(FAN)]:
        handle.get_result()
    nothing()


def main() -> None:
    address = postgres("postgresql+psycopg")
    DBOS(config={"name": "bench", "system_database_url": address, "log_level": "ERROR", "run_admin_server": False})
    DBOS.launch()
    DBOS.register_queue(QUEUE, worker_concurrency=AT_ONCE, polling_interval_sec=POLL_SECONDS)
    one_after_the_other()
    for _ in range(5):
        tell("chain", timed(one_after_the_other))
    for _ in range(3):
        tell("fan", timed(fan_out))
    DBOS.destroy()


if __name__ == "__main__":
    main()
