"""A server of files over SSH, in a thread of the test process."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from typing import TypeVar

import asyncssh

from pf_backends.sftp.settings import SftpSettings

T = TypeVar("T")
USER, PASSWORD = "tester", "not-a-real-password"


class SftpServer:
    """One that runs."""

    def __init__(self) -> None:
        self.host_key = asyncssh.generate_private_key("ssh-ed25519")
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._open: list[asyncssh.SSHServerConnection] = []
        self.port = 0
        self._acceptor = self._run(self._listening())
        self.port = self._acceptor.get_port()

    @property
    def settings(self) -> SftpSettings:
        fingerprint = self.host_key.get_fingerprint()
        return SftpSettings("127.0.0.1", self.port, USER, password=PASSWORD, host_key=fingerprint, deadline=20.0)

    def restart(self, host_key: asyncssh.SSHKey | None = None) -> None:
        """Ends all connections and listens again, perhaps as another server."""
        self._run(self._ended())
        self.host_key = host_key or self.host_key
        self._acceptor = self._run(self._listening())

    def stop(self) -> None:
        self._run(self._ended())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _run(self, work: Coroutine[None, None, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(20)

    async def _listening(self) -> asyncssh.SSHAcceptor:
        return await asyncssh.listen(
            "127.0.0.1",
            self.port,
            server_host_keys=[self.host_key],
            server_factory=lambda: _Guard(self._open),
            sftp_factory=True,
        )

    async def _ended(self) -> None:
        self._acceptor.close()
        for connection in self._open:
            connection.abort()
        await self._acceptor.wait_closed()
        await asyncio.gather(*(connection.wait_closed() for connection in self._open))
        self._open.clear()


class _Guard(asyncssh.SSHServer):
    """Lets one user in."""

    def __init__(self, connections: list[asyncssh.SSHServerConnection]) -> None:
        self._connections = connections

    def connection_made(self, conn: asyncssh.SSHServerConnection) -> None:
        self._connections.append(conn)

    def begin_auth(self, username: str) -> bool:
        return True

    def password_auth_supported(self) -> bool:
        return True

    def validate_password(self, username: str, password: str) -> bool:
        return (username, password) == (USER, PASSWORD)
