"""Killing each process of a stack, and the supervisor itself."""

from __future__ import annotations

import os
import signal
import socket
import time

import pytest

from paddleflow.models.queues import Queue
from pf_kit.embedded.processes import is_alive
from support.stacks import Stack, all_gone, wait_until

pytestmark = [pytest.mark.xdist_group("stack"), pytest.mark.timeout(180)]


def mended(stack: Stack, name: str, before: int) -> bool:
    process = stack.processes().get(name)
    return process is not None and process["state"] == "ready" and process["pid"] not in (None, before)


@pytest.mark.parametrize("name", ["postgres", "valkey", "queue"])
def test_a_killed_process_comes_back_and_nothing_is_lost(stack: Stack, name: str) -> None:
    with stack.connect() as client:
        client.queues.create(Queue(f"before-{name}", max={"cpu": 1000}))
        before = stack.processes()
        os.kill(before[name]["pid"], signal.SIGKILL)
        wait_until(lambda: mended(stack, name, before[name]["pid"]))
        after = stack.processes()
        assert after[name]["restarts"] == before[name]["restarts"] + 1
        assert after[name]["last_exit"] == "signal 9"
        assert after["supervisor"]["pid"] == before["supervisor"]["pid"]
        assert client.queues.get(f"before-{name}").max == {"cpu": 1000}
        client.queues.create(Queue(f"after-{name}", max={"cpu": 1000}))


def test_a_service_whose_port_was_taken_names_it_and_comes_back_once_it_is_free(stack: Stack) -> None:
    port = stack.port
    with socket.socket() as intruder:
        intruder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        stack.kill("queue")
        wait_until(lambda: bound(intruder, port))
        intruder.listen()
        wait_until(lambda: f"port {port} of queue is taken" in stack.processes()["queue"]["last_exit"])
        assert f"port {port} of queue is taken by another program. Stop" in stack.pf("status", status=3)
        assert f"port {port} of queue is taken" in stack.pf("logs", "supervisor")
    wait_until(lambda: stack.status()["ready"])


def bound(intruder: socket.socket, port: int) -> bool:
    try:
        intruder.bind(("127.0.0.1", port))
    except OSError:
        return False
    return True


def test_a_dead_supervisor_takes_its_processes_along_and_the_next_start_goes_on(stack: Stack) -> None:
    with stack.connect() as client:
        client.queues.create(Queue("before-supervisor", max={"cpu": 1000}))
    everything = stack.identities()
    stack.kill("supervisor")
    # At once: the children are still ending.
    stack.pf("up")
    assert all_gone(everything)
    with stack.connect() as client:
        assert client.queues.get("before-supervisor").max == {"cpu": 1000}


def test_without_its_supervisor_a_stack_ends_by_itself(stack: Stack) -> None:
    everything = stack.identities()
    stack.kill("supervisor")
    wait_until(lambda: all_gone(everything))
    assert "Nothing runs" in stack.pf("status", status=3)
    assert "Nothing was running" in stack.pf("down")
    stack.pf("up")


def test_down_ends_what_a_dead_supervisor_left_behind(stack: Stack) -> None:
    queue = stack.pid("queue")
    os.kill(queue, signal.SIGSTOP)
    everything = stack.identities()
    stack.kill("supervisor")
    wait_until(lambda: sum(map(is_alive, everything)) == 1)
    assert f"its processes {queue} still run" in stack.pf("doctor", status=1)
    begin = time.monotonic()
    os.kill(queue, signal.SIGCONT)
    stack.pf("down")
    assert all_gone(everything)
    assert time.monotonic() - begin < 20
    stack.pf("up")


def test_a_stack_that_is_only_starting_can_be_stopped(stack: Stack) -> None:
    stack.pf("down")
    start = stack.start("up")
    wait_until(lambda: bool(stack.processes()))
    stack.pf("down")
    start.communicate(timeout=60)
    assert stack.processes() == {}
    stack.pf("up")
