"""Connections to a server whose addresses become others."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field

import pytest

from pf_backends.reach import Place, Reach
from pf_backends.wire.messages import Broken, Endpoint
from pf_backends.wire.pool import PATIENCE, Pool


@dataclass(frozen=True)
class Moving(Reach):
    """A name that leads to where nobody is first, and then to a server."""

    ports: list[int] = field(default_factory=list)

    def places(self, host: str, port: int) -> Sequence[Place]:
        return [(socket.AF_INET, ("127.0.0.1", self.ports.pop(0)))]


@pytest.fixture
def server() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening


def port_of_nobody() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
        return port


def test_addresses_that_cannot_be_connected_to_are_not_remembered(server: socket.socket) -> None:
    reach = Moving(ports=[port_of_nobody(), server.getsockname()[1]])
    endpoint = Endpoint("moving.example", 1, tls=False)
    pool = Pool(endpoint, reach=reach, context=None, patience=PATIENCE, most=1)
    with closing(pool):
        with pytest.raises(Broken):
            pool.dialled()
        pool.dialled().close()
    assert not reach.ports
