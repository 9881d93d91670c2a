"""Calls that only the leader can answer."""

from __future__ import annotations

import asyncio
import socket
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import grpc
import pytest

from paddleflow.channel import open_channel_without_retries
from paddleflow.problems import DeadlineExceeded, NoLeader, QueueNotFound, TokenMissing
from pf_kit.call import current_call
from pf_kit.clock import SystemClock
from pf_kit.forward import FORWARDED, Forwarder, Origins
from pf_kit.leading import LeaseLeader
from pf_kit.leases import Leadership, Lease, MemoryLeases
from pf_kit.listen import advertised, require_reachable
from pf_kit.start import CannotStart
from support.kit_client import ALICE, Running, problem, running, settings
from support.kit_echo.app import Echo
from support.kit_echo.stubs import echo_pb2


@dataclass
class Told:
    """A leader that is told by hand."""

    leading: bool = False
    at: str = ""

    async def address(self) -> str:
        if not self.at:
            raise NoLeader
        return self.at


def lead(echo: Running, text: str = "hi", **options: Any) -> Any:
    return echo.stub.Lead(echo_pb2.HelloRequest(text=text, request_id="r1"), **{"metadata": ALICE, **options})


async def test_the_leader_answers_whomever_is_asked() -> None:
    told = Told()
    async with (
        running(Echo(settings(), leader=Told(leading=True))) as leader,
        running(Echo(settings(), leader=told)) as follower,
    ):
        told.at = leader.server.addresses[0]

        async def tell(text: str) -> str:
            call = current_call()
            return f"{text} {call.principal.label} {round(call.deadline - time.monotonic())}"

        leader.servicer.answer = tell
        assert (await lead(follower, timeout=9)).text == "hi user/alice 9"
        told.leading = True
        assert (await lead(follower)).text == "hi"


async def test_a_problem_of_the_leader_arrives_word_for_word() -> None:
    told = Told()
    async with (
        running(Echo(settings(), leader=Told(leading=True))) as leader,
        running(Echo(settings(), leader=told)) as follower,
    ):
        told.at = leader.server.addresses[0]

        async def fail(text: str) -> str:
            raise QueueNotFound(text, metadata={"queue": "a"})

        leader.servicer.answer = fail
        arrived = await problem(lead(follower, "none such"))
        assert (type(arrived), arrived.message, arrived.metadata) == (QueueNotFound, "none such", {"queue": "a"})


async def test_a_deadline_ends_at_both() -> None:
    told, cancelled = Told(), asyncio.Event()
    async with (
        running(Echo(settings(), leader=Told(leading=True))) as leader,
        running(Echo(settings(), leader=told)) as follower,
    ):
        told.at = leader.server.addresses[0]

        async def hang(text: str) -> str:
            try:
                await asyncio.sleep(30)
            finally:
                cancelled.set()
            return text

        leader.servicer.answer = hang
        assert type(await problem(lead(follower, timeout=0.3))) is DeadlineExceeded
        async with asyncio.timeout(5):
            await cancelled.wait()


async def test_strangers_are_refused_before_anything_is_handed_on() -> None:
    async with running(Echo(settings(), leader=Told(at="127.0.0.1:1"))) as follower:
        assert type(await problem(lead(follower, metadata=()))) is TokenMissing


@pytest.mark.parametrize("at", ["", "127.0.0.1:1"])
async def test_without_a_leader_the_caller_is_to_try_again(at: str) -> None:
    async with running(Echo(settings(), leader=Told(at=at))) as follower:
        assert type(await problem(lead(follower, timeout=20))) is NoLeader


async def test_two_that_take_each_other_for_the_leader_do_not_send_a_call_round() -> None:
    one, other = Told(), Told()
    async with (
        running(Echo(settings(), leader=one)) as first,
        running(Echo(settings(), leader=other)) as second,
    ):
        one.at, other.at = second.server.addresses[0], first.server.addresses[0]
        assert type(await problem(lead(first))) is NoLeader
        assert type(await problem(lead(first, metadata=(*ALICE, (FORWARDED, "1"))))) is NoLeader


async def test_a_new_leader_is_followed_while_the_old_one_finishes() -> None:
    told = Told()
    async with (
        running(Echo(settings(), leader=Told(leading=True))) as old,
        running(Echo(settings(), leader=Told(leading=True))) as new,
        running(Echo(settings(), leader=told)) as follower,
    ):
        told.at = old.server.addresses[0]
        begun, go_on = asyncio.Event(), asyncio.Event()

        async def slow(text: str) -> str:
            begun.set()
            await go_on.wait()
            return f"old {text}"

        old.servicer.answer = slow
        late = asyncio.ensure_future(lead(follower, "late"))
        await begun.wait()
        told.at = new.server.addresses[0]
        assert (await lead(follower, "soon")).text == "soon"
        go_on.set()
        assert (await late).text == "old late"


async def test_the_leader_knows_where_a_call_came_from() -> None:
    told = Told()
    async with (
        running(Echo(settings(), leader=Told(leading=True))) as leader,
        running(Echo(settings(), leader=told)) as follower,
    ):
        told.at = leader.server.addresses[0]

        async def tell_peer(_: str) -> str:
            return current_call().peer

        leader.servicer.answer = follower.servicer.answer = tell_peer
        # One channel has one port, whatever is asked.
        asked_by = (await follower.stub.Hello(echo_pb2.HelloRequest())).text
        assert (await lead(follower)).text == asked_by


