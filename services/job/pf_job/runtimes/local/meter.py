"""Looks at running replicas, and writes down what they use: often at first, more seldom as they grow old."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

from pf_job.runtimes.local import layout, samples
from pf_job.runtimes.local.gauges import Gauge
from pf_job.runtimes.local.loop import Loop, now
from pf_job.runtimes.local.samples import Sample


class Devices(Protocol):
    """Accelerators that tell how busy they are."""

    def read(self, numbers: Sequence[int]) -> tuple[int, int]:
        """Thousandths of an accelerator that are busy, and bytes of memory in use; `UNKNOWN` if they do not tell."""


@dataclass(slots=True)
class Metered:
    """A replica that runs."""

    path: str
    """Of its file."""
    gauge: Gauge
    accelerators: Sequence[int]
    begun: float
    """When it began, by the clock of the loop."""
    records: int
    is_over: bool = False


class Meter:
    """Keeps the file of each replica that runs."""

    def __init__(self, loop: Loop, devices: Devices) -> None:
        self._loop = loop
        self._devices = devices
        self._metered: dict[str, Metered] = {}

    def begin(self, name: str, folder: str, gauge: Gauge, accelerators: Sequence[int], started: int) -> None:
        """`started` is when the replica began, in microseconds of the epoch."""
        path, records = f"{folder}/{layout.USAGE}", 0
        with suppress(OSError):
            records = os.stat(path).st_size // samples.RECORD.size
        begun = now() - max(0.0, time.time() - started / 1e6)
        replica = self._metered[name] = Metered(path, gauge, accelerators, begun, records)
        self._loop.call_at(samples.next_look(now() - begun, now()), self._later(replica))

    def end(self, name: str) -> None:
        replica = self._metered.pop(name, None)
        if replica is not None:
            replica.is_over = True

    def _later(self, replica: Metered) -> Callable[[], None]:
        def look() -> None:
            if not replica.is_over:
                # On a full disk there is a gap.
                with suppress(OSError):
                    _append(replica, self._read(replica))
                self._loop.call_at(samples.next_look(now() - replica.begun, now()), look)

        return look

    def _read(self, replica: Metered) -> Sample:
        found = replica.gauge.read(time.time_ns() // 1_000)
        if not replica.accelerators:
            return found
        busy, memory = self._devices.read(replica.accelerators)
        return found._replace(accelerator=busy, accelerator_memory=memory)


def _append(replica: Metered, sample: Sample) -> None:
    handle = os.open(replica.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        os.write(handle, samples.encode([sample]))
    finally:
        os.close(handle)
    replica.records += 1
    if replica.records > samples.LONGEST:
        _thin(replica)


def _thin(replica: Metered) -> None:
    with open(replica.path, "rb") as file:
        kept = samples.thinned(file.read())
    partial = f"{replica.path}.partial"
    with open(partial, "wb") as file:
        file.write(kept)
    os.rename(partial, replica.path)
    replica.records = len(kept) // samples.RECORD.size
