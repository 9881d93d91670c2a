"""Watches over a real socket: how they begin, go on and end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

import pytest
from grpc import aio

from paddleflow.problems import (
    Problem,
    ResumeTokenExpired,
    ResumeTokenInvalid,
    ShuttingDown,
    TokenExpired,
    TokenMissing,
    TokenRevoked,
    WatchTooSlow,
)
from pf_kit import serving
from pf_kit.auth import TokenState
from pf_kit.events import BEGINNING
from pf_kit.limits import LimitSettings
from pf_kit.resume import Place, resume_token
from support.kit_client import ALICE, Running, bearer, problem, running, settings, token
from support.kit_echo.app import Echo
from support.kit_echo.servicer import EchoServicer
from support.kit_echo.stubs import echo_pb2


async def put(echo: Running, name: str, text: str) -> None:
    await echo.stub.PutNote(echo_pb2.PutNoteRequest(note=echo_pb2.Note(name=name, text=text)), metadata=ALICE)


def watch(echo: Running, resume: str = "", metadata: Any = ALICE) -> Any:
    return echo.stub.WatchNotes(echo_pb2.WatchNotesRequest(resume_token=resume), metadata=metadata)


async def end(stream: Any) -> Problem:
    async def read_all() -> None:
        while await stream.read() is not aio.EOF:
            continue

    async with asyncio.timeout(10):
        return await problem(read_all())


async def test_a_watch_goes_on_after_a_break_without_loss_or_repetition() -> None:
    async with running(Echo(settings())) as echo:
        await put(echo, "a", "0")
        seen, resume = [], ""
        for number in range(1, 6):
            stream = watch(echo, resume)
            page = await stream.read()
            await put(echo, "a", str(number))
            while str(number) not in seen:
                seen += [note.text for note in page.notes]
                resume = page.resume_token
                if str(number) not in seen:
                    page = await stream.read()
            stream.cancel()
        assert seen == ["0", "1", "2", "3", "4", "5"]


async def test_a_watch_needs_a_token_like_any_call() -> None:
    async with running(Echo(settings())) as echo:
        assert type(await end(watch(echo, metadata=()))) is TokenMissing


async def test_wrong_tokens_are_refused() -> None:
    async with running(Echo(settings())) as echo:
        assert type(await end(watch(echo, "nonsense"))) is ResumeTokenInvalid
        other = resume_token("another epoch", Place(BEGINNING, None))
        assert type(await end(watch(echo, other))) is ResumeTokenExpired


async def test_a_watch_ends_when_its_callers_token_is_revoked() -> None:
    good = [True]

    class Changing:
        async def check(self, token_id: str) -> TokenState | None:
            return TokenState(good=good[0], user=token_id, root=False)

    async with running(Echo(settings(), status=Changing(), bookmark_seconds=0.3)) as echo:
        stream = watch(echo)
        await stream.read()
        good[0] = False
        assert type(await end(stream)) is TokenRevoked


async def test_a_watch_ends_with_its_callers_token() -> None:
    async with running(Echo(settings(), bookmark_seconds=0.2)) as echo:
        stream = watch(echo, metadata=bearer(token(lasts=1.0)))
        await stream.read()
        assert type(await end(stream)) is TokenExpired


async def test_a_server_that_stops_tells_its_watchers() -> None:
    async with running(Echo(settings())) as echo:
        streams = [watch(echo) for _ in range(10)]
        for stream in streams:
            await stream.read()
        echo.stop.asked.set()
        assert [type(await end(stream)) for stream in streams] == [ShuttingDown] * 10


async def test_a_hundred_watchers_see_every_change() -> None:
    async with running(Echo(settings(limits=LimitSettings(streams_per_caller=100)))) as echo:
        streams = [watch(echo) for _ in range(100)]
        for stream in streams:
            await stream.read()

        async def follow(stream: Any) -> list[str]:
            seen: list[str] = []
            while len(seen) < 50:
                seen += [note.text for note in (await stream.read()).notes]
            return seen

        following = [asyncio.ensure_future(follow(stream)) for stream in streams]
        for number in range(50):
            await put(echo, "a", str(number))
        async with asyncio.timeout(20):
            results = await asyncio.gather(*following)
        assert results == [[str(number) for number in range(50)]] * 100


class Ending(EchoServicer):
    """Tells when a watch is over."""

    def __init__(self, *parts: Any) -> None:
        super().__init__(*parts)
        self.ended = asyncio.Event()

    async def WatchNotes(self, request: Any, context: object) -> AsyncGenerator[Any, None]:  # noqa: N802
        async with aclosing(super().WatchNotes(request, context)) as pages:
            try:
                async for page in pages:
                    yield page
            finally:
                self.ended.set()


async def test_a_watcher_that_does_not_read_is_told_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "WRITE_SECONDS", 0.2)
    async with running(Echo(settings(), servicer=Ending)) as echo:
        stream, written = watch(echo), 0
        await stream.read()
        assert isinstance(echo.servicer, Ending)
        async with asyncio.timeout(20):
            while not echo.servicer.ended.is_set():
                await put(echo, str(written), "x" * 100_000)
                written += 1
        told: list[str] = []

        async def read_all() -> None:
            while (page := await stream.read()) is not aio.EOF:
                told.extend(note.name for note in page.notes)

        assert type(await problem(read_all())) is WatchTooSlow
        assert told == [str(number) for number in range(len(told))]
        assert len(told) < written
