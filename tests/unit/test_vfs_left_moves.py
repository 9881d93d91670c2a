"""A folder whose renaming was cut off is renamed wholly, and what does not lie in it is served meanwhile."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from pf_backends.entries import Page
from pf_backends.errors import failure, unreachable
from pf_backends.memory.backend import LIKE_OBJECTS, MemoryBackend
from pf_fuse.operations import TOP
from pf_fuse.staging.notes import Notes
from pf_fuse.staging.renaming import Move
from pf_fuse.vfs import left, moves
from support.stacks import wait_until
from support.vfs_site import ME, PATIENCE, Site, fails, got

FILES = {f"d/{number}": b"%d" % number for number in range(4)}


class Store(MemoryBackend):
    """Copies nothing until it is told to."""

    def __init__(self) -> None:
        super().__init__(capabilities=LIKE_OBJECTS)
        self.asked = threading.Event()
        self.open = threading.Event()
        self.before = self._wait

    def _wait(self, operation: str, path: str) -> None:
        if operation == "copy":
            self.asked.set()
            assert self.open.wait(PATIENCE), path


class SlowLists(Store):
    """Its lists take long to come, and tell what there was when they were asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.listed, self.told = threading.Event(), threading.Event()

    def _wait(self, operation: str, path: str) -> None:
        super()._wait("copy" if operation == "make_folder" else operation, path)

    def list(self, folder: str, *, rest: str = "", limit: int = 1000) -> Page:
        found = super().list(folder, rest=rest, limit=limit)
        if folder in ("", "new"):
            self.listed.set()
            assert self.told.wait(PATIENCE), folder
        return found


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """Of a folder, half was renamed."""
    made = Store()
    for path, data in FILES.items():
        made.put(path, data)
    made.put("other/f", b"other")
    made.put("e/0", made.fetch("d/0", limit=10)[1])
    made.remove("d/0")
    Notes(tmp_path / "moves", Move, lambda: "note").write(Move("d", "e"))
    return made


@pytest.fixture
def sites(store: Store, tmp_path: Path) -> Iterator[Callable[[], Site]]:
    made: list[Site] = []

    def make() -> Site:
        made.append(Site(store, tmp_path))
        return made[-1]

    yield make
    store.open.set()
    for site in made:
        site.vfs.end()
        site.die()


def done(answer: object) -> bool:
    return not isinstance(answer, Future) or answer.done()


def test_what_lies_elsewhere_is_served_meanwhile(store: Store, sites: Callable[[], Site]) -> None:
    site = sites()
    assert store.asked.wait(PATIENCE)
    assert site.read("other/f") == b"other"
    site.write("new", b"new")
    site.mkdir("made")
    assert {"d", "e", "other", "new", "made"} >= set(site.names("")) >= {"other", "new", "made"}
    assert not store.open.is_set()


@pytest.mark.parametrize("path", ["d", "d/1", "e", "e/0", "e/none"])
def test_what_lies_in_it_waits_and_is_found_where_it_is_then(
    store: Store, sites: Callable[[], Site], path: str
) -> None:
    site = sites()
    folder, _, name = path.partition("/")
    found = site.vfs.lookup(ME, TOP, folder.encode())
    assert not done(found)
    store.open.set()
    known = got(found)
    assert bool(known.attributes) == (folder == "e")
    if known.attributes and name:
        there = got(site.vfs.lookup(ME, known.attributes.node, name.encode()))
        assert bool(there.attributes) == (name != "none")
    assert sorted(site.names("e")) == ["0", "1", "2", "3"]
    assert site.names("") == ["e", "other"]


def test_what_is_written_there_meanwhile_is_not_replaced(store: Store, tmp_path: Path) -> None:
    """Somebody had it open before."""
    before = Site(store, tmp_path / "own")
    node = before.open("d/1", os.O_WRONLY)
    before.put(node, b"before", 0)
    got(before.vfs.flush(node, 1))
    before.die()
    (tmp_path / "moves").rename(tmp_path / "own/moves-left")
    (tmp_path / "own/moves").rmdir()
    (tmp_path / "own/moves-left").rename(tmp_path / "own/moves")
    site = Site(store, tmp_path / "own")
    assert store.asked.wait(PATIENCE)
    written = site.vfs.write(node, 0, memoryview(b"afterwards"), 0)
    flushed = site.vfs.flush(node, 1)
    assert not done(written)
    assert not done(flushed)
    store.open.set()
    assert got(written) == len(b"afterwards")
    got(flushed)
    got(site.vfs.flush(node, 1))
    assert bytes(store.fetch("e/1", limit=100)[1]) == b"afterwards"
    with pytest.raises(FileNotFoundError):
        store.stat("d/1")
    got(site.vfs.release(node, 0, 1))
    site.vfs.end()
    site.die()


