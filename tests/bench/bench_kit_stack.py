"""What the whole stack costs: its start, its end, and doing nothing."""

from __future__ import annotations

import time

from support.figures import Figure
from support.stacks import Stack, new_stack

STARTS = 3
IDLE_SECONDS = 20.0
MIB = 1024 * 1024


def figures() -> list[Figure]:
    with new_stack() as stack:
        first = timed(stack, "up")
        idle = spent_idle(stack)
        memory = stack.status()["pss_bytes"]
        downs, ups = zip(*((timed(stack, "down"), timed(stack, "up")) for _ in range(STARTS)), strict=True)
    return [
        Figure("the very first pf up", first, "s"),
        Figure("pf up, when set up", sorted(ups)[STARTS // 2], "s", at_most=3.0),
        Figure("pf down", sorted(downs)[STARTS // 2], "s"),
        Figure("the stack idle", idle / IDLE_SECONDS * 100, "% of a core", at_most=2.0),
        Figure("the stack in memory", memory / MIB, "MiB"),
    ]


def timed(stack: Stack, command: str) -> float:
    begun = time.perf_counter()
    stack.pf(command)
    return time.perf_counter() - begun


def spent_idle(stack: Stack) -> float:
    """Seconds of processor time in which nobody asked for anything."""
    time.sleep(5.0)
    before = processor_time(stack)
    time.sleep(IDLE_SECONDS)
    return processor_time(stack) - before


def processor_time(stack: Stack) -> float:
    return float(stack.status()["cpu_seconds"])
