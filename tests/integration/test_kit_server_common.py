"""What every server answers alike: info, audit, events, health, reflection, metrics."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc
from prometheus_client import CollectorRegistry

from paddleflow.common.v1 import event_pb2, event_pb2_grpc, info_pb2, info_pb2_grpc
from paddleflow.problems import (
    DatabaseUnavailable,
    InvalidArgument,
    PageTokenInvalid,
    PermissionDenied,
    ResumeTokenExpired,
)
from pf_kit import health, servicers
from pf_kit.admin import AdminPort
from pf_kit.events import Cursor
from support.kit_client import ALICE, ROOT, Running, problem, running, settings, until
from support.kit_echo.app import INSTALLATION, Echo
from support.kit_echo.stubs import echo_pb2

SERVING = health_pb2.HealthCheckResponse.SERVING
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING


@pytest.fixture
async def echo() -> AsyncIterator[Running]:
    async with running(Echo(settings())) as served:
        yield served


async def put(echo: Running, *names: str, metadata: Any = ALICE) -> None:
    for name in names:
        request = echo_pb2.PutNoteRequest(note=echo_pb2.Note(name=name, text="x" * 1000), request_id=f"id-{name}")
        await echo.stub.PutNote(request, metadata=metadata)


async def test_info_tells_which_software_answers(echo: Running) -> None:
    reply = await info_pb2_grpc.InfoServiceStub(echo.channel).GetInfo(info_pb2.GetInfoRequest())
    assert (reply.service, reply.version, reply.installation) == ("echo", "1.0", INSTALLATION)


async def audit(echo: Running, **filters: Any) -> info_pb2.ListAuditRecordsResponse:
    stub = info_pb2_grpc.AuditServiceStub(echo.channel)
    return await stub.ListAuditRecords(info_pb2.ListAuditRecordsRequest(**filters), metadata=ROOT)


async def test_every_change_is_in_the_audit_log(echo: Running) -> None:
    await put(echo, "a", "b")
    await put(echo, "b", metadata=ROOT)
    newest, *_, oldest = (await audit(echo)).records
    assert (oldest.actor, oldest.subject, oldest.request_id) == ("user/alice", "note/a", "id-a")
    assert oldest.method == "/echo.v1.EchoService/PutNote"
    assert oldest.peer.startswith("ipv4:127.0.0.1:")
    assert newest.actor == "user/root"
    assert [record.subject for record in (await audit(echo, subject="note/b")).records] == ["note/b", "note/b"]
    assert [record.actor for record in (await audit(echo, actor="user/root")).records] == ["user/root"]
    assert not (await audit(echo, since={"seconds": newest.create_time.seconds + 60})).records


async def test_the_audit_log_is_read_in_pages(echo: Running) -> None:
    await put(echo, *"abcde")
    seen, page_token = [], ""
    for _ in range(3):
        page = await audit(echo, page_size=2, page_token=page_token)
        seen += [record.subject for record in page.records]
        page_token = page.next_page_token
    assert seen == ["note/e", "note/d", "note/c", "note/b", "note/a"]
    assert page_token == ""
    first = await audit(echo, page_size=2)
    with_filter = audit(echo, page_token=first.next_page_token, actor="user/alice")
    assert type(await problem(with_filter)) is PageTokenInvalid
    assert type(await problem(audit(echo, page_size=-1))) is InvalidArgument


async def test_the_audit_log_is_for_root(echo: Running) -> None:
    call = info_pb2_grpc.AuditServiceStub(echo.channel).ListAuditRecords
    assert type(await problem(call(info_pb2.ListAuditRecordsRequest(), metadata=ALICE))) is PermissionDenied


async def events(echo: Running, **fields: Any) -> event_pb2.EventBatch:
    stub = event_pb2_grpc.EventServiceStub(echo.channel)
    return (await stub.ListEvents(event_pb2.ListEventsRequest(**fields), metadata=ROOT)).batch


async def test_events_can_be_read_from_any_place_that_is_kept(echo: Running) -> None:
    await put(echo, *"abc")
    everything = await events(echo)
    assert [event.subject for event in everything.events] == ["note/a", "note/b", "note/c"]
    assert everything.events[0].type == "echo.v1.Note"
    assert [event.subject for event in (await events(echo, limit=2)).events] == ["note/a", "note/b"]
    rest = await events(echo, after=everything.events[0].position)
    assert rest.previous == everything.events[0].position
    assert [event.subject for event in rest.events] == ["note/b", "note/c"]
    stub = event_pb2_grpc.EventServiceStub(echo.channel)
    head = (await stub.GetEventHead(event_pb2.GetEventHeadRequest(), metadata=ROOT)).head
    assert head == everything.events[-1].position
    assert not (await events(echo, after=head)).events


async def test_events_of_another_life_and_lost_events_are_expired(echo: Running) -> None:
    await put(echo, *"abc")
    other = event_pb2.Position(epoch="another", xid=1, id=1)
    assert type(await problem(events(echo, after=other))) is ResumeTokenExpired
    beginning = event_pb2.Position(epoch=(await events(echo)).previous.epoch)
    echo.server._service.database.log.trim(Cursor(2, 2))  # type: ignore[attr-defined]  # noqa: SLF001
    assert type(await problem(events(echo, after=beginning))) is ResumeTokenExpired
    assert [event.subject for event in (await events(echo)).events] == ["note/c"]
    assert type(await problem(events(echo, limit=-1))) is InvalidArgument


@pytest.mark.parametrize("place", [{"xid": 2**63, "id": 1}, {"xid": 1, "id": 2**63}, {"xid": 2**64 - 1}])
async def test_a_place_that_no_event_can_have_is_refused(echo: Running, place: dict[str, int]) -> None:
    await put(echo, "a")
    refused = await problem(events(echo, after={"epoch": (await events(echo)).previous.epoch, **place}))
    assert type(refused) is InvalidArgument
    assert refused.violations[0].field == "after"


async def test_a_batch_of_events_fits_into_a_message(echo: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(servicers, "MAX_BATCH_BYTES", 2500)
    await put(echo, *"abcde")
    assert len((await events(echo)).events) == 2
    monkeypatch.setattr(servicers, "MAX_BATCH_BYTES", 10)
    assert len((await events(echo)).events) == 1


async def checked(echo: Running, service: str) -> int:
    stub: Any = health_pb2_grpc.HealthStub(echo.channel)
    status: int = (await stub.Check(health_pb2.HealthCheckRequest(service=service))).status
    return status


async def becomes(echo: Running, service: str, status: int) -> None:
    async def is_so() -> bool:
        return await checked(echo, service) == status

    await until(is_so)


async def test_health_follows_the_database(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "PAUSE", 0.02)
    async with running(Echo(settings())) as echo:
        for service in ("", "readiness", "echo.v1.EchoService"):
            await becomes(echo, service, SERVING)
        log = echo.server._service.database.log  # noqa: SLF001  # the test's own, given to the server
        head = log.head

        async def away() -> Cursor:
            raise DatabaseUnavailable

        monkeypatch.setattr(log, "head", away)
        await becomes(echo, "readiness", NOT_SERVING)
        await becomes(echo, "echo.v1.EchoService", NOT_SERVING)
        assert await checked(echo, "") == SERVING
        assert (await http(echo, "/readyz"))[0] == 503
        monkeypatch.setattr(log, "head", head)
        await becomes(echo, "readiness", SERVING)


async def test_reflection_shows_all_services_and_their_messages(echo: Running) -> None:
    channel: Any = echo.channel
    stub: Any = reflection_pb2_grpc.ServerReflectionStub(channel)
    asked = [
        reflection_pb2.ServerReflectionRequest(list_services=""),
        reflection_pb2.ServerReflectionRequest(file_containing_symbol="echo.v1.EchoService"),
    ]
    listed, file = [reply async for reply in stub.ServerReflectionInfo(iter(asked))]
    names = {service.name for service in listed.list_services_response.service}
    assert names >= {
        "echo.v1.EchoService",
        "paddleflow.common.v1.InfoService",
        "paddleflow.common.v1.AuditService",
        "paddleflow.common.v1.EventService",
        "grpc.health.v1.Health",
    }
    assert file.file_descriptor_response.file_descriptor_proto


async def http(echo: Running, path: str, method: str = "GET") -> tuple[int, str]:
    reader, writer = await asyncio.open_connection("127.0.0.1", echo.server.admin_port)
    writer.write(f"{method} {urlsplit(path).geturl()} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    answer = (await reader.read()).decode()
    writer.close()
    await writer.wait_closed()
    head, _, body = answer.partition("\r\n\r\n")
    return int(head.split()[1]), body


async def test_the_admin_port_tells_metrics_and_health(echo: Running) -> None:
    await becomes(echo, "readiness", SERVING)
    await echo.stub.Hello(echo_pb2.HelloRequest())
    status, body = await http(echo, "/metrics")
    assert status == 200
    assert (
        'grpc_server_handled_total{grpc_code="OK",grpc_method="Hello",grpc_service="echo.v1.EchoService"} 1.0' in body
    )
    assert (await http(echo, "/healthz"))[0] == 200
    assert (await http(echo, "/readyz?x=1"))[0] == 200
    assert (await http(echo, "/else"))[0] == 404
    assert (await http(echo, "/metrics", "POST"))[0] == 405


async def test_the_admin_port_is_on_all_addresses_where_no_host_is_said() -> None:
    async with AdminPort(CollectorRegistry(), lambda: True).listening(":0") as port:
        told = await asyncio.to_thread(Path("/proc/self/net/tcp").read_text)
        told += await asyncio.to_thread(Path("/proc/self/net/tcp6").read_text)
    assert re.search(rf" 0+:{port:04X} 0+:0000 0A ", told)


@pytest.mark.parametrize("sent", [b"\r\n\r\n", b"x" * 100_000, b"GET /metrics HTTP/1.1\r\n"])
async def test_the_admin_port_survives_whoever_does_not_ask_properly(echo: Running, sent: bytes) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", echo.server.admin_port)
    writer.write(sent)
    writer.write_eof()
    async with asyncio.timeout(5):
        await reader.read()
    writer.close()
    assert (await http(echo, "/healthz"))[0] == 200
