"""More calls than can be served: refused at once, and memory does not grow."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from functools import partial
from typing import Any

import psutil
from grpc import aio
from grpc_health.v1 import health_pb2, health_pb2_grpc

from paddleflow.problems import Overloaded, Problem, TokenMissing, TooManyCalls
from paddleflow.status import problem_of
from pf_kit.limits import LimitSettings
from pf_kit.server import OFFICIALS
from support.kit_client import ALICE, ROOT, Running, bearer, problem, running, settings, token, until
from support.kit_echo.app import Echo
from support.kit_echo.stubs import echo_pb2

CAROL = bearer(token("user/carol"))


class Gate:
    """Holds calls until it is opened."""

    def __init__(self, echo: Running) -> None:
        self.held = 0
        self.open = asyncio.Event()
        echo.servicer.answer = self._answer

    async def _answer(self, text: str) -> str:
        self.held += 1
        await self.open.wait()
        return text

    async def holds(self, count: int) -> None:
        async def so_many() -> bool:
            return self.held >= count

        await until(so_many)


def limited(**limits: int) -> Echo:
    return Echo(settings(limits=LimitSettings(**limits)))


def hello(text: str = "") -> Any:
    return echo_pb2.HelloRequest(text=text)


async def outcome(call: Any) -> type[Problem] | None:
    try:
        await call
    except aio.AioRpcError as error:
        return type(problem_of(error))
    return None


async def test_calls_above_the_limit_are_refused_at_once_with_a_delay() -> None:
    async with running(limited(calls=5, calls_per_caller=100)) as echo:
        gate = Gate(echo)
        held = [asyncio.ensure_future(echo.stub.Serve(hello(), metadata=ROOT)) for _ in range(5)]
        await gate.holds(5)
        begun = time.monotonic()
        refused = [await problem(echo.stub.Serve(hello(), metadata=ROOT)) for _ in range(20)]
        assert time.monotonic() - begun < 2
        assert {type(each) for each in refused} == {Overloaded}
        assert all(each.retry_after for each in refused)
        gate.open.set()
        await asyncio.gather(*held)
        await echo.stub.Serve(hello(), metadata=ROOT)


async def test_one_user_cannot_keep_others_out() -> None:
    async with running(limited(calls=100, calls_per_caller=3)) as echo:
        gate = Gate(echo)
        held = [asyncio.ensure_future(echo.stub.Lead(hello(), metadata=ALICE)) for _ in range(3)]
        await gate.holds(3)
        refused = await problem(echo.stub.Lead(hello(), metadata=ALICE))
        assert (type(refused), bool(refused.retry_after)) == (TooManyCalls, True)
        other = asyncio.ensure_future(echo.stub.Lead(hello(), metadata=CAROL))
        await gate.holds(4)
        gate.open.set()
        await asyncio.gather(*held, other)


async def test_watches_have_limits_of_their_own() -> None:
    async with running(limited(streams=3, streams_per_caller=2)) as echo:
        request = echo_pb2.WatchNotesRequest()
        watches = [echo.stub.WatchNotes(request, metadata=ALICE) for _ in range(2)]
        for watch in watches:
            await watch.read()
        assert type(await problem(echo.stub.WatchNotes(request, metadata=ALICE).read())) is TooManyCalls
        third = echo.stub.WatchNotes(request, metadata=ROOT)
        await third.read()
        assert type(await problem(echo.stub.WatchNotes(request, metadata=CAROL).read())) is Overloaded
        await echo.stub.Hello(hello())
        watches[0].cancel()
        await freed(echo, CAROL)


async def freed(echo: Running, metadata: Any) -> None:
    """Waits until one more watch is taken: a caller that has left holds its place for a moment only."""

    async def is_taken() -> bool:
        watch = echo.stub.WatchNotes(echo_pb2.WatchNotesRequest(), metadata=metadata)
        return await outcome(watch.read()) is None

    await until(is_taken)


async def so_many_are_under_way(echo: Running, count: int) -> bool:
    registry = echo.server._service.registry  # noqa: SLF001  # the test's own, given to the server
    return registry.get_sample_value("grpc_server_under_way", {"kind": "call"}) == count


async def test_callers_that_leave_give_their_places_back() -> None:
    async with running(limited(calls=4, calls_per_caller=4)) as echo:
        gate = Gate(echo)
        for round_number in range(1, 6):
            held = [echo.stub.Serve(hello(), metadata=ROOT) for _ in range(4)]
            await gate.holds(4 * round_number)
            for call in held:
                call.cancel()
            await until(partial(so_many_are_under_way, echo, 0))


async def test_strangers_that_watch_the_health_keep_nobody_out() -> None:
    async with running(Echo(settings())) as echo:
        channel: Any = echo.channel
        health: Any = health_pb2_grpc.HealthStub(channel)
        asked = health_pb2.HealthCheckRequest()
        watches: list[Any] = [health.Watch(asked) for _ in range(OFFICIALS)]
        for watch in watches:
            await watch.read()
        assert type(await problem(health.Watch(asked).read())) is Overloaded
        assert (await health.Check(asked)).status == health_pb2.HealthCheckResponse.SERVING
        assert (await echo.stub.Hello(hello("hi"))).text == "hi"
        await echo.stub.WatchNotes(echo_pb2.WatchNotesRequest(), metadata=ALICE).read()
        for watch in watches:
            watch.cancel()


async def test_strangers_whose_requests_never_come_keep_no_user_out() -> None:
    async with running(limited(calls=20, calls_per_caller=5, streams=4, streams_per_caller=2)) as echo:
        held = [begun(echo, "Hello") for _ in range(5)]
        await until(partial(so_many_are_under_way, echo, 5))
        # Who may not in, and who is one too many, hears so although the request has not come.
        assert type(await problem(begun(echo, "Hello"))) is TooManyCalls
        assert type(await problem(begun(echo, "Serve"))) is TokenMissing
        assert type(await problem(begun(echo, "WatchNotes"))) is TokenMissing
        assert (await echo.stub.Lead(hello("hi"), metadata=ALICE)).text == "hi"
        await echo.stub.WatchNotes(echo_pb2.WatchNotesRequest(), metadata=ALICE).read()
        for call in held:
            call.cancel()


def begun(echo: Running, method: str) -> Any:
    """A call that sends its metadata and no request."""

    async def never() -> AsyncIterator[bytes]:
        await asyncio.Event().wait()
        yield b""

    call: aio.StreamUnaryMultiCallable[bytes, bytes] = echo.channel.stream_unary(f"/echo.v1.EchoService/{method}")
    return call(never())


async def test_a_flood_does_not_make_the_memory_grow() -> None:
    async with running(limited(calls=20, calls_per_caller=20)) as echo:
        gate = Gate(echo)
        held = [asyncio.ensure_future(echo.stub.Serve(hello(), metadata=ROOT)) for _ in range(20)]
        await gate.holds(20)
        big = hello("x" * 200_000)
        await flood(echo, big, 1000)
        before = psutil.Process().memory_info().rss
        results = await flood(echo, big, 2000)
        grown = psutil.Process().memory_info().rss - before
        assert results == {Overloaded}
        assert grown < 60 * 1024 * 1024, "2000 requests of 200 kB each would be 400 MB"
        gate.open.set()
        await asyncio.gather(*held)


async def flood(echo: Running, request: Any, count: int) -> set[type[Problem] | None]:
    results: set[type[Problem] | None] = set()
    for _ in range(count // 100):
        calls = [outcome(echo.stub.Serve(request, metadata=ROOT)) for _ in range(100)]
        results |= set(await asyncio.gather(*calls))
    return results
