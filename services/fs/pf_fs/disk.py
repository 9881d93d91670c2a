"""The disk of this machine."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import PurePosixPath
from typing import TypeVar

from paddleflow.problems import FolderUnusable
from pf_fs.ports import Folder
from pf_kit.fields import shown

T = TypeVar("T")

ANSWER_SECONDS = 5.0
"""How long a disk may think. A folder of a network may hang for ever; the thread then does, not the call."""


class MachineDisk:
    """Fulfils `Disk`."""

    async def real(self, path: PurePosixPath) -> PurePosixPath:
        return await _answered(path, lambda: PurePosixPath(os.path.realpath(path)))

    async def look(self, path: PurePosixPath) -> Folder:
        return await _answered(path, lambda: _look(path))


async def _answered(path: PurePosixPath, ask: Callable[[], T]) -> T:
    try:
        async with asyncio.timeout(ANSWER_SECONDS):
            return await asyncio.to_thread(ask)
    except TimeoutError:
        message = f"{shown(str(path))} did not answer within {ANSWER_SECONDS:g} s; is its disk or network there?"
        raise FolderUnusable(message) from None
    except OSError as error:
        raise FolderUnusable(f"{shown(str(path))} cannot be used: {error.strerror}") from None


def _look(path: PurePosixPath) -> Folder:
    """Opens part after part, each in the one before: a link that somebody puts there meanwhile is not followed."""
    handle = os.open("/", os.O_PATH | os.O_DIRECTORY)
    try:
        for part in path.parts[1:]:
            inner = os.open(part, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=handle)
            os.close(handle)
            handle = inner
        found = os.fstat(handle)
    finally:
        os.close(handle)
    return Folder(path, found.st_dev, found.st_ino)
