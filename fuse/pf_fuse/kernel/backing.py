"""Files of other filesystems that the kernel reads by itself."""

from __future__ import annotations

import errno
import fcntl
from contextlib import suppress
from typing import Protocol

from pf_fuse.kernel.wire import BACKING_CLOSE, BACKING_ID, BACKING_MAP, BACKING_OPEN

_NO_FILE = -1


class Registry(Protocol):
    """Whoever may register files with the kernel."""

    def register(self, descriptor: int) -> int: ...

    def unregister(self, backing: int) -> None: ...


class OwnRegistry:
    """Registers by itself, which takes CAP_SYS_ADMIN.

    EPERM says that it has not, ELOOP that the file lies on a filesystem that is itself stacked, such as overlayfs.
    """

    def __init__(self, device: int) -> None:
        self._device = device

    @property
    def allowed(self) -> bool:
        """True if the kernel would take a file: it looks at the rights of whoever asks before it looks at the file."""
        try:
            self.register(_NO_FILE)
        except OSError as failure:
            return failure.errno == errno.EBADF
        return True

    def register(self, descriptor: int) -> int:
        return int(fcntl.ioctl(self._device, BACKING_OPEN, bytearray(BACKING_MAP.pack(descriptor, 0, 0)), True))

    def unregister(self, backing: int) -> None:
        """Nothing if it is registered no more, as after the mount has ended."""
        with suppress(OSError):
            fcntl.ioctl(self._device, BACKING_CLOSE, bytearray(BACKING_ID.pack(backing)), True)
