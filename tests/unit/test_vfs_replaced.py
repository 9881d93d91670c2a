"""Another machine replaces or removes what is open here: whoever has it open is not told of another version."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pf_backends.memory.backend import EVERYTHING, LIKE_OBJECTS, MemoryBackend
from pf_fuse.operations import Changes
from support.vfs_site import ME, Site, fails, got, one_after_another


@pytest.fixture(params=[EVERYTHING, LIKE_OBJECTS], ids=["folders", "objects"])
def backend(request: pytest.FixtureRequest) -> MemoryBackend:
    return MemoryBackend(capabilities=request.param)


@pytest.fixture
def clock() -> list[float]:
    return [100.0]


@pytest.fixture
def next_site(backend: MemoryBackend, tmp_path: Path, clock: list[float]) -> Iterator[Callable[[], Site]]:
    """The next process, each time."""
    yield from one_after_another(lambda: Site(backend, tmp_path, clock=lambda: clock[0]))


@pytest.fixture
def site(next_site: Callable[[], Site]) -> Site:
    return next_site()


@pytest.mark.parametrize("replaced", [True, False], ids=["replaced", "removed"])
def test_who_has_it_open_sees_the_size_that_was_opened(
    site: Site, backend: MemoryBackend, clock: list[float], replaced: bool
) -> None:
    backend.put("f", b"one")
    with site.opening("f") as node:
        if replaced:
            backend.put("f", b"another")
        else:
            backend.remove("f")
        clock[0] += 10
        told = got(site.vfs.getattr(ME, node)).attributes
        assert told
        assert (told.size, told.links) == (3, 0)


def test_what_is_kept_beside_another_version_is_not_changed_by_who_has_the_one_before_open(
    site: Site, backend: MemoryBackend
) -> None:
    def changed(node: int) -> object:
        if backend.capabilities.modes:
            return got(site.vfs.setattr(ME, node, Changes(mode=0o600)))
        return got(site.vfs.setxattr(node, b"user.colour", b"red", 0))

    backend.put("f", b"one")
    node = site.open("f", os.O_RDWR)
    backend.put("f", b"another one")
    with fails(errno.ESTALE):
        changed(node)
    again = site.node("f")
    assert again != node, "who asks by name is led to what lies there"
    changed(again)
    assert site.read("f") == b"another one"
    with fails(errno.ESTALE):
        site.put(node, b"ONE")
    site.close(node)
    assert backend.fetch("f", limit=99)[1] == b"another one"


def _theirs_amid(backend: MemoryBackend) -> None:
    """Another client writes right before something is set."""

    def before(operation: str, path: str) -> None:
        if operation == "set_facts":
            backend.put(path, b"theirs")

    backend.before = before


def test_who_sets_something_beside_what_another_client_has_just_written_does_not_go_on_with_that(
    site: Site, backend: MemoryBackend
) -> None:
    backend.put("f", b"one")
    node = site.open("f", os.O_RDWR)
    site.put(node, b"ONE")
    got(site.vfs.fsync(node, False))
    _theirs_amid(backend)
    with fails(errno.ESTALE):
        got(site.vfs.setxattr(node, b"user.colour", b"red", 0))
    with fails(errno.ESTALE):
        site.put(node, b"mine")
        site.close(node)
    assert backend.fetch("f", limit=99)[1] == b"theirs"
    assert backend.attributes("f").attributes == {}


def test_who_sets_something_of_what_is_read_reads_nothing_of_another_client(site: Site, backend: MemoryBackend) -> None:
    backend.put("f", b"my bytes")
    with site.opening("f") as node:
        _theirs_amid(backend)
        with fails(errno.ESTALE):
            got(site.vfs.setxattr(node, b"user.colour", b"red", 0))
        with fails(errno.ESTALE):
            site.bytes_of(node)


def test_a_file_without_a_name_keeps_its_size_when_its_process_is_killed(next_site: Callable[[], Site]) -> None:
    site = next_site()
    node = site.create("f", os.O_RDWR)
    site.put(node, b"x" * 100)
    site.remove("f")
    site = next_site()
    told = got(site.vfs.getattr(ME, node)).attributes
    assert told
    assert told.size == 100
    assert site.bytes_of(node) == b"x" * 100


def test_no_folder_takes_the_place_of_one_in_which_something_is_written(site: Site, backend: MemoryBackend) -> None:
    for folder in ("a", "b"):
        site.mkdir(folder)
    node = site.create("b/f")
    site.put(node, b"some")
    with fails(errno.ENOTEMPTY):
        site.rename("a", "b")
    with fails(errno.ENOTEMPTY):
        site.rmdir("b")
    site.close(node)
    assert backend.fetch("b/f", limit=99)[1] == b"some"


@pytest.mark.parametrize("flags", [os.O_RDONLY, os.O_RDWR])
def test_who_cuts_a_file_by_its_name_has_no_close_to_come(site: Site, backend: MemoryBackend, flags: int) -> None:
    backend.put("f", b"0123456789")
    with site.opening("f", flags):
        site.truncate("f", 3)
        assert backend.fetch("f", limit=99)[1] == b"012"
    assert site.read("f") == b"012"


def test_what_was_changed_here_can_be_removed_when_another_machine_has_removed_it(
    site: Site, backend: MemoryBackend
) -> None:
    backend.put("f", b"some")
    node = site.open("f", os.O_RDWR)
    site.put(node, b"more")
    backend.remove("f")
    site.remove("f")
    assert site.names("") == []
    site.close(node)
    assert site.names("") == []


def test_a_folder_that_another_machine_has_just_made_is_not_taken_for_a_file(
    site: Site, backend: MemoryBackend, clock: list[float]
) -> None:
    with pytest.raises(FileNotFoundError):
        site.known("f")
    backend.make_folder("f")
    clock[0] += 10
    with fails(errno.ESTALE):
        site.create("f", os.O_WRONLY | os.O_TRUNC)
    backend.put("f/g", b"")
    assert site.names("f") == ["g"]
