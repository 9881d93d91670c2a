"""What is written into control groups to hold a replica to its limits, and what is read there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

PERIOD = 100_000
"""Microseconds over which a share of the processor is granted."""
LEAST_QUOTA = 1_000
"""Microseconds; the kernel takes no less."""
CONTROLLERS = ("cpu", "memory", "pids")

Controller = Literal["cpu", "memory", "pids"]
Values = list[tuple[str, str]]
"""Files and what to write into them, in order."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a replica may use."""

    cpu: int | None = None
    """In thousandths of a core."""
    memory: int | None = None
    """In bytes."""
    processes: int | None = None
    shares: int | None = None
    """Where others want the processor too: thousandths of a core."""

    def wanted(self) -> Iterator[str]:
        """The controllers without which it can use more."""
        if self.cpu is not None:
            yield "cpu"
        if self.memory is not None:
            yield "memory"
        if self.processes is not None:
            yield "pids"


def first_version(limits: Limits) -> Mapping[str, Values]:
    """By controller, each of which has its own tree."""
    cpu: Values = []
    if limits.shares is not None:
        cpu.append(("cpu.shares", str(max(2, min(262_144, limits.shares * 1_024 // 1_000)))))
    if limits.cpu is not None:
        cpu += [("cpu.cfs_period_us", str(PERIOD)), ("cpu.cfs_quota_us", str(_quota(limits.cpu)))]
    memory: Values = []
    if limits.memory is not None:
        # Memory with swap may never be less than memory, and some kernels do not count swap.
        memory = [
            ("memory.limit_in_bytes", str(limits.memory)),
            ("memory.memsw.limit_in_bytes", str(limits.memory)),
        ]
    pids: Values = [] if limits.processes is None else [("pids.max", str(limits.processes))]
    return {name: values for name, values in (("cpu", cpu), ("memory", memory), ("pids", pids)) if values}


def second_version(limits: Limits) -> Mapping[str, Values]:
    """By controller, all of which have one tree."""
    cpu: Values = []
    if limits.shares is not None:
        cpu.append(("cpu.weight", str(max(1, min(10_000, limits.shares // 10)))))
    if limits.cpu is not None:
        cpu.append(("cpu.max", f"{_quota(limits.cpu)} {PERIOD}"))
    memory: Values = []
    if limits.memory is not None:
        memory = [("memory.max", str(limits.memory)), ("memory.swap.max", "0")]
    pids: Values = [] if limits.processes is None else [("pids.max", str(limits.processes))]
    return {name: values for name, values in (("cpu", cpu), ("memory", memory), ("pids", pids)) if values}


OPTIONAL = ("memory.memsw.limit_in_bytes", "memory.swap.max")
"""Files that are not there where the kernel does not count swap."""


def _quota(cpu: int) -> int:
    return max(LEAST_QUOTA, cpu * PERIOD // 1_000)


def killed_for_memory(events: str) -> bool:
    """Whether the kernel killed a process of a group, from `memory.events` or `memory.oom_control`."""
    return _counted(events, "oom_kill") > 0


def refused_processes(events: str) -> bool:
    """Whether a group was refused more processes than it may have, from `pids.events`."""
    return _counted(events, "max") > 0


def _counted(events: str, name: str) -> int:
    counts = dict(line.split() for line in events.splitlines() if len(line.split()) == 2)
    return int(counts.get(name, 0))


def notes(limits: Limits, enforced: frozenset[str]) -> tuple[str, ...]:
    """What people should know of limits that are not enforced."""
    names = {"cpu": "processor", "memory": "memory", "pids": "processes"}
    missing = [names[controller] for controller in limits.wanted() if controller not in enforced]
    if not missing:
        return ()
    return (
        f"limits are not enforced here: {', '.join(missing)}; "
        "the control groups of this machine cannot be written to by the runner",
    )
