"""How fast jobs run on this machine, from the request to the end of their processes: `make bench-job`."""

from __future__ import annotations

import subprocess
import sys
import time

from bench.bench_job_logs import followed, written
from bench.bench_job_site import Site, of
from bench.bench_job_slurm import beside_slurm
from bench.report import Parts, run
from paddleflow.job.v1 import job_pb2
from paddleflow.queue.v1 import queue_pb2
from support.figures import Figure, percentile

ALONE = 100
"""Jobs one after the other."""
MANY = 1_000
VERY_MANY = 10_000
PENDING = 10_000
PAGES = 100
IDLE_SECONDS = 20.0


async def alone(stack: Site) -> list[Figure]:
    """Jobs one after the other on an idle stack."""
    waits = [await stack.wait_to_run() for _ in range(ALONE)]
    idle = await stack.load(IDLE_SECONDS)
    return [
        Figure("submit to running, idle, p50", percentile(waits, 0.5), "ms", at_most=25.0),
        Figure("submit to running, idle, p99", percentile(waits, 0.99), "ms", at_most=250.0),
        Figure("idle stack, of a core", idle, "%", at_most=2.0),
    ]


async def together(stack: Site) -> list[Figure]:
    """Many that do nothing, beside what it costs to spawn as many."""
    spawned = spawn()
    begun = time.perf_counter()
    await stack.create_many(MANY)
    accepted = MANY / (time.perf_counter() - begun)
    await stack.until_over()
    finished = MANY / (time.perf_counter() - begun)
    return [
        Figure("accepted submits", accepted, "1/s", at_least=500.0),
        Figure("1,000 jobs that do nothing, submitted to over", finished, "1/s", spawned, at_least=50.0),
    ]


async def many(stack: Site) -> list[Figure]:
    """So many that what they leave behind shows."""
    before = stack.memory()
    begun = time.perf_counter()
    await stack.create_many(VERY_MANY)
    await stack.until_over()
    finished = VERY_MANY / (time.perf_counter() - begun)
    return [
        Figure("10,000 jobs that do nothing, submitted to over", finished, "1/s", at_least=50.0),
        Figure("memory of the whole stack after them", stack.memory(), "MiB", before),
    ]


async def listing(stack: Site) -> list[Figure]:
    """Pages of a list while many wait."""
    await stack.queues(queue_pb2.HoldQueueRequest(name="default-queue"))
    await stack.create_many(PENDING)
    await stack.until_none([job_pb2.JOB_STATE_INIT])
    times: list[float] = []
    token = ""
    for _ in range(PAGES):
        begun = time.perf_counter()
        page = await stack.jobs(job_pb2.ListJobsRequest(page_size=50, page_token=token))
        times.append((time.perf_counter() - begun) * 1000)
        token = page.next_page_token
    return [
        Figure("page of 50 jobs, 10,000 wait, p50", percentile(times, 0.5), "ms"),
        Figure("page of 50 jobs, 10,000 wait, p99", percentile(times, 0.99), "ms", at_most=50.0),
    ]


def spawn() -> float:
    """Processes a second that `xargs` starts and sees end, as many at once as the machine has cores."""
    begun = time.perf_counter()
    subprocess.run(["xargs", "-P", "2", "-I{}", "true"], input="\n".join(map(str, range(MANY))), text=True, check=True)
    return MANY / (time.perf_counter() - begun)


PARTS: Parts = {
    "alone": of(alone),
    "together": of(together),
    "listing": of(listing),
    "followed": of(followed),
    "written": of(written),
    "slurm": beside_slurm,
    "many": of(many),
}

if __name__ == "__main__":
    sys.exit(run("job", "Jobs on this machine", PARTS, sys.argv[1:]))
