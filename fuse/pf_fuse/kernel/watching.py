"""What the serving thread listens to beside the device.

An answer that comes from another process is best sent by the thread that asked for it: each thread more of an
interpreter waits for the others.
"""

from __future__ import annotations

import logging
import os
import select
from collections.abc import Callable

log = logging.getLogger(__name__)


class Watching:
    """For the serving thread alone."""

    def __init__(self, device: int) -> None:
        self.on = False
        """There is something to listen to."""
        self._device = device
        self._poll = select.epoll()
        self._heard: dict[int, Callable[[], None]] = {}

    def begin(self) -> None:
        """The process before may have listened to more."""
        os.set_blocking(self._device, True)

    def add(self, descriptor: int, heard: Callable[[], None]) -> None:
        """`heard` is called whenever there is something to be read, and now."""
        if not self.on:
            self._poll.register(self._device, select.EPOLLIN)
            # What is there to be read may be gone when it is.
            os.set_blocking(self._device, False)
            self.on = True
        self._poll.register(descriptor, select.EPOLLIN)
        self._heard[descriptor] = heard
        self._hear(descriptor)

    def remove(self, descriptor: int) -> None:
        self._poll.unregister(descriptor)
        del self._heard[descriptor]
        if not self._heard:
            self._poll.unregister(self._device)
            os.set_blocking(self._device, True)
            self.on = False

    def asked(self) -> bool:
        """Waits, and hears whoever says something. True if the kernel does."""
        asked = False
        for descriptor, _ in self._poll.poll():
            if descriptor == self._device:
                asked = True
            else:
                self._hear(descriptor)
        return asked

    def _hear(self, descriptor: int) -> None:
        try:
            self._heard[descriptor]()
        except Exception:
            log.exception("what another process said was not understood by a fault of the filesystem")