@pytest.mark.parametrize("said", ["1", "unix:/lie", f"{'0' * 32} unix:/lie", Origins(b"guess").told("unix:/lie", "")])
async def test_what_a_caller_claims_about_where_it_is_does_not_count(said: str) -> None:
    async with running(Echo(settings(), leader=Told(leading=True))) as leader:

        async def tell_peer(_: str) -> str:
            return current_call().peer

        leader.servicer.answer = tell_peer
        assert (await lead(leader, metadata=(*ALICE, (FORWARDED, said)))).text.startswith("ipv4:127.0.0.1:")


async def test_what_one_caller_sent_is_of_no_use_to_another() -> None:
    origins = Origins(b"secret")
    said = origins.told("ipv4:10.0.0.1:7", "Bearer a")
    assert origins.read(said, "Bearer a") == "ipv4:10.0.0.1:7"
    assert origins.read(said, "Bearer b") == origins.read(said.encode(), "Bearer a") == ""


class Asked:
    """What a forwarder sees of a call."""

    def invocation_metadata(self) -> Any:
        return ALICE

    def time_remaining(self) -> float:
        return 20.0

    def peer(self) -> str:
        return "unix:"


async def test_a_forwarder_that_closes_waits_for_no_former_leader() -> None:
    told = Told()
    async with running(Echo(settings(), leader=Told(leading=True))) as leader:
        begun = asyncio.Event()

        async def hang(text: str) -> str:
            if text == "late":
                begun.set()
                await asyncio.sleep(30)
            return text

        leader.servicer.answer = hang
        forwarder = Forwarder(told, Origins(b""), lambda address: open_channel_without_retries(address, None))
        handler = forwarder.handler("/echo.v1.EchoService/Lead", grpc.unary_unary_rpc_method_handler(None))  # type: ignore[arg-type]
        forward: Any = handler.unary_unary
        told.at = leader.server.addresses[0]
        late = asyncio.ensure_future(forward(echo_pb2.HelloRequest(text="late").SerializeToString(), Asked()))
        await begun.wait()
        told.at = f"ipv4:{told.at}"
        await forward(echo_pb2.HelloRequest(text="soon").SerializeToString(), Asked())
        async with asyncio.timeout(5):
            await forwarder.close()
            await asyncio.wait([late])


async def test_a_stream_cannot_be_led() -> None:
    class Handler:
        request_streaming, response_streaming = False, True

    with pytest.raises(TypeError, match="/s/Watch"):
        Forwarder(Told(), Origins(b""), lambda _: None).handler("/s/Watch", Handler())  # type: ignore[arg-type,return-value]


async def test_the_lease_says_who_leads() -> None:
    clock = SystemClock()
    leases = MemoryLeases(clock)
    leadership = Leadership(leases, name="admission", holder="me", address="a:1", clock=clock)
    leader = LeaseLeader(leadership, leases, "admission", clock)
    with pytest.raises(NoLeader):
        await leader.address()
    assert await leases.acquire("admission", "other", "b:2", 60)
    later = LeaseLeader(leadership, leases, "admission", clock)
    assert await later.address() == "b:2"
    assert not later.leading


@pytest.mark.parametrize("address", ["0.0.0.0:80", "[::]:80", "*:80", "ipv4:0.0.0.0:80", "dns:///[::]:80", "host:0"])
async def test_an_address_that_nobody_can_call_is_not_put_into_a_lease(address: str) -> None:
    clock = SystemClock()
    leases = MemoryLeases(clock)
    leadership = Leadership(leases, name="n", holder="me", address=address, clock=clock)
    with pytest.raises(CannotStart, match="cannot reach this one"):
        LeaseLeader(leadership, leases, "n", clock)


@pytest.mark.parametrize(
    ("listened", "told"),
    [
        ("0.0.0.0:80", "{name}:80"),
        ("[::]:80", "{name}:80"),
        ("ipv4:0.0.0.0:80", "{name}:80"),
        ("127.0.0.1:80", "127.0.0.1:80"),
        ("host:80", "host:80"),
        ("unix:/run/a.sock", "unix:/run/a.sock"),
    ],
)
def test_a_server_on_all_interfaces_is_called_by_its_machines_name(listened: str, told: str) -> None:
    assert advertised(listened) == told.format(name=socket.gethostname())
    require_reachable(advertised(listened))


@pytest.mark.parametrize("address", ["host:80", "[::1]:80", "10.0.0.1:80", "unix:/run/a.sock", "dns:///host:80"])
async def test_an_address_that_others_can_call_leads(address: str) -> None:
    clock = SystemClock()
    leases = MemoryLeases(clock)
    leadership = Leadership(leases, name="n", holder="me", address=address, clock=clock)
    assert not LeaseLeader(leadership, leases, "n", clock).leading


async def test_the_lease_is_not_read_for_every_call() -> None:
    class Counting:
        read_count = 0

        async def read(self, name: str) -> Lease | None:
            self.read_count += 1
            return Lease(name, "other", "b:2", 1, datetime.now(UTC))

    store: Any = Counting()
    clock = SystemClock()
    leadership = Leadership(store, name="n", holder="me", address="a:1", clock=clock)
    leader = LeaseLeader(leadership, store, "n", clock)
    for _ in range(10):
        assert await leader.address() == "b:2"
    assert store.read_count == 1
