"""How fast pipelines run on this machine: `make bench-pipeline`.

A: steps do nothing, inside of the service; B: each step is a process, through the job service.
"""

from __future__ import annotations

import sys

from bench.bench_pipeline_site import Site, chain, fan, layers, loop, of
from bench.report import Parts, run
from support.figures import Figure, percentile

TIMES = 5


async def chains(stack: Site) -> list[Figure]:
    """40 steps one after the other."""
    await stack.seconds(chain(40))
    times = [await stack.seconds(chain(40)) for _ in range(TIMES)]
    return [Figure("A: chain of 40", percentile(times, 0.5), "s", at_most=0.07)]


async def fans(stack: Site) -> list[Figure]:
    """1,000 steps that wait for one, and one that waits for them."""
    await stack.seconds(fan(100))
    times = [await stack.seconds(fan(1000)) for _ in range(3)]
    return [Figure("A: fan-out of 1,000", percentile(times, 0.5), "s", at_most=1.2)]


async def large(stack: Site) -> list[Figure]:
    """10,000 steps with 30,000 dependencies, and a tenth of that."""
    small = percentile([await stack.seconds(layers(1000, 100, 3)) for _ in range(3)], 0.5) / 1000
    before = stack.processor()
    seconds = await stack.seconds(layers(10_000, 100, 3))
    used = stack.processor() - before
    return [
        Figure("A: 10,000 steps with 30,000 dependencies", seconds, "s", at_most=10.0),
        Figure("A: each step of them, to each of 1,000", seconds / 10_000 / small, "x", at_most=1.5),
        Figure("A: processor for each step of them", used / 10_000 * 1e6, "µs"),
        Figure("A: memory of the service after them", stack.memory(), "MiB", at_most=300.0),
    ]


async def loops(stack: Site) -> list[Figure]:
    """A loop of 100,000."""
    before = stack.memory()
    seconds = await stack.seconds(loop(100_000))
    return [
        Figure("A: loop of 100,000", seconds, "s"),
        Figure("A: memory that it adds", stack.memory() - before, "MiB"),
    ]


async def real_chains(stack: Site) -> list[Figure]:
    """40 processes one after the other."""
    await stack.seconds(chain(5), real=True)
    times = [await stack.seconds(chain(40), real=True) for _ in range(3)]
    return [Figure("B: chain of 40", percentile(times, 0.5), "s", at_most=1.6)]


async def real_fans(stack: Site) -> list[Figure]:
    """1,000 processes that wait for one."""
    await stack.seconds(chain(5), real=True)
    return [Figure("B: fan-out of 1,000", await stack.seconds(fan(1000), real=True), "s", at_most=20.0)]


PARTS: Parts = {
    "chain": of(chains),
    "fan": of(fans),
    "large": of(large),
    "loop": of(loops),
    "real-chain": of(real_chains),
    "real-fan": of(real_fans),
}

if __name__ == "__main__":
    sys.exit(run("pipeline", "Pipelines on this machine", PARTS, sys.argv[1:]))
