"""Load on a server of another process, and what it costs there."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import grpc

TIMEOUT = 10.0


@dataclass(frozen=True)
class Method:
    """A method that is called with the same metadata and ever new requests, as bytes."""

    channel: grpc.Channel
    path: str
    metadata: tuple[tuple[str, str | bytes], ...]
    request: Callable[[int], bytes]
    """The request of this number."""


def drive(method: Method, calls: int, in_flight: int) -> float:
    """Seconds that the calls take, so many of them at a time; fails if one does."""
    send: grpc.UnaryUnaryMultiCallable[bytes, bytes] = method.channel.unary_unary(method.path)
    waiting: deque[grpc.Future[bytes]] = deque()
    begun = time.perf_counter()
    for number in range(calls):
        waiting.append(send.future(method.request(number), timeout=TIMEOUT, metadata=method.metadata))
        if len(waiting) >= in_flight:
            waiting.popleft().result()
    for call in waiting:
        call.result()
    return time.perf_counter() - begun


def processor_seconds(pid: int) -> float:
    """What all threads of a process have used; exact to the nanosecond, where `times` counts hundredths."""
    tasks = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(task.read_text().split()[0]) for task in tasks) / 1e9
