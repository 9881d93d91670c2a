"""Starts the supervisor in the background and follows it until the stack is ready."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

from pf_kit.embedded.folders import Locked
from pf_kit.embedded.refusal import Refusal
from pf_kit.log import set_up_logging
from pf_stack.daemon import supervise
from pf_stack.excerpt import excerpt
from pf_stack.layout import Layout
from pf_stack.logs import opened, rotate
from pf_stack.messages import Busy, Failed, Report, Up, decode
from pf_stack.setup import claim
from pf_stack.state import State, running_state

OTHER_SECONDS = 60.0
"""How long to wait for a stack that somebody else starts."""


def start_in_background(layout: Layout, report: Report) -> None:
    """Starts the stack; returns when it is ready. Raises Refusal if it cannot be started."""
    claim(layout)
    log = layout.log("supervisor")
    rotate(log)
    begin = log.stat().st_size if log.exists() else 0
    with _daemon(layout) as messages:
        outcome = _outcome(messages, report)
    match outcome:
        case Failed(what, remedy):
            raise Refusal(what, remedy)
        case Busy():
            wait_for_other(layout)
        case None:
            raise Refusal(f"the supervisor died, saying:\n{excerpt(log, begin)}", f"Its log is {log}.")


def _outcome(messages: BinaryIO, report: Report) -> Up | Failed | Busy | None:
    """How the start ended, the way there being reported; None if nobody said.

    Reads to the end: a supervisor that gave up is gone then.
    """
    outcome = None
    for line in messages:
        message = decode(line)
        report(message)
        if isinstance(message, Up | Failed | Busy):
            outcome = message
    return outcome


def start_in_foreground(layout: Layout, report: Report) -> None:
    """Runs the stack in this process until it is told to stop. Raises Refusal if it cannot be started."""
    claim(layout)
    rotate(layout.log("supervisor"))
    try:
        with (
            opened(layout.log("supervisor")) as log,
            os.fdopen(log, "a", errors="backslashreplace", closefd=False) as file,
        ):
            set_up_logging("supervisor", "info", file)
            asyncio.run(supervise(layout, report))
    except Locked:
        raise Refusal(
            f"another pf command works on {layout.data}", f"See what runs: {layout.command('status')}"
        ) from None


def wait_for_other(layout: Layout) -> State:
    """Waits until the stack that somebody else starts, or has started, is ready."""
    deadline = time.monotonic() + OTHER_SECONDS
    while time.monotonic() < deadline:
        state = running_state(layout.state)
        if state is not None and state.is_ready:
            return state
        time.sleep(0.05)
    raise Refusal(
        f"another pf command works on {layout.data}, and no stack became ready in {OTHER_SECONDS:.0f} s",
        f"See what runs: {layout.command('status')}",
    )


@contextmanager
def _daemon(layout: Layout) -> Iterator[BinaryIO]:
    """Starts a supervisor that outlives us, unless we are interrupted; what it has to tell, line by line."""
    reader, writer = os.pipe()
    with os.fdopen(reader, "rb") as messages:
        try:
            daemon = _spawn(layout, writer)
        finally:
            os.close(writer)
        try:
            yield messages
        except KeyboardInterrupt:
            daemon.terminate()
            daemon.wait()
            raise Refusal("interrupted; nothing of this start is left running", layout.command("up")) from None


def _spawn(layout: Layout, writer: int) -> subprocess.Popen[bytes]:
    with opened(layout.log("supervisor")) as log:
        return subprocess.Popen(
            [sys.executable, "-P", "-m", "pf_stack.daemon", str(layout.data), str(writer)],
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            pass_fds=[writer],
            start_new_session=True,
        )
