"""A backend that takes its time before it refuses to remove something."""

from __future__ import annotations

import errno
import threading

from pf_backends.errors import failure
from pf_backends.memory.backend import MemoryBackend
from support.vfs_site import PATIENCE


class Refusal:
    """Removing takes until it is told to go on, and fails then."""

    def __init__(self, store: MemoryBackend) -> None:
        self.asked, self.goes_on = threading.Event(), threading.Event()
        self._other = store.before
        store.before = self._answer

    def _answer(self, operation: str, path: str) -> None:
        if operation == "remove":
            self.asked.set()
            assert self.goes_on.wait(PATIENCE), path
            raise failure(errno.EACCES, path, "not you")
        self._other(operation, path)
