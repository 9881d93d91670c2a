"""The reference of state machines, drawn from their tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import TypeVar

from pf_queue.quota.domain import TRANSITIONS, QueueState

S = TypeVar("S", bound=StrEnum)
E = TypeVar("E", bound=StrEnum)

INTRODUCTION = """\
# States

Each drawing is made from the table `TRANSITIONS` that the service itself goes by. A pair of state and event that has no
arrow is refused with FAILED_PRECONDITION, except that an event may find its work done: then it does nothing.

## Queue

What a queue does in each state is in the table of [QueueState](rpc.md#queuestate).
"""


def page() -> str:
    return "\n".join([INTRODUCTION, *drawing(QueueState.OPEN, TRANSITIONS), ""])


def drawing(first: S, transitions: Mapping[tuple[S, E], S]) -> Iterator[str]:
    yield from ("```mermaid", "stateDiagram-v2", f"    [*] --> {first}")
    for (state, event), following in transitions.items():
        if following is not state:
            yield f"    {state} --> {following}: {event}"
    yield "```"
