"""A folder is renamed file by file while others write, make and remove things in it: nothing of that is lost."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import pytest

from pf_backends.entries import Capabilities
from pf_backends.errors import failure, unreachable
from pf_backends.memory.backend import EVERYTHING, LIKE_OBJECTS, MemoryBackend
from pf_fuse.operations import TOP, Changes
from pf_fuse.vfs.owing import Bounds
from support.stacks import wait_until
from support.vfs_site import ME, PATIENCE, Site, fails, got

T = TypeVar("T")
OBJECTS, TREES = (LIKE_OBJECTS, "remove"), (EVERYTHING, "rename")
"""What a backend can do, and what it is asked amid a rename of a folder."""


class Store(MemoryBackend):
    """Stands still in the first operation of one kind until it is told to go on."""

    halts = ""

    def __init__(self, capabilities: Capabilities = LIKE_OBJECTS) -> None:
        super().__init__(capabilities=capabilities)
        self.asked, self.go = threading.Event(), threading.Event()
        self.fault: OSError | None = None
        self.before = self._halt

    def _halt(self, operation: str, path: str) -> None:
        if operation == self.halts and not self.asked.is_set():
            self.asked.set()
            assert self.go.wait(PATIENCE), path
            if self.fault:
                raise self.fault

    def has(self, path: str) -> bytes | None:
        try:
            return bytes(self.fetch(path, limit=1000)[1])
        except FileNotFoundError:
            return None


@pytest.fixture
def store() -> Store:
    return _filled(Store())


def _filled(store: Store) -> Store:
    store.make_folder("A")
    for path in ("A/f", "A/g", "other"):
        store.put(path, b"old")
    return store


@pytest.fixture
def site(store: Store, tmp_path: Path) -> Iterator[Site]:
    with serving(store, tmp_path) as made:
        yield made


@contextmanager
def serving(store: Store, folder: Path, writeback: Bounds | None = None) -> Iterator[Site]:
    site = Site(store, folder, writeback=writeback)
    yield site
    store.go.set()
    site.vfs.end()
    site.die()
    assert not list((folder / "aside").glob("*"))


@contextmanager
def moving(site: Site, store: Store, operation: str = "remove") -> Iterator[Future[None]]:
    """The block runs while A is renamed to B, which goes on after it."""
    store.halts = operation
    with ThreadPoolExecutor(1) as mover:
        moved = mover.submit(site.rename, "A", "B")
        try:
            assert store.asked.wait(PATIENCE)
            yield moved
        finally:
            store.go.set()
        if not store.fault:
            moved.result(PATIENCE)


@contextmanager
def beside() -> Iterator[Callable[[Callable[[], T]], Future[T]]]:
    with ThreadPoolExecutor(4) as others:
        yield others.submit


def waits(answer: object) -> bool:
    return isinstance(answer, Future) and not answer.done()


def write_and_close(site: Site, opened: object, node: int, data: bytes) -> None:
    if isinstance(opened, Future):
        opened.result(PATIENCE)
    site.put(node, data)
    site.close(node)


@pytest.mark.parametrize("operation", ["copy", "remove", "remove_folder"])
def test_what_is_written_and_closed_amid_it_is_found_afterwards(site: Site, store: Store, operation: str) -> None:
    node = site.node("A/f")
    with beside() as submit, moving(site, store, operation):
        opened = site.vfs.open(ME, node, os.O_WRONLY)
        written = submit(lambda: write_and_close(site, opened, node, b"NEW"))
        wait_until(lambda: written.done() or waits(opened))
        store.go.set()
        written.result(PATIENCE)
    assert (store.has("A/f"), store.has("B/f")) == (None, b"NEW")
    assert site.read("B/f") == b"NEW"
    assert site.names("") == ["B", "other"]


@pytest.mark.parametrize("operation", ["copy", "remove"])
def test_who_has_it_open_already_writes_to_what_is_renamed(site: Site, store: Store, operation: str) -> None:
    node = site.open("A/f", os.O_WRONLY)
    with beside() as submit, moving(site, store, operation):
        answer = site.vfs.write(node, 0, memoryview(b"NEW"), 0)
        closed = submit(lambda: write_and_close(site, answer, node, b"NEW"))
        wait_until(lambda: closed.done() or waits(answer))
        store.go.set()
        closed.result(PATIENCE)
    assert (store.has("A/f"), store.has("B/f")) == (None, b"NEW")


def test_who_has_written_before_goes_on_with_what_is_renamed(site: Site, store: Store) -> None:
    node = site.open("A/f", os.O_WRONLY)
    site.put(node, b"first")
    with moving(site, store):
        answer = site.vfs.write(node, 5, memoryview(b" second"), 0)
        assert waits(answer)
    got(answer)
    site.close(node)
    assert (store.has("A/f"), store.has("B/f")) == (None, b"first second")


@pytest.mark.parametrize("closed", [True, False])
@pytest.mark.parametrize(("can", "operation"), [OBJECTS, TREES])
def test_what_is_made_amid_it_is_found_afterwards(
    tmp_path: Path, can: Capabilities, operation: str, closed: bool
) -> None:
    store = _filled(Store(can))
    with serving(store, tmp_path) as site:
        folder = site.node("A")
        with moving(site, store, operation):
            made = site.vfs.create(ME, folder, b"new", 0o644, os.O_WRONLY)
            store.go.set()
            known = got(made)[0].attributes
            assert known
            site.put(known.node, b"precious")
            if closed:
                site.close(known.node)
        assert sorted(site.names("B")) == ["f", "g", "new"]
        assert site.node("B/new") == known.node
        if not closed:
            site.close(known.node)
        assert store.has("B/new") == b"precious"
        assert site.names("") == ["B", "other"]


def test_what_is_being_made_when_it_begins_is_found_afterwards(site: Site, store: Store) -> None:
    """The store is being asked whether there is such a file, and tells late that there is none."""
    folder, held, tell = site.node("A"), threading.Event(), threading.Event()

    def before(operation: str, path: str) -> None:
        if (operation, path) == ("stat", "A/new") and not held.is_set():
            held.set()
            assert tell.wait(PATIENCE)

    store.before = before
    made = site.vfs.create(ME, folder, b"new", 0o644, os.O_WRONLY)
    assert held.wait(PATIENCE)
    renamed = site.vfs.rename(ME, TOP, b"A", TOP, b"B", 0)
    assert waits(site.vfs.lookup(ME, folder, b"f"))
    tell.set()
    got(renamed)
    known = got(made)[0].attributes
    assert known
    site.put(known.node, b"precious")
    site.close(known.node)
    assert (store.has("A/new"), store.has("B/new")) == (None, b"precious")


def test_what_is_removed_amid_it_is_gone_afterwards(site: Site, store: Store) -> None:
    folder = site.node("A")
    site.node("A/g")
    with moving(site, store):
        removed = site.vfs.unlink(ME, folder, b"g")
        store.go.set()
        got(removed)
    assert (store.has("A/g"), store.has("B/g")) == (None, None)
    assert site.names("B") == ["f"]


def test_what_is_set_made_and_renamed_amid_it_is_so_afterwards(site: Site, store: Store) -> None:
    folder, node = site.node("A"), site.node("A/f")
    with moving(site, store):
        answers: list[Any] = [
            site.vfs.setattr(ME, node, Changes(size=1)),
            site.vfs.mkdir(ME, folder, b"sub", 0o755),
            site.vfs.rename(ME, folder, b"g", TOP, b"away", 0),
            site.vfs.rename(ME, TOP, b"other", folder, b"in", 0),
            site.vfs.setxattr(node, b"user.colour", b"red", 0),
        ]
        assert all(map(waits, answers))
        store.go.set()
        for answer in answers:
            got(answer)
    assert [store.has(path) for path in ("B/f", "away", "B/in")] == [b"o", b"old", b"old"]
    assert sorted(site.names("B")) == ["f", "in", "sub"]
    assert got(site.vfs.getxattr(site.node("B/f"), b"user.colour")) == b"red"


def test_the_folders_are_renamed_one_after_the_other(site: Site, store: Store) -> None:
    with moving(site, store):
        asked = [site.vfs.rename(ME, TOP, old, TOP, new, 0) for old, new in ((b"A", b"C"), (b"B", b"D"))]
        assert all(map(waits, asked))
    with fails(errno.ENOENT):
        got(asked[0])
    got(asked[1])
    assert (store.has("D/f"), site.names("")) == (b"old", ["D", "other"])


def test_who_waits_goes_on_when_the_renaming_fails(site: Site, store: Store) -> None:
    folder, node = site.node("A"), site.node("A/f")
    store.fault = failure(errno.EACCES, "A/f", "not yours")
    with moving(site, store, "copy") as moved:
        made = site.vfs.create(ME, folder, b"new", 0o644, os.O_WRONLY)
        opened = site.vfs.open(ME, node, os.O_WRONLY)
        assert waits(made)
        assert waits(opened)
        store.go.set()
        with fails(errno.EACCES):
            moved.result(PATIENCE)
        known = got(made)[0].attributes
        assert known
    write_and_close(site, opened, node, b"NEW")
    write_and_close(site, made, known.node, b"precious")
    assert (store.has("A/f"), store.has("A/new")) == (b"NEW", b"precious")


def test_after_a_renaming_that_failed_all_is_found_where_it_is(site: Site, store: Store) -> None:
    assert sorted(site.names("A")) == ["f", "g"]
    store.fault = unreachable("A/g", "no answer")
    with moving(site, store, "remove_folder") as moved:
        store.go.set()
        assert isinstance(moved.exception(PATIENCE), OSError)
    assert site.names("A") == []
    assert sorted(site.names("B")) == ["f", "g"]


@pytest.mark.parametrize("can", [LIKE_OBJECTS, EVERYTHING])
def test_what_lies_elsewhere_is_served_meanwhile(tmp_path: Path, can: Capabilities) -> None:
    store = _filled(Store(can))
    with serving(store, tmp_path) as site, moving(site, store, "remove" if can is LIKE_OBJECTS else "rename"):
        site.write("other", b"new")
        site.rename("other", "another")
        assert site.read("another") == b"new"
        assert not store.go.is_set()


def test_who_closes_or_syncs_does_not_wait_for_it(site: Site, store: Store) -> None:
    """More of them than workers, who would keep others from being served."""
    nodes = [site.open("A/f", os.O_RDWR), site.open("A/g")]
    site.put(nodes[0], b"new")
    with moving(site, store):
        assert site.bytes_of(nodes[0]) == b"new"
        got(site.vfs.fsync(nodes[0], False))
        site.vfs.sync()
        writes = [site.vfs.write(nodes[0], 3, memoryview(b"er"), 0) for _ in range(20)]
        for node in nodes:
            got(site.vfs.flush(node, 1))
        got(site.vfs.release(nodes[1], 0, 1))
        assert site.read("other") == b"old"
        assert all(map(waits, writes))
    for answer in writes:
        got(answer)
    site.close(nodes[0])
    assert store.has("B/f") == b"newer"


def test_who_reads_what_is_renamed_is_told_once_it_is_there(site: Site, store: Store) -> None:
    node = site.open("A/f")
    with moving(site, store, "remove_folder"):
        assert store.has("A/f") is None
        answer = site.vfs.read(node, 0, 10)
        store.go.set()
        assert isinstance(answer, Future)
        assert answer.result(PATIENCE) == b"old"
    site.close(node)


def test_a_renaming_does_not_wait_for_who_reads_once_it_is_done(site: Site, store: Store) -> None:
    store.put("C/f", b"more")
    node, at, go = site.open("C/f"), threading.Event(), threading.Event()
    faults = iter([unreachable("C/f", "no answer")])
    with moving(site, store):
        halt = store.before

        def before(operation: str, path: str) -> None:
            halt(operation, path)
            if operation == "read" and (fault := next(faults, None)):
                at.set()
                assert go.wait(PATIENCE)
                raise fault

        store.before = before
        answer = site.vfs.read(node, 0, 10)
        assert at.wait(PATIENCE)
        renamed = site.vfs.rename(ME, TOP, b"C", TOP, b"D", 0)
        go.set()
        got(renamed)
        assert isinstance(answer, Future)
        assert answer.result(PATIENCE) == b"more"
    site.close(node)


def test_who_forgets_and_closes_amid_it_does_not_have_it_fail(site: Site, store: Store) -> None:
    node = site.open("A/f")
    with moving(site, store):
        got(site.vfs.flush(node, 1))
        got(site.vfs.release(node, 0, 1))
        site.vfs.forget([(node, 100)])
    assert site.read("B/f") == b"old"


def test_what_is_not_uploaded_yet_is_renamed_too(store: Store, tmp_path: Path) -> None:
    with serving(store, tmp_path, writeback=Bounds(1 << 20, 300.0, 100)) as site:
        site.write("A/f", b"before")
        node = site.node("A/f")
        with beside() as submit, moving(site, store):
            opened = site.vfs.open(ME, node, os.O_WRONLY)
            written = submit(lambda: write_and_close(site, opened, node, b"NEW..."))
            wait_until(lambda: written.done() or waits(opened))
            store.go.set()
            written.result(PATIENCE)
        site.vfs.sync()
        assert (store.has("A/f"), store.has("B/f")) == (None, b"NEW...")


def test_a_folder_whose_kind_was_another_is_asked_for_again(site: Site, store: Store) -> None:
    """Nobody has been kept from it: it was taken for a file."""
    site.node("other")
    store.remove("other")
    store.put("other/f", b"of a folder")
    known = site.tree.at("other")
    assert known
    known.until = 0.0
    with fails(errno.ESTALE):
        site.rename("other", "else")
    assert store.has("other/f") == b"of a folder"
    site.rename("other", "else")
    assert store.has("else/f") == b"of a folder"


@pytest.mark.parametrize("what", ["eventfd", "watch"])
def test_a_folder_that_could_not_begin_to_be_renamed_is_there_for_all(
    store: Store, site: Site, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    """The machine has no descriptors left for a while."""

    def refuse(*_: object) -> int:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    site.node("A/f")
    with monkeypatch.context() as patch, fails(errno.EMFILE):
        patch.setattr(os if what == "eventfd" else site.kernel, what, refuse)
        site.rename("A", "B")
    assert site.read("A/f") == b"old"
    site.rename("A", "B")
    assert site.read("B/f") == b"old"
    assert store.has("A/f") is None
