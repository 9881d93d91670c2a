"""Filesystems, open: those that were used last stay so, since connections are dear."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import PurePosixPath
from threading import Lock
from typing import TypeVar

from paddleflow.problems import FileChanged, FileExists, FileNotFound, FileUnusable, Problem, ServerUnusable
from pf_backends.errors import Changed, Unreachable
from pf_backends.linked import LinkedBackend
from pf_backends.local.backend import LocalBackend
from pf_backends.port import Backend
from pf_fs.domain import Opened
from pf_fs.files.beneath import found, top
from pf_fs.ports import Folder
from pf_fs.servers import BackendServers, words_of
from pf_fs.service import Mount
from pf_fs.threads import Threads
from pf_kit.fields import shown

T = TypeVar("T")
Source = Folder | Opened

MOST_OPEN = 64


@dataclass(slots=True)
class _Held:
    backend: Backend
    users: int = 0


class OpenPlaces:
    """Fulfils `Places`."""

    def __init__(self, servers: BackendServers, threads: Threads) -> None:
        self._servers = servers
        self._threads = threads
        self._lock = Lock()
        self._held: OrderedDict[str, _Held] = OrderedDict()

    async def ask(self, mount: Mount, paths: Sequence[str], ask: Callable[[Backend], T]) -> T:
        """What a filesystem answers about paths. Raises what FileManagerService lists of files and servers."""
        sources = sources_of(mount)
        for source in sources:
            if isinstance(source, Opened):
                await self._servers.require_allowed(source)
        return await self._threads.run(mount.filesystem.id, lambda: self._answer(mount, paths, sources, ask))

    def _answer(self, mount: Mount, paths: Sequence[str], sources: Sequence[Source], ask: Callable[[Backend], T]) -> T:
        try:
            if isinstance(mount.source, Folder):
                for path in paths:
                    _require_shared(mount.source, path)
            with self._borrowed(mount) as backend:
                return ask(backend)
        except OSError as error:
            raise problem_of(str(error.filename or paths[0]), error, sources) from None

    @contextmanager
    def _borrowed(self, mount: Mount) -> Iterator[Backend]:
        held = self._held_of(mount)
        try:
            yield held.backend
        finally:
            with self._lock:
                held.users -= 1
                superfluous = self._superfluous()
            for each in superfluous:
                each.close()

    def _held_of(self, mount: Mount) -> _Held:
        key = key_of(mount)
        with self._lock:
            if (held := self._held.get(key)) is not None:
                held.users += 1
                self._held.move_to_end(key)
                return held
        made = _Held(self._opened(mount), 1)
        with self._lock:
            # Somebody may have been faster; then this one is closed by whoever finds it unused.
            self._held[key if key not in self._held else f"{key}:{id(made)}"] = made
        return made

    def _opened(self, mount: Mount) -> Backend:
        main = self._open(mount.source)
        links = {str(path): self._open(source) for path, source in mount.links}
        return LinkedBackend(main, links) if links else main

    def _open(self, source: Source) -> Backend:
        if isinstance(source, Opened):
            return self._servers.open(source)
        with top(source) as handle:
            return LocalBackend(f"/proc/self/fd/{handle}")

    def _superfluous(self) -> list[Backend]:
        unused = [key for key, held in self._held.items() if not held.users]
        return [self._held.pop(key).backend for key in unused[: max(0, len(self._held) - MOST_OPEN)]]


def sources_of(mount: Mount) -> Sequence[Source]:
    """All places whose files are in it."""
    return [mount.source, *(source for _, source in mount.links)]


def key_of(mount: Mount) -> str:
    """Another one as soon as something else is to be opened."""
    folders = [f"{each.device}.{each.inode}" for each in sources_of(mount) if isinstance(each, Folder)]
    # Whatever else changes about a filesystem or its links, changes its etag.
    return ":".join((mount.filesystem.id, mount.filesystem.etag, *folders))


def _require_shared(folder: Folder, path: str) -> None:
    """Raises FolderNotAllowed if a path leads into a folder of secrets by a link, PathEscapes if out of the folder."""
    with suppress(FileNotFound), top(folder) as handle, found(handle, PurePosixPath(path), follow=False):
        return


def problem_of(path: str, error: OSError, sources: Sequence[Source]) -> Problem:
    """What a backend says against a path, as a problem, without secrets."""
    words = words_of(error, _all_secrets(sources))
    match error:
        case Changed():
            return FileChanged(f"{shown(path)}: {words}")
        case Unreachable():
            return ServerUnusable(f"{shown(path)}: {words}")
        case FileNotFoundError():
            return FileNotFound(f"there is nothing at {shown(path)}")
        case FileExistsError():
            return FileExists(f"there is something at {shown(path)} already")
        case _:
            return FileUnusable(f"{shown(path)}: {words}")


def _all_secrets(sources: Sequence[Source]) -> Opened:
    secrets = {
        f"{number}/{name}": value
        for number, source in enumerate(sources)
        if isinstance(source, Opened)
        for name, value in source.secrets.items()
    }
    return Opened("", {}, secrets)
