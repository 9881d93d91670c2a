"""Writes files over SSH: beside their place first, then at it.

The protocol tells of whole seconds: so that another version has another time, a file that replaces one of the same
second gets the second that follows.
"""

from __future__ import annotations

import errno
import os
from contextlib import suppress

import asyncssh

from pf_backends.entries import Condition, Entry, Facts, Kind
from pf_backends.errors import changed, failure, unsupported
from pf_backends.hidden import OWN, own_name
from pf_backends.sftp.looking import both, entry_of, found, kind_of, names_in, version_of

_SECOND = 1_000_000_000
_PIECE = 1 << 23
"""Bytes that are handed over at a time."""
_NOT_EMPTY = (asyncssh.SFTPFailure, asyncssh.SFTPDirNotEmpty)
"""The first is what most servers say."""
_NEW = asyncssh.FXF_WRITE | asyncssh.FXF_CREAT | asyncssh.FXF_EXCL


async def put(
    client: asyncssh.SFTPClient,
    path: str,
    where: bytes,
    body: memoryview | bytes,
    facts: Facts,
    condition: Condition,
) -> Entry:
    """Fulfils `Backend.put`."""
    draft = where[: where.rindex(b"/") + 1] + os.fsencode(own_name())
    before = await _before(client, path, where, condition)
    try:
        await _write(client, draft, memoryview(body).cast("B"), 0, _NEW)
        await keep(client, draft, facts)
        if facts.modified is None:
            await _make_later(client, draft, before)
        await _place(client, path, draft, where, absent=condition.absent)
    except BaseException:
        with suppress(asyncssh.SFTPError):
            await client.remove(draft)
        raise
    return await found(client, path, where)


async def append(client: asyncssh.SFTPClient, path: str, where: bytes, body: memoryview | bytes, offset: int) -> Entry:
    """Fulfils `Backend.append`."""
    before = await client.lstat(where)
    if kind_of(before) is not Kind.FILE:
        raise failure(errno.EINVAL, path, "is no file")
    if before.size != offset:
        raise changed(path, f"ends at {before.size}, not at {offset}")
    await _write(client, where, memoryview(body).cast("B"), offset, asyncssh.FXF_WRITE)
    return await found(client, path, where)


async def keep(client: asyncssh.SFTPClient, where: bytes, facts: Facts) -> None:
    """Gives facts to a thing, as far as this user may."""
    if facts.attributes:
        raise unsupported(os.fsdecode(where), "the server keeps no attributes")
    if facts.owner is not None:
        # Who is not root cannot give a file away: then it stays whose it is.
        with suppress(asyncssh.SFTPPermissionDenied, asyncssh.SFTPFailure):
            await client.chown(where, *facts.owner)
    if facts.mode is not None:
        await client.chmod(where, facts.mode)
    if facts.modified is not None:
        seconds = facts.modified // _SECOND
        await client.utime(where, (seconds, seconds))


async def make_folder(client: asyncssh.SFTPClient, path: str, where: bytes, facts: Facts) -> Entry:
    await _require_free(client, path, where)
    await client.mkdir(where)
    await keep(client, where, facts)
    return await found(client, path, where)


async def make_link(client: asyncssh.SFTPClient, path: str, where: bytes, target: str) -> Entry:
    await _require_free(client, path, where)
    await client.symlink(os.fsencode(target), where)
    return await found(client, path, where)


async def remove(client: asyncssh.SFTPClient, path: str, where: bytes, condition: Condition) -> None:
    told = await client.lstat(where)
    if kind_of(told) is Kind.FOLDER:
        raise failure(errno.EISDIR, path, "is a folder")
    if condition.absent or (condition.version and version_of(told) != condition.version):
        raise changed(path, "there is another version by now")
    await client.remove(where)


async def remove_folder(client: asyncssh.SFTPClient, path: str, where: bytes) -> None:
    if kind_of(await client.lstat(where)) is not Kind.FOLDER:
        raise failure(errno.ENOTDIR, path, "is no folder")
    try:
        await client.rmdir(where)
    except _NOT_EMPTY:
        if not await _only_ours(client, where):
            raise failure(errno.ENOTEMPTY, path, "is not empty") from None
        await client.rmdir(where)


async def rename(client: asyncssh.SFTPClient, paths: tuple[str, str], old: bytes, new: bytes, *, replace: bool) -> None:
    """Fulfils `Backend.rename`."""
    source, target = paths
    one, other = await both(old, new, client)
    if one is None:
        raise failure(errno.ENOENT, source, "there is nothing")
    if other is not None and not replace:
        raise failure(errno.EEXIST, target, "something is there")
    if other is not None and (one is Kind.FOLDER) != (other is Kind.FOLDER):
        raise failure(errno.ENOTDIR if one is Kind.FOLDER else errno.EISDIR, target, "is of another kind")
    if target.startswith(f"{source}/"):
        raise failure(errno.EINVAL, target, "lies in what is to be renamed")
    try:
        await (client.posix_rename(old, new) if replace else client.rename(old, new))
    except asyncssh.SFTPFailure as error:
        if other is Kind.FOLDER:
            raise failure(errno.ENOTEMPTY, target, "is not empty") from None
        raise failure(errno.EIO if replace else errno.EEXIST, target, error.reason) from None


async def _before(
    client: asyncssh.SFTPClient, path: str, where: bytes, condition: Condition
) -> asyncssh.SFTPAttrs | None:
    """What lies where a file is to be. Changed if a condition does not hold."""
    try:
        told = await client.lstat(where)
    except asyncssh.SFTPNoSuchFile:
        if condition.version:
            raise changed(path, "there is nothing any more") from None
        return None
    if condition.absent:
        raise changed(path, "there is something by now")
    if condition.version and version_of(told) != condition.version:
        raise changed(path, "there is another version by now")
    if kind_of(told) is Kind.FOLDER:
        raise failure(errno.EISDIR, path, "is a folder")
    return told


async def _write(client: asyncssh.SFTPClient, where: bytes, body: memoryview, offset: int, flags: int) -> None:
    async with client.open(where, flags, encoding=None) as file:
        for start in range(0, len(body), _PIECE):
            await file.write(bytes(body[start : start + _PIECE]), offset + start)
        with suppress(asyncssh.SFTPOpUnsupported):
            await file.fsync()


async def _make_later(client: asyncssh.SFTPClient, draft: bytes, before: asyncssh.SFTPAttrs | None) -> None:
    if before is None:
        return
    modified = (await client.lstat(draft)).mtime or 0
    if modified <= (before.mtime or 0):
        await client.utime(draft, ((before.mtime or 0) + 1,) * 2)


async def _place(client: asyncssh.SFTPClient, path: str, draft: bytes, where: bytes, *, absent: bool) -> None:
    if not absent:
        await client.posix_rename(draft, where)
        return
    try:
        await client.rename(draft, where)
    except asyncssh.SFTPFailure:
        raise changed(path, "there is something by now") from None


async def _only_ours(client: asyncssh.SFTPClient, where: bytes) -> bool:
    """True if nothing but drafts was in a folder, as killed writers leave them, and they are gone now."""
    names = await names_in(client, where)
    if not all(name.startswith(os.fsencode(OWN)) for name in names):
        return False
    for name in names:
        with suppress(asyncssh.SFTPNoSuchFile):
            await client.remove(where + b"/" + name)
    return True


async def _require_free(client: asyncssh.SFTPClient, path: str, where: bytes) -> None:
    with suppress(asyncssh.SFTPNoSuchFile):
        entry_of(path, await client.lstat(where))
        raise failure(errno.EEXIST, path, "something is there")
