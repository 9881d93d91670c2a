"""The node's end of the holder's socket."""

from __future__ import annotations

import asyncio
import errno
import os
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from paddleflow.sockets import address, may_come, peer_of
from pf_csi.held import Held
from pf_csi.holder.hello import check_understood, hello_of
from pf_csi.holder.messages import LONGEST, decode, encode, one_of, read
from pf_csi.refusals import Refusal, Why

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Patience:
    """How long an answer is waited for, in seconds."""

    short: float = 10.0
    long: float = 115.0
    """Where the holder itself waits. The kubelet gives up after 120."""


PATIENCE = Patience()


class HolderClient:
    """Fulfils `Holder` by asking the process that holds mounts, and waits for no answer for ever."""

    def __init__(self, path: Path, patience: Patience = PATIENCE) -> None:
        self._path = path
        self._patience = patience
        self._seen = 0

    async def hold(self, key: str, mount: Mapping[str, Any]) -> Held:
        held = await self._ask({"do": "hold", "key": key, "mount": mount}, self._patience.long, _held)
        if held is None:
            raise Refusal(Why.PENDING, "the storage is being taken away; try again")
        return held

    async def renew(self, key: str, properties: Mapping[str, str]) -> None:
        await self._ask({"do": "renew", "key": key, "properties": properties}, self._patience.short, dict)

    async def release(self, key: str) -> Held | None:
        return await self._ask({"do": "release", "key": key}, self._patience.long, _held)

    async def held(self) -> Mapping[str, Held]:
        self._seen, found = await self._ask({"do": "held"}, self._patience.short, _all)
        return found

    async def changed(self) -> None:
        await self._ask({"do": "changed", "since": self._seen}, self._patience.long, dict)

    async def _ask(self, question: Mapping[str, Any], patience: float, read_answer: Callable[[dict[str, Any]], T]) -> T:
        try:
            async with asyncio.timeout(patience):
                line = await self._answered(encode(question))
        except (OSError, ValueError, TimeoutError):
            raise _gone() from None
        if not line.endswith(b"\n"):
            raise _gone()
        try:
            return read_answer(_answer(line))
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            # What it said is not repeated.
            raise _misunderstood(question["do"], error) from None

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


def _misunderstood(question: str, error: Exception) -> Refusal:
    return Refusal(Why.PENDING, f"the answer of pf-csi holder to {question!r} is no answer: {type(error).__name__}")


def _answer(line: bytes) -> dict[str, Any]:
    """Refusal if it is one, or of a version that is not understood."""
    answer = decode(line)
    check_understood(hello_of(answer), "pf-csi holder")
    if "refused" in answer:
        raise Refusal(one_of(Why, answer["refused"], Why.PENDING), answer["text"])
    return answer


def _held(answer: Mapping[str, Any]) -> Held | None:
    return read(answer["held"])


def _all(answer: Mapping[str, Any]) -> tuple[int, Mapping[str, Held]]:
    """With how often something has become another."""
    found = {key: read(each) for key, each in answer["all"].items()}
    return answer["changes"], {key: held for key, held in found.items() if held is not None}
