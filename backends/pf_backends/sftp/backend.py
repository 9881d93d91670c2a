"""The files of a server that is reached over SSH."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

import asyncssh

from pf_backends.entries import Capabilities, Condition, Entry, Facts, Page, Part, Renames, Space, Upload
from pf_backends.errors import unsupported
from pf_backends.kept import require_untouched, require_version
from pf_backends.listings import Listings, descended
from pf_backends.paths import file_path, folder_path
from pf_backends.port import ANYTHING, NO_FACTS
from pf_backends.sftp import looking, reading, writing
from pf_backends.sftp.looking import Whereabouts
from pf_backends.sftp.session import Session
from pf_backends.sftp.settings import SftpSettings

_CAPABILITIES = Capabilities(renames=Renames.TREES, appends=True, links=True, modes=True, owners=True, byte_names=True)


class SftpBackend:
    """Fulfils `Backend` with a folder of a server.

    A version is a time and a size: programs on the server that write a file twice in a second, with as many bytes, are
    not noticed. A condition on a version is looked at before; that a place is empty, most servers see to themselves.
    """

    def __init__(self, settings: SftpSettings) -> None:
        self._settings = settings
        self._session = Session(settings)
        self._places = Whereabouts(settings.path)
        self._listings = Listings()

    @property
    def capabilities(self) -> Capabilities:
        return _CAPABILITIES

    @property
    def address(self) -> str:
        return self._settings.address

    def check(self) -> None:
        self.list("", limit=1)

    def close(self) -> None:
        self._listings.close()
        self._session.close()

    def stat(self, path: str) -> Entry:
        folder_path(path)

        async def work(client: asyncssh.SFTPClient) -> Entry:
            where = await self._places.of(client, path) if path else await self._places.folder(client, path)
            return await looking.found(client, path, where)

        return self._session.run(path, work)

    def list(self, folder: str, *, rest: str = "", limit: int = 1000) -> Page:
        folder_path(folder)
        return self._listings.page(folder, lambda: self._inside(folder), rest, limit)

    def walk(self, folder: str, *, rest: str = "", limit: int = 1000) -> Page:
        folder_path(folder)
        return self._listings.page(folder, lambda: descended(self._inside, folder), rest, limit)

    def read(self, path: str, offset: int, into: memoryview, *, version: str = "") -> int:
        file_path(path)

        async def work(client: asyncssh.SFTPClient) -> int:
            return await reading.read(client, path, await self._places.of(client, path), offset, into, version)

        return self._session.run(path, work, size=len(into))

    def fetch(self, path: str, *, limit: int) -> tuple[Entry, bytes]:
        file_path(path)

        async def work(client: asyncssh.SFTPClient) -> tuple[Entry, bytes]:
            return await reading.fetch(client, path, await self._places.of(client, path), limit)

        return self._session.run(path, work, size=limit)

    def put(
        self, path: str, body: memoryview | bytes, *, facts: Facts = NO_FACTS, condition: Condition = ANYTHING
    ) -> Entry:
        file_path(path)

        async def work(client: asyncssh.SFTPClient) -> Entry:
            where = await self._places.of(client, path)
            return await writing.put(client, path, where, body, facts, condition)

        return self._session.run(path, work, size=memoryview(body).nbytes, once=condition != ANYTHING)

    def begin(self, path: str, *, facts: Facts = NO_FACTS) -> Upload:
        raise _no_parts(file_path(path))

    def send(self, upload: Upload, number: int, body: memoryview | bytes) -> Part:
        raise _no_parts(upload.path)

    def finish(self, upload: Upload, parts: Sequence[Part], *, condition: Condition = ANYTHING) -> Entry:
        raise _no_parts(upload.path)

    def drop(self, upload: Upload) -> None:
        raise _no_parts(upload.path)

    def uploads(self, folder: str) -> Sequence[Upload]:
        return ()

    def append(self, path: str, body: memoryview | bytes, *, offset: int) -> Entry:
        file_path(path)

        async def work(client: asyncssh.SFTPClient) -> Entry:
            return await writing.append(client, path, await self._places.of(client, path), body, offset)

        return self._session.run(path, work, size=memoryview(body).nbytes, once=True)

    def make_folder(self, path: str, *, facts: Facts = NO_FACTS) -> Entry:
        file_path(path)

        async def work(client: asyncssh.SFTPClient) -> Entry:
            return await writing.make_folder(client, path, await self._places.of(client, path), facts)

        return self._session.run(path, work, once=True)

    def make_link(self, path: str, target: str) -> Entry:
        file_path(path)

        async def work(client: asyncssh.SFTPClient) -> Entry:
            return await writing.make_link(client, path, await self._places.of(client, path), target)

        return self._session.run(path, work, once=True)

    def set_facts(self, path: str, facts: Facts, *, condition: Condition = ANYTHING) -> Entry:
        file_path(path)

        async def work(client: asyncssh.SFTPClient) -> Entry:
            where = await self._places.of(client, path)
            before = await looking.found(client, path, where)
            require_version(before, condition)
            await writing.keep(client, where, facts)
            return require_untouched(before, await looking.found(client, path, where), facts, condition)

        return self._session.run(path, work)

    def attributes(self, path: str) -> Facts:
        entry = self.stat(path)
        return Facts(entry.modified, entry.mode, entry.owner, {})

    def remove(self, path: str, *, condition: Condition = ANYTHING) -> None:
        file_path(path)

        async def work(client: asyncssh.SFTPClient) -> None:
            await writing.remove(client, path, await self._places.of(client, path), condition)

        self._session.run(path, work, once=True)

    def remove_many(self, paths: Sequence[str]) -> Sequence[OSError | None]:
        return [self._removed(path) for path in paths]

    def remove_folder(self, path: str) -> None:
        file_path(path)

        async def work(client: asyncssh.SFTPClient) -> None:
            await writing.remove_folder(client, path, await self._places.of(client, path))
            self._places.forget()

        self._session.run(path, work, once=True)

    def rename(self, source: str, target: str, *, replace: bool = True) -> None:
        paths = (file_path(source), file_path(target))

        async def work(client: asyncssh.SFTPClient) -> None:
            old, new = await self._places.of(client, source), await self._places.of(client, target)
            await writing.rename(client, paths, old, new, replace=replace)
            self._places.forget()

        self._session.run(source, work, once=True)

    def copy(self, source: str, target: str, *, condition: Condition = ANYTHING) -> Entry:
        raise unsupported(source, "the server copies nothing by itself")

    def space(self) -> Space | None:
        async def work(client: asyncssh.SFTPClient) -> Space | None:
            try:
                told = await client.statvfs(os.fsencode(f"/{self._settings.path}"))
            except asyncssh.SFTPOpUnsupported:
                return None
            return Space(told.blocks * told.frsize, told.bavail * told.frsize, told.files, told.favail)

        return self._session.run("", work)

    def _inside(self, folder: str) -> Iterator[Entry]:
        async def work(client: asyncssh.SFTPClient) -> bytes:
            return await self._places.folder(client, folder)

        where = self._session.run(folder, work)
        yield from self._session.drawn(folder, lambda client: looking.inside(client, folder, where))

    def _removed(self, path: str) -> OSError | None:
        try:
            self.remove(path)
        except FileNotFoundError:
            return None
        except OSError as error:
            return error
        return None


def _no_parts(path: str) -> OSError:
    return unsupported(path, "files are written to this server in one piece")
