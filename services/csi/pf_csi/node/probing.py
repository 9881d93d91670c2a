"""How full a mount is. Whoever looks may wait for ever, so a process does that can be killed."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass

_NOTHING, _HEARD = asyncio.subprocess.DEVNULL, asyncio.subprocess.PIPE
_COMMAND = ("stat", "--file-system", "--format=%S %b %a %c %d")


@dataclass(frozen=True, slots=True)
class Usage:
    """Of bytes and of things."""

    size: int
    free: int
    things: int
    things_free: int


class Unanswered(Exception):
    """Nobody answers for the mount; the text says what was seen."""


class Probe:
    """One process for each path at most: those that hang in the kernel cannot even be killed."""

    def __init__(self, patience: float = 5.0) -> None:
        self._patience = patience
        self._hanging: dict[str, asyncio.subprocess.Process] = {}

    async def usage(self, path: str) -> Usage:
        """Raises Unanswered."""
        if (before := self._hanging.get(path)) is not None and before.returncode is None:
            raise Unanswered("whoever looked at it before still waits for an answer")
        looking = await asyncio.create_subprocess_exec(
            *_COMMAND,
            path,
            stdin=_NOTHING,
            stdout=_HEARD,
            stderr=_HEARD,
        )
        self._hanging[path] = looking
        try:
            async with asyncio.timeout(self._patience):
                said, complaint = await looking.communicate()
        except TimeoutError:
            with suppress(ProcessLookupError):
                looking.kill()
            raise Unanswered(f"it has not answered in {self._patience:.0f} s") from None
        del self._hanging[path]
        if looking.returncode:
            words = complaint.decode(errors="replace").strip().rpartition(": ")[2]
            raise Unanswered(words or "it cannot be looked at")
        return _read(said)


def _read(said: bytes) -> Usage:
    block, size, free, things, things_free = map(int, said.split())
    return Usage(block * size, block * free, things, things_free)
