"""Servers that hang, refuse, repeat secrets or are not to be called."""

from __future__ import annotations

import asyncio
import errno
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import cast

import pytest

from paddleflow.problems import Overloaded, ServerNotAllowed, ServerUnusable
from pf_backends.opening import Surroundings
from pf_backends.port import Backend
from pf_fs.domain import Opened
from pf_fs.servers import BackendServers
from pf_fs.threads import THREADS, Patience, Threads
from pf_kit.addresses import allowed_of

SECRET = "never-to-be-seen"
PUBLIC = "8.8.8.8"


def place(host: str = PUBLIC, bucket: str = "bucket") -> Opened:
    return Opened(f"s3://{bucket}", {"endpoint": host, "accessKey": "AK"}, {"secretKey": SECRET})


@dataclass
class Far:
    """A server that does what a test wants, before it answers."""

    before: Callable[[], None] = lambda: None
    opened: list[tuple[Mapping[str, str], Surroundings]] = field(default_factory=list)
    closed: int = 0

    def open(self, _url: str, properties: Mapping[str, str], surroundings: Surroundings) -> Backend:
        self.opened.append((properties, surroundings))
        return cast("Backend", self)

    def check(self) -> None:
        self.before()

    def close(self) -> None:
        self.closed += 1


@pytest.fixture
def gate() -> Iterator[threading.Event]:
    """What hanging servers wait for; opened in the end, so that no thread is left."""
    event = threading.Event()
    yield event
    event.set()


def servers(far: Far, *allowed: str) -> BackendServers:
    return BackendServers(far.open, allowed_of(allowed), Threads(Patience(wait=0.1, answer=0.2)))


async def test_a_server_that_answers_is_told_all_and_closed() -> None:
    far = Far()
    await servers(far).check(place())
    ((properties, surroundings),) = far.opened
    assert properties == {"endpoint": PUBLIC, "accessKey": "AK", "secretKey": SECRET}
    assert not surroundings.reach.internal
    assert far.closed == 1


async def test_a_server_that_hangs_is_given_up_and_makes_room_again(gate: threading.Event) -> None:
    far = Far(before=lambda: cast("None", gate.wait(20)))
    asked = servers(far)
    with pytest.raises(ServerUnusable, match=r"did not answer within 0\.2 s"):
        await asked.check(place())
    others = await asyncio.gather(*(asked.check(place()) for _ in range(THREADS)), return_exceptions=True)
    assert {type(each) for each in others} == {ServerUnusable, Overloaded}
    gate.set()
    async with asyncio.timeout(20):
        while True:
            try:
                await asked.check(place())
                break
            except Overloaded:
                continue


async def test_what_a_server_says_is_told_without_secrets_and_control_characters() -> None:
    def refuse() -> None:
        raise PermissionError(errno.EACCES, f"AccessDenied\x1b[31m\n{SECRET} {'x' * 2000}", "bucket")

    with pytest.raises(ServerUnusable) as refused:
        await servers(Far(before=refuse)).check(place())
    assert refused.value.message.startswith("'s3://bucket' cannot be used: AccessDenied [31m *** xxx")
    assert len(refused.value.message) < 600


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "localhost", "10.0.0.1:9000", "http://[::1]:9", "http://169.254.169.254", "[fd00::1]"]
)
async def test_nobody_is_called_who_must_not_be(host: str) -> None:
    far = Far()
    with pytest.raises(ServerNotAllowed, match="which is not public"):
        await servers(far).check(place(host))
    assert far.opened == []


async def test_an_administrator_allows_hosts_and_networks() -> None:
    far = Far()
    await servers(far, "127.0.0.0/8").check(place("127.1.2.3"))
    await servers(far, "localhost").check(place("localhost"))
    by_network, by_name = (surroundings.reach for _, surroundings in far.opened)
    assert (by_network.internal, [str(each) for each in by_network.allowed]) == (False, ["127.0.0.0/8"])
    assert by_name.internal


async def test_a_name_that_nobody_has_is_told() -> None:
    with pytest.raises(ServerUnusable, match=r"no address is known of 'nobody\.invalid'"):
        await servers(Far()).check(place("nobody.invalid"))
