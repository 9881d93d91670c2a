"""Tells the clients of mounts the keys that hold by now, when those that they were told have expired.

They ask on a socket that this user alone can reach, through a program, as they do not know what gRPC is.
"""

from __future__ import annotations

import asyncio
import json
import logging
import sys
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from paddleflow.mounted import processes_of
from paddleflow.problems import NotFound, PermissionDenied, Problem
from paddleflow.sockets import listening, peer_of
from pf_job.runtimes.local.remote.apart import apart
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
                server = await asyncio.start_unix_server(self._answer, sock=listening(self._socket))
                stack.callback(server.close)
            except OSError as error:
                logger.warning(
                    "mounts of jobs are told no keys", extra={"socket": str(self._socket), "why": str(error)}
                )
            yield

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        name, answer = "", dict[str, Any]()
        try:
            name = (await reader.readline()).decode().rstrip("\n")
            asker = peer_of(writer.get_extra_info("socket")).process
            answer = {"answer": await self._found(name, asker)}
        except (Problem, OSError, ValueError) as problem:
            logger.warning("a mount is told no keys", extra={"mount": name, "why": str(problem)})
            final = isinstance(problem, NotFound | PermissionDenied)
            answer = {"problem": type(problem).__name__, "message": str(problem), "final": final}
        with suppress(OSError):
            writer.write(json.dumps(answer).encode())
            await writer.drain()
        writer.close()

    async def _found(self, name: str, asker: int) -> Mapping[str, Any]:
        folder = next((each for each in folders_in(self._mounts) if each.name == name), None)
        about = folder.about() if folder else None
        if folder is None or about is None or self._reports is None:
            raise FileNotFoundError("there is no such mount here")
        # Replicas may be processes of the same user, and know names of mounts.
        if not descends(asker, await apart(lambda: processes_of(folder.state))):
            raise PermissionError("only whoever serves a mount is told its keys")
        return opening_of(await self._reports.now(about))


def descends(process: int, ancestors: Collection[int]) -> bool:
    """Whether the process is one of these, or was begun by one, or by one that was, and so on."""
    while process > 1 and process not in ancestors:
        try:
            # The name of a program stands in brackets, and may have blanks and brackets in it.
            process = int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
        except FileNotFoundError:
            return False
    return process in ancestors
