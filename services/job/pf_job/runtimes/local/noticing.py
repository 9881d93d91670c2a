"""Notices when files change, without looking at them again and again."""

from __future__ import annotations

import asyncio
import os
import struct
from collections import defaultdict
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

from pf_job.runtimes.local.kernel import forget_file, new_notices, notice_file

PAUSE = 0.02
"""Seconds between two looks where the kernel does not tell: it does so for a limited number of files."""
GATHER = 0.01
"""Seconds from a change on in which others are waited for, so that not every line of a log wakes whoever reads it."""
NOTICE = struct.Struct("iIII")
"""Which file, what happened, two numbers of no use here, the length of what follows; from <linux/inotify.h>."""
PIECE = 65_536

Wait = Callable[[], Coroutine[Any, Any, None]]
"""Waits for a change, or for a while."""


class Notices:
    """What the kernel tells of changes, handed to whoever waits for those of a file."""

    def __init__(self) -> None:
        self._handle: int | None = None
        """Open as soon as somebody waits."""
        self._waiting: defaultdict[int, set[asyncio.Event]] = defaultdict(set)
        """By the number that the kernel has given a file."""

    @contextmanager
    def of(self, files: Sequence[Path]) -> Iterator[Wait]:
        """Inside, changes of any of these can be waited for, also those that came between two waits."""
        changed = asyncio.Event()
        with ExitStack() as noticed:
            try:
                for file in files:
                    noticed.enter_context(self._noticed(file, changed))
            except OSError:
                yield partial(asyncio.sleep, PAUSE)
            else:
                yield partial(_gathered, changed)

    def close(self) -> None:
        if self._handle is not None:
            asyncio.get_running_loop().remove_reader(self._handle)
            os.close(self._handle)
            self._handle = None

    @contextmanager
    def _noticed(self, file: Path, changed: asyncio.Event) -> Iterator[None]:
        handle = self._open()
        number = notice_file(handle, str(file))
        self._waiting[number].add(changed)
        try:
            yield
        finally:
            self._waiting[number].discard(changed)
            if not self._waiting[number]:
                del self._waiting[number]
                # The file may be gone, or all of this.
                with suppress(OSError):
                    forget_file(handle, number)

    def _open(self) -> int:
        if self._handle is None:
            self._handle = new_notices()
            asyncio.get_running_loop().add_reader(self._handle, self._read, self._handle)
        return self._handle

    def _read(self, handle: int) -> None:
        told = os.read(handle, PIECE)
        place = 0
        while place < len(told):
            number, _, _, length = NOTICE.unpack_from(told, place)
            for changed in self._waiting.get(number, ()):
                changed.set()
            place += NOTICE.size + length


async def _gathered(changed: asyncio.Event) -> None:
    await changed.wait()
    await asyncio.sleep(GATHER)
    changed.clear()
