"""How fast one run goes.

A: steps do nothing, inside of the service; B: each step is a process, through the job service.
"""

from __future__ import annotations

from collections.abc import Sequence

from google.protobuf.timestamp_pb2 import Timestamp

from bench.bench_pipeline_site import Site, lasted
from bench.pipeline_documents import cached, chain, fan, layers, loop
from bench.sizes import goal, sized
from support.figures import Figure, percentile

CHAIN = 40
FAN = 1000
LARGE = 10_000
WIDTH, EDGES = 100, 3
LOOP = 100_000
TIMES = 5


async def chains(stack: Site) -> list[Figure]:
    """Steps one after the other."""
    return [Figure(f"A: chain of {CHAIN}", await chain_seconds(stack), "s", at_most=goal(0.07))]


async def chain_seconds(stack: Site, *, real: bool = False) -> float:
    await stack.seconds(chain(CHAIN), real=real)
    return percentile([await stack.seconds(chain(CHAIN), real=real) for _ in range(TIMES)], 0.5)


async def fans(stack: Site) -> list[Figure]:
    """Many steps that wait for one, and one that waits for them."""
    return [Figure(f"A: fan-out of {sized(FAN):,}", await fan_seconds(stack), "s", at_most=goal(1.2))]


async def fan_seconds(stack: Site, *, real: bool = False) -> float:
    await stack.seconds(fan(sized(FAN // 10)), real=real)
    return percentile([await stack.seconds(fan(sized(FAN)), real=real) for _ in range(1 if real else 3)], 0.5)


async def large(stack: Site) -> list[Figure]:
    """Steps with three times as many dependencies, and a tenth of that."""
    nodes, few = sized(LARGE), sized(LARGE // 10)
    small = percentile([await stack.seconds(layers(few, WIDTH, EDGES)) for _ in range(3)], 0.5) / few
    before = stack.processor()
    seconds = await stack.seconds(layers(nodes, WIDTH, EDGES))
    used = stack.processor() - before
    return [
        Figure(f"A: {_large(nodes)}", seconds, "s", at_most=goal(10.0)),
        Figure(f"A: each step of them, to each of {few:,}", seconds / nodes / small, "x", at_most=goal(1.5)),
        Figure("A: processor for each step of them", used / nodes * 1e6, "µs"),
        Figure("A: memory of the service after them", stack.memory(), "MiB", at_most=goal(300.0)),
    ]


def _large(nodes: int) -> str:
    return f"{nodes:,} steps with {nodes * EDGES:,} dependencies"


async def loops(stack: Site) -> list[Figure]:
    """A long loop."""
    before = stack.memory()
    seconds = await stack.seconds(loop(sized(LOOP)))
    return [
        Figure(f"A: loop of {sized(LOOP):,}", seconds, "s"),
        Figure("A: memory that it adds", stack.memory() - before, "MiB"),
    ]


async def real_chains(stack: Site) -> list[Figure]:
    """Processes one after the other."""
    return [Figure(f"B: chain of {CHAIN}", await chain_seconds(stack, real=True), "s", at_most=goal(1.6))]


async def real_fans(stack: Site) -> list[Figure]:
    """Many processes that wait for one."""
    seconds = await fan_seconds(stack, real=True)
    return [Figure(f"B: fan-out of {sized(FAN):,}", seconds, "s", at_most=goal(20.0))]


async def real_large(stack: Site) -> list[Figure]:
    """Processes with three times as many dependencies."""
    nodes = sized(LARGE)
    await stack.seconds(chain(5), real=True)
    seconds = await stack.seconds(layers(nodes, WIDTH, EDGES), real=True)
    return [Figure(f"B: {_large(nodes)}", seconds, "s", at_most=goal(200.0))]


async def cached_again(stack: Site) -> list[Figure]:
    """Processes whose results are kept, and the same once more."""
    document = cached(sized(FAN))
    first = await stack.seconds(document, real=True)
    again = [await stack.over(await stack.start(document, real=True)) for _ in range(3)]
    assert {run.steps.cached for run in again} == {sized(FAN)}
    seconds = percentile([lasted(run) for run in again], 0.5)
    return [
        Figure(f"B: {sized(FAN):,} steps the first time", first, "s"),
        Figure(f"B: {sized(FAN):,} steps from the cache", seconds, "s", at_most=goal(2.0)),
    ]


async def latency(stack: Site) -> list[Figure]:
    """How soon a step that can run is handed to the job service, where nothing else happens."""
    await stack.seconds(chain(5), real=True)
    ready: list[float] = []
    ended: list[float] = []
    for _ in range(TIMES):
        run = await stack.over(await stack.start(chain(CHAIN), real=True))
        nodes = await stack.site.nodes(run.id)
        steps = [nodes[f"s{at}"] for at in range(CHAIN)]
        jobs = [await stack.job(node.job_id) for node in steps]
        taken = [job.accept_time for job in jobs]
        ready += _milliseconds([node.finish_time for node in steps], taken)
        ended += _milliseconds([job.finish_time for job in jobs], taken)
    return [
        Figure("B: a step can run until its job is accepted, p50", percentile(ready, 0.5), "ms", at_most=goal(5.0)),
        Figure("B: a step can run until its job is accepted, p99", percentile(ready, 0.99), "ms", at_most=goal(30.0)),
        Figure("B: the end of a job to the acceptance of the next one, p50", percentile(ended, 0.5), "ms"),
        Figure("B: the end of a job to the acceptance of the next one, p99", percentile(ended, 0.99), "ms"),
    ]


def _milliseconds(ends: Sequence[Timestamp], begins: Sequence[Timestamp]) -> list[float]:
    """From the end of each to the beginning of the next."""
    pairs = zip(ends[:-1], begins[1:], strict=True)
    return [(begin.ToMicroseconds() - end.ToMicroseconds()) / 1000 for end, begin in pairs]
