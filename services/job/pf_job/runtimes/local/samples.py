"""What a replica was seen to use, in its file: records of one size, in order of time. Half of one at the end, which a
crash left there, is passed over.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import NamedTuple

RECORD = struct.Struct("<8q")
UNKNOWN = -1
LONGEST = 4_096
"""Records in one file, of two and a half days; of more, every second one is dropped."""
PAUSES = ((60, 1), (3_600, 10))
"""Up to which age of a replica, and how often until then; both in seconds."""
LONGEST_PAUSE = 60


class Sample(NamedTuple):
    """All but the time may be unknown."""

    time: int
    """In microseconds of the epoch."""
    cpu: int = UNKNOWN
    """Microseconds of the processor since it began."""
    memory: int = UNKNOWN
    """Bytes."""
    read: int = UNKNOWN
    """Bytes from disks since it began."""
    written: int = UNKNOWN
    processes: int = UNKNOWN
    accelerator: int = UNKNOWN
    """Thousandths of an accelerator that are busy."""
    accelerator_memory: int = UNKNOWN
    """Bytes."""


def encode(samples: Sequence[Sample]) -> bytes:
    return b"".join(RECORD.pack(*sample) for sample in samples)


def decode(data: bytes) -> list[Sample]:
    return [Sample(*record) for record in RECORD.iter_unpack(data[: len(data) - len(data) % RECORD.size])]


def thinned(data: bytes) -> bytes:
    """Every second record, the last one among them."""
    return encode(decode(data)[::-1][::2][::-1])


def next_look(age: float, now: float) -> float:
    """When to look at a replica again: at multiples of its pause, so that many replicas are looked at together."""
    pause = next((pause for limit, pause in PAUSES if age < limit), LONGEST_PAUSE)
    return (now + pause / 2) // pause * pause + pause
