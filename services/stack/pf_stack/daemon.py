"""The process that runs a stack in the background.

Usage: python -m pf_stack.daemon DATA FD; what happens while the stack starts is written to the open file FD, a message
a line.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path

from pf_kit.clock import SystemClock
from pf_kit.embedded.folders import Locked, locked
from pf_kit.embedded.processes import Identity, identify
from pf_kit.embedded.refusal import Refusal
from pf_kit.log import set_up_logging
from pf_stack.client_config import configure_client
from pf_stack.layout import Layout, layout_of
from pf_stack.machine import of_machine
from pf_stack.messages import Busy, Failed, Message, Ready, Report, Starting, Up, encode
from pf_stack.ports import Reserved
from pf_stack.setup import claim, end_leftovers, first_password, make_secrets
from pf_stack.stack import Stack, compose
from pf_stack.supervisor import Supervisor

logger = logging.getLogger(__name__)

STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)
SET_UP = "set-up"
"""Names what comes before the first process to whoever waits."""
LOCK_SECONDS = 1.0
"""How long to wait for others: `pf down` holds the lock for a moment."""


async def supervise(layout: Layout, report: Report) -> None:
    """Runs the stack of a data folder until SIGTERM or SIGINT.

    Raises Refusal if it cannot be started, and Locked if somebody else works on the folder.
    """
    # What holds a secret is made with a mode of its own; the rest must be passable where Postgres is another account.
    os.umask(0o022)
    claim(layout)
    with ExitStack() as stack, suppress(asyncio.CancelledError):
        await _hold(layout.lock, stack)
        reserved = Reserved()
        stack.callback(reserved.release)
        await _run(layout, reserved, report)


async def _run(layout: Layout, reserved: Reserved, report: Report) -> None:
    _stop_on_signals()
    clock = SystemClock()
    begin = clock.monotonic()
    report(Starting(SET_UP))
    await end_leftovers(layout)
    make_secrets(layout)
    stack = compose(layout, reserved.take)
    report(Ready(SET_UP, clock.monotonic() - begin))
    supervisor = Supervisor(layout, stack.levels, _own_identity(), report, clock)
    await supervisor.run(lambda: _welcome(layout, stack, report, clock.monotonic() - begin))


def _welcome(layout: Layout, stack: Stack, report: Report, seconds: float) -> None:
    """Configures the client and tells the first password, whose file is then no longer needed."""
    password = first_password(layout)
    hint = configure_client(layout, stack.entrance, stack.others, password)
    report(Up(seconds, password, hint))
    layout.root_password.unlink(missing_ok=True)


async def _hold(lock: Path, stack: ExitStack) -> None:
    """Takes the lock, after a little wait if need be. Raises Locked if it does not come free."""
    deadline = asyncio.get_running_loop().time() + LOCK_SECONDS
    while True:
        try:
            stack.enter_context(locked(lock))
            return
        except Locked:
            if asyncio.get_running_loop().time() > deadline:
                raise
        await asyncio.sleep(0.05)


def _own_identity() -> Identity:
    identity = identify(os.getpid())
    if identity is None:
        raise RuntimeError("this process is not to be found in /proc")
    return identity


def _stop_on_signals() -> None:
    """Lets the first SIGTERM or SIGINT cancel the running task, and ignores any more: stopping takes its time."""
    loop, task = asyncio.get_running_loop(), asyncio.current_task()

    def stop() -> None:
        for number in STOP_SIGNALS:
            loop.add_signal_handler(number, lambda: None)
        if task is not None:
            task.cancel()

    for number in STOP_SIGNALS:
        loop.add_signal_handler(number, stop)


def _tell(file: int, message: Message) -> None:
    """Writes a message, if somebody still reads there. After the outcome nothing follows."""
    with suppress(BrokenPipeError):
        os.write(file, encode(message))
    if isinstance(message, Up):
        os.close(file)


async def _live(layout: Layout, report: Report) -> int:
    """Runs the stack, its failure being reported; the exit status."""
    try:
        await supervise(layout, report)
    except Locked:
        report(Busy())
        return 1
    except Refusal as refusal:
        logger.error("cannot be started", extra={"what": refusal.what})  # noqa: TRY400 - the trace tells nothing more
        report(Failed(refusal.what, refusal.remedy))
        return 1
    except OSError as problem:
        logger.exception("cannot be started")
        failure = of_machine(problem)
        report(Failed(failure.what, failure.remedy))
        return 1
    logger.info("stopped")
    return 0


def main() -> None:
    set_up_logging("supervisor", "info")
    layout = layout_of(Path(sys.argv[1]), os.environ)
    sys.exit(asyncio.run(_live(layout, partial(_tell, int(sys.argv[2])))))


if __name__ == "__main__":
    main()
