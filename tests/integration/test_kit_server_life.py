"""The life of a service's process."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from grpc import aio
from grpc_health.v1 import health_pb2, health_pb2_grpc

from paddleflow.channel import open_channel
from paddleflow.problems import ShuttingDown
from pf_kit.auth import TokenState
from pf_kit.lifecycle import LoopEnded, Stop, serve
from support.kit_client import ALICE, KEY, Running, problem, running, settings, until
from support.kit_echo.app import Echo
from support.kit_echo.stubs import echo_pb2, echo_pb2_grpc

TESTS = Path(__file__).parent.parent


def environment(tmp_path: Path, **more: str) -> dict[str, str]:
    (tmp_path / "key.pem").write_bytes(KEY)
    ours = {"PF_ECHO_KEY_FILE": str(tmp_path / "key.pem"), "PF_ECHO_SERVER_LISTEN": "127.0.0.1:0", **more}
    return {**os.environ, "PYTHONPATH": str(TESTS), **ours}


class Process:
    """The echo service as a process of its own."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self.lines: list[dict[str, Any]] = []

    async def line(self, message: str) -> dict[str, Any]:
        """The next line of its log with this message."""
        assert self._process.stderr is not None
        async with asyncio.timeout(20):
            while text := await self._process.stderr.readline():
                self.lines.append(json.loads(text))
                if self.lines[-1]["message"] == message:
                    return self.lines[-1]
        raise AssertionError(f"no line {message!r} in {self.lines}")

    def send(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    async def code(self) -> int:
        async with asyncio.timeout(20):
            return await self._process.wait()


@asynccontextmanager
async def started(environ: dict[str, str]) -> AsyncIterator[Process]:
    command = [sys.executable, "-m", "support.kit_echo.app"]
    process = await asyncio.create_subprocess_exec(*command, env=environ, stderr=subprocess.PIPE)
    try:
        yield Process(process)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


def command(environ: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-m", "support.kit_echo.app", *arguments]
    return subprocess.run(words, env=environ, capture_output=True, text=True, timeout=20)


async def test_a_process_serves_and_ends_gently(tmp_path: Path) -> None:
    async with started(environment(tmp_path)) as process:
        serving = await process.line("serving")
        assert serving["service"] == "echo"
        async with open_channel(serving["addresses"][0], None) as channel:
            stub = echo_pb2_grpc.EchoServiceStub(channel)
            watch = stub.WatchNotes(echo_pb2.WatchNotesRequest(), metadata=ALICE)
            await watch.read()
            process.send(signal.SIGTERM)
            assert type(await problem(watch.read())) is ShuttingDown
            await process.line("stopped")
        assert await process.code() == 0


async def test_a_second_signal_ends_at_once(tmp_path: Path) -> None:
    """A call that another server would have to wait for: the health's watch, which never ends by itself."""
    async with started(environment(tmp_path, PF_ECHO_SERVER_GRACE_SECONDS="60")) as process:
        serving = await process.line("serving")
        channel = aio.insecure_channel(serving["addresses"][0])
        health: Any = health_pb2_grpc.HealthStub(channel)
        watch = health.Watch(health_pb2.HealthCheckRequest())
        await watch.read()
        process.send(signal.SIGTERM)
        await process.line("draining")
        process.send(signal.SIGTERM)
        await process.line("stopped before the end")
        assert await process.code() == 1
        await channel.close()


def test_version_config_and_help_are_shown(tmp_path: Path) -> None:
    environ = environment(tmp_path)
    assert command(environ, "--version").stdout == "pf-echo 1.0\n"
    shown = command(environ, "--print-config").stdout.splitlines()
    assert "PF_ECHO_KEY=***" in shown
    assert "PF_ECHO_SERVER_LIMITS_CALLS=400" in shown
    assert "PF_ECHO_SERVER_GRACE_SECONDS" in command(environ, "--help").stdout


def test_wrong_settings_are_told_and_nothing_starts(tmp_path: Path) -> None:
    done = command(environment(tmp_path, PF_ECHO_SERVER_GRACE_SECOND="1", PF_ECHO_LOG_LEVEL="loud"))
    assert done.returncode == 2
    assert "PF_ECHO_SERVER_GRACE_SECOND: no such setting; did you mean PF_ECHO_SERVER_GRACE_SECONDS?" in done.stderr
    assert "PF_ECHO_LOG_LEVEL: 'loud' is not one of debug, info, warning, error" in done.stderr


async def test_a_port_that_is_taken_ends_the_process_with_a_line(tmp_path: Path) -> None:
    async with running(Echo(settings())) as echo:
        taken = echo.server.addresses[0]
        assert taken in await asyncio.to_thread(refusal, environment(tmp_path, PF_ECHO_SERVER_LISTEN=taken))


async def test_an_admin_port_that_is_taken_ends_the_process_with_a_line(tmp_path: Path) -> None:
    async with running(Echo(settings())) as echo:
        taken = f"127.0.0.1:{echo.server.admin_port}"
        assert taken in await asyncio.to_thread(refusal, environment(tmp_path, PF_ECHO_SERVER_ADMIN=taken))


@pytest.mark.parametrize(
    ("setting", "address"),
    [
        ("ADMIN", "9090"),
        ("ADMIN", ":http"),
        ("ADMIN", "127.0.0.1:http"),
        ("ADMIN", "127.0.0.1:99999"),
        ("ADMIN", "no-such-host.invalid:9090"),
        ("LISTEN", "127.0.0.1"),
    ],
)
def test_a_malformed_address_ends_the_process_with_a_line(tmp_path: Path, setting: str, address: str) -> None:
    assert address in refusal(environment(tmp_path, **{f"PF_ECHO_SERVER_{setting}": address}))


def test_a_certificate_that_is_not_there_ends_the_process_with_a_line(tmp_path: Path) -> None:
    missing = {f"PF_ECHO_SERVER_TLS_{each}": str(tmp_path / "none.pem") for each in ("CERTIFICATE", "KEY")}
    assert "none.pem" in refusal(environment(tmp_path, **missing))


def refusal(environ: dict[str, str]) -> str:
    """Why the service does not start. gRPC may have said something of its own before."""
    done = command(environ)
    assert done.returncode == 1
    told = json.loads(done.stderr.splitlines()[-1])
    assert (told["level"], told["message"]) == ("critical", "cannot serve")
    assert "exception" not in told
    return str(told["why"])


async def crash() -> None:
    await asyncio.sleep(0.01)
    raise ZeroDivisionError


async def end() -> None:
    await asyncio.sleep(0.01)


@pytest.mark.parametrize(("loop", "error"), [(crash, ZeroDivisionError), (end, LoopEnded)])
async def test_a_loop_that_ends_ends_the_process(
    loop: Any, error: type[Exception], caplog: pytest.LogCaptureFixture
) -> None:
    server, _ = Echo(settings()).build()
    with pytest.raises(BaseExceptionGroup) as caught:
        async with asyncio.timeout(10):
            await serve(server, {"sweeper": loop}, Stop())
    assert caught.value.subgroup(error)
    if error is ZeroDivisionError:
        (record,) = (record for record in caplog.records if record.message == "a loop crashed")
        assert vars(record)["loop"] == "sweeper"


async def test_calls_under_way_are_finished_before_the_end() -> None:
    async with running(Echo(settings())) as echo:
        begun, answers = asyncio.Event(), []

        async def dawdle(text: str) -> str:
            begun.set()
            await asyncio.sleep(0.3)
            return text

        echo.servicer.answer = dawdle
        call = asyncio.ensure_future(echo.stub.Hello(echo_pb2.HelloRequest(text="late")))
        await begun.wait()
        echo.stop.asked.set()
        answers.append((await call).text)
    assert answers == ["late"]


async def test_a_caller_who_is_being_looked_up_as_the_end_begins_gets_its_answer() -> None:
    asked, answered = asyncio.Event(), asyncio.Event()

    class Slow:
        async def check(self, token_id: str) -> TokenState | None:
            asked.set()
            await answered.wait()
            return TokenState(good=True, user=token_id, root=False)

    async with running(Echo(settings(), status=Slow())) as echo:
        call = asyncio.ensure_future(echo.stub.Lead(echo_pb2.HelloRequest(text="late"), metadata=ALICE))
        await asked.wait()
        echo.stop.asked.set()

        await until(partial(is_refused, echo))
        answered.set()
        assert (await call).text == "late"


async def is_refused(echo: Running) -> bool:
    try:
        await echo.stub.Hello(echo_pb2.HelloRequest())
    except aio.AioRpcError:
        return True
    return False


async def test_a_call_that_does_not_end_is_cut_off_after_the_grace() -> None:
    loop = asyncio.get_running_loop()
    async with running(Echo(settings(grace_seconds=0.3))) as echo:
        begun, cut = asyncio.Event(), asyncio.Event()

        async def hang(text: str) -> str:
            begun.set()
            try:
                await asyncio.sleep(60)
            finally:
                cut.set()
            return text

        echo.servicer.answer = hang
        call = asyncio.ensure_future(echo.stub.Hello(echo_pb2.HelloRequest(), timeout=20))
        await begun.wait()
        asked = loop.time()
        echo.stop.asked.set()
        await cut.wait()
        assert 0.2 < loop.time() - asked < 3
        with pytest.raises(aio.AioRpcError):
            await call


async def test_servers_that_take_turns_under_load_lose_no_call() -> None:
    """Two servers behind one channel, each stopped and started again while callers go on."""
    first = settings()
    async with running(Echo(first)) as one, running(Echo(first)) as other:
        addresses = [one.server.addresses[0], other.server.addresses[0]]
        async with open_channel(f"ipv4:{','.join(addresses)}", None) as channel:
            load = Load()
            callers = [asyncio.ensure_future(load.call(channel)) for _ in range(20)]
            await load.goes_on()
            await replaced(one)
            await load.goes_on()
            async with running(Echo(settings(listen=(addresses[0],)))):
                await load.goes_on()
                await replaced(other)
                await load.goes_on()
                load.done = True
                await asyncio.gather(*callers)


async def replaced(served: Running) -> None:
    """Stops a server as a rolling restart does, and waits until it is gone."""
    served.stop.asked.set()
    await asyncio.wait([served.serving])


class Load:
    """Callers who go on until they are told that it is done."""

    def __init__(self) -> None:
        self.done = False
        self._answers = 0

    async def call(self, channel: aio.Channel) -> None:
        stub = echo_pb2_grpc.EchoServiceStub(channel)
        while not self.done:
            text = str(self._answers)
            reply = await stub.Hello(echo_pb2.HelloRequest(text=text), timeout=10)
            assert reply.text == text
            self._answers += 1

    async def goes_on(self) -> None:
        """Waits for some hundred more answers."""
        goal = self._answers + 300

        async def is_reached() -> bool:
            return self._answers >= goal

        await until(is_reached)
