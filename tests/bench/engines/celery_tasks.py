"""Celery: workers in processes, Valkey between them. What Valkey has not written is lost with the machine."""

from __future__ import annotations

from celery import Celery, chain, chord

from bench.engines.taking import AT_ONCE, CHAIN, FAN, VALKEY, ended, server, tell, timed

app = Celery(
    "celery_tasks",
    broker=f"redis+socket://{VALKEY}?virtual_host=0",
    backend=f"redis+socket://{VALKEY}?virtual_host=1",
    broker_connection_retry_on_startup=True,
)
PATIENCE = 300


@app.task(name="nothing")
def nothing() -> None:
    pass


@app.task(name="last")
def last(results: list[None]) -> int:
    return len(results)


def one_after_the_other() -> None:
    chain(*[nothing.si() for _ in range(CHAIN)])().get(timeout=PATIENCE)


def fan_out() -> None:
    many = chord([nothing.si() for _ in range(FAN)], last.s())
    counted = chain(nothing.si(), many)().get(timeout=PATIENCE)
    assert counted == FAN, counted


def main() -> None:
    worker = server("celery", "-A", "bench.engines.celery_tasks", "worker", "-c", str(AT_ONCE), "-l", "ERROR")
    one_after_the_other()
    for _ in range(5):
        tell("chain", timed(one_after_the_other))
    for _ in range(3):
        tell("fan", timed(fan_out))
    ended([worker])


if __name__ == "__main__":
    main()
