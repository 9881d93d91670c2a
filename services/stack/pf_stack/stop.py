"""Stops a stack."""

from __future__ import annotations

import asyncio
import signal
import time

from pf_kit.embedded.folders import Locked, locked
from pf_kit.embedded.processes import end
from pf_kit.embedded.refusal import Refusal
from pf_stack.layout import Layout
from pf_stack.setup import end_leftovers
from pf_stack.state import State, running_state

SUPERVISOR = ((signal.SIGTERM, 60.0), (signal.SIGKILL, 5.0))
"""How the supervisor is ended; each of its processes may take its time to end in good order."""
BUSY_SECONDS = 5.0


def stop(layout: Layout) -> bool:
    """Stops the stack and sees that no process of it is left. False if nothing ran."""
    if not layout.lock.exists():
        return False
    return asyncio.run(_stop(layout))


async def _stop(layout: Layout) -> bool:
    state = _found(layout)
    if state is not None:
        await end(state.supervisor, SUPERVISOR)
    try:
        with locked(layout.lock):
            left = await end_leftovers(layout)
    except Locked:
        raise _occupied(layout) from None
    return state is not None or left


def _found(layout: Layout) -> State | None:
    """The running stack, also one that is only just starting; None if nobody works on the data folder."""
    deadline = time.monotonic() + BUSY_SECONDS
    while (state := running_state(layout.state)) is None:
        try:
            with locked(layout.lock):
                return None
        except Locked:
            if time.monotonic() > deadline:
                raise _occupied(layout) from None
        time.sleep(0.05)
    return state


def _occupied(layout: Layout) -> Refusal:
    return Refusal(f"another pf command works on {layout.data}", "Wait until it is done, then try again.")
