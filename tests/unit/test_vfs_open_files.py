"""Files that are open go on being what they were, whatever becomes of their names and of what is kept beside them."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path

import pytest

from pf_backends.entries import Condition, Facts
from pf_backends.local.backend import LocalBackend
from pf_backends.memory.backend import EVERYTHING, LIKE_OBJECTS, MemoryBackend
from pf_backends.port import Backend
from pf_fuse.operations import TOP, Changes
from support.vfs_site import ME, Site, fails, got, one_after_another
from support.waiting import wait_until


@pytest.fixture(params=[EVERYTHING, LIKE_OBJECTS], ids=["folders", "objects"])
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Backend:
    if request.param == "in a folder":
        (tmp_path / "folder").mkdir()
        return LocalBackend(str(tmp_path / "folder"))
    return MemoryBackend(capabilities=request.param)


@pytest.fixture
def clock() -> list[float]:
    return [100.0]


@pytest.fixture
def next_site(backend: Backend, tmp_path: Path, clock: list[float]) -> Iterator[Callable[[], Site]]:
    """The next process, each time."""
    yield from one_after_another(lambda: Site(backend, tmp_path, clock=lambda: clock[0]))


@pytest.fixture
def site(next_site: Callable[[], Site]) -> Site:
    return next_site()


def fetched(backend: MemoryBackend, path: str) -> bytes:
    return bytes(backend.fetch(path, limit=1 << 20)[1])


@pytest.mark.parametrize("what", ["file", "folder"])
def test_a_reader_goes_on_with_what_is_renamed(
    site: Site, next_site: Callable[[], Site], backend: MemoryBackend, what: str
) -> None:
    site.mkdir("d")
    backend.put("d/f", b"some bytes")
    node = site.open("d/f")
    if what == "file":
        site.rename("d/f", "d/g")
    else:
        site.rename("d", "e")
    assert site.bytes_of(node) == b"some bytes"
    assert site.node("d/g" if what == "file" else "e/f") == node
    assert next_site().bytes_of(node) == b"some bytes"


def test_a_writer_goes_on_with_what_is_renamed(site: Site, backend: MemoryBackend, clock: list[float]) -> None:
    node = site.create("f")
    site.put(node, b"some")
    got(site.vfs.fsync(node, False))
    site.rename("f", "g")
    clock[0] += 2
    assert site.node("g") == node
    site.put(node, b" more", 4)
    site.close(node)
    assert fetched(backend, "g") == b"some more"
    assert [entry.path for entry in backend.list("").entries] == ["g"]


@pytest.mark.parametrize("by", ["removing", "renaming"])
def test_a_reader_goes_on_with_what_is_removed_or_replaced(site: Site, backend: MemoryBackend, by: str) -> None:
    backend.put("f", b"some bytes")
    backend.put("g", b"others")
    node = site.open("f")
    if by == "removing":
        site.remove("f")
    else:
        site.rename("g", "f")
    assert site.bytes_of(node) == b"some bytes"
    site.close(node)
    assert [fetched(backend, entry.path) for entry in backend.list("").entries] == [b"others"]


def test_what_is_removed_can_still_be_changed_by_who_has_it_open(site: Site, backend: MemoryBackend) -> None:
    backend.put("f", b"some bytes")
    node = site.open("f", os.O_RDWR)
    site.remove("f")
    known = got(site.vfs.setattr(ME, node, Changes(mode=0o600, size=4, modified=5)))
    assert known.attributes
    assert (known.attributes.size, known.attributes.modified, known.attributes.links) == (4, 5, 0)
    assert site.bytes_of(node) == b"some"
    site.close(node)


@pytest.mark.parametrize("flags", [os.O_RDWR, os.O_RDWR | os.O_TRUNC])
def test_what_is_kept_of_a_file_stays_when_it_is_written(site: Site, backend: MemoryBackend, flags: int) -> None:
    backend.put("f", b"old", facts=Facts(mode=0o4711, owner=(7, 8), attributes={"user.colour": b"red"}))
    node = site.open("f", flags)
    site.put(node, b"new")
    site.close(node)
    facts = backend.attributes("f")
    assert facts.attributes == {"user.colour": b"red"}
    if backend.capabilities.modes:
        assert (facts.mode, facts.owner) == (0o4711, (7, 8))
    assert fetched(backend, "f") == b"new"


def test_what_is_set_amid_writing_is_kept(site: Site, next_site: Callable[[], Site], backend: MemoryBackend) -> None:
    node = site.create("f")
    site.put(node, b"some")
    got(site.vfs.setxattr(node, b"user.colour", b"red", 0))
    got(site.vfs.setattr(ME, node, Changes(mode=0o600)))
    site.put(node, b" more", 4)
    got(site.vfs.setattr(ME, node, Changes(mode=0o640)))
    heir = next_site()
    heir.close(node)
    facts = backend.attributes("f")
    assert facts.attributes == {"user.colour": b"red"}
    assert facts.mode == (0o640 if backend.capabilities.modes else 0o644)
    assert fetched(backend, "f") == b"some more"


def test_a_time_that_is_set_lasts_until_the_file_is_written_again(site: Site, backend: MemoryBackend) -> None:
    node = site.create("f")
    site.put(node, b"some")
    got(site.vfs.setattr(ME, node, Changes(modified=5)))
    got(site.vfs.fsync(node, False))
    assert backend.stat("f").modified == 5
    site.put(node, b"more")
    site.close(node)
    assert backend.stat("f").modified > 5


@pytest.mark.parametrize("backend", ["in a folder"], indirect=True)
def test_closing_a_file_changes_no_time(site: Site, backend: MemoryBackend) -> None:
    times = set[int]()
    for _ in range(20):
        site.write("f", b"some")
        node = site.open("f", os.O_RDWR)
        site.put(node, b"S")
        known = got(site.vfs.getattr(ME, node))
        assert known.attributes
        site.close(node)
        assert backend.stat("f").modified == known.attributes.modified
        times.add(known.attributes.modified)
    assert len(times) == 20


def test_emptying_a_file_waits_for_its_upload(site: Site, backend: MemoryBackend) -> None:
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
    opening = site.vfs.open(ME, node, os.O_WRONLY | os.O_TRUNC)
    changing = site.vfs.setattr(ME, node, Changes(mode=0o600))
    assert isinstance(opening, Future)
    assert not opening.done()
    go_on.set()
    got(flushing)
    assert fetched(backend, "f") == b"first"
    opening.result(10)
    got(changing)
    assert site.size("f") == 0
    site.close(node)
    site.close(node)
    assert fetched(backend, "f") == b""
    assert backend.attributes("f").mode == (0o600 if backend.capabilities.modes else 0o644)


def test_what_the_backend_has_is_not_uploaded_again_by_the_next_process(
    site: Site, next_site: Callable[[], Site], backend: MemoryBackend, tmp_path: Path
) -> None:
    """Somebody else may have replaced it, and nothing of what is here would be lost."""
    node = site.create("f")
    site.put(node, b"some")
    got(site.vfs.fsync(node, False))
    heir = next_site()
    backend.put("f", b"of somebody else")
    heir.close(node)
    heir.vfs.forget([(node, 1)])
    assert fetched(backend, "f") == b"of somebody else"
    assert not (tmp_path / "aside").exists()
    assert not list((tmp_path / "stage").iterdir())


def test_what_arrived_and_was_not_told_is_no_change_of_somebody_else(
    site: Site, next_site: Callable[[], Site], backend: MemoryBackend, tmp_path: Path
) -> None:
    """The process was killed when the backend had it, and before it knew so."""
    node = site.create("f")
    site.put(node, b"some")
    got(site.vfs.fsync(node, False))
    site.put(node, b" more", 4)
    heir = next_site()
    backend.put("f", b"some more")
    got(heir.vfs.flush(node, 1))
    heir.put(node, b" still", 9)
    backend.put("f", b"of somebody else")
    with fails(errno.ESTALE):
        got(heir.vfs.flush(node, 1))
    assert fetched(backend, "f") == b"of somebody else"


def test_what_is_written_after_an_upload_is_not_lost_by_the_next_process(
    site: Site, next_site: Callable[[], Site], backend: MemoryBackend
) -> None:
    node = site.create("f")
    site.put(node, b"some")
    got(site.vfs.fsync(node, False))
    site.put(node, b" more", 4)
    heir = next_site()
    assert heir.size("f") == 9
    heir.close(node)
    assert fetched(backend, "f") == b"some more"


def test_what_was_written_and_not_flushed_is_uploaded_when_the_kernel_lets_go_of_it(
    site: Site, next_site: Callable[[], Site], backend: MemoryBackend
) -> None:
    """As with memory that is mapped: it is written after the file was closed."""
    node = site.create("f")
    heir = next_site()
    got(heir.vfs.flush(node, 1))
    heir.put(node, b"some")
    got(heir.vfs.release(node, 0, 1))
    assert fetched(backend, "f") == b"some"
    heir.put(node, b" more", 4)
    heir.vfs.forget([(node, 1)])
    heir.workers.shutdown()
    assert fetched(backend, "f") == b"some more"


def test_nothing_is_left_of_what_could_not_be_brought_here(site: Site, backend: MemoryBackend, tmp_path: Path) -> None:
    backend.put("f", b"some")
    node = site.open("f", os.O_RDWR)
    backend.put("f", b"of somebody else", condition=Condition())
    with fails(errno.ESTALE):
        site.put(node, b"S")
    site.close(node)
    assert not list((tmp_path / "stage").iterdir())


def test_who_opens_a_file_while_it_is_cut_keeps_it_open(site: Site, backend: MemoryBackend) -> None:
    backend.put("f", b"some bytes")
    begun, go_on = threading.Event(), threading.Event()

    def wait(operation: str, _path: str) -> None:
        if operation == "put":
            begun.set()
            assert go_on.wait(10)

    backend.before = wait
    cutting = site.vfs.setattr(ME, site.node("f"), Changes(size=4))
    assert begun.wait(10)
    node = site.open("f", os.O_RDWR)
    go_on.set()
    got(cutting)
    assert site.bytes_of(node) == b"some"
    site.put(node, b"S")
    site.close(node)
    assert fetched(backend, "f") == b"Some"


@pytest.mark.parametrize("backend", ["in a folder"], indirect=True)
def test_names_may_have_any_bytes(next_site: Callable[[], Site]) -> None:
    site, name = next_site(), os.fsdecode(b"caf\xe9")
    site.write(name, b"some")
    node = site.open(name, os.O_RDWR)
    site.put(node, b"S")
    got(site.vfs.fsync(node, False))
    assert next_site().bytes_of(node) == b"Some"


@pytest.mark.parametrize("backend", ["in a folder"], indirect=True)
def test_a_folder_has_another_time_as_soon_as_something_in_it_is_made(
    next_site: Callable[[], Site], backend: LocalBackend
) -> None:
    site = next_site()
    site.mkdir("d")
    site.names("")
    before = backend.stat("d").modified
    site.mkdir("d/e")
    attributes = site.known("d").attributes
    assert attributes
    assert attributes.modified == backend.stat("d").modified > before


def test_cutting_as_many_files_at_once_as_there_are_workers_ends(site: Site, backend: MemoryBackend) -> None:
    for number in range(40):
        backend.put(f"f{number}", b"some bytes")
    nodes = [site.node(f"f{number}") for number in range(40)]
    busy = threading.Event()
    for _ in range(8):
        site.workers.submit(busy.wait, 10)
    cutting = [site.vfs.setattr(ME, node, Changes(size=4)) for node in nodes]
    busy.set()
    for each in cutting:
        got(each)
    assert fetched(backend, "f39") == b"some"


def test_a_file_can_be_written_after_the_renaming_of_its_folder_failed(site: Site, backend: MemoryBackend) -> None:
    """Another file of the folder could not be uploaded, so that nothing was renamed."""
    site.mkdir("d")
    node, other = site.create("d/good"), site.create("d/bad")
    site.put(node, b"some")
    site.put(other, b"more")

    def refuse(operation: str, path: str) -> None:
        if operation == "put" and path == "d/bad":
            raise PermissionError(errno.EACCES, "not this one", path)

    backend.before = refuse
    with fails(errno.EACCES):
        site.rename("d", "e")
    site.put(node, b"S")
    site.close(node)
    assert fetched(backend, "d/good") == b"Some"
    backend.before = lambda _operation, _path: None
    site.close(other)


def test_what_is_removed_while_it_waits_to_be_uploaded_stays_removed(site: Site, backend: MemoryBackend) -> None:
    site.write("f", b"some")
    node = site.open("f", os.O_RDWR)
    site.put(node, b"more")
    removing, go_on = threading.Event(), threading.Event()

    def wait(operation: str, _path: str) -> None:
        if operation == "remove":
            removing.set()
            assert go_on.wait(10)

    # All workers but one are busy, so that the upload begins when the removal is under way.
    busy = threading.Event()
    for _ in range(7):
        site.workers.submit(busy.wait, 10)
    backend.before = wait
    held = threading.Event()
    site.workers.submit(held.wait, 10)
    removal = site.vfs.unlink(ME, TOP, b"f")
    flushing = site.vfs.flush(node, 1)
    held.set()
    assert removing.wait(10)
    busy.set()
    assert isinstance(flushing, Future)
    wait_until(flushing.running)
    go_on.set()
    flushing.result(10)
    got(removal)
    got(site.vfs.release(node, 0, 1))
    with fails(errno.ENOENT):
        backend.stat("f")


@pytest.mark.parametrize("resumed", [True, False])
def test_what_is_left_of_an_upload_that_had_ended_hides_nothing(
    backend: MemoryBackend, tmp_path: Path, resumed: bool
) -> None:
    """The process was killed before it removed what the backend had by then, which somebody else replaced."""
    site = Site(backend, tmp_path)
    node = site.create("f")
    site.put(node, b"some")
    got(site.vfs.fsync(node, False))
    if resumed:
        site.nodes.close(site.nodes[node])
    site.die()
    backend.put("f", b"of somebody else")
    heir = Site(backend, tmp_path, resumed=resumed)
    assert heir.read("f") == b"of somebody else"
    assert not list((tmp_path / "stage").iterdir())
    heir.die()
