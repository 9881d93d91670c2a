"""Reads files over SSH, many requests at a time."""

from __future__ import annotations

import asyncio
import errno
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import asyncssh

from pf_backends.entries import Entry, Kind
from pf_backends.errors import changed, failure
from pf_backends.sftp.looking import found, opened_entry

_LOOKS = 3
"""How often a file is read again that changes meanwhile."""
_REQUESTS = 64
"""On their way at once."""


async def read(
    client: asyncssh.SFTPClient, path: str, where: bytes, offset: int, into: memoryview, version: str
) -> int:
    """Fulfils `Backend.read`."""
    async with _opened(client, path, where) as file:
        before = await opened_entry(file, path)
        _require(path, before, version)
        count = await _fill(file, offset, into[: max(0, before.size - offset)])
        if version:
            _require(path, await opened_entry(file, path), version)
        return count


async def fetch(client: asyncssh.SFTPClient, path: str, where: bytes, limit: int) -> tuple[Entry, bytes]:
    """Fulfils `Backend.fetch`."""
    for _ in range(_LOOKS):
        async with _opened(client, path, where) as file:
            before = await opened_entry(file, path)
            if before.size > limit:
                raise failure(errno.EFBIG, path, f"has {before.size} bytes, more than {limit}")
            body = bytearray(before.size)
            count = await _fill(file, 0, memoryview(body))
            if count == before.size and await opened_entry(file, path) == before:
                return before, bytes(body)
    raise changed(path, "is written to all the time")


@asynccontextmanager
async def _opened(client: asyncssh.SFTPClient, path: str, where: bytes) -> AsyncIterator[asyncssh.SFTPClientFile]:
    entry, opened = await asyncio.gather(
        found(client, path, where), client.open(where, "rb", max_requests=_REQUESTS), return_exceptions=True
    )
    try:
        if isinstance(entry, BaseException):
            raise entry
        if entry.kind is Kind.FOLDER:
            raise failure(errno.EISDIR, path, "is a folder")
        if entry.kind is Kind.LINK:
            raise failure(errno.ELOOP, path, "is a link")
        if isinstance(opened, BaseException):
            raise opened
        yield opened
    finally:
        if isinstance(opened, asyncssh.SFTPClientFile):
            await opened.close()


async def _fill(file: asyncssh.SFTPClientFile, offset: int, into: memoryview) -> int:
    count = 0
    if into:
        async for place, piece in await file.read_parallel(len(into), offset):
            start = place - offset
            into[start : start + len(piece)] = piece
            count += len(piece)
    return count


def _require(path: str, entry: Entry, version: str) -> None:
    if version and entry.version != version:
        raise changed(path, "there is another version by now")
