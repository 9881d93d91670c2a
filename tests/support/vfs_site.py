"""A tree of files over a backend, used as a kernel would use it: names are looked up, nodes are opened."""

from __future__ import annotations

import errno
import os
import select
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import TypeVar

import pytest

from pf_backends.entries import Entry, Upload
from pf_backends.port import Backend
from pf_fuse.coming import Coming
from pf_fuse.compose import patient
from pf_fuse.operations import TOP, Answer, Bytes, Caller, Changes, Kernel, Known, Opened
from pf_fuse.staging.notes import Notes
from pf_fuse.staging.renaming import Move, Renamer
from pf_fuse.staging.staged import Stage
from pf_fuse.staging.uploading import Uploader
from pf_fuse.threads import crew
from pf_fuse.vfs.attributes import Look
from pf_fuse.vfs.bringing import Bringing
from pf_fuse.vfs.changing import Changing
from pf_fuse.vfs.extras import Extras
from pf_fuse.vfs.freshness import Freshness
from pf_fuse.vfs.journal import Journal
from pf_fuse.vfs.keeping import Keeping
from pf_fuse.vfs.looking import Looking
from pf_fuse.vfs.nodes import Nodes
from pf_fuse.vfs.owing import Bounds, Owing
from pf_fuse.vfs.quota import Counter, Limits, Quota
from pf_fuse.vfs.reading import Reading
from pf_fuse.vfs.sessions import Sessions
from pf_fuse.vfs.settling import Settling
from pf_fuse.vfs.tree import Tree
from pf_fuse.vfs.vfs import Vfs
from pf_fuse.vfs.writing import Writing

T = TypeVar("T")
ME = Caller(1000, 1000, 1)
LOOK = Look(1000, 1000, 1)
PATIENCE = 20.0


def got(answer: Answer[T]) -> T:
    """What was answered, at once or later."""
    return answer.result(PATIENCE) if isinstance(answer, Future) else answer


@contextmanager
def fails(number: int) -> Iterator[None]:
    """The block fails with this number."""
    with pytest.raises(OSError, match=r".*") as caught:
        yield
    assert caught.value.errno == number, caught.value


@dataclass
class Straight:
    """Bytes straight from a backend, each time."""

    backend: Backend
    workers: ThreadPoolExecutor

    def open(self, entry: Entry) -> StraightContent:
        return StraightContent(self, entry)

    def at_hand(self, entry: Entry) -> bool:
        return False

    def bring(self, entry: Entry) -> Entry | None:
        return None

    def begin(self, kernel: Kernel) -> None: ...

    def alone(self) -> None: ...

    def coming(self, entry: Entry) -> Coming | None:
        return None


@dataclass
class StraightContent:
    contents: Straight
    entry: Entry

    def read(self, offset: int, size: int) -> Answer[Bytes]:
        return self.contents.workers.submit(self._read, offset, size)

    def whole(self) -> int | None:
        return None

    def close(self) -> None:
        pass

    def _read(self, offset: int, size: int) -> bytes:
        into = bytearray(size)
        found = self.contents.backend.read(self.entry.path, offset, memoryview(into), version=self.entry.version)
        return bytes(into[:found])


@dataclass
class PlainKernel:
    """One that reads nothing by itself."""

    passthrough: bool = False
    zero_open: bool = False
    again: bool = False
    forgotten: list[int] = field(default_factory=list)
    watched: set[int] = field(default_factory=set)

    def register(self, descriptor: int) -> int:
        raise OSError(errno.EPERM, "not here", str(descriptor))

    def unregister(self, backing: int) -> None: ...

    def forget_data(self, node: int) -> None:
        self.forgotten.append(node)

    def forget_name(self, folder: int, name: bytes) -> None: ...

    def watch(self, descriptor: int, heard: Callable[[], None]) -> None:
        self.watched.add(descriptor)
        threading.Thread(target=self._listen, args=(descriptor, heard), daemon=True).start()

    def unwatch(self, descriptor: int) -> None:
        self.watched.discard(descriptor)

    def settle(self) -> None: ...

    def _listen(self, descriptor: int, heard: Callable[[], None]) -> None:
        while descriptor in self.watched:
            select.select([descriptor], [], [], PATIENCE)
            heard()


