"""Processes as the kernel tells of them."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator, Set
from contextlib import suppress
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Stat:
    """The part of a process's state that matters here."""

    pid: int
    parent: int
    ticks: int
    """When it was started, in clock ticks since the machine was."""


def parse(text: str) -> Stat:
    # The program's name stands in brackets and may itself hold brackets and spaces.
    fields = text.rpartition(")")[2].split()
    return Stat(int(text.split(" ", 1)[0]), int(fields[1]), int(fields[19]))


def stat_of(process: int | str) -> Stat | None:
    try:
        with open(f"/proc/{process}/stat", errors="replace") as file:
            return parse(file.read())
    except (FileNotFoundError, ProcessLookupError):
        return None


def children_of(ancestor: int, but: Set[int] = frozenset()) -> Iterator[int]:
    """All processes that descend from this one, parents first; but for these, and those that descend from them."""
    offspring: dict[int, list[int]] = {}
    for entry in os.listdir("/proc"):
        if entry.isdecimal():
            with suppress(OSError):
                found = stat_of(entry)
                if found is not None:
                    offspring.setdefault(found.parent, []).append(found.pid)
    waiting = [ancestor]
    while waiting:
        for pid in offspring.get(waiting.pop(), ()):
            if pid not in but:
                waiting.append(pid)
                yield pid


def descendants(ancestor: int, most: int) -> Iterator[int]:
    """So many processes that descend from this one, in no order; cheaper than `children_of` where the kernel tells."""
    if not os.path.exists(f"/proc/self/task/{os.getpid()}/children"):
        yield from itertools.islice(children_of(ancestor), most)
        return
    waiting, found = [ancestor], 0
    while waiting and found < most:
        children = _children(waiting.pop())
        found += len(children)
        waiting += children
        yield from children


def _children(parent: int) -> list[int]:
    """Of all threads of a process."""
    children: list[int] = []
    with suppress(OSError):
        for thread in os.listdir(f"/proc/{parent}/task"):
            with open(f"/proc/{parent}/task/{thread}/children") as file:
                children += map(int, file.read().split())
    return children


def boot_id() -> str:
    with open("/proc/sys/kernel/random/boot_id") as file:
        return file.read().strip()
