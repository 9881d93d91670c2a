"""Calls through the boundary, over a real socket."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator
from typing import Any

import grpc
import pytest
from grpc import aio

from paddleflow.problems import (
    DatabaseUnavailable,
    DeadlineExceeded,
    Internal,
    InvalidArgument,
    NotFound,
    PermissionDenied,
    Problem,
    QueueNotFound,
    RequestIdReused,
    ResourceExhausted,
    TokenExpired,
    TokenInvalid,
    TokenMissing,
    TokenRevoked,
    Violation,
)
from paddleflow.status import DETAILS_KEY
from pf_kit import boundary
from pf_kit.auth import TokenState
from pf_kit.call import current_call
from pf_kit.clock import SystemClock
from pf_kit.served import Context
from pf_kit.tokens import new_private_key
from support.kit_client import ALICE, ROOT, Running, bearer, problem, raw_code, running, settings, token
from support.kit_echo.app import Echo
from support.kit_echo.servicer import EchoServicer
from support.kit_echo.stubs import echo_pb2
from support.waiting import until

JOB = bearer(token("service/job"))
TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
MIB = 1024 * 1024


@pytest.fixture
async def echo() -> AsyncIterator[Running]:
    async with running(Echo(settings())) as served:
        yield served


def hello(text: str = "hi") -> Any:
    return echo_pb2.HelloRequest(text=text)


def put(name: str, text: str = "", request_id: str = "") -> Any:
    return echo_pb2.PutNoteRequest(note=echo_pb2.Note(name=name, text=text), request_id=request_id)


async def test_anyone_is_answered_where_anyone_may_call(echo: Running) -> None:
    assert (await echo.stub.Hello(hello())).text == "hi"
    assert (await echo.stub.Hello(hello(), metadata=bearer("stale"))).text == "hi"


@pytest.mark.parametrize(
    ("method", "metadata", "expected"),
    [
        ("GetNote", (), TokenMissing),
        ("GetNote", (("authorization", "Basic abc"),), TokenInvalid),
        ("GetNote", bearer("nonsense"), TokenInvalid),
        ("GetNote", bearer(token(key=new_private_key())), TokenInvalid),
        ("GetNote", bearer(token(issuer="elsewhere")), TokenInvalid),
        ("GetNote", bearer(token(lasts=-60)), TokenExpired),
        ("GetNote", (*ALICE, *ROOT), TokenInvalid),
        ("GetNote", ALICE, NotFound),
        ("GetNote", JOB, NotFound),
        ("Govern", ALICE, PermissionDenied),
        ("Govern", (*JOB, ("x-paddleflow-on-behalf-of", "alice")), PermissionDenied),
        ("Govern", (*ALICE, ("x-paddleflow-on-behalf-of", "root")), PermissionDenied),
        ("Govern", ROOT, None),
        ("Govern", JOB, None),
        ("Serve", ALICE, PermissionDenied),
        ("Serve", ROOT, None),
        ("Serve", (*JOB, ("x-paddleflow-on-behalf-of", "alice")), None),
    ],
)
async def test_who_may_call_what(
    echo: Running, method: str, metadata: tuple[tuple[str, str], ...], expected: type[Problem] | None
) -> None:
    request = echo_pb2.GetNoteRequest(name="x") if method == "GetNote" else hello()
    call = getattr(echo.stub, method)(request, metadata=metadata)
    if expected is None:
        await call
    else:
        assert type(await problem(call)) is expected


async def test_a_revoked_token_is_refused() -> None:
    class Nobody:
        async def check(self, token_id: str) -> TokenState | None:
            return TokenState(good=False, user=token_id, root=False)

    async with running(Echo(settings(), status=Nobody())) as echo:
        assert type(await problem(echo.stub.GetNote(hello(), metadata=ALICE))) is TokenRevoked


async def test_when_nobody_knows_whether_a_token_is_good_the_call_is_to_be_repeated() -> None:
    class Away:
        async def check(self, token_id: str) -> TokenState | None:
            raise DatabaseUnavailable(f"cannot ask for {token_id}")

    async with running(Echo(settings(), status=Away())) as echo:
        call = echo.stub.GetNote(echo_pb2.GetNoteRequest(name="x"), metadata=ALICE)
        assert type(await problem(call)) is DatabaseUnavailable


async def test_a_problem_arrives_with_all_that_it_tells(echo: Running) -> None:
    async def fail(text: str) -> str:
        raise QueueNotFound(text, metadata={"queue": "a"}, violations=(Violation("name", "no such"),), retry_after=2.5)

    echo.servicer.answer = fail
    arrived = await problem(echo.stub.Hello(hello("There is no queue “ä”.")))
    assert type(arrived) is QueueNotFound
    assert (arrived.message, arrived.retry_after) == ("There is no queue “ä”.", 2.5)
    assert (arrived.metadata, arrived.violations) == ({"queue": "a"}, (Violation("name", "no such"),))


async def test_an_unknown_error_is_told_by_an_id_that_the_log_explains(
    echo: Running, caplog: pytest.LogCaptureFixture
) -> None:
    async def fail(_: str) -> str:
        raise ZeroDivisionError("the inside of the server")

    echo.servicer.answer = fail
    with caplog.at_level(logging.ERROR):
        arrived = await problem(echo.stub.Hello(hello()))
    assert type(arrived) is Internal
    assert "inside" not in arrived.message
    (record,) = (record for record in caplog.records if record.name == "pf_kit.calls")
    assert vars(record)["fault"] in arrived.message
    assert record.exc_info
    assert "the inside of the server" in str(record.exc_info[1])


async def test_a_handler_may_abort_by_itself(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    async def get_note(_servicer: object, _request: object, context: Context) -> None:
        await context.abort(grpc.StatusCode.DATA_LOSS, "by hand")

    monkeypatch.setattr(EchoServicer, "GetNote", get_note)
    with caplog.at_level(logging.INFO):
        async with running(Echo(settings())) as echo:
            call = echo.stub.GetNote(echo_pb2.GetNoteRequest(), metadata=ALICE)
            assert await call.code() is grpc.StatusCode.DATA_LOSS
            assert await call.details() == "by hand"
    assert "DATA_LOSS" in {vars(record).get("code") for record in caplog.records}


async def test_a_call_knows_who_calls_from_where_until_when(echo: Running) -> None:
    async def tell(_: str) -> str:
        call = current_call()
        left = call.deadline - time.monotonic()
        return f"{call.method} {call.principal.label} {call.peer.split(':')[0]} {call.trace} {round(left)}"

    echo.servicer.answer = tell
    reply = await echo.stub.Serve(hello(), metadata=(*ROOT, ("traceparent", TRACE)), timeout=7)
    assert reply.text == f"/echo.v1.EchoService/Serve user/root ipv4 {TRACE} 7"
    assert (await echo.stub.Serve(hello(), metadata=ROOT)).text.endswith("  30")


async def test_a_malformed_traceparent_is_passed_over(echo: Running) -> None:
    async def tell(_: str) -> str:
        return current_call().trace

    echo.servicer.answer = tell
    assert (await echo.stub.Hello(hello(), metadata=(("traceparent", "nonsense"),))).text == ""


async def test_a_call_without_a_deadline_ends_with_the_longest_that_is_allowed() -> None:
    async with running(Echo(settings(longest_call_seconds=0.2))) as echo:
        echo.servicer.answer = sleep_long
        for timeout in (None, 5):
            begun = time.monotonic()
            arrived = await problem(echo.stub.Hello(hello(), timeout=timeout))
            assert type(arrived) is DeadlineExceeded
            assert "longer than 0.2 s" in arrived.message
            assert time.monotonic() - begun < 3


async def sleep_long(text: str) -> str:
    await asyncio.sleep(30)
    return text


async def test_the_callers_own_deadline_cancels_the_work(echo: Running) -> None:
    cancelled = asyncio.Event()

    async def work(text: str) -> str:
        try:
            return await sleep_long(text)
        except asyncio.CancelledError:
            cancelled.set()
            raise

    echo.servicer.answer = work
    call = echo.stub.Hello(hello(), timeout=0.1)
    assert await call.code() is grpc.StatusCode.DEADLINE_EXCEEDED
    async with asyncio.timeout(5):
        await cancelled.wait()


async def test_a_time_out_inside_of_the_work_is_a_fault_and_no_deadline(echo: Running) -> None:
    async def work(_: str) -> str:
        raise TimeoutError("of something else")

    echo.servicer.answer = work
    assert type(await problem(echo.stub.Hello(hello()))) is Internal


async def test_messages_above_the_limit_are_refused_both_ways(echo: Running) -> None:
    async def grow(_: str) -> str:
        return "x" * (10 * MIB)

    big = aio.insecure_channel(echo.server.addresses[0], options=[("grpc.max_send_message_length", -1)])
    async with big:
        request = hello("x" * (10 * MIB)).SerializeToString()
        assert await raw_code(big, "/echo.v1.EchoService/Hello", request) is grpc.StatusCode.RESOURCE_EXHAUSTED
    echo.servicer.answer = grow
    assert isinstance(await problem(echo.stub.Hello(hello())), ResourceExhausted)
    assert await alive(echo) == "hi"


async def alive(echo: Running) -> str:
    async def greet(text: str) -> str:
        return text

    echo.servicer.answer = greet
    reply: str = (await echo.stub.Hello(hello())).text
    return reply


@pytest.mark.parametrize("garbage", [b"\xff", b"\x0a\xff\xff\xff\xff\x7f", b"\x00" * 100, b"\x0a\x02\xff\xfe"])
async def test_bytes_that_are_no_message_are_refused(echo: Running, garbage: bytes) -> None:
    code = await raw_code(echo.channel, "/echo.v1.EchoService/Hello", garbage)
    assert code is grpc.StatusCode.INVALID_ARGUMENT
    assert await alive(echo) == "hi"


async def test_an_unknown_method_is_told_and_not_kept(echo: Running) -> None:
    for number in range(50):
        code = await raw_code(echo.channel, f"/echo.v1.EchoService/No{number}", b"")
        assert code is grpc.StatusCode.UNIMPLEMENTED


async def test_strange_metadata_is_harmless(echo: Running) -> None:
    metadata = (("x-bin", bytes(range(256))), ("x", "a" * 2000), *((f"k{n}", "v") for n in range(50)))
    assert (await echo.stub.Hello(hello(), metadata=metadata)).text == "hi"
    call = echo.stub.GetNote(echo_pb2.GetNoteRequest(), metadata=(("authorization-bin", b"Bearer x"),))
    assert type(await problem(call)) is TokenMissing


async def test_a_change_takes_effect_once(echo: Running) -> None:
    first = await echo.stub.PutNote(put("a", "1", "r1"), metadata=ALICE)
    await echo.stub.PutNote(put("a", "2"), metadata=ALICE)
    assert await echo.stub.PutNote(put("a", "1", "r1"), metadata=ALICE) == first
    assert (await echo.stub.GetNote(echo_pb2.GetNoteRequest(name="a"), metadata=ALICE)).note.text == "2"
    assert type(await problem(echo.stub.PutNote(put("a", "3", "r1"), metadata=ALICE))) is RequestIdReused


@pytest.mark.parametrize("request_id", ["x" * 65, "x" * MIB, "a\nb", "\x00"])
async def test_a_malformed_request_id_is_refused_with_its_field(echo: Running, request_id: str) -> None:
    arrived = await problem(echo.stub.PutNote(put("a", "1", request_id), metadata=ALICE))
    assert isinstance(arrived, InvalidArgument)
    assert [violation.field for violation in arrived.violations] == ["request_id"]
    assert type(await problem(echo.stub.GetNote(echo_pb2.GetNoteRequest(name="a"), metadata=ALICE))) is NotFound


async def test_the_log_has_changes_failures_and_slow_calls_but_not_every_read(caplog: pytest.LogCaptureFixture) -> None:
    async with running(Echo(settings(slow_call_seconds=0.05))) as echo:

        async def dawdle(text: str) -> str:
            await asyncio.sleep(0.06 if text == "slow" else 0)
            return text

        echo.servicer.answer = dawdle
        with caplog.at_level(logging.INFO, "pf_kit.calls"):
            await echo.stub.Hello(hello("quick"))
            await echo.stub.Hello(hello("slow"))
            await echo.stub.PutNote(put("a"), metadata=ALICE)
            await problem(echo.stub.GetNote(echo_pb2.GetNoteRequest(name="x"), metadata=ALICE))
    told = [vars(record) for record in caplog.records if record.name == "pf_kit.calls"]
    assert [(line["method"].split("/")[-1], line["code"]) for line in told] == [
        ("Hello", "OK"),
        ("PutNote", "OK"),
        ("GetNote", "NOT_FOUND"),
    ]
    assert told[2]["reason"] == "NOT_FOUND"
    assert told[2]["principal"] == "user/alice"


async def test_strangers_cannot_fill_the_log(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(boundary, "STRANGERS_LINES", 3)
    # All in one second, however long it takes.
    monkeypatch.setattr(SystemClock, "monotonic", lambda _: 5.0)
    async with running(Echo(settings())) as echo:
        registry = echo.server._service.registry  # noqa: SLF001  # the test's own, given to the server

        async def over() -> None:
            """A call has its line when it is over, which may be a moment after its answer."""
            await until(lambda: registry.get_sample_value("grpc_server_under_way", {"kind": "call"}) == 0)

        with caplog.at_level(logging.INFO, "pf_kit.calls"):
            for metadata in ((), bearer("nonsense")):
                for _ in range(10):
                    await problem(echo.stub.GetNote(echo_pb2.GetNoteRequest(), metadata=metadata))
            await over()
            await problem(echo.stub.GetNote(echo_pb2.GetNoteRequest(name="x"), metadata=ALICE))
            await over()
            monkeypatch.setattr(SystemClock, "monotonic", lambda _: 6.0)
            await problem(echo.stub.GetNote(echo_pb2.GetNoteRequest()))
            await over()
    told = [vars(record) for record in caplog.records if record.name == "pf_kit.calls"]
    assert [(line["reason"], line.get("left_out")) for line in told] == [
        *[("TOKEN_MISSING", None)] * 3,
        ("NOT_FOUND", None),
        ("TOKEN_MISSING", 17),
    ]


async def test_every_call_is_counted(echo: Running) -> None:
    await echo.stub.Hello(hello())
    await problem(echo.stub.GetNote(echo_pb2.GetNoteRequest()))
    registry = echo.server._service.registry  # noqa: SLF001  # the test's own, given to the server
    labels = {"grpc_service": "echo.v1.EchoService"}
    handled = "grpc_server_handled_total"
    fine = {**labels, "grpc_method": "Hello", "grpc_code": "OK"}
    refused = {**labels, "grpc_method": "GetNote", "grpc_code": "UNAUTHENTICATED"}
    # A call is counted when it is over, which may be a moment after its answer.
    await until(lambda: registry.get_sample_value(handled, fine) == 1)
    await until(lambda: registry.get_sample_value(handled, refused) == 1)
    await until(lambda: registry.get_sample_value("grpc_server_under_way", {"kind": "call"}) == 0)


async def test_the_details_are_in_the_trailer_that_all_clients_know(echo: Running) -> None:
    call = echo.stub.GetNote(echo_pb2.GetNoteRequest())
    with pytest.raises(aio.AioRpcError):
        await call
    assert DETAILS_KEY in dict(await call.trailing_metadata())
