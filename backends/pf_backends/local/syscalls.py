"""What Python's library does not offer of the kernel."""

from __future__ import annotations

import ctypes
import os
import struct

_LIBC = ctypes.CDLL(None, use_errno=True)
_OPENAT2 = 437
"""The same number on all machines: it is younger than their common table."""
_RENAME_NOREPLACE = 1
_BENEATH, _NO_MAGIC_LINKS = 0x08, 0x02


def open_beneath(folder: int, path: bytes, flags: int, mode: int) -> int:
    """Opens what lies at a path below an open folder; EXDEV if that leads out of it, by whatever links."""
    how = struct.pack("QQQ", flags | os.O_CLOEXEC, mode, _BENEATH | _NO_MAGIC_LINKS)
    handle: int = _LIBC.syscall(_OPENAT2, folder, path, how, len(how))
    if handle < 0:
        raise _failed()
    return handle


def rename_new(source_folder: int, source: bytes, target_folder: int, target: bytes) -> None:
    """Renames if there is nothing of the new name."""
    if _LIBC.renameat2(source_folder, source, target_folder, target, _RENAME_NOREPLACE) < 0:
        raise _failed()


def _failed() -> OSError:
    number = ctypes.get_errno()
    return OSError(number, os.strerror(number))
