"""What programs may rely on when they open, read, write and close files of a mount."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path

import pytest

from pf_backends.entries import Condition
from pf_backends.memory.backend import LIKE_OBJECTS, MemoryBackend
from pf_fuse.operations import TOP
from pf_fuse.vfs.freshness import Freshness
from support.vfs_site import PATIENCE, Site, fails, got


@pytest.fixture
def backend() -> MemoryBackend:
    return MemoryBackend(capabilities=LIKE_OBJECTS)


@pytest.fixture
def clock() -> list[float]:
    return [100.0]


@pytest.fixture
def site(backend: MemoryBackend, tmp_path: Path, clock: list[float]) -> Iterator[Site]:
    site = Site(backend, tmp_path, clock=lambda: clock[0])
    yield site
    site.die()


def test_what_is_written_is_uploaded_when_it_is_closed_and_not_before(site: Site, backend: MemoryBackend) -> None:
    node = site.create("new")
    site.put(node, b"some")
    with pytest.raises(FileNotFoundError):
        backend.stat("new")
    assert site.size("new") == 4
    assert site.names("") == ["new"]
    site.close(node)
    assert backend.fetch("new", limit=10)[1] == b"some"


def test_a_failed_upload_is_told_to_who_closes_and_the_next_close_tries_again(
    site: Site, backend: MemoryBackend
) -> None:
    node = site.create("new")
    site.put(node, b"some")

    def fail(operation: str, _path: str) -> None:
        if operation == "put":
            raise OSError(errno.EIO, "the wire is cut")

    backend.before = fail
    with pytest.raises(OSError, match="wire is cut"):
        got(site.vfs.flush(node, 1))
    backend.before = lambda *_: None
    site.close(node)
    assert backend.fetch("new", limit=10)[1] == b"some"


def test_what_cannot_be_uploaded_at_the_end_is_put_aside(site: Site, backend: MemoryBackend, tmp_path: Path) -> None:
    node = site.create("new")
    site.put(node, b"some")

    def fail(operation: str, _path: str) -> None:
        if operation == "put":
            raise OSError(errno.EIO, "the wire is cut")

    backend.before = fail
    with pytest.raises(OSError, match="wire is cut"):
        site.close(node)
    (kept,) = (tmp_path / "aside").iterdir()
    assert kept.name.startswith("new")
    assert kept.read_bytes() == b"some"


def test_a_file_that_two_have_open_stays_what_was_opened(
    site: Site, backend: MemoryBackend, clock: list[float]
) -> None:
    backend.put("f", b"old bytes")
    node = site.open("f")
    backend.put("f", b"new")
    clock[0] += 2
    with site.opening("f") as other:
        assert other != node
        assert site.bytes_of(other) == b"new"
    with fails(errno.ESTALE):
        site.bytes_of(node)
    site.close(node)


def test_who_writes_upon_what_another_client_has_replaced_is_told_so(
    site: Site, backend: MemoryBackend, tmp_path: Path
) -> None:
    backend.put("f", b"old bytes")
    node = site.open("f", os.O_RDWR)
    site.put(node, b"OLD")
    backend.put("f", b"of another")
    with fails(errno.ESTALE):
        site.close(node)
    assert backend.fetch("f", limit=100)[1] == b"of another"
    (kept,) = (tmp_path / "aside").iterdir()
    assert kept.read_bytes() == b"OLD bytes"


def test_who_writes_all_anew_takes_the_place_of_whatever_is_there(site: Site, backend: MemoryBackend) -> None:
    backend.put("f", b"old bytes")
    node = site.open("f", os.O_WRONLY | os.O_TRUNC)
    backend.put("f", b"of another")
    site.put(node, b"mine")
    site.close(node)
    assert backend.fetch("f", limit=100)[1] == b"mine"


def test_of_two_who_make_a_file_that_must_be_new_one_does(site: Site, backend: MemoryBackend) -> None:
    node = site.create("f", os.O_WRONLY | os.O_EXCL)
    backend.put("f", b"of another", condition=Condition(absent=True))
    with fails(errno.ESTALE):
        site.close(node)
    assert backend.fetch("f", limit=100)[1] == b"of another"


def test_writing_waits_while_the_file_is_uploaded(site: Site, backend: MemoryBackend) -> None:
    node = site.create("f")
    site.put(node, b"first")
    begun, go_on = threading.Event(), threading.Event()

    def wait(operation: str, _path: str) -> None:
        if operation == "put":
            begun.set()
            assert go_on.wait(10)

    backend.before = wait
    flushing = site.vfs.flush(node, 1)
    assert begun.wait(10)
    writing = site.vfs.write(node, 5, memoryview(b" second"), 0)
    assert isinstance(writing, Future)
    go_on.set()
    assert writing.result(10) == 7
    got(flushing)
    assert backend.fetch("f", limit=100)[1] == b"first"
    site.close(node)
    assert backend.fetch("f", limit=100)[1] == b"first second"


def test_a_removed_file_can_still_be_written_and_read_by_who_has_it_open(site: Site, backend: MemoryBackend) -> None:
    node = site.create("f")
    site.put(node, b"some")
    site.remove("f")
    site.put(node, b" more", 4)
    assert site.bytes_of(node) == b"some more"
    site.close(node)
    assert not backend.list("").entries


@pytest.mark.parametrize("by", ["removing", "renaming"])
def test_what_goes_while_it_is_uploaded_does_not_come_back(site: Site, backend: MemoryBackend, by: str) -> None:
    site.write("other", b"other")
    node = site.create("f")
    site.put(node, b"some")
    begun, go_on = threading.Event(), threading.Event()

    def wait(operation: str, path: str) -> None:
        if (operation, path) == ("put", "f"):
            begun.set()
            assert go_on.wait(10)

    backend.before = wait
    flushing = site.vfs.flush(node, 1)
    assert begun.wait(10)
    threading.Timer(0.2, go_on.set).start()
    if by == "removing":
        site.remove("f")
    else:
        site.rename("other", "f")
    got(flushing)
    site.close(node)
    left = {entry.path: backend.fetch(entry.path, limit=10)[1] for entry in backend.list("").entries}
    assert left == ({"other": b"other"} if by == "removing" else {"f": b"other"})


def test_large_files_are_uploaded_in_parts(site: Site, backend: MemoryBackend) -> None:
    seen = list[str]()
    backend.before = lambda operation, _path: seen.append(operation)
    data = os.urandom(1 << 20) * 20
    node = site.create("large")
    for offset in range(0, len(data), 1 << 20):
        site.put(node, data[offset : offset + (1 << 20)], offset)
    site.close(node)
    assert seen.count("send") == 3
    assert backend.fetch("large", limit=1 << 30)[1] == data
    assert not backend.uploads("")


def test_many_names_of_one_folder_are_asked_for_together(
    site: Site, backend: MemoryBackend, clock: list[float]
) -> None:
    for number in range(200):
        backend.put(f"d/{number}", b"x")
    seen = list[str]()
    backend.before = lambda operation, _path: seen.append(operation)
    for number in range(200):
        site.known(f"d/{number}")
    assert seen.count("stat") < 20
    assert seen.count("list") == 1
    clock[0] += 2
    backend.before = lambda *_: None
    backend.remove("d/7")
    with pytest.raises(FileNotFoundError):
        site.known("d/7")


def test_a_huge_folder_is_never_kept_whole(backend: MemoryBackend, tmp_path: Path) -> None:
    for number in range(3000):
        backend.put(f"{number:05}", b"")
    site = Site(backend, tmp_path, freshness=Freshness(most=1000))
    assert site.names("") == [f"{number:05}" for number in range(3000)]
    site.die()


def test_a_reader_of_a_folder_sees_each_thing_once_whatever_is_made_and_removed(
    site: Site, backend: MemoryBackend
) -> None:
    for number in range(100):
        backend.put(f"{number:03}", b"")
    folder = site.node("")
    names, place = list[str](), 0
    while found := got(site.vfs.readdir(folder, place, 7)):
        names += [each.name.decode() for each in found]
        place = found[-1].place
        site.remove(names[-1])
        site.write(f"new-{len(names)}", b"")
        got(site.vfs.readdir(folder, 0, 5))
    assert names == [f"{number:03}" for number in range(100)]


def test_the_next_process_goes_on_with_what_is_open(
    site: Site, backend: MemoryBackend, tmp_path: Path, clock: list[float]
) -> None:
    backend.put("d/old", b"old bytes")
    reader = site.open("d/old")
    writer = site.create("d/new")
    site.put(writer, b"some")
    gone = site.create("gone")
    site.put(gone, b"kept")
    site.remove("gone")
    site.die()
    heir = Site(backend, tmp_path, clock=lambda: clock[0])
    assert heir.bytes_of(reader) == b"old bytes"
    heir.put(writer, b" more", 4)
    heir.close(writer)
    assert backend.fetch("d/new", limit=100)[1] == b"some more"
    assert heir.bytes_of(gone) == b"kept"
    assert heir.node("d/old") == reader
    heir.close(reader)
    heir.close(gone)
    heir.vfs.forget([(node, 1) for node in (reader, writer, gone)])
    assert not list((tmp_path / "stage").iterdir())


def test_what_others_have_open_stays_open_when_one_of_them_closes_it_after_a_restart(
    site: Site, backend: MemoryBackend, tmp_path: Path, clock: list[float]
) -> None:
    """How many had it open, the process before knew alone."""
    backend.put("f", b"old bytes")
    node = site.open("f")
    assert site.open("f") == node
    site.die()
    heir = Site(backend, tmp_path, clock=lambda: clock[0])
    heir.close(node)
    heir.die()
    third = Site(backend, tmp_path, clock=lambda: clock[0])
    assert third.bytes_of(node) == b"old bytes"
    third.die()


def test_what_was_written_and_not_uploaded_is_there_under_its_name_after_a_restart(
    site: Site, backend: MemoryBackend, tmp_path: Path, clock: list[float]
) -> None:
    node = site.create("f")
    site.put(node, b"some")
    site.die()
    heir = Site(backend, tmp_path, clock=lambda: clock[0])
    assert heir.size("f") == 4
    assert heir.names("") == ["f"]
    heir.rename("f", "g")
    heir.close(node)
    assert backend.fetch("g", limit=10)[1] == b"some"
    assert [entry.path for entry in backend.list("").entries] == ["g"]
    heir.die()


def test_a_mount_for_reading_refuses_each_change(backend: MemoryBackend, tmp_path: Path) -> None:
    backend.put("f", b"old")
    site = Site(backend, tmp_path, read_only=True)
    for change in (
        lambda: site.create("g"),
        lambda: site.mkdir("d"),
        lambda: site.remove("f"),
        lambda: site.rename("f", "g"),
        lambda: site.truncate("f", 0),
        lambda: site.open("f", os.O_WRONLY),
    ):
        with fails(errno.EROFS):
            change()
    assert site.read("f") == b"old"
    with fails(errno.ENOTSUP):
        got(site.vfs.getxattr(site.node("f"), b"security.selinux"))
    with fails(errno.EROFS):
        got(site.vfs.setxattr(site.node("f"), b"user.a", b"b", 0))
    assert got(site.vfs.listxattr(site.node("f"))) == []
    site.die()


def test_a_folder_that_is_written_to_all_the_time_is_listed_once(
    site: Site, backend: MemoryBackend, clock: list[float]
) -> None:
    lists = 0
    site.write("known", b"")

    def listed(operation: str, _path: str) -> None:
        nonlocal lists
        if operation == "list":
            lists += 1
            backend.before = lambda _operation, _path: None
            site.write("new", b"since it was asked")
            site.remove("known")
            backend.before = listed

    backend.before = listed
    clock[0] += 10
    assert site.names("") == ["new"]
    assert site.size("new") == 18
    assert site.names("") == ["new"]
    assert lists == 1


def test_what_is_changed_when_a_folder_was_just_listed_is_known(tmp_path: Path) -> None:
    backend = MemoryBackend()
    backend.put("f", b"old")
    site = Site(backend, tmp_path)
    asked, go = threading.Event(), threading.Event()

    def wait(operation: str, _path: str) -> None:
        if operation == "list":
            asked.set()
            assert go.wait(PATIENCE)

    backend.before = wait
    top = site.nodes[TOP]
    lister = threading.Thread(target=site.tree.list, args=(top,))
    lister.start()
    assert asked.wait(PATIENCE)
    with site.tree.lock:
        go.set()
        # It has what the backend told, and waits for the lock.
        lister.join(0.2)
        backend.before = lambda _operation, _path: None
        site.tree.put(top, "f", backend.put("f", b"newer"), 0.0)
    lister.join(PATIENCE)
    assert site.size("f") == len(b"newer")
    site.die()
