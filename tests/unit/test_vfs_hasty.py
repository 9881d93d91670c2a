"""What is told of files that were just written where only the store knows when that was."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from pf_backends.entries import Condition, Entry, Facts
from pf_backends.memory.backend import LIKE_OBJECTS, MemoryBackend
from pf_backends.port import ANYTHING, NO_FACTS
from pf_fuse.operations import TOP
from support.vfs_site import ME, Site, got

SECOND = 1_000_000_000
ASKING = {"stat", "list"}


class HastyStore(MemoryBackend):
    """Its clock goes on by a second before it answers."""

    def __init__(self) -> None:
        super().__init__(capabilities=LIKE_OBJECTS)
        self.done: list[str] = []
        self.before = lambda operation, _path: self.done.append(operation)

    def put_hastily(
        self, path: str, body: memoryview | bytes, *, facts: Facts = NO_FACTS, condition: Condition = ANYTHING
    ) -> Entry:
        written = self.put(path, body, facts=facts, condition=condition)
        return replace(written, modified=written.modified + SECOND)

    def asked(self) -> list[str]:
        """What it was asked since the last time."""
        done, self.done = self.done, []
        return [operation for operation in done if operation in ASKING]


@pytest.fixture
def store() -> HastyStore:
    return HastyStore()


@pytest.fixture
def site(store: HastyStore, tmp_path: Path) -> Iterator[Site]:
    site = Site(store, tmp_path)
    yield site
    site.die()


def told(site: Site, path: str) -> int:
    attributes = site.known(path).attributes
    assert attributes
    return attributes.modified


def listed(site: Site, folder: int = TOP) -> dict[str, int]:
    """The times of what is in a folder, as the kernel is told when it lists it."""
    got(site.vfs.opendir(ME, folder))
    found = got(site.vfs.readdir(folder, 0, 100))
    got(site.vfs.releasedir(folder))
    return {os.fsdecode(each.name): each.known.attributes.modified for each in found if each.known.attributes}


def test_a_file_that_was_written_costs_one_call(site: Site, store: HastyStore) -> None:
    site.names("")
    store.asked()
    for number in range(10):
        site.write(f"f{number}", b"some")
    assert store.asked() == []
    assert store.done == []
    assert {name: store.stat(name).size for name in ("f0", "f9")} == {"f0": 4, "f9": 4}


def test_the_time_that_is_told_is_that_of_the_store(site: Site, store: HastyStore) -> None:
    site.write("a", b"some")
    assert told(site, "a") == store.stat("a").modified
    node = site.open("a", os.O_WRONLY | os.O_TRUNC)
    site.put(node, b"other")
    got(site.vfs.fsync(node, False))
    attributes = got(site.vfs.getattr(ME, node)).attributes
    assert attributes
    assert attributes.modified == store.stat("a").modified
    site.close(node)


def test_a_folder_that_was_listed_before_tells_the_time_of_the_store(site: Site, store: HastyStore) -> None:
    site.write("a", b"some")
    listed(site)
    site.write("a", b"other")
    site.write("b", b"new")
    assert listed(site) == {name: store.stat(name).modified for name in ("a", "b")}
    store.asked()
    assert listed(site) == {name: store.stat(name).modified for name in ("a", "b")}
    assert store.asked() == ["stat", "stat"], "only the test has asked"


def test_only_what_was_written_is_asked_for_again(site: Site, store: HastyStore) -> None:
    for name in ("a", "b", "c", "d"):
        store.put(name, b"there")
    listed(site)
    site.write("a", b"other")
    store.asked()
    assert [told(site, name) for name in ("b", "c", "d", "a")]
    assert store.asked() == ["stat"]


def test_a_list_amid_which_a_file_is_written_is_good_for_the_other_names(site: Site, store: HastyStore) -> None:
    store.put("b", b"there")

    def write_once(operation: str, _path: str) -> None:
        store.done.append(operation)
        if operation == "list":
            store.before = lambda operation, _path: store.done.append(operation)
            site.write("a", b"some")

    store.before = write_once
    assert listed(site).keys() == {"a", "b"}
    store.asked()
    assert told(site, "b")
    assert store.asked() == []
    assert told(site, "a") == store.stat("a").modified
    assert store.asked() == ["stat", "stat"], "one of them is the test's"
