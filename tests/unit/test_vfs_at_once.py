"""Two who use a file at once: nobody loses what the other one has written, or has open."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

from pf_backends.entries import Facts
from pf_backends.errors import unreachable
from pf_backends.local.backend import LocalBackend
from pf_backends.memory.backend import EVERYTHING, LIKE_OBJECTS, MemoryBackend
from pf_fuse.operations import TOP, Changes
from pf_fuse.staging.staged import Stage
from pf_fuse.vfs.freshness import Found
from pf_fuse.vfs.journal import Journal, Record
from pf_fuse.vfs.nodes import Node
from pf_fuse.vfs.owing import Bounds
from pf_fuse.vfs.tree import Tree
from support.vfs_site import ME, PATIENCE, Site, fails, got
from support.waiting import wait_until


@pytest.fixture(params=[EVERYTHING, LIKE_OBJECTS], ids=["folders", "objects"])
def backend(request: pytest.FixtureRequest) -> MemoryBackend:
    return MemoryBackend(capabilities=request.param)


@pytest.fixture
def clock() -> list[float]:
    return [100.0]


@pytest.fixture
def site(backend: MemoryBackend, tmp_path: Path, clock: list[float]) -> Iterator[Site]:
    site = Site(backend, tmp_path, clock=lambda: clock[0])
    yield site
    site.die()


def full(*_arguments: object, **_more: object) -> object:
    raise OSError(errno.ENOSPC, "the disk is full")


def test_who_writes_keeps_the_name_while_another_one_sets_what_is_kept_beside_it(
    site: Site, backend: MemoryBackend, tmp_path: Path
) -> None:
    backend.put("f", b"old")
    node = site.open("f", os.O_WRONLY)
    asked, goes_on = threading.Event(), threading.Event()

    def wait(operation: str, path: str) -> None:
        if (operation, path) == ("stat", "f") and not asked.is_set():
            asked.set()
            assert goes_on.wait(PATIENCE)

    backend.before = wait
    if backend.capabilities.modes:
        touched: object = site.vfs.setattr(ME, node, Changes(modified=10**18))
    else:
        touched = site.vfs.setxattr(node, b"user.colour", b"red", 0)
    assert asked.wait(PATIENCE)
    got(site.vfs.open(ME, node, os.O_WRONLY | os.O_TRUNC))
    site.put(node, b"new")
    goes_on.set()
    got(touched)
    site.close(node)
    site.close(node)
    assert backend.fetch("f", limit=99)[1] == b"new"
    assert not (tmp_path / "aside").exists()


def test_what_was_closed_is_kept_when_it_cannot_be_emptied(
    backend: MemoryBackend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    silent = [True]

    def refuse(operation: str, path: str) -> None:
        if operation == "put" and silent[0]:
            raise unreachable(path, "it is away")

    backend.before = refuse
    site = Site(backend, tmp_path, writeback=Bounds(1 << 20, 300.0, 100))
    node = site.create("f")
    site.put(node, b"precious")
    got(site.vfs.setattr(ME, node, Changes(modified=10**18)))
    site.close(node)
    with monkeypatch.context() as patch, fails(errno.ENOSPC):
        patch.setattr(os, "ftruncate", full)
        got(site.vfs.open(ME, node, os.O_WRONLY | os.O_TRUNC))
    silent[0] = False
    wait_until(lambda: bool(site.owing and not site.owing.owed.files))
    assert backend.fetch("f", limit=99)[1] == b"precious"
    site.die()


def test_what_cannot_be_made_takes_nothing_from_what_had_its_name(
    site: Site, backend: MemoryBackend, clock: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    node = site.create("f", os.O_RDWR)
    site.put(node, b"mine")
    got(site.vfs.fsync(node, False))
    backend.remove("f")
    clock[0] += 10
    assert site.names("") == []
    with monkeypatch.context() as patch, fails(errno.ENOSPC):
        patch.setattr(Stage, "begin", full)
        site.create("f")
    assert site.bytes_of(node) == b"mine"


@pytest.mark.parametrize(("what", "before"), [("mknod", 0), ("mknod", 1), ("create", 0), ("create", 1), ("create", 2)])
def test_no_record_that_cannot_be_written_leaves_a_name(
    site: Site, monkeypatch: pytest.MonkeyPatch, what: str, before: int
) -> None:
    """`before`: so many records of it were written."""
    real, written = Journal.put, list[object]()

    def put(journal: Journal, records: Iterable[Record]) -> None:
        if len(written) == before:
            full()
        written.append(records)
        real(journal, records)

    with monkeypatch.context() as patch, fails(errno.ENOSPC):
        patch.setattr(Journal, "put", put)
        if what == "mknod":
            got(site.vfs.mknod(ME, TOP, b"f", 0o100644))
        else:
            site.create("f", os.O_RDWR)
    assert site.names("") == []


@pytest.mark.parametrize(
    "ask", [lambda site: site.rename("f", "g"), lambda site: site.node("f")], ids=["rename", "look"]
)
def test_what_is_uploaded_between_finding_and_using_it_stays_what_it_is(
    site: Site, backend: MemoryBackend, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, ask: Callable[[Site], object]
) -> None:
    node = site.create("f", os.O_RDWR)
    site.put(node, b"first")
    find, once = Tree.find, [True]

    def found(tree: Tree, folder: Node, name: str) -> Found:
        told = find(tree, folder, name)
        if name == "f" and once.pop(0) if once else False:
            got(site.vfs.fsync(node, False))
        return told

    monkeypatch.setattr(Tree, "find", found)
    ask(site)
    site.put(node, b"second", 5)
    site.close(node)
    (entry,) = backend.list("").entries
    assert backend.fetch(entry.path, limit=99)[1] == b"firstsecond"
    assert not (tmp_path / "aside").exists()


def test_times_that_a_killed_process_has_set_are_not_taken_for_another_file(tmp_path: Path) -> None:
    (tmp_path / "place").mkdir()
    (tmp_path / "place" / "f").write_bytes(b"old")
    backend = LocalBackend(str(tmp_path / "place"))
    site = Site(backend, tmp_path)
    node = site.open("f", os.O_RDWR)
    backend.set_facts("f", Facts(modified=10**18))
    site.die()
    site = Site(backend, tmp_path)
    site.kernel.again = True
    got(site.vfs.setattr(ME, node, Changes(modified=10**18, by_handle=True)))
    site.kernel.again = False
    assert site.bytes_of(node) == b"old"
    site.put(node, b"new")
    site.close(node)
    assert (tmp_path / "place" / "f").read_bytes() == b"new"
    site.die()
