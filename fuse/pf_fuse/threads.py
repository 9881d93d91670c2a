"""Threads that work beside others, on machines that may have room for no more."""

from __future__ import annotations

import errno
import threading
from collections.abc import Callable


def started(name: str, work: Callable[..., object], *arguments: object) -> threading.Thread:
    """One that does the work, and that nobody waits for at the end of the process.

    OSError (EAGAIN) where no more can be started, as when the tasks of a group of processes are bounded: what the
    caller has noted of the thread must not be noted then.
    """
    thread = threading.Thread(target=work, args=arguments, name=name, daemon=True)
    try:
        thread.start()
    except RuntimeError as full:
        raise OSError(errno.EAGAIN, f"no thread can be started here: {name}") from full
    return thread
