"""What the kernel is told without having asked.

The kernel may hold what a notice is about until a request of its own is answered, so that a thread that answers
requests must never tell: a thread of its own does.
"""

from __future__ import annotations

import errno
import logging
import os
import threading
from queue import SimpleQueue

from pf_fuse.kernel.wire import EXPIRE_ONLY, INVALIDATE_NAME_OUT, INVALIDATE_NODE_OUT, REPLY, Notice
from pf_fuse.threads import started_if_room

log = logging.getLogger(__name__)

UNKNOWN = {errno.ENOENT, errno.ENOTDIR, errno.ENOTCONN, errno.ENODEV, errno.ENOTEMPTY, errno.EBUSY}
"""The kernel does not know the thing, is done, or uses it as a place of a mount."""


PATIENCE = 1.0
"""Seconds that the last notice may take."""


def encode_notice(notice: Notice, body: bytes) -> bytes:
    return REPLY.pack(REPLY.size + len(body), notice, 0) + body


def node_notice(node: int) -> bytes:
    """All data and attributes of a node are not right any more."""
    return encode_notice(Notice.INVALIDATE_NODE, INVALIDATE_NODE_OUT.pack(node, 0, 0))


def name_notice(folder: int, name: bytes, expire: bool) -> bytes:
    """A name is to be asked for again; with `expire`, without taking it from who uses it."""
    flags = EXPIRE_ONLY if expire else 0
    return encode_notice(Notice.INVALIDATE_NAME, INVALIDATE_NAME_OUT.pack(folder, len(name), flags) + name + b"\0")


def resend_notice() -> bytes:
    """What another process has read and not answered is to be asked again."""
    return encode_notice(Notice.RESEND, b"")


class Notices:
    """Tells the kernel, in the order it was asked to."""

    def __init__(self, device: int) -> None:
        self._device = device
        self._queue: SimpleQueue[bytes | threading.Event | None] = SimpleQueue()
        self._begun = threading.Lock()
        self._thread: threading.Thread | None = None

    def tell(self, notice: bytes) -> None:
        """Returns at once, from any thread."""
        self._queue.put(notice)
        if self._thread is None:
            self._begin()

    def settle(self) -> None:
        """Returns when all that was to be told so far is told, or the kernel takes too long to listen."""
        if self._thread is not None:
            heard = threading.Event()
            self._queue.put(heard)
            heard.wait(PATIENCE)

    def end(self) -> None:
        """What is not yet told is of no use any more."""
        with self._begun:
            if self._thread is not None:
                self._queue.put(None)
                # The kernel takes no notice while a request that it is about has no answer, and none comes any more.
                self._thread.join(PATIENCE)

    def _begin(self) -> None:
        with self._begun:
            if self._thread is None:
                # What is to be told stays in the queue, for the next one who tells something.
                self._thread = started_if_room("fuse-notices", self._run)

    def _run(self) -> None:
        while (notice := self._queue.get()) is not None:
            if isinstance(notice, threading.Event):
                notice.set()
                continue
            try:
                os.write(self._device, notice)
            except OSError as failure:
                if failure.errno not in UNKNOWN:
                    log.warning("the kernel did not take a notice", extra={"notice": notice[:64].hex()}, exc_info=True)
