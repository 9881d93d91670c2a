"""What replicas use, as the kernel tells: by their control groups where these count, else by their processes."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from pf_job.runtimes.local import processes
from pf_job.runtimes.local.samples import UNKNOWN, Sample

MOST_PROCESSES = 500
"""That are looked at one by one. Of a replica with more, only what its groups count is known: to look at so many would
hold up all others."""
TICK = 1_000_000 // os.sysconf("SC_CLK_TCK")
"""Microseconds."""
PAGE = os.sysconf("SC_PAGE_SIZE")
PIECE = 65_536


@dataclass(frozen=True, slots=True)
class Counted:
    """What is known; the rest is `UNKNOWN`."""

    cpu: int = UNKNOWN
    memory: int = UNKNOWN
    read: int = UNKNOWN
    written: int = UNKNOWN
    processes: int = UNKNOWN

    def with_unknown_from(self, other: Counted) -> Counted:
        """The same, with what is not known here taken from another."""
        lacking = [name for name in Counted.__slots__ if getattr(self, name) == UNKNOWN]
        return replace(self, **{name: getattr(other, name) for name in lacking})

    @property
    def is_complete(self) -> bool:
        """True if processes could tell nothing more."""
        return UNKNOWN not in (self.cpu, self.memory, self.read)


@dataclass(frozen=True, slots=True)
class Files:
    """What there is to read of the control groups of a replica; empty names for what there is not."""

    cpu: str = ""
    memory: str = ""
    memory_details: str = ""
    disk: str = ""
    processes: str = ""
    members: str = ""

    def read(self) -> Counted:
        """What the kernel counts in the groups."""
        return Counted(
            _cpu(_text(self.cpu)),
            _memory(_text(self.memory), _text(self.memory_details)),
            *(_disk(_text(self.disk)) if self.disk else (UNKNOWN, UNKNOWN)),
            int(_text(self.processes) or UNKNOWN),
        )


class Gauge:
    """Tells what one replica uses."""

    def __init__(self, init: int, groups: Sequence[str]) -> None:
        """`init` is its first process, which is not its own: it waits for the others, and counts those that are gone.
        `groups` are the folders of its control groups.
        """
        self._init = init
        self._groups = groups
        self._files: Files | None = None

    def read(self, time: int) -> Sample:
        if self._files is None:
            # Not before, as most replicas are over by the first look.
            self._files = find(self._groups)
        found = self._files.read()
        if not found.is_complete:
            found = found.with_unknown_from(of_processes(self._init, self._members(self._files.members)))
        return Sample(time, found.cpu, found.memory, found.read, found.written, found.processes)

    def _members(self, file: str) -> Sequence[int]:
        """All processes but the first."""
        if members := _text(file).split():
            return [int(pid) for pid in members]
        return list(processes.descendants(self._init, MOST_PROCESSES + 1))


def find(groups: Sequence[str]) -> Files:
    """What there is to read in groups of either version."""
    cpu = _first(groups, "cpuacct.usage", "cpu.stat")
    return Files(
        # The first version has a file of that name which tells nothing of it.
        cpu=cpu if _cpu(_text(cpu)) != UNKNOWN else "",
        memory=_first(groups, "memory.current", "memory.usage_in_bytes"),
        memory_details=_first(groups, "memory.stat"),
        disk=_first(groups, "io.stat", "blkio.throttle.io_service_bytes_recursive"),
        processes=_first(groups, "pids.current"),
        members=_first(groups, "cgroup.procs"),
    )


def _first(groups: Sequence[str], *names: str) -> str:
    paths = (f"{folder}/{name}" for name in names for folder in groups)
    return next(filter(os.path.exists, paths), "")


def of_processes(init: int, members: Sequence[int]) -> Counted:
    """What processes have used, with those below them that are gone."""
    if len(members) > MOST_PROCESSES:
        return Counted()
    cpu = memory = there = 0
    for pid in (init, *members):
        if (found := _stat(pid)) is not None:
            cpu += found[0]
            # Of the first it is that of the runner, which it was forked from.
            memory += found[1] if pid != init else 0
            there += pid != init
    io = [_io(_text(f"/proc/{pid}/io")) for pid in (init, *members)]
    known = [each for each in io if each is not None]
    read, written = (sum(each[0] for each in known), sum(each[1] for each in known)) if known else (UNKNOWN, UNKNOWN)
    return Counted(cpu, memory, read, written, there)


def _cpu(told: str) -> int:
    """Microseconds, from `cpuacct.usage` or `cpu.stat`."""
    return int(told) // 1_000 if told.strip().isdecimal() else _pairs(told).get("usage_usec", UNKNOWN)


def _memory(current: str, details: str) -> int:
    """Without files that are cached and were not used of late: the kernel gives them back before anything else."""
    if not current:
        return UNKNOWN
    found = _pairs(details)
    return max(0, int(current) - found.get("total_inactive_file", found.get("inactive_file", 0)))


def _disk(told: str) -> tuple[int, int]:
    """Bytes read and written, from `io.stat` or `blkio.throttle.io_service_bytes_recursive`."""
    if "=" in told:
        pairs = [word.partition("=") for word in told.split() if "=" in word]
        return _sum(pairs, "rbytes"), _sum(pairs, "wbytes")
    triples = [line.split() for line in told.splitlines()]
    named = [(words[1], "", words[2]) for words in triples if len(words) == 3]
    return _sum(named, "Read"), _sum(named, "Write")


def _sum(told: Iterable[tuple[str, str, str]], wanted: str) -> int:
    return sum(int(value) for name, _, value in told if name == wanted)


def _stat(pid: int) -> tuple[int, int] | None:
    """Microseconds of the processor, with children that were waited for, and bytes of memory; None if it is gone."""
    # The program's name stands in brackets and may itself hold brackets and spaces.
    fields = _text(f"/proc/{pid}/stat").rpartition(")")[2].split()
    if not fields:
        return None
    return sum(map(int, fields[11:15])) * TICK, int(fields[21]) * PAGE


def _io(text: str) -> tuple[int, int] | None:
    found = _pairs(text.replace(":", ""))
    return (found["read_bytes"], found["write_bytes"]) if found else None


def _pairs(text: str) -> dict[str, int]:
    return dict(_numbered(text))


def _numbered(text: str) -> Iterator[tuple[str, int]]:
    for line in text.splitlines():
        name, _, value = line.partition(" ")
        if value.isdecimal():
            yield name, int(value)


def _text(path: str) -> str:
    """The content of a small file of the kernel; empty if it cannot be read."""
    if not path:
        return ""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        return os.read(handle, PIECE).decode()
    except OSError:
        return ""
    finally:
        os.close(handle)
