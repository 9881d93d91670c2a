"""A folder that one process has for itself as long as it lives: the kernel sees to that."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pf_kit.start import CannotStart


@contextmanager
def claimed(folder: Path, setting: str) -> Iterator[None]:
    """For the block. CannotStart if another process has it: two installations on one machine need two folders."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        _claim(folder, descriptor, setting)
        yield
    finally:
        os.close(descriptor)


def _claim(folder: Path, descriptor: int, setting: str) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise CannotStart(f"another process has {folder} already: end it, or set {setting} to another folder") from None
