"""Files that are registered with the kernel, by what they are.

The kernel refuses to open a file by another number than that by which it is open already, also on behalf of a client
that knows nothing of the one before. The holder therefore gives the same number for the same file. As long as it is
registered the kernel keeps the file, so that no other gets its place on the disk.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from pf_fuse.kernel.backing import Registry


class RegisteredFiles:
    """Numbers of files, each given once."""

    def __init__(self, registry: Registry, already: Mapping[tuple[int, int], int]) -> None:
        self._registry = registry
        self._numbers = dict(already)

    def register(self, descriptor: int) -> int:
        status = os.fstat(descriptor)
        file = status.st_dev, status.st_ino
        if file not in self._numbers:
            self._numbers[file] = self._registry.register(descriptor)
        return self._numbers[file]

    def unregister(self, backing: int) -> None:
        """Nothing if there is no such number."""
        for file, number in self._numbers.items():
            if number == backing:
                del self._numbers[file]
                self._registry.unregister(backing)
                return
