"""The node's end of the holder's socket."""

from __future__ import annotations

import asyncio
import errno
import os
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pf_csi.held import Held
from pf_csi.holder.messages import LONGEST, decode, encode, read
from pf_csi.refusals import Refusal, Why
from pf_csi.sockets import address, may_come, peer_of


class HolderClient:
    """Fulfils `Holder` by asking the process that holds mounts."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen = 0

    async def hold(self, key: str, mount: Mapping[str, Any]) -> Held:
        held = read((await self._ask({"do": "hold", "key": key, "mount": mount}))["held"])
        if held is None:
            raise Refusal(Why.PENDING, "the storage is being taken away; try again")
        return held

    async def renew(self, key: str, properties: Mapping[str, str]) -> None:
        await self._ask({"do": "renew", "key": key, "properties": properties})

    async def release(self, key: str) -> Held | None:
        return read((await self._ask({"do": "release", "key": key}))["held"])

    async def held(self) -> Mapping[str, Held]:
        told = await self._ask({"do": "held"})
        self._seen = told["changes"]
        found = {key: read(each) for key, each in told["all"].items()}
        return {key: held for key, held in found.items() if held is not None}

    async def changed(self) -> None:
        await self._ask({"do": "changed", "since": self._seen})

    async def _ask(self, question: Mapping[str, Any]) -> dict[str, Any]:
        try:
            line = await self._answered(encode(question))
        except (OSError, ValueError):
            raise _gone() from None
        if not line.endswith(b"\n"):
            raise _gone()
        answer = decode(line)
        if "refused" in answer:
            raise Refusal(Why(answer["refused"]), answer["text"])
        return answer

    async def _answered(self, question: bytes) -> bytes:
        connection = await asyncio.get_running_loop().run_in_executor(None, self._connected)
        reader, writer = await asyncio.open_unix_connection(sock=connection, limit=LONGEST)
        try:
            writer.write(question)
            await writer.drain()
            return await reader.readline()
        finally:
            writer.close()

    def _connected(self) -> socket.socket:
        """Only root and oneself are told secrets."""
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            with address(self._path) as short:
                connection.connect(short)
            _require(may_come(peer_of(connection)), self._path)
            connection.setblocking(False)
        except BaseException:
            connection.close()
            raise
        return connection


def _require(allowed: bool, path: Path) -> None:
    """PermissionError if whoever listens is neither root nor oneself."""
    if not allowed:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM), str(path))


def _gone() -> Refusal:
    return Refusal(Why.PENDING, "whoever holds mounts on this machine does not answer; try again")
