"""How many runs go on beside each other: who is served when, and what those cost that wait."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial

from bench.bench_pipeline_site import Site, lasted
from bench.pipeline_documents import approval, chain, fan
from bench.sizes import goal, sized
from paddleflow.pipeline.v1 import run_pb2
from support.figures import Figure
from support.waiting import eventually

RUNS = 100
NODES = 100
WAITING = 1000
AT_ONCE = 16
"""Calls."""
IDLE_SECONDS = 30.0


async def fair(stack: Site) -> list[Figure]:
    """Many runs of steps that do nothing, at once."""
    return await _fair(stack, real=False)


async def real_fair(stack: Site) -> list[Figure]:
    """Many runs of processes, at once."""
    return await _fair(stack, real=True)


async def _fair(stack: Site, *, real: bool) -> list[Figure]:
    await stack.seconds(chain(5), real=real)
    count, nodes = sized(RUNS), sized(NODES, at_least=3)
    text = fan(nodes - 2)
    ids = await asyncio.gather(*(stack.start(text, real=real) for _ in range(count)))
    runs = await stack.all_over(ids)
    begun = min(run.create_time.ToMicroseconds() for run in runs) / 1e6
    ends = sorted(run.finish_time.ToMicroseconds() / 1e6 - begun for run in runs)
    who = f"{'B' if real else 'A'}: {count:,} runs of {nodes:,} steps at once"
    return [
        Figure(f"{who}: to the end of all", ends[-1], "s"),
        Figure(f"{who}: from the end of the first to that of the last", ends[-1] - ends[0], "s", ends[-1]),
        Figure(f"{who}: Jain's index of their speeds", jain([1 / lasted(run) for run in runs]), ""),
    ]


def jain(shares: Sequence[float]) -> float:
    """1 if all are served alike, 1/n if one is served alone."""
    return sum(shares) ** 2 / (len(shares) * sum(share**2 for share in shares))


async def idle(stack: Site) -> list[Figure]:
    """What runs cost that wait for somebody."""
    places = asyncio.Semaphore(AT_ONCE)

    async def one() -> str:
        async with places:
            return await stack.start(approval(), real=True)

    count = sized(WAITING)
    ids = await asyncio.gather(*(one() for _ in range(count)))
    for id_ in ids:
        await eventually(partial(_waits, stack, id_), patience=60.0)
    own, all_ = stack.processor(), stack.processors()
    await asyncio.sleep(IDLE_SECONDS)
    used = (stack.processor() - own) / IDLE_SECONDS * 100
    used_by_all = (stack.processors() - all_) / IDLE_SECONDS * 100
    return [
        Figure(f"processor with {count:,} runs that wait", used, "% of a core", at_most=goal(2.0)),
        Figure("the same of all services, with Postgres and Valkey", used_by_all, "% of a core"),
        Figure("memory of the service with them", stack.memory(), "MiB"),
    ]


async def _waits(stack: Site, id_: str) -> bool:
    return (await stack.site.nodes(id_))["wait"].waiting == run_pb2.WAITING_APPROVAL
