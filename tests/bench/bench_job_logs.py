"""How soon what a job writes is told to whoever follows its log, and how much of it."""

from __future__ import annotations

import asyncio
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator

from bench.bench_job_site import Site
from paddleflow.job.v1 import job_pb2, log_pb2
from support.figures import Figure, percentile

LINES = 100
TALK = f"n=0; while [ $n -lt {LINES} ]; do date +%s%N; sleep 0.05; n=$((n+1)); done"
"""Writes what time it is, again and again."""
SILENT = 10
"""Logs that are followed at once and do not grow."""
SILENT_SECONDS = 10.0

LINE = b"all work and no play makes a dull job, says who reads its log.\n"
SIZE = 800 * 2**20
SHOUT = f"yes '{LINE.decode().strip()}' | head -c {SIZE}"
LONGEST = 2**20
"""Bytes in one message at most."""
EXPECTED = LINE * (LONGEST // len(LINE) + 2)


async def followed(stack: Site) -> list[Figure]:
    """A line from its writing to its reader; and logs that do not grow."""
    made = await stack.create(TALK)
    late: list[float] = []
    async for chunk in _follow(stack, made):
        late += [(time.time_ns() - int(line)) / 1e6 for line in chunk.data.split()]
    assert len(late) == LINES
    return [
        Figure("line of a log, written to read, p50", percentile(late, 0.5), "ms"),
        Figure("line of a log, written to read, p99", percentile(late, 0.99), "ms", at_most=100.0),
        Figure("follow of a log that does not grow, of a core", await _silent(stack), "%"),
    ]


async def written(stack: Site) -> list[Figure]:
    """As much output as a program can write, all of which is to be read while it does."""
    bare = _bare()
    made = await stack.create(SHOUT)
    read, begun = 0, 0.0
    async for chunk in _follow(stack, made):
        begun = begun or time.perf_counter()
        place = chunk.offset % len(LINE)
        assert (chunk.lost, chunk.offset) == (0, read)
        assert chunk.data == EXPECTED[place : place + len(chunk.data)]
        read += len(chunk.data)
    rate = read / (time.perf_counter() - begun) / 2**20
    assert read == SIZE, f"{SIZE - read} bytes are lost"
    return [Figure("output of a job that is followed, none lost", rate, "MiB/s", bare, at_least=200.0)]


def _follow(stack: Site, made: job_pb2.Job) -> AsyncIterator[log_pb2.ReadLogResponse]:
    choice = log_pb2.LogChoice(id=made.id)
    return stack.jobs.watch(log_pb2.ReadLogRequest(choice=choice, follow=True, later=True))


async def _silent(stack: Site) -> float:
    """What it costs to follow one of them."""
    jobs = [await stack.create("sleep 60") for _ in range(SILENT)]
    await stack.until_none([job_pb2.JOB_STATE_INIT, job_pb2.JOB_STATE_PENDING])
    idle = await stack.load(SILENT_SECONDS)
    async with asyncio.TaskGroup() as group:
        readers = [group.create_task(_read_away(stack, made)) for made in jobs]
        busy = await stack.load(SILENT_SECONDS)
        for reader in readers:
            reader.cancel()
    return (busy - idle) / SILENT


async def _read_away(stack: Site, made: job_pb2.Job) -> None:
    async for _ in _follow(stack, made):
        pass


def _bare() -> float:
    """What the same program writes into a file, in MiB/s."""
    with tempfile.NamedTemporaryFile() as file:
        begun = time.perf_counter()
        subprocess.run(["sh", "-c", SHOUT], stdout=file, check=True)
        return SIZE / (time.perf_counter() - begun) / 2**20
