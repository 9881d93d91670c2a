"""A connection over SSH, in a thread of its own, for many that call and wait."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from concurrent.futures import Future
from contextlib import suppress
from typing import TypeVar

import asyncssh

from pf_backends.errors import unreachable, why_unconnected
from pf_backends.reach import Place
from pf_backends.sftp.failures import SAID, failed, is_lost
from pf_backends.sftp.settings import SftpSettings

T = TypeVar("T")
Work = Callable[[asyncssh.SFTPClient], Awaitable[T]]

_CONNECT = 10.0
"""Seconds until a machine has answered."""
_ALIVE = 15.0
"""Seconds of silence after which a server is asked whether it is there."""
_AT_ONCE = 100
"""Names that servers tell at a time."""
_CIPHERS = (
    "aes128-gcm@openssh.com",
    "aes256-gcm@openssh.com",
    "chacha20-poly1305@openssh.com",
    "aes256-ctr",
    "aes128-ctr",
)
"""Those first that processors help with."""


class Session:
    """Connects when it is first used, and again when the connection is lost."""

    def __init__(self, settings: SftpSettings) -> None:
        self._settings = settings
        self._pinned = _fingerprint(settings.host_key)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="sftp", daemon=True)
        self._connecting = asyncio.Lock()
        self._connection: asyncssh.SSHClientConnection | None = None
        self._client: asyncssh.SFTPClient | None = None
        self._closed = False
        self._thread.start()

    def run(self, path: str, work: Work[T], *, size: int = 0, once: bool = False) -> T:
        """What the work on a client comes to. It is done again, unless told not to, if the connection is lost."""
        return self._wait(path, self._done(work, once=once), size)

    def drawn(self, path: str, names: Callable[[asyncssh.SFTPClient], AsyncIterator[T]]) -> Iterator[T]:
        """One after another of what is told over the connection; nobody else may use the iterator meanwhile."""

        async def begun(client: asyncssh.SFTPClient) -> tuple[AsyncIterator[T], list[T]]:
            found = names(client)
            return found, await _some(found)

        found, batch = self.run(path, begun)
        try:
            while batch:
                yield from batch
                batch = self._wait(path, self._more(found))
        finally:
            if not self._closed:
                asyncio.run_coroutine_threadsafe(_ended(found), self._loop)

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        with suppress(TimeoutError):
            asyncio.run_coroutine_threadsafe(self._hung_up(), self._loop).result(5.0)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(5.0)
        if not self._thread.is_alive():
            self._loop.close()

    def _wait(self, path: str, work: Coroutine[None, None, T], size: int = 0) -> T:
        if self._closed:
            work.close()
            raise unreachable(path, "the backend was closed")
        future: Future[T] = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result(self._settings.deadline + size / self._settings.slowest)
        except SAID as error:
            if future.cancel():
                raise unreachable(path, f"took longer than {self._settings.deadline:.0f} s") from None
            raise failed(path, error) from None
        except asyncio.CancelledError:
            raise unreachable(path, "the backend was closed") from None

    async def _done(self, work: Work[T], *, once: bool) -> T:
        client = None
        try:
            client = await self._connected()
            return await work(client)
        except SAID as error:
            if not is_lost(error):
                raise
            self._lost(client)
            if once and client:
                raise
        return await work(await self._connected())

    async def _more(self, found: AsyncIterator[T]) -> list[T]:
        client = self._client
        try:
            return await _some(found)
        except SAID as error:
            if is_lost(error):
                self._lost(client)
            raise

    def _lost(self, client: asyncssh.SFTPClient | None) -> None:
        """Another connection is made for whoever comes next, unless there is one by now."""
        if self._client is client:
            self._client = None

    async def _connected(self) -> asyncssh.SFTPClient:
        async with self._connecting:
            if self._client is None:
                await self._hang_up()
                self._connection = await self._new_connection()
                self._client = await self._connection.start_sftp_client()
            return self._client

    async def _new_connection(self) -> asyncssh.SSHClientConnection:
        told = self._settings
        keys = [asyncssh.import_private_key(told.private_key)] if told.private_key else None
        return await asyncssh.connect(
            told.host,
            told.port,
            sock=await self._reached(),
            config=None,
            username=told.user,
            password=told.password or None,
            client_keys=keys,
            agent_path=None,
            known_hosts=([], [], []),
            client_factory=lambda: _Judge(self._is_known),
            encryption_algs=_CIPHERS,
            keepalive_interval=_ALIVE,
            login_timeout=_CONNECT,
        )

    async def _reached(self) -> socket.socket:
        """A socket that is connected to an address that was judged."""
        told = self._settings
        places = await self._loop.run_in_executor(None, told.reach.places, told.host, told.port)
        why = "has no address"
        for place in places:
            try:
                return await self._dialled(place)
            except OSError as error:
                why = why_unconnected(error)
        raise unreachable(told.host, f"cannot be connected to: {why}")

    async def _dialled(self, place: Place) -> socket.socket:
        family, where = place
        plain = socket.socket(family, socket.SOCK_STREAM)
        try:
            plain.setblocking(False)
            async with asyncio.timeout(_CONNECT):
                await self._loop.sock_connect(plain, where)
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        except BaseException:
            plain.close()
            raise
        return plain

    def _is_known(self, key: asyncssh.SSHKey) -> bool:
        if not self._pinned:
            self._pinned = key.get_fingerprint()
        return key.get_fingerprint() == self._pinned

    async def _hung_up(self) -> None:
        """Ends the connection and all that waits for it."""
        await self._hang_up()
        others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    async def _hang_up(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.abort()
            await connection.wait_closed()


class _Judge(asyncssh.SSHClient):
    """Knows servers by their keys."""

    def __init__(self, is_known: Callable[[asyncssh.SSHKey], bool]) -> None:
        self._is_known = is_known

    def validate_host_public_key(self, host: str, addr: str, port: int, key: asyncssh.SSHKey) -> bool:  # noqa: ARG002
        return self._is_known(key)


def _fingerprint(text: str) -> str:
    if not text or text.startswith("SHA256:"):
        return text
    return asyncssh.import_public_key(text).get_fingerprint()


async def _some(found: AsyncIterator[T]) -> list[T]:
    batch: list[T] = []
    async for each in found:
        batch.append(each)
        if len(batch) == _AT_ONCE:
            break
    return batch


async def _ended(found: AsyncIterator[T]) -> None:
    close = getattr(found, "aclose", None)
    if close is not None:
        await close()
