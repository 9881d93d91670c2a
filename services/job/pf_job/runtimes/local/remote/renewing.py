"""Tells the clients of mounts the keys that hold by now, when those that they were told have expired.

They ask on a socket that this user alone can reach, through a program, as they do not know what gRPC is.
"""

from __future__ import annotations

import asyncio
import json
import logging
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

from paddleflow.problems import Problem
from pf_job.runtimes.local.remote.domain import opening_of
from pf_job.runtimes.local.remote.folder import folders_in
from pf_job.runtimes.local.remote.reporting import Reports

logger = logging.getLogger(__name__)

COMMAND = (sys.executable, "-P", "-m", "pf_job.runtimes.local.remote.asking")


class Renewing:
    """Answers for the mounts of one folder."""

    def __init__(self, data: Path, mounts: Path, reports: Reports | None) -> None:
        self._socket = data / "renewals" / "socket"
        self._mounts = mounts
        self._reports = reports

    def settings(self, name: str) -> Mapping[str, Any] | None:
        """What the client of a mount is told of whom it may ask; None if nobody would answer."""
        if self._reports is None:
            return None
        return {"command": COMMAND, "told": {"socket": str(self._socket), "mount": name}}

    @asynccontextmanager
    async def answering(self) -> AsyncIterator[None]:
        """Whoever asks is answered meanwhile."""
        async with AsyncExitStack() as stack:
            try:
                self._socket.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                self._socket.unlink(missing_ok=True)
                server = await asyncio.start_unix_server(self._answer, self._socket)
                stack.callback(server.close)
            except OSError as error:
                logger.warning(
                    "mounts of jobs are told no keys", extra={"socket": str(self._socket), "why": str(error)}
                )
            yield

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            name = (await reader.readline()).decode().rstrip("\n")
            about = next((each.about() for each in folders_in(self._mounts) if each.name == name), None)
            if about is not None and self._reports is not None:
                found = opening_of(await self._reports.now(about))
                writer.write(json.dumps({"answer": found}).encode())
                await writer.drain()
        except (Problem, OSError, ValueError) as problem:
            logger.warning("a mount is told no keys", extra={"why": str(problem)})
        finally:
            writer.close()
