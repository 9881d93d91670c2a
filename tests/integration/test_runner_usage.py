"""What real replicas use: all of their processes, those that are gone, and over the life of a runner."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress

from paddleflow.problems import NotFound
from pf_job.runtimes.local.adapter import LocalRuntime
from pf_job.runtimes.port import Ceiling, ReplicaKey, Sample
from support.runtime_site import ended, launch, opened, output, watched

CHILDREN = "for i in 1 2 3; do python3 -c 'import time\nwhile time.process_time() < 0.2: pass'; done"
GROWING = "python3 -c 'import time; x = bytearray(48 * 2**20); time.sleep(1.8)'"


async def samples_of(runtime: LocalRuntime, key: ReplicaKey, count: int) -> list[Sample]:
    """What was seen, once it is so much."""
    deadline = time.monotonic() + 30
    while True:
        # It takes a moment until it has begun.
        with suppress(NotFound):
            if len(found := list((await runtime.usage(key)).samples)) >= count:
                return found
        assert time.monotonic() < deadline
        await asyncio.sleep(0.05)


async def test_what_children_used_that_are_gone_counts() -> None:
    async with opened() as (_, runtime):
        replica = launch(f"{CHILDREN}; sleep 1.2")
        await ended(runtime, replica)
        found = (await runtime.usage(replica.key)).samples
        assert found[-1].cpu is not None
        assert 600_000 <= found[-1].cpu < 3_000_000
        seen = [each.cpu for each in found[1:-1] if each.cpu is not None]
        assert seen == sorted(seen)
        assert seen[-1] <= found[-1].cpu + 20_000


async def test_memory_is_that_of_all_processes() -> None:
    async with opened() as (_, runtime):
        replica = launch(f"{GROWING} & {GROWING}; wait", ceiling=Ceiling(memory=2**30, processes=100))
        await ended(runtime, replica)
        found = (await runtime.usage(replica.key)).samples
        assert max(each.memory or 0 for each in found) > 96 * 2**20
        assert (found[-1].peak or 0) > 48 * 2**20


async def test_what_is_written_to_disks_counts() -> None:
    async with opened() as (_, runtime):
        # Where temporary files lie in memory, that is nothing: the kernel says how much it was.
        replica = launch('head -c 3000000 /dev/urandom > "$TMPDIR/f"; sync "$TMPDIR/f"; cat /proc/$$/io')
        await ended(runtime, replica)
        told = dict(line.split(": ") for line in (await output(runtime, replica.key)).splitlines())
        last = (await runtime.usage(replica.key)).samples[-1]
        assert last.written is not None
        assert int(told["write_bytes"]) <= last.written < int(told["write_bytes"]) + 2**20


async def test_the_next_runner_goes_on() -> None:
    async with opened() as (site, runtime):
        replica = launch("sleep 60")
        async with watched(runtime) as watch:
            await runtime.start([replica])
            await watch.running(replica.key)
            before = await samples_of(runtime, replica.key, 2)
            site.kill_runner()
            await runtime.machines()
            after = await samples_of(runtime, replica.key, len(before) + 2)
        assert after[: len(before)] == before
        assert [each.time for each in after] == sorted(each.time for each in after)
        await runtime.stop([replica.key], 0)
