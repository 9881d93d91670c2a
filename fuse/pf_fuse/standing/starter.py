"""`pf-fuse start-mounts`: begins mounts, each as this process once more, in which all is loaded already.

Whoever has started it sends a byte and three descriptors for each mount: what its process is told, where that says that
it is ready, and where its complaints go. The byte comes back once there is such a process. What is told is read by that
one alone. It ends with whoever has started it, and the mounts go on.
"""

from __future__ import annotations

import gc
import os
import select
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial

from pf_fuse.holder.starting import fork
from pf_fuse.kernel.libc import name_process

STREAMS = 3


def start_mounts(line: socket.socket, mount: Callable[[], object]) -> None:
    """`mount`: reads the standard input, mounts, and returns when the mount is gone."""
    name_process("pf-fuse-starter")
    # What is loaded by now needs not be looked through again by whoever mounts.
    gc.collect()
    gc.freeze()
    while True:
        order, streams, _, _ = socket.recv_fds(line, 1, STREAMS)
        if not order or _is_left(line):
            return
        _begin(line, streams, mount)
        with suppress(BrokenPipeError):
            line.send(order)


def _is_left(line: socket.socket) -> bool:
    """True if whoever gave the order is gone: another may have begun the mount meanwhile."""
    looking = select.poll()
    looking.register(line, select.POLLHUP)
    return bool(looking.poll(0))


def _begin(line: socket.socket, streams: Sequence[int], mount: Callable[[], object]) -> None:
    process = fork(partial(_take, line, streams), partial(_leave, mount))
    for each in streams:
        os.close(each)
    os.waitpid(process, 0)


def _take(line: socket.socket, streams: Sequence[int]) -> None:
    """The standard streams of the new process, which is not to hold the line open."""
    name_process("pf-fuse-mount")
    line.close()
    for place, each in enumerate(streams):
        os.dup2(each, place)
        os.close(each)


def _leave(mount: Callable[[], object]) -> None:
    """A process of its own session, which whoever begins it needs not wait for."""
    os.setsid()
    fork(lambda: None, mount)