class Site:
    """One process that serves a mount; `end` and another one in the same folder is the next."""

    def __init__(
        self,
        backend: Backend,
        folder: Path,
        *,
        freshness: Freshness | None = None,
        clock: Callable[[], float] | None = None,
        read_only: bool = False,
        resumed: bool = True,
        quota: Quota | None = None,
        workers: int = 8,
        writeback: Bounds | None = None,
    ) -> None:
        names = count()
        self.kernel = PlainKernel()
        self.workers = crew(workers, "ask")
        senders = ThreadPoolExecutor(4)
        new_name = lambda: f"{os.getpid()}-{id(self)}-{next(names)}"  # noqa: E731
        stage = Stage(folder / "stage", new_name)
        self.nodes = Nodes(Journal(folder / "nodes", lasting=writeback is not None), stage, resumed=resumed)
        self.tree = Tree(backend, self.nodes, freshness or Freshness(), clock or (lambda: 0.0))
        contents = Straight(backend, ThreadPoolExecutor(2))
        self.quota = quota = Quota(Limits()) if quota is None else quota
        sessions, self.counter = Sessions(self.nodes, contents), Counter(backend, self.tree, quota)
        space = lambda: quota.space(backend.space())  # noqa: E731
        looking = Looking(self.tree, self.workers, LOOK, contents, space, lambda: self.kernel.zero_open)
        reading = Reading(self.tree, sessions, contents, self.workers)
        uploader = Uploader(backend, Notes(folder / "uploads", Upload, new_name), senders)
        renamer = Renamer(backend, Notes(folder / "moves", Move, new_name, lasting=True), senders)
        uploader.clean()
        keeping = Keeping(backend, self.tree, sessions)
        self.owing: Owing | None = None
        writing = changing = None
        if not read_only:
            bringing = Bringing(self.tree, sessions)
            settling = Settling(self.tree, sessions, bringing, uploader, quota, aside=folder / "aside")
            can = backend.capabilities
            owing = self.owing = (
                Owing(self.tree, sessions, settling, writeback, clock or time.monotonic) if writeback else None
            )
            writing = Writing(
                self.tree, looking, sessions, bringing, settling, self.workers, can=can, quota=quota, owing=owing
            )
            changing = Changing(
                backend, self.tree, looking, sessions, keeping, settling, writing, renamer, self.workers
            )
        extras = Extras(backend, self.tree, keeping, writing.settle if writing else lambda _: None, self.workers)
        vfs = Vfs(looking, reading, sessions, extras, writing, changing, lambda: None)
        self.vfs, self.upload_left = patient(vfs, self.tree, changing), vfs.upload_left
        self.vfs.begin(self.kernel)

    def die(self) -> None:
        """Nothing is finished."""
        if self.owing:
            self.owing.end()
        self.workers.shutdown()

    def known(self, path: str) -> Known:
        """What lies at a path, looked up name by name; FileNotFoundError if there is nothing."""
        node, known = TOP, None
        for name in path.split("/") if path else ():
            known = got(self.vfs.lookup(ME, node, os.fsencode(name)))
            if known.attributes is None:
                raise FileNotFoundError(errno.ENOENT, "nothing there", path)
            node = known.attributes.node
        return known or got(self.vfs.getattr(ME, TOP))

    def node(self, path: str) -> int:
        attributes = self.known(path).attributes
        assert attributes
        return attributes.node

    def place(self, path: str) -> tuple[int, bytes]:
        """The folder's node and the name."""
        folder, _, name = path.rpartition("/")
        return self.node(folder), os.fsencode(name)

    def size(self, path: str) -> int:
        attributes = self.known(path).attributes
        assert attributes
        return attributes.size

    def create(self, path: str, flags: int = os.O_WRONLY) -> int:
        """The node of a file that is open now."""
        known, _ = got(self.vfs.create(ME, *self.place(path), 0o644, flags))
        assert known.attributes
        return known.attributes.node

    def open(self, path: str, flags: int = os.O_RDONLY) -> int:
        """The node, open; looks again when what the name led to was replaced."""
        for _ in range(3):
            node = self.node(path)
            try:
                got(self.vfs.open(ME, node, flags))
            except OSError as error:
                if error.errno != errno.ESTALE:
                    raise
            else:
                return node
        raise OSError(errno.ESTALE, "replaced again and again", path)

    def opened(self, path: str, flags: int) -> Opened:
        return got(self.vfs.open(ME, self.node(path), flags))

    def close(self, node: int) -> None:
        try:
            got(self.vfs.flush(node, 1))
        except OSError as error:
            # The kernel would not have asked a second time.
            if error.errno != errno.ENOSYS:
                raise
        finally:
            got(self.vfs.release(node, 0, 1))

    @contextmanager
    def opening(self, path: str, flags: int = os.O_RDONLY) -> Iterator[int]:
        node = self.open(path, flags)
        yield node
        self.close(node)

    def put(self, node: int, data: bytes, offset: int = 0) -> None:
        assert got(self.vfs.write(node, offset, memoryview(data), 0)) == len(data)

    def write(self, path: str, data: bytes) -> None:
        """As `open(path, "wb")` does."""
        try:
            node = self.open(path, os.O_WRONLY | os.O_TRUNC)
        except FileNotFoundError:
            node = self.create(path)
        self.put(node, data)
        self.close(node)

    def read(self, path: str) -> bytes:
        with self.opening(path) as node:
            return self.bytes_of(node)

    def bytes_of(self, node: int) -> bytes:
        """All that an open file has."""
        answer = self.vfs.read(node, 0, 1 << 20)
        return bytes(answer.result(PATIENCE) if isinstance(answer, Future) else answer)

    def names(self, path: str, at_once: int = 100) -> Sequence[str]:
        node, place, names = self.node(path), 0, list[str]()
        got(self.vfs.opendir(ME, node))
        while found := got(self.vfs.readdir(node, place, at_once)):
            names += [os.fsdecode(each.name) for each in found]
            place = found[-1].place
        got(self.vfs.releasedir(node))
        return names

    def mkdir(self, path: str) -> None:
        got(self.vfs.mkdir(ME, *self.place(path), 0o755))

    def remove(self, path: str) -> None:
        got(self.vfs.unlink(ME, *self.place(path)))

    def rmdir(self, path: str) -> None:
        got(self.vfs.rmdir(ME, *self.place(path)))

    def rename(self, source: str, target: str, flags: int = 0) -> None:
        got(self.vfs.rename(ME, *self.place(source), *self.place(target), flags))

    def truncate(self, path: str, size: int) -> None:
        got(self.vfs.setattr(ME, self.node(path), Changes(size=size)))


def one_after_another(make: Callable[[], Site]) -> Iterator[Callable[[], Site]]:
    """Has the process before die for each new one, and the last in the end."""
    sites: list[Site] = []

    def following() -> Site:
        if sites:
            sites[-1].die()
        sites.append(make())
        return sites[-1]

    yield following
    sites[-1].die()
