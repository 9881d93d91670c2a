"""One process at a time serves with the folder of a mount, whoever has begun it: the kernel sees to that."""

from __future__ import annotations

import errno
import fcntl
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_LOCK = "serving"
_NO_LOCKS = frozenset((errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS))

log = logging.getLogger(__name__)


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Waits until no other process serves with this folder; for the block no other does.

    One that is stopped, or slow to answer, may go on: what it writes down must not meet what another does.
    """
    descriptor = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        _lock(descriptor)
        yield
    finally:
        os.close(descriptor)


def _lock(descriptor: int) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        log.warning("another process still serves with this folder: waiting for its end")
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise
        log.warning("nobody can tell whether another process serves with this folder: %s", error.strerror)
