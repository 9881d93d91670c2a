"""A mount beside a tmpfs: whatever is done to both has the same results, contents and errnos, also with others about.

What a store cannot do, and says so in docs/howto/mount.md, is not compared, but for its errno.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Literal

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule, run_state_machine_as_test

from paddleflow.mounting import MountOptions
from pf_backends.opening import Surroundings, open_backend
from pf_backends.port import Backend
from pf_backends.reach import ANYWHERE
from support.mounts import new_mount

PATHS = st.sampled_from(["", "a", "b", "a/a", "a/b", "b/a", "a/a/a"])
FLAGS = st.builds(
    lambda access, more: access | sum(more),
    st.sampled_from([os.O_RDONLY, os.O_WRONLY, os.O_RDWR]),
    st.sets(st.sampled_from([os.O_CREAT, os.O_EXCL, os.O_TRUNC, os.O_APPEND, os.O_DIRECTORY, os.O_NOFOLLOW])),
)
CHANGING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
"""What others see only once it is closed: also a new file, and one that was emptied."""
BYTES = st.binary(max_size=40)
PLACES = st.integers(0, 60)
SLOTS = st.integers(0, 3)
NAMES = st.sampled_from(["user.a", "user.b"])
Kind = Literal["folder", "objects"]


@dataclass(frozen=True)
class Site:
    """A place that is mounted twice."""

    kind: Kind
    first: Path
    second: Path
    backend: Backend
    runs: Iterator[int]


@dataclass(frozen=True)
class Handle:
    """The same file, open in the mount and in its twin."""

    here: int
    there: int
    changes: bool


def outcome(work: Callable[[], object]) -> object:
    try:
        return work()
    except OSError as error:
        return errno.errorcode[error.errno or 0]


class Twins(RuleBasedStateMachine):
    """Everything is done in both."""

    def __init__(self, site: Site) -> None:
        super().__init__()
        self.site = site
        self.run = f"{next(site.runs)}"
        self.here, self.second = site.first / self.run, site.second / self.run
        self.there = Path(tempfile.mkdtemp(dir="/dev/shm"))
        self.there.chmod(0o755)
        self.here.mkdir(0o755)
        self.open: list[Handle] = []

    def teardown(self) -> None:
        while self.open:
            self.close(0)
        self.all_is_the_same()
        shutil.rmtree(self.there)

    @property
    def still(self) -> bool:
        """Nobody changes files, so that others may."""
        return not any(each.changes for each in self.open)

    def same(self, work: Callable[[Path], object]) -> object:
        here, there = outcome(lambda: work(self.here)), outcome(lambda: work(self.there))
        assert here == there
        return there

    def same_open(self, slot: int, work: Callable[[int], object]) -> None:
        if slot < len(self.open):
            handle = self.open[slot]
            assert outcome(lambda: work(handle.here)) == outcome(lambda: work(handle.there))

    @rule(path=PATHS)
    def mkdir(self, path: str) -> None:
        self.same(lambda top: (top / path).mkdir())

    @rule(path=PATHS)
    def rmdir(self, path: str) -> None:
        if path:
            self.same(lambda top: (top / path).rmdir())

    @rule(path=PATHS)
    def unlink(self, path: str) -> None:
        self.same(lambda top: (top / path).unlink())

    @rule(source=PATHS, aim=PATHS)
    def rename(self, source: str, aim: str) -> None:
        if source and aim:
            self.same(lambda top: bool((top / source).rename(top / aim)))

    @rule(path=PATHS, size=st.integers(-1, 60))
    def truncate(self, path: str, size: int) -> None:
        self.same(lambda top: os.truncate(top / path, size))

    @rule(path=PATHS)
    def listing(self, path: str) -> None:
        self.same(lambda top: sorted(each.name for each in (top / path).iterdir()))

    @rule(path=PATHS)
    def stat(self, path: str) -> None:
        self.same(lambda top: self.seen(os.lstat(top / path)))

    @rule(path=PATHS, mode=st.sampled_from([os.F_OK, os.R_OK, os.W_OK, os.R_OK | os.W_OK]))
    def access(self, path: str, mode: int) -> None:
        self.same(lambda top: os.access(top / path, mode))

    @rule(path=PATHS, aim=PATHS)
    def symlink(self, path: str, aim: str) -> None:
        if self.site.kind == "folder":
            self.same(lambda top: (top / path).symlink_to(aim or "."))
        elif path and not os.path.lexists(self.there / path) and (self.there / path).parent.is_dir():
            assert outcome(lambda: (self.here / path).symlink_to("x")) == "EPERM"

    @rule(path=PATHS)
    def readlink(self, path: str) -> None:
        self.same(lambda top: (top / path).readlink())

    @rule(path=PATHS, mode=st.sampled_from([0o600, 0o755, 0o4750]))
    def chmod(self, path: str, mode: int) -> None:
        self.same(lambda top: (top / path).chmod(mode))

    @rule(path=PATHS, name=NAMES, value=BYTES, flags=st.sampled_from([0, os.XATTR_CREATE, os.XATTR_REPLACE]))
    def setxattr(self, path: str, name: str, value: bytes, flags: int) -> None:
        if path and (self.there / path).is_file():
            self.same(lambda top: os.setxattr(top / path, name, value, flags))

    @rule(path=PATHS, name=NAMES)
    def getxattr(self, path: str, name: str) -> None:
        if (self.there / path).is_file():
            self.same(lambda top: os.getxattr(top / path, name))
            self.same(lambda top: sorted(os.listxattr(top / path)))

    @rule(path=PATHS, name=NAMES)
    def removexattr(self, path: str, name: str) -> None:
        if path and (self.there / path).is_file():
            self.same(lambda top: os.removexattr(top / path, name))

    @rule(path=PATHS, flags=FLAGS)
    def open_it(self, path: str, flags: int) -> None:
        if len(self.open) == 4:
            return
        found = list[int]()
        told = self.same(lambda top: found.append(os.open(top / path, flags, 0o640)))
        if told is None:
            self.open.append(Handle(found[0], found[1], bool(flags & CHANGING)))

    @rule(slot=SLOTS)
    def close(self, slot: int) -> None:
        if slot < len(self.open):
            handle = self.open.pop(slot)
            assert outcome(lambda: os.close(handle.here)) == outcome(lambda: os.close(handle.there))

    @rule(slot=SLOTS, length=PLACES, offset=PLACES)
    def pread(self, slot: int, length: int, offset: int) -> None:
        self.same_open(slot, lambda handle: os.pread(handle, length, offset))

    @rule(slot=SLOTS, data=BYTES, offset=PLACES)
    def pwrite(self, slot: int, data: bytes, offset: int) -> None:
        self.same_open(slot, lambda handle: os.pwrite(handle, data, offset))

    @rule(slot=SLOTS, data=BYTES)
    def write(self, slot: int, data: bytes) -> None:
        self.same_open(slot, lambda handle: os.write(handle, data))

    @rule(slot=SLOTS, offset=st.integers(-5, 60), whence=st.sampled_from([os.SEEK_SET, os.SEEK_CUR, os.SEEK_END]))
    def seek(self, slot: int, offset: int, whence: int) -> None:
        # Where folders stand is their own affair.
        if slot < len(self.open) and stat.S_ISREG(os.fstat(self.open[slot].there).st_mode):
            self.same_open(slot, lambda handle: os.lseek(handle, offset, whence))

    @rule(slot=SLOTS, size=PLACES)
    def ftruncate(self, slot: int, size: int) -> None:
        self.same_open(slot, lambda handle: os.ftruncate(handle, size))

    @rule(slot=SLOTS)
    def fsync(self, slot: int) -> None:
        self.same_open(slot, os.fsync)

    @rule(slot=SLOTS)
    def fstat(self, slot: int) -> None:
        self.same_open(slot, lambda handle: self.seen(os.fstat(handle)))

    @rule(path=PATHS, data=BYTES)
    def write_whole(self, path: str, data: bytes) -> None:
        self.same(lambda top: (top / path).write_bytes(data))

    @rule(path=PATHS)
    def read_whole(self, path: str) -> None:
        self.same(lambda top: (top / path).read_bytes())

    @precondition(lambda self: self.still)
    @rule(path=PATHS, data=BYTES)
    def the_second_mount_replaces(self, path: str, data: bytes) -> None:
        here = outcome(lambda: replaced(self.second, path, data))
        assert here == outcome(lambda: replaced(self.there, path, data))

    @precondition(lambda self: self.still)
    @rule(path=PATHS)
    def the_second_mount_removes(self, path: str) -> None:
        assert outcome((self.second / path).unlink) == outcome((self.there / path).unlink)

    @precondition(lambda self: not self.open)
    @rule(path=PATHS, data=BYTES)
    def the_place_is_changed(self, path: str, data: bytes) -> None:
        if path and not (self.there / path).is_symlink() and (self.there / path).is_file():
            self.site.backend.put(f"{self.run}/{path}", data)
            replaced(self.there, path, data)

    @precondition(lambda self: self.still)
    @rule()
    def all_is_the_same(self) -> None:
        assert tree(self.here, self.seen) == tree(self.second, self.seen) == tree(self.there, self.seen)

    def seen(self, found: os.stat_result) -> Sequence[int]:
        """What both have to tell the same of."""
        kind = stat.S_IFMT(found.st_mode)
        size = found.st_size if kind != stat.S_IFDIR else 0
        kept = (stat.S_IMODE(found.st_mode), found.st_uid, found.st_gid) if self.site.kind == "folder" else ()
        return (kind, size, *kept)


def replaced(top: Path, path: str, data: bytes) -> None:
    """As careful programs do."""
    beside = top / f"{path}.beside"
    beside.write_bytes(data)
    try:
        beside.rename(top / path)
    finally:
        beside.unlink(missing_ok=True)


def tree(top: Path, seen: Callable[[os.stat_result], Sequence[int]]) -> dict[str, object]:
    found: dict[str, object] = {}
    for path in sorted(top.rglob("*")):
        told = path.lstat()
        content = path.read_bytes() if stat.S_ISREG(told.st_mode) else None
        found[str(path.relative_to(top))] = (seen(told), content)
    return found


@contextmanager
def opened_site(kind: Kind, url: str, properties: Mapping[str, str]) -> Iterator[Site]:
    options = MountOptions(more={"lasts": 0.0})
    with ExitStack() as stack:
        mounts = [stack.enter_context(new_mount()) for _ in range(2)]
        for mount in mounts:
            mount.begin(url, properties, options)
        backend = open_backend(url, properties, Surroundings(reach=ANYWHERE))
        stack.callback(backend.close)
        yield Site(kind, mounts[0].place, mounts[1].place, backend, count())
        for mount in mounts:
            # Seen where the test failed.
            sys.stdout.write(mount.log[-4000:])


def tried(site: Site, examples: int) -> None:
    chosen = settings(
        max_examples=examples,
        stateful_step_count=40,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        database=None,
    )
    run_state_machine_as_test(lambda: Twins(site), settings=chosen)  # type: ignore[arg-type]  # whatever makes one
