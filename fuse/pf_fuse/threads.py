"""Threads that work beside others, on machines that may have room for no more."""

from __future__ import annotations

import errno
import logging
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

log = logging.getLogger(__name__)


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


def started_if_room(name: str, work: Callable[..., object], *arguments: object) -> threading.Thread | None:
    """As `started`, where the work can wait until it is tried again; None if no more can be started now."""
    try:
        return started(name, work, *arguments)
    except OSError as full:
        log.warning("%s", full.strerror)
        return None


def crew(count: int, name: str) -> ThreadPoolExecutor:
    """All of whose threads there are from now on; OSError (EAGAIN) where they cannot be started.

    One that starts a thread when it is given work may fail to, and has taken the work by then: that is done although
    whoever asked for it was told that it failed.
    """
    pool = ThreadPoolExecutor(count, name)
    there = threading.Barrier(count)
    try:
        for _ in range(count):
            pool.submit(there.wait)
    except RuntimeError as full:
        there.abort()
        pool.shutdown(wait=False, cancel_futures=True)
        raise OSError(errno.EAGAIN, f"no {count} threads can be started here: {name}") from full
    return pool
