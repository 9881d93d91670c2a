"""What the kernel knows of those who serve mounts: what they have not answered, and how to cut them off.

It is a filesystem of the kernel that need not be mounted anywhere, and is not in containers.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from pf_csi.kernel import libc


@dataclass(frozen=True, slots=True)
class Connections:
    """All that there are."""

    folder: int
    """A descriptor."""

    def waiting(self, number: str) -> int:
        """Requests that are not answered; 0 if there is no such connection."""
        try:
            with open(f"{number}/waiting", "rb", opener=self._opened) as file:
                return int(file.read())
        except FileNotFoundError:
            return 0

    def abort(self, number: str) -> None:
        """All that was asked of the mount and all that will be fails, and nobody serves it any more."""
        try:
            with open(f"{number}/abort", "wb", opener=self._opened) as file:
                file.write(b"1")
        except FileNotFoundError:
            return

    def _opened(self, path: str, flags: int) -> int:
        return os.open(path, flags & ~os.O_CREAT & ~os.O_TRUNC, dir_fd=self.folder)


def open_connections() -> Connections:
    """OSError if that is not allowed."""
    return Connections(libc.unseen("fusectl"))
