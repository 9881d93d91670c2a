"""What everything around a handler costs: the same handler in a bare grpc.aio server, and in the kit's."""

from __future__ import annotations

import asyncio
import os
import random
import statistics
import subprocess
import sys
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import grpc
import uvloop
from grpc import aio

from bench.bench_kit_load import Method, drive, processor_seconds
from pf_kit.lifecycle import Stop, serve
from pf_kit.setting_types import Secret
from support.figures import Figure
from support.kit_client import KEY, bearer, settings, token, until
from support.kit_echo.app import Echo, EchoSettings
from support.kit_echo.servicer import EchoServicer
from support.kit_echo.stubs import echo_pb2, echo_pb2_grpc

STARTS = 6
"""How often both servers are started: where things happen to lie in memory makes one process dearer than the next."""
PAIRS = 40
BURST = 200
"""Calls in one measurement. The two servers take turns, and the median of the differences counts: a neighbour's load
then hits both alike."""
IN_FLIGHT = 16
WARM_UP = 1000
GET = "/echo.v1.EchoService/GetNote"
METADATA = bearer(token("user/alice"))


class Answering(EchoServicer):
    """Answers from nothing, so that nearly all there is to measure is what stands around it."""

    async def GetNote(self, request: Any, _context: object) -> Any:  # noqa: N802  # as in the stubs
        return echo_pb2.GetNoteResponse(note=echo_pb2.Note(name=request.name))


async def serve_bare(_: EchoSettings) -> None:
    server = aio.server()
    nothing: Any = None
    echo_pb2_grpc.add_EchoServiceServicer_to_server(Answering(nothing, nothing, nothing), server)
    tell(server.add_insecure_port("127.0.0.1:0"))
    await server.start()
    await server.wait_for_termination()


async def serve_kit(chosen: EchoSettings) -> None:
    """With authentication, limits, measures and logs, as a service runs it."""
    server, _ = Echo(chosen, servicer=Answering).build()
    stop = Stop()
    serving = asyncio.create_task(serve(server, {}, stop))
    await until(partial(is_serving, stop))
    tell(int(server.addresses[0].rpartition(":")[2]))
    await serving


async def is_serving(stop: Stop) -> bool:
    return stop.serving


VARIANTS: Mapping[str, Callable[[EchoSettings], Coroutine[None, None, None]]] = {"bare": serve_bare, "kit": serve_kit}


def tell(port: int) -> None:
    sys.stdout.write(f"{port}\n")
    sys.stdout.flush()


@dataclass(frozen=True)
class Served:
    """A server in a process of its own."""

    pid: int
    method: Method

    def cost(self, calls: int) -> float:
        """Microseconds of its processor time for each call."""
        before = processor_seconds(self.pid)
        drive(self.method, calls, IN_FLIGHT)
        return (processor_seconds(self.pid) - before) / calls * 1e6


@contextmanager
def served(variant: str) -> Iterator[Served]:
    tests = Path(__file__).parent.parent
    command = [sys.executable, "-m", "bench.bench_kit_boundary", variant]
    environ = {**os.environ, "PYTHONPATH": str(tests), "BENCH_KEY": KEY.decode()}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environ, text=True
    ) as process:
        assert process.stdout is not None
        request = echo_pb2.GetNoteRequest(name="x" * 80).SerializeToString()
        with grpc.insecure_channel(f"127.0.0.1:{process.stdout.readline().strip()}") as channel:
            yield Served(process.pid, Method(channel, GET, METADATA, lambda _: request))
        process.terminate()


def figures() -> list[Figure]:
    pairs = [pair for _ in range(STARTS) for pair in both()]
    above = statistics.median(with_kit - without for without, with_kit in pairs)
    reference = statistics.median(without for without, _ in pairs)
    return [
        Figure("boundary: processor time above a bare handler", above, "µs/call", reference, at_most=30.0),
        Figure("a call through the boundary, all of it", reference + above, "µs/call", reference),
    ]


def both() -> list[tuple[float, float]]:
    """What a call costs without the kit and with it, measured by turns."""
    with served("bare") as bare, served("kit") as kit:
        for each in (bare, kit):
            each.cost(WARM_UP)
        return [measured(bare, kit) for _ in range(PAIRS)]


def measured(bare: Served, kit: Served) -> tuple[float, float]:
    """Both, in an order left to chance."""
    if random.random() < 0.5:
        return bare.cost(BURST), kit.cost(BURST)
    with_kit = kit.cost(BURST)
    return bare.cost(BURST), with_kit


if __name__ == "__main__":
    ours = EchoSettings(Secret(os.environ["BENCH_KEY"]), settings().server)
    uvloop.run(VARIANTS[sys.argv[1]](ours))
