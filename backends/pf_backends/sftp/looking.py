"""Finds files over SSH, and tells of them."""

from __future__ import annotations

import asyncio
import errno
import os
import stat
import time
from collections import OrderedDict
from collections.abc import AsyncIterator

import asyncssh

from pf_backends.entries import Entry, Kind
from pf_backends.errors import failure, unsupported
from pf_backends.hidden import OWN, require_foreign
from pf_backends.paths import joined, parent

_KINDS = {stat.S_IFREG: Kind.FILE, stat.S_IFDIR: Kind.FOLDER, stat.S_IFLNK: Kind.LINK}
_LONGEST = 255
"""Bytes of a name; servers do not tell such from other failures."""
_LONGEST_PATH = 3500
"""Bytes; with the folder at the top before it, no more than the 4095 that servers take."""
_KNOWN = 2.0
"""Seconds for which it is remembered where a folder really is."""
_MOST_KNOWN = 1000
_SECOND = 1_000_000_000


class Whereabouts:
    """Where paths lead on the server. Used in the thread of the session."""

    def __init__(self, top: str) -> None:
        self._top = os.fsencode(f"/{top}")
        self._known: OrderedDict[str, tuple[float, bytes]] = OrderedDict()

    async def of(self, client: asyncssh.SFTPClient, path: str) -> bytes:
        """Of what lies in a folder; links on the way may not lead out of the top."""
        require_foreign(path)
        if not path:
            return self._top
        return await self.folder(client, parent(path), asked=path) + b"/" + _bytes(path.rpartition("/")[2], path)

    async def folder(self, client: asyncssh.SFTPClient, path: str, *, asked: str = "") -> bytes:
        """Of a folder, which must be one; what is wrong is told against the path that was asked for."""
        require_foreign(path)
        until, known = self._known.get(path, (0.0, b""))
        if until > time.monotonic():
            return known
        top = _text(await client.realpath(self._top))
        real = _text(await client.realpath(self._top + b"/" + _bytes(path, path))) if path else top
        if real != top and not real.startswith(top.rstrip(b"/") + b"/"):
            raise failure(errno.EACCES, asked or path, "leads out of the folder, by a link")
        if not stat.S_ISDIR((await client.lstat(real)).permissions or 0):
            raise failure(errno.ENOTDIR, asked or path, "is no folder")
        self._remember(path, real)
        return real

    def forget(self) -> None:
        """Something was moved or removed that may be on the way to others."""
        self._known.clear()

    def _remember(self, path: str, real: bytes) -> None:
        self._known[path] = (time.monotonic() + _KNOWN, real)
        self._known.move_to_end(path)
        if len(self._known) > _MOST_KNOWN:
            self._known.popitem(last=False)


def entry_of(path: str, told: asyncssh.SFTPAttrs, target: str = "") -> Entry:
    """What is told of a thing; Unsupported if it is a pipe, a socket or a device."""
    kind = kind_of(told)
    if kind is None:
        raise unsupported(path, "is neither a file nor a folder nor a link")
    size = 0 if kind is Kind.FOLDER else told.size or 0
    return Entry(
        path,
        kind,
        size,
        (told.mtime or 0) * _SECOND,
        "" if kind is Kind.FOLDER else version_of(told),
        stat.S_IMODE(told.permissions or 0),
        (told.uid or 0, told.gid or 0),
        target,
    )


def kind_of(told: asyncssh.SFTPAttrs) -> Kind | None:
    return _KINDS.get(stat.S_IFMT(told.permissions or 0))


def version_of(told: asyncssh.SFTPAttrs) -> str:
    """All that there is to go by: the protocol tells of seconds and of no inodes."""
    return f"{told.mtime or 0:x}-{told.size or 0:x}"


async def found(client: asyncssh.SFTPClient, path: str, where: bytes) -> Entry:
    told = await client.lstat(where)
    link = kind_of(told) is Kind.LINK
    return entry_of(path, told, os.fsdecode(_text(await client.readlink(where))) if link else "")


async def inside(client: asyncssh.SFTPClient, path: str, where: bytes) -> AsyncIterator[Entry]:
    """What is in a folder, in the order of the server."""
    async for each in client.scandir(where):
        name = os.fsdecode(_text(each.filename))
        if name in (".", "..") or "/" in name or name.startswith(OWN) or kind_of(each.attrs) is None:
            continue
        inner = joined(path, name)
        if kind_of(each.attrs) is Kind.LINK:
            try:
                yield await found(client, inner, where + b"/" + _text(each.filename))
            except asyncssh.SFTPNoSuchFile:
                continue
        else:
            yield entry_of(inner, each.attrs)


async def names_in(client: asyncssh.SFTPClient, where: bytes) -> list[bytes]:
    """All that there is in a folder, also what nobody is told of."""
    names = [_text(each.filename) async for each in client.scandir(where)]
    return [name for name in names if name not in (b".", b"..")]


async def opened_entry(file: asyncssh.SFTPClientFile, path: str) -> Entry:
    """What is told of a file that is open; fails as programs expect that read something else as one."""
    entry = entry_of(path, await file.stat())
    if entry.kind is Kind.FOLDER:
        raise failure(errno.EISDIR, path, "is a folder")
    return entry


async def both(one: bytes, other: bytes, client: asyncssh.SFTPClient) -> tuple[Kind | None, Kind | None]:
    """What lies at two places; None where there is nothing."""
    kinds = await asyncio.gather(_kind_at(client, one), _kind_at(client, other))
    return kinds[0], kinds[1]


async def _kind_at(client: asyncssh.SFTPClient, where: bytes) -> Kind | None:
    try:
        return kind_of(await client.lstat(where))
    except asyncssh.SFTPNoSuchFile:
        return None


def _text(name: bytes | str) -> bytes:
    return name if isinstance(name, bytes) else os.fsencode(name)


def _bytes(names: str, path: str) -> bytes:
    try:
        raw = os.fsencode(names)
    except UnicodeEncodeError:
        raise failure(errno.EILSEQ, ascii(path), "is no name that a disk can keep") from None
    if max(map(len, raw.split(b"/"))) > _LONGEST:
        raise failure(errno.ENAMETOOLONG, path, f"has a name of more than {_LONGEST} bytes")
    if len(raw) > _LONGEST_PATH:
        raise failure(errno.ENAMETOOLONG, path, f"has more than {_LONGEST_PATH} bytes")
    return raw
