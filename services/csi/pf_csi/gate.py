"""A door before a server of gRPC, which does not tell who calls: the kernel does, and others than root are turned away.

The server itself listens in a folder that only its user can enter.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import shutil
import stat
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing, suppress
from hashlib import sha256
from pathlib import Path

from paddleflow.sockets import listening, may_come, peer_of, remove

logger = logging.getLogger(__name__)

_PIECE = 1 << 16


class Gate:
    """Passes on what callers and the server say."""

    def __init__(self, inner: Path) -> None:
        self._inner = inner

    async def come(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            peer = peer_of(writer.get_extra_info("socket"))
            if not may_come(peer):
                logger.warning("a caller is turned away", extra={"user": peer.user})
                return
            inner_reader, inner_writer = await asyncio.open_unix_connection(str(self._inner))
            try:
                there = asyncio.ensure_future(_passed_on(reader, inner_writer))
                await _passed_on(inner_reader, writer)
                there.cancel()
            finally:
                inner_writer.close()
        except OSError as error:
            logger.info("a caller is gone", extra={"why": error.strerror})
        finally:
            writer.close()


@asynccontextmanager
async def gated(path: Path) -> AsyncIterator[str]:
    """Where a server is to listen, so that whoever may comes at it by this path. OSError if another listens there."""
    with closing(listening(path)) as listener:
        try:
            folder = _inner_folder(path)
            inner = folder / "inner.sock"
            server = await asyncio.start_unix_server(Gate(inner).come, sock=listener, limit=_PIECE)
            try:
                yield f"unix:{inner}"
            finally:
                server.close()
                shutil.rmtree(folder, ignore_errors=True)
        finally:
            # Only now may another listen, in the same folder.
            remove(path)


def _inner_folder(path: Path) -> Path:
    """One that only its user can enter, and the same each time: whoever is killed leaves it to the next one."""
    name = sha256(os.fsencode(path.absolute())).hexdigest()[:16]
    folder = Path(tempfile.gettempdir(), f"pf-csi-{os.geteuid()}-{name}")
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o077:
        raise PermissionError(errno.EPERM, f"{folder} is another user's; remove it", str(folder))
    (folder / "inner.sock").unlink(missing_ok=True)
    return folder


async def _passed_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Until one end is closed, and then the other is."""
    try:
        while piece := await reader.read(_PIECE):
            writer.write(piece)
            await writer.drain()
    except ConnectionError:
        return
    finally:
        writer.close()