def test_the_request_that_was_cut_off_succeeds_when_it_comes_again(store: Store, sites: Callable[[], Site]) -> None:
    site = sites()
    site.kernel.again = True
    asked = site.vfs.rename(ME, TOP, b"d", TOP, b"e", 0)
    site.kernel.again = False
    assert not done(asked)
    store.open.set()
    got(asked)
    assert site.names("") == ["e", "other"]


@pytest.mark.parametrize("target", ["e", "new/deep/e"])
def test_a_list_that_was_asked_for_before_the_end_of_it_is_asked_for_again(tmp_path: Path, target: str) -> None:
    store = SlowLists()
    store.put("d/0", b"0")
    store.put("new/f", b"new")
    Notes(tmp_path / "moves", Move, lambda: "note").write(Move("d", target))
    site = Site(store, tmp_path)
    assert store.asked.wait(PATIENCE)
    listed, _, _ = target.rpartition("e")
    folder, seen = ("new", ["deep", "f"]) if listed else ("", ["e", "new"])
    with ThreadPoolExecutor(1) as reader:
        names = reader.submit(site.names, folder)
        assert store.listed.wait(PATIENCE)
        store.open.set()
        # It waits until all is renamed.
        assert got(site.vfs.lookup(ME, TOP, b"d")).attributes is None
        store.told.set()
        assert names.result(PATIENCE) == seen
    site.vfs.end()
    site.die()


def test_a_folder_above_is_not_renamed_or_removed_meanwhile(store: Store, tmp_path: Path) -> None:
    Notes(tmp_path / "deep/moves", Move, lambda: "note").write(Move("other/a/b", "other/a/c"))
    store.put("other/a/b/f", b"deep")
    site = Site(store, tmp_path / "deep")
    assert store.asked.wait(PATIENCE)
    asked = site.vfs.rename(ME, TOP, b"other", TOP, b"another", 0)
    assert not done(asked)
    store.open.set()
    got(asked)
    assert site.read("another/a/c/f") == b"deep"
    site.vfs.end()
    site.die()


def test_who_waits_too_long_is_told_so(
    store: Store, sites: Callable[[], Site], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(moves, "PATIENCE", 0.2)
    site = sites()
    assert store.asked.wait(PATIENCE)
    with fails(errno.ETIMEDOUT):
        got(site.vfs.lookup(ME, TOP, b"d"))
    assert site.read("other/f") == b"other"


def test_a_store_that_does_not_answer_is_asked_again(store: Store, sites: Callable[[], Site], tmp_path: Path) -> None:
    failures = iter([unreachable("d", "no answer")])

    def before(operation: str, _path: str) -> None:
        if operation == "walk" and (error := next(failures, None)):
            raise error

    store.before = before
    site = sites()
    assert site.read("e/3") == b"3"
    assert not list((tmp_path / "moves").iterdir())


def test_what_passes_does_not_leave_a_part_of_it(
    store: Store, sites: Callable[[], Site], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The machine has no descriptors left for a while."""
    monkeypatch.setattr(left, "_FIRST_PAUSE", 0.1)
    failures = iter([OSError(errno.EMFILE, os.strerror(errno.EMFILE))])

    def before(operation: str, path: str) -> None:
        if operation == "copy" and path == "d/2" and (error := next(failures, None)):
            raise error

    store.before = before
    assert sorted(sites().names("e")) == ["0", "1", "2", "3"]
    wait_until(lambda: not list((tmp_path / "moves").iterdir()))


def test_a_fault_of_one_attempt_has_nobody_wait_for_ever(
    store: Store, sites: Callable[[], Site], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(left, "_FIRST_PAUSE", 0.1)
    faults = iter([RuntimeError("can't start new thread")])

    def before(operation: str, _path: str) -> None:
        if operation == "walk" and (fault := next(faults, None)):
            raise fault

    store.before = before
    assert sorted(sites().names("e")) == ["0", "1", "2", "3"]


def test_what_the_store_refuses_is_given_up(store: Store, sites: Callable[[], Site], tmp_path: Path) -> None:
    """Nothing is renamed later under who writes there."""

    def refuse(operation: str, path: str) -> None:
        if operation == "copy":
            raise failure(errno.EACCES, path, "not yours")

    store.before = refuse
    site = sites()
    assert site.read("d/3") == b"3"
    assert site.read("e/0") == b"0"
    assert not list((tmp_path / "moves").iterdir())


def test_what_is_not_renamed_by_the_end_is_left_for_the_next_process(store: Store, tmp_path: Path) -> None:
    store.before = lambda _operation, path: (_ for _ in ()).throw(unreachable(path, "no answer"))
    site = Site(store, tmp_path)
    site.vfs.end()
    site.die()
    store.before = lambda _operation, _path: None
    after = Site(store, tmp_path)
    assert after.names("e") == ["0", "1", "2", "3"]
    wait_until(lambda: not list((tmp_path / "moves").iterdir()))
    after.vfs.end()
    after.die()
