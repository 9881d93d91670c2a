"""Asks the servers behind which files lie. They may hang, lie, or be somebody else's."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from paddleflow.problems import InvalidArgument, ServerNotAllowed, ServerUnusable, Violation
from pf_backends.entries import Kind
from pf_backends.errors import Malformed
from pf_backends.opening import Surroundings
from pf_backends.port import Backend
from pf_backends.reach import Reach
from pf_fs.domain import Opened
from pf_fs.properties import Called, called
from pf_fs.threads import Threads
from pf_fs.urls import place_of
from pf_kit.addresses import Allowed, is_named, permitted
from pf_kit.fields import shown

Opener = Callable[[str, Mapping[str, str], Surroundings], Backend]
"""Opens the place of a URL with its properties, secrets among them. Raises Malformed."""
T = TypeVar("T")

RESOLVE_SECONDS = 5.0
DEADLINE = 15.0
"""Seconds for what a server is asked: less than a thread is waited for."""
SHORTEST_SECRET = 4
"""Characters of a secret that is looked for in what a server says; shorter ones are in everything."""


class BackendServers:
    """Fulfils `Servers`."""

    def __init__(self, open_backend: Opener, allowed: Allowed, threads: Threads) -> None:
        self._open = open_backend
        self._allowed = allowed
        self._threads = threads

    async def check(self, opened: Opened) -> None:
        await self._asked(opened, lambda backend: backend.check())

    async def is_occupied(self, opened: Opened, path: str) -> bool:
        return await self._asked(opened, lambda backend: _is_occupied(backend, path))

    async def require_allowed(self, opened: Opened) -> None:
        """Raises ServerNotAllowed if somebody would be called who must not be."""
        for each in called(place_of(opened.url), opened.properties):
            await self._require_allowed(each)

    def open(self, opened: Opened) -> Backend:
        """The backend of a place, which calls nobody but who may be. Raises ServerUnusable."""
        around = Surroundings(reach=self._reach(opened), deadline=DEADLINE)
        try:
            return self._open(opened.url, {**opened.properties, **opened.secrets}, around)
        except Malformed as error:
            words = without_secrets(str(error), opened)
            raise InvalidArgument.of(Violation("filesystem.properties", words)) from None
        except OSError as error:
            raise ServerUnusable(f"{shown(opened.url)} cannot be used: {words_of(error, opened)}") from None

    async def _asked(self, opened: Opened, ask: Callable[[Backend], T]) -> T:
        """What a server answers, if it may be asked."""
        await self.require_allowed(opened)
        return await self._threads.run(opened.url, lambda: self._answer(opened, ask))

    def _answer(self, opened: Opened, ask: Callable[[Backend], T]) -> T:
        backend = self.open(opened)
        try:
            return ask(backend)
        except Malformed as error:
            words = without_secrets(str(error), opened)
            raise InvalidArgument.of(Violation("filesystem.properties", words)) from None
        except OSError as error:
            raise ServerUnusable(f"{shown(opened.url)} cannot be used: {words_of(error, opened)}") from None
        finally:
            backend.close()

    def _reach(self, opened: Opened) -> Reach:
        """Also if the name means another address the next time, nobody else is called."""
        hosts = [each.name for each in called(place_of(opened.url), opened.properties) if not each.perhaps]
        internal = bool(hosts) and all(is_named(host, self._allowed) for host in hosts)
        return Reach(internal=internal, allowed=self._allowed.networks)

    async def _require_allowed(self, each: Called) -> None:
        for address in await self._addresses(each):
            if not permitted(each.name, address, self._allowed):
                raise ServerNotAllowed(
                    f"{each.name} has the address {address}, which is not public; the administrator can allow it with"
                    " PF_FS_SERVERS_ALLOWED"
                )

    async def _addresses(self, each: Called) -> Sequence[str]:
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(RESOLVE_SECONDS):
                found = await loop.getaddrinfo(each.name, None, type=socket.SOCK_STREAM)
        except (socket.gaierror, UnicodeError, TimeoutError):
            if each.perhaps:
                return []
            raise ServerUnusable(f"no address is known of {shown(each.name)}") from None
        return [str(info[4][0]) for info in found]


def words_of(error: OSError, opened: Opened) -> str:
    """What a backend says, without secrets."""
    return without_secrets(error.strerror or str(error) or type(error).__name__, opened)


def without_secrets(words: str, opened: Opened) -> str:
    """What a server says, which may be what it was told."""
    for secret in opened.secrets.values():
        if len(secret) >= SHORTEST_SECRET:
            words = words.replace(secret, "***")
    return "".join(letter if letter.isprintable() else " " for letter in words)[:500]


def _is_occupied(backend: Backend, path: str) -> bool:
    try:
        if backend.stat(path).kind is not Kind.FOLDER:
            return True
        return bool(backend.list(path, limit=1).entries)
    except FileNotFoundError:
        return False
