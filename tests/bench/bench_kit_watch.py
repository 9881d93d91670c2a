"""What it costs to tell a hundred watchers of every change."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field

import uvloop
from grpc import aio

from bench.bench_kit_load import processor_seconds
from bench.bench_kit_queue import QUEUE, Site, site
from paddleflow.queue.v1 import queue_pb2, queue_pb2_grpc
from support.figures import Figure, percentile

WATCHERS = 100
CHANNELS = 10
PACED = 100
RATE = 20.0
"""Changes a second while latency is measured."""
BURST = 500
SETTINGS = {"PF_QUEUE_SERVER_LIMITS_STREAMS_PER_CALLER": "200"}


@dataclass
class Watcher:
    """Notes when each change came to it; a change is known by the queue's priority."""

    stub: queue_pb2_grpc.QueueServiceAsyncStub
    metadata: tuple[tuple[str, str], ...]
    seen: dict[int, float] = field(default_factory=dict)
    messages: int = 0
    begun: asyncio.Event = field(default_factory=asyncio.Event)

    async def follow(self) -> None:
        async for page in self.stub.WatchQueues(queue_pb2.WatchQueuesRequest(), metadata=self.metadata):
            now = time.perf_counter()
            self.messages += 1
            if self.begun.is_set():
                self.seen.update((event.queue.priority, now) for event in page.events)
            elif page.bookmark:
                self.begun.set()


@dataclass
class Crowd:
    """All watchers, and who makes the changes."""

    site: Site
    watchers: list[Watcher]
    changer: queue_pb2_grpc.QueueServiceAsyncStub

    async def change(self, number: int) -> None:
        request = queue_pb2.UpdateQueueRequest(queue=queue_pb2.Queue(name=QUEUE, priority=number))
        request.update_mask.paths.append("priority")
        await self.changer.UpdateQueue(request, metadata=self.site.metadata, timeout=20)

    async def all_saw(self, number: int) -> None:
        async with asyncio.timeout(60):
            while not all(number in watcher.seen for watcher in self.watchers):  # noqa: ASYNC110  # a hundred of them
                await asyncio.sleep(0.005)


async def measure(opened: Site) -> list[Figure]:
    channels = [aio.insecure_channel(f"{opened.process.address}", options=[("n", n)]) for n in range(CHANNELS)]
    stubs = [queue_pb2_grpc.QueueServiceStub(channel) for channel in channels]
    watchers = [Watcher(stubs[number % CHANNELS], opened.metadata) for number in range(WATCHERS)]
    tasks = [asyncio.create_task(watcher.follow()) for watcher in watchers]
    for watcher in watchers:
        await watcher.begun.wait()
    crowd = Crowd(opened, watchers, stubs[0])
    found = [*await latency(crowd), *await throughput(crowd)]
    for task in tasks:
        task.cancel()
    for channel in channels:
        await channel.close()
    return found


async def latency(crowd: Crowd) -> list[Figure]:
    """From the request for a change to the last of the hundred who hears of it."""
    delays = []
    for number in range(1, PACED + 1):
        begun = time.perf_counter()
        await crowd.change(number)
        await crowd.all_saw(number)
        delays.append((max(watcher.seen[number] for watcher in crowd.watchers) - begun) * 1000)
        await asyncio.sleep(1 / RATE)
    return [
        Figure("request to the last of 100 watchers, p50", percentile(delays, 0.5), "ms"),
        Figure("request to the last of 100 watchers, p99", percentile(delays, 0.99), "ms"),
    ]


async def throughput(crowd: Crowd) -> list[Figure]:
    """Changes as fast as they can be made, each told to everybody."""
    messages = sum(watcher.messages for watcher in crowd.watchers)
    cpu, begun = processor_seconds(crowd.site.pid), time.perf_counter()
    for start in range(PACED + 1, PACED + 1 + BURST, 20):
        await asyncio.gather(*(crowd.change(number) for number in range(start, start + 20)))
    await crowd.all_saw(PACED + BURST)
    seconds, spent = time.perf_counter() - begun, processor_seconds(crowd.site.pid) - cpu
    told = BURST * WATCHERS
    sent = sum(watcher.messages for watcher in crowd.watchers) - messages
    return [
        Figure("changes told to 100 watchers", told / seconds, "events/s"),
        Figure("a change told to a watcher, processor time of the service", spent / told * 1e6, "µs/event"),
        Figure("changes in one message", told / sent, "events"),
    ]


def figures() -> list[Figure]:
    with site(SETTINGS) as opened:
        return uvloop.run(measure(opened))
