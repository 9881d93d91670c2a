"""A service as a part of the stack."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from pf_kit.embedded.accounts import this_account
from pf_kit.embedded.refusal import Refusal
from pf_stack.endpoints import Endpoint
from pf_stack.service import Service

LONG_CHANGE = 1800.0
"""Seconds that a change of large tables may take."""


def service(port: int, admin_port: int) -> Service:
    endpoint = Endpoint(port, admin_port, Path("/srv/run/queue.sock"))
    return Service("queue", "pf_queue", endpoint, dict, Path("/srv"), this_account())


@pytest.mark.parametrize("taken", ["port", "admin_port"])
async def test_a_port_of_another_program_is_named_with_what_to_do(taken: str) -> None:
    with socket.socket() as intruder:
        intruder.bind(("127.0.0.1", 0))
        intruder.listen()
        port = intruder.getsockname()[1]
        with pytest.raises(Refusal, match=f"port {port} of queue is taken by another program\nStop that program"):
            await service(**{"port": 20000, "admin_port": 20001, taken: port}).prepare()


def test_a_service_that_changes_its_tables_is_not_taken_for_stuck() -> None:
    assert service(20000, 20001).start_seconds > LONG_CHANGE
