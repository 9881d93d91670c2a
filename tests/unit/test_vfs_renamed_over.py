"""Another client makes something where something is renamed to: nobody's bytes are lost by that."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from pf_backends.entries import Capabilities
from pf_backends.memory.backend import EVERYTHING, LIKE_OBJECTS, MemoryBackend
from support.vfs_site import Site, fails, got

THEIRS = b"of another client"
NO_REPLACE = 1
"""RENAME_NOREPLACE, of renameat2."""


class Store(MemoryBackend):
    """Another client does something right before an operation of this one, once."""

    def __init__(self, capabilities: Capabilities) -> None:
        super().__init__(capabilities=capabilities)
        self.amid: dict[tuple[str, str], Callable[[], object]] = {}
        self.before = self._amid

    def _amid(self, operation: str, path: str) -> None:
        if disturb := self.amid.pop((operation, path), None):
            disturb()

    def theirs(self, path: str) -> None:
        folder = path.rpartition("/")[0]
        if folder:
            self.make_folder(folder)
        self.put(path, THEIRS)

    def has(self, path: str) -> bytes | None:
        try:
            return bytes(self.fetch(path, limit=1000)[1])
        except FileNotFoundError:
            return None


@pytest.fixture(params=[EVERYTHING, LIKE_OBJECTS], ids=["folders", "objects"])
def store(request: pytest.FixtureRequest) -> Store:
    return _filled(Store(request.param))


@pytest.fixture
def objects() -> Store:
    return _filled(Store(LIKE_OBJECTS))


def _filled(store: Store) -> Store:
    store.make_folder("A")
    for path in ("A/f", "a"):
        store.put(path, b"mine")
    return store


def _looked(store: Store, folder: Path, *names: str) -> Site:
    """There is nothing of these names for as long as that is taken for true."""
    site = Site(store, folder, clock=lambda: 100.0)
    for name in names:
        with pytest.raises(FileNotFoundError):
            site.node(name)
    return site


def test_a_folder_takes_the_place_of_none_that_another_client_has_just_filled(store: Store, tmp_path: Path) -> None:
    site = _looked(store, tmp_path, "B")
    store.theirs("B/f")
    with fails(errno.ENOTEMPTY):
        site.rename("A", "B")
    assert (store.has("A/f"), store.has("B/f")) == (b"mine", THEIRS)
    assert site.read("A/f") == b"mine"


def test_nor_of_one_that_is_filled_as_it_is_made(objects: Store, tmp_path: Path) -> None:
    site = _looked(objects, tmp_path, "B")
    objects.amid["make_folder", "B"] = lambda: objects.theirs("B/f")
    with fails(errno.EEXIST):
        site.rename("A", "B")
    assert (objects.has("A/f"), objects.has("B/f")) == (b"mine", THEIRS)


def test_what_another_client_puts_into_a_folder_amid_its_renaming_is_not_taken_for_a_copy(
    objects: Store, tmp_path: Path
) -> None:
    site = _looked(objects, tmp_path, "B")
    objects.amid["walk", "A"] = lambda: objects.put("B/f", THEIRS)
    site.rename("A", "B")
    assert (objects.has("A/f"), objects.has("B/f")) == (None, b"mine")


def test_a_folder_takes_the_place_of_one_that_another_client_has_just_removed(store: Store, tmp_path: Path) -> None:
    store.make_folder("B")
    site = Site(store, tmp_path, clock=lambda: 100.0)
    site.node("B")
    store.remove_folder("B")
    site.rename("A", "B")
    assert (store.has("A/f"), store.has("B/f")) == (None, b"mine")


@pytest.mark.parametrize(("source", "target", "theirs"), [("a", "b", "b"), ("A", "B", "B/f"), ("A", "B", "B")])
def test_who_is_not_to_replace_anything_replaces_nothing_of_another_client(
    store: Store, tmp_path: Path, source: str, target: str, theirs: str
) -> None:
    site = _looked(store, tmp_path, target)
    store.theirs(theirs)
    with fails(errno.EEXIST):
        site.rename(source, target, NO_REPLACE)
    assert (store.has("A/f"), store.has("a"), store.has(theirs)) == (b"mine", b"mine", THEIRS)
    assert site.read("A/f") == site.read("a") == b"mine"


@pytest.mark.parametrize(("source", "target"), [("a", "b"), ("A", "B")])
def test_who_is_not_to_replace_anything_gets_a_name_that_is_free(
    store: Store, tmp_path: Path, source: str, target: str
) -> None:
    site = _looked(store, tmp_path, target)
    site.rename(source, target, NO_REPLACE)
    assert (source in site.names(""), target in site.names("")) == (False, True)


@pytest.mark.parametrize("theirs", ["a", "b"])
def test_what_changes_as_it_is_moved_by_who_is_not_to_replace_anything_is_nowhere_lost(
    objects: Store, tmp_path: Path, theirs: str
) -> None:
    """At the source it is moved, too; at the target it stays."""
    site = _looked(objects, tmp_path, "b")

    def disturb() -> None:
        objects.put("a", b"newer")
        objects.put(theirs, THEIRS)

    objects.amid["remove", "a"] = disturb
    if theirs == "a":
        site.rename("a", "b", NO_REPLACE)
        assert (objects.has("a"), objects.has("b")) == (None, THEIRS)
    else:
        with fails(errno.EEXIST):
            site.rename("a", "b", NO_REPLACE)
        assert (objects.has("a"), objects.has("b")) == (b"newer", THEIRS)


MOVES = pytest.mark.parametrize(
    ("moved", "source", "target", "amid"),
    [("a", "a", "b", ("remove", "a")), ("A", "A/f", "B/f", ("remove", "A/f"))],
    ids=["file", "folder"],
)


@MOVES
def test_who_writes_what_is_renamed_overwrites_nothing_that_another_client_puts_there(
    objects: Store, tmp_path: Path, moved: str, source: str, target: str, amid: tuple[str, str]
) -> None:
    site = _looked(objects, tmp_path, target[0])
    node = site.open(source, os.O_RDWR)
    site.put(node, b"MINE")
    got(site.vfs.fsync(node, False))
    objects.amid[amid] = lambda: objects.put(target, THEIRS)
    site.rename(moved, target[0])
    with fails(errno.ESTALE):
        site.put(node, b"m")
        site.close(node)
    assert objects.has(target) == THEIRS


@MOVES
def test_who_reads_what_is_renamed_reads_nothing_that_another_client_puts_there(
    objects: Store, tmp_path: Path, moved: str, source: str, target: str, amid: tuple[str, str]
) -> None:
    site = _looked(objects, tmp_path, target[0])
    node = site.open(source)
    objects.amid[amid] = lambda: objects.put(target, THEIRS)
    site.rename(moved, target[0])
    with fails(errno.ESTALE):
        site.bytes_of(node)
    assert site.read(target) == THEIRS
