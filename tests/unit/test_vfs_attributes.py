"""Extended attributes of files in a mount."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from pf_backends.entries import Facts
from pf_backends.memory.backend import EVERYTHING, LIKE_OBJECTS, MemoryBackend
from support.vfs_site import Site, fails, got


@pytest.fixture(params=[EVERYTHING, LIKE_OBJECTS], ids=["folders", "objects"])
def backend(request: pytest.FixtureRequest) -> MemoryBackend:
    return MemoryBackend(capabilities=request.param)


@pytest.fixture
def site(backend: MemoryBackend, tmp_path: Path) -> Iterator[Site]:
    site = Site(backend, tmp_path)
    yield site
    site.die()


def test_attributes_of_users_are_kept(site: Site, backend: MemoryBackend) -> None:
    site.write("f", b"some")
    node = site.node("f")
    got(site.vfs.setxattr(node, b"user.colour", b"red", os.XATTR_CREATE))
    with fails(errno.EEXIST):
        got(site.vfs.setxattr(node, b"user.colour", b"blue", os.XATTR_CREATE))
    assert got(site.vfs.getxattr(site.node("f"), b"user.colour")) == b"red"
    assert got(site.vfs.listxattr(site.node("f"))) == [b"user.colour"]
    got(site.vfs.removexattr(site.node("f"), b"user.colour"))
    with fails(errno.ENODATA):
        got(site.vfs.getxattr(site.node("f"), b"user.colour"))
    with fails(errno.ENODATA):
        got(site.vfs.removexattr(site.node("f"), b"user.colour"))
    assert backend.fetch("f", limit=10)[1] == b"some"


@pytest.mark.parametrize("flags", [os.O_RDONLY, os.O_WRONLY])
def test_a_new_file_can_be_asked_for_attributes_before_it_is_closed(site: Site, flags: int) -> None:
    node = site.create("new", flags)
    with fails(errno.ENODATA):
        got(site.vfs.getxattr(node, b"user.colour"))
    assert got(site.vfs.listxattr(node)) == []
    site.rename("new", "renamed")
    got(site.vfs.setxattr(node, b"user.colour", b"red", os.XATTR_CREATE))
    site.put(node, b"others than were uploaded for that")
    assert got(site.vfs.getxattr(node, b"user.colour")) == b"red"
    site.close(node)
    assert got(site.vfs.listxattr(site.node("renamed"))) == [b"user.colour"]


def test_a_file_that_is_written_anew_keeps_its_attributes_meanwhile(site: Site) -> None:
    site.write("f", b"some")
    got(site.vfs.setxattr(site.node("f"), b"user.colour", b"red", 0))
    with site.opening("f", os.O_WRONLY | os.O_TRUNC) as node:
        assert got(site.vfs.getxattr(node, b"user.colour")) == b"red"
    assert got(site.vfs.getxattr(site.node("f"), b"user.colour")) == b"red"


@pytest.mark.parametrize("flags", [os.O_RDONLY, os.O_RDWR, os.O_RDWR | os.O_TRUNC])
def test_what_only_the_store_knew_of_a_removed_file_nobody_tells_any_more(
    site: Site, backend: MemoryBackend, flags: int
) -> None:
    backend.put("f", b"some", facts=Facts(attributes={"user.colour": b"red"}))
    with site.opening("f", flags) as node:
        site.remove("f")
        with fails(errno.ESTALE):
            got(site.vfs.getxattr(node, b"user.colour"))
        with fails(errno.ESTALE):
            got(site.vfs.setxattr(node, b"user.size", b"small", 0))


@pytest.mark.parametrize("how", ["new", "new and synced"])
def test_a_new_file_that_was_removed_has_attributes_as_long_as_it_is_open(
    site: Site, backend: MemoryBackend, how: str
) -> None:
    node = site.create("f", os.O_RDWR)
    site.put(node, b"others")
    if how == "new and synced":
        got(site.vfs.setxattr(node, b"user.size", b"small", 0))
    site.remove("f")
    before = [b"user.size"] if how == "new and synced" else []
    assert got(site.vfs.listxattr(node)) == before
    with fails(errno.ENODATA):
        got(site.vfs.getxattr(node, b"user.colour"))
    with fails(errno.ENODATA):
        got(site.vfs.removexattr(node, b"user.colour"))
    got(site.vfs.setxattr(node, b"user.colour", b"red", os.XATTR_CREATE))
    with fails(errno.EEXIST):
        got(site.vfs.setxattr(node, b"user.colour", b"blue", os.XATTR_CREATE))
    assert got(site.vfs.getxattr(node, b"user.colour")) == b"red"
    assert got(site.vfs.listxattr(node)) == [*before, b"user.colour"]
    got(site.vfs.removexattr(node, b"user.colour"))
    assert got(site.vfs.listxattr(node)) == before
    site.close(node)
    assert not backend.list("").entries


def test_the_attributes_of_a_removed_file_are_not_those_of_the_next_of_its_name(site: Site) -> None:
    removed = site.create("f", os.O_RDWR)
    site.remove("f")
    got(site.vfs.setxattr(removed, b"user.colour", b"red", 0))
    site.write("f", b"another")
    assert got(site.vfs.listxattr(site.node("f"))) == []
    site.close(removed)
    assert got(site.vfs.listxattr(site.node("f"))) == []
