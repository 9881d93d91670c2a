"""What every backend promises of folders, links and other names of things."""

from __future__ import annotations

import errno

import pytest

from pf_backends.entries import Kind, Renames
from pf_backends.errors import Unsupported
from pf_backends.port import Backend
from support.backend_places import content, listed, names, put_all, walked


def test_a_folder_is_made_once(backend: Backend) -> None:
    made = backend.make_folder("f")
    assert (made.path, made.kind) == ("f", Kind.FOLDER)
    assert backend.stat("f") == made
    with pytest.raises(FileExistsError):
        backend.make_folder("f")
    backend.put("a", b"")
    with pytest.raises(FileExistsError):
        backend.make_folder("a")


def test_a_folder_is_removed_when_it_is_empty(backend: Backend) -> None:
    backend.make_folder("f")
    backend.put("f/a", b"")
    with pytest.raises(OSError, match="f") as refused:
        backend.remove_folder("f")
    assert refused.value.errno == errno.ENOTEMPTY
    backend.remove("f/a")
    backend.remove_folder("f")
    with pytest.raises(FileNotFoundError):
        backend.stat("f")


def test_a_file_is_not_removed_as_a_folder_nor_a_folder_as_a_file(backend: Backend) -> None:
    backend.make_folder("f")
    backend.put("a", b"")
    with pytest.raises(NotADirectoryError):
        backend.remove_folder("a")
    with pytest.raises(IsADirectoryError):
        backend.remove("f")
    assert names(listed(backend)) == ["a", "f"]


def test_a_folder_is_there_as_long_as_something_is_below_it(backend: Backend) -> None:
    if backend.capabilities.folders:
        return
    backend.put("f/g/a", b"")
    assert [backend.stat(path).kind for path in ("f", "f/g")] == [Kind.FOLDER] * 2
    assert names(listed(backend)) == ["f"]
    with pytest.raises(FileExistsError):
        backend.make_folder("f")
    with pytest.raises(OSError, match="f") as refused:
        backend.remove_folder("f")
    assert refused.value.errno == errno.ENOTEMPTY
    backend.remove("f/g/a")
    with pytest.raises(FileNotFoundError):
        backend.stat("f")


def test_a_file_is_renamed(backend: Backend) -> None:
    put_all(backend, ["a", "b"])
    if backend.capabilities.renames is Renames.NOTHING:
        with pytest.raises(Unsupported):
            backend.rename("a", "c")
        return
    version = backend.stat("a").version
    backend.make_folder("f")
    backend.rename("a", "f/c")
    assert backend.stat("f/c").version == version
    with pytest.raises(FileExistsError):
        backend.rename("f/c", "b", replace=False)
    backend.rename("f/c", "b")
    backend.rename("b", "d", replace=False)
    assert names(walked(backend)) == ["d", "f"]
    with pytest.raises(FileNotFoundError):
        backend.rename("a", "e")
    with pytest.raises(IsADirectoryError):
        backend.rename("d", "f")


def test_a_folder_is_renamed_with_all_in_it(backend: Backend) -> None:
    if backend.capabilities.renames is not Renames.TREES:
        return
    for folder in ("f", "f/g", "empty", "full"):
        backend.make_folder(folder)
    put_all(backend, ["f/a", "f/g/b", "full/c", "file"])
    for target, number in (("full", errno.ENOTEMPTY), ("file", errno.ENOTDIR), ("f/g/h", errno.EINVAL)):
        with pytest.raises(OSError, match=target) as refused:
            backend.rename("f", target)
        assert refused.value.errno == number
    backend.rename("f", "empty")
    assert names(walked(backend)) == ["empty", "empty/a", "empty/g", "empty/g/b", "file", "full", "full/c"]


def test_a_link_leads_where_it_leads_and_is_not_followed(backend: Backend) -> None:
    backend.put("a", b"abc")
    if not backend.capabilities.links:
        with pytest.raises(Unsupported):
            backend.make_link("l", "a")
        return
    made = backend.make_link("l", "some/where else")
    assert (made.kind, made.target, made.size) == (Kind.LINK, "some/where else", 15)
    assert backend.stat("l") == made
    assert made in listed(backend)
    assert made in walked(backend)
    with pytest.raises(FileExistsError):
        backend.make_link("a", "b")
    with pytest.raises(OSError, match="l"):
        backend.fetch("l", limit=10)
    backend.make_link("to-a", "a")
    backend.put("to-a", b"replaced")
    assert (content(backend, "a"), content(backend, "to-a")) == (b"abc", b"replaced")
    backend.remove("l")
    assert names(listed(backend)) == ["a", "to-a"]
