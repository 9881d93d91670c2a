"""What processes cost the machine."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import psutil

from pf_kit.embedded.processes import Identity, is_alive


@dataclass(frozen=True, slots=True)
class Footprint:
    """A process with all its children."""

    processes: int
    rss: int
    """Bytes in memory; what several share counts once for each."""
    pss: int
    """Bytes in memory; what several share is divided among them."""
    cpu_seconds: float

    def __add__(self, other: Footprint) -> Footprint:
        return Footprint(
            self.processes + other.processes,
            self.rss + other.rss,
            self.pss + other.pss,
            self.cpu_seconds + other.cpu_seconds,
        )


NOTHING = Footprint(0, 0, 0, 0.0)


def measure(identity: Identity, *, alone: bool) -> Footprint:
    """The cost of a process, alone or with all its children; nothing if it is gone."""
    if not is_alive(identity):
        return NOTHING
    try:
        root = psutil.Process(identity.pid)
        family = [root] if alone else [root, *root.children(recursive=True)]
    except psutil.NoSuchProcess:
        return NOTHING
    return sum(_each(family), NOTHING)


def _each(family: list[psutil.Process]) -> Iterator[Footprint]:
    for member in family:
        try:
            memory, times = member.memory_full_info(), member.cpu_times()
        except psutil.NoSuchProcess:
            continue
        # Children that ended have their share in their parent's account.
        seconds = times.user + times.system + times.children_user + times.children_system
        yield Footprint(1, memory.rss, memory.pss, seconds)
