"""A door before a server of gRPC, which does not tell who calls: the kernel does, and others than root are turned away.

The server itself listens in a folder that only its user can enter.
"""

from __future__ import annotations

import asyncio
import logging
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from pf_csi.sockets import listening, may_come, peer_of, remove

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
    listener = listening(path)
    with tempfile.TemporaryDirectory(prefix="pf-csi-") as folder:
        inner = Path(folder, "inner.sock")
        server = await asyncio.start_unix_server(Gate(inner).come, sock=listener, limit=_PIECE)
        try:
            yield f"unix:{inner}"
        finally:
            server.close()
            remove(path)


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
