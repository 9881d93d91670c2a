"""Asks the servers behind which files lie. They may hang, lie, or be somebody else's."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

from paddleflow.problems import InvalidArgument, Overloaded, ServerNotAllowed, ServerUnusable, Violation
from pf_backends.entries import Kind
from pf_backends.errors import Malformed
from pf_backends.port import Backend
from pf_fs.domain import Opened
from pf_fs.properties import Called, called
from pf_fs.urls import place_of
from pf_kit.addresses import Allowed, permitted
from pf_kit.fields import shown

Opener = Callable[[str, Mapping[str, str]], Backend]
"""Opens the place of a URL with its properties, secrets among them. Raises Malformed."""

T = TypeVar("T")

THREADS = 16
SHORTEST_SECRET = 4
"""Characters of a secret that is looked for in what a server says; shorter ones are in everything."""


@dataclass(frozen=True, slots=True)
class Patience:
    """How long things may take, in seconds. All together are less than a call may last."""

    resolve: float = 5.0
    wait: float = 3.0
    """A call waits so long for a thread before it is sent away."""
    answer: float = 15.0


class BackendServers:
    """Fulfils `Servers`. A thread that hangs is left behind, and makes room when it comes back."""

    def __init__(self, open_backend: Opener, allowed: Allowed, patience: Patience) -> None:
        self._open = open_backend
        self._allowed = allowed
        self._patience = patience
        self._threads = ThreadPoolExecutor(THREADS, "servers")
        self._free = asyncio.Semaphore(THREADS)

    async def check(self, opened: Opened) -> None:
        await self._asked(opened, lambda backend: backend.check())

    async def is_occupied(self, opened: Opened, path: str) -> bool:
        return await self._asked(opened, lambda backend: _is_occupied(backend, path))

    async def _asked(self, opened: Opened, ask: Callable[[Backend], T]) -> T:
        """What a server answers, if it may be asked."""
        for each in called(place_of(opened.url), opened.properties):
            await self._require_allowed(each)
        working = await self._begun(lambda: _answer(self._open, opened, ask))
        try:
            async with asyncio.timeout(self._patience.answer):
                return await working
        except TimeoutError:
            late = f"{shown(opened.url)} did not answer within {self._patience.answer:g} s"
            raise ServerUnusable(f"{late}; is the address right, and the server there?") from None

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
            async with asyncio.timeout(self._patience.resolve):
                found = await loop.getaddrinfo(each.name, None, type=socket.SOCK_STREAM)
        except (socket.gaierror, UnicodeError, TimeoutError):
            if each.perhaps:
                return []
            raise ServerUnusable(f"no address is known of {shown(each.name)}") from None
        return [str(info[4][0]) for info in found]

    async def _begun(self, work: Callable[[], T]) -> asyncio.Future[T]:
        """The work, as soon as a thread is free for it. Raises Overloaded if none is."""
        try:
            async with asyncio.timeout(self._patience.wait):
                await self._free.acquire()
        except TimeoutError:
            raise Overloaded("too many servers are being asked; try again", retry_after=1.0) from None
        thread = self._threads.submit(work)
        loop = asyncio.get_running_loop()

        def release(_: object) -> None:
            # Whoever waited, and the service as well, may be gone long before the thread is.
            if not loop.is_closed():
                loop.call_soon_threadsafe(self._free.release)

        thread.add_done_callback(release)
        return asyncio.wrap_future(thread)


def _answer(open_backend: Opener, opened: Opened, ask: Callable[[Backend], T]) -> T:
    try:
        backend = open_backend(opened.url, {**opened.properties, **opened.secrets})
        try:
            return ask(backend)
        finally:
            backend.close()
    except Malformed as error:
        words = _without_secrets(str(error), opened)
        raise InvalidArgument.of(Violation("filesystem.properties", words)) from None
    except OSError as error:
        words = _without_secrets(error.strerror or str(error) or type(error).__name__, opened)
        raise ServerUnusable(f"{shown(opened.url)} cannot be used: {words}") from None


def _is_occupied(backend: Backend, path: str) -> bool:
    try:
        if backend.stat(path).kind is not Kind.FOLDER:
            return True
        return bool(backend.list(path, limit=1).entries)
    except FileNotFoundError:
        return False


def _without_secrets(words: str, opened: Opened) -> str:
    """What a server says, which may be what it was told."""
    for secret in opened.secrets.values():
        if len(secret) >= SHORTEST_SECRET:
            words = words.replace(secret, "***")
    return "".join(letter if letter.isprintable() else " " for letter in words)[:500]
