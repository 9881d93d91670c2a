"""Folders with too much to be kept whole are listed with what is written here, each thing once."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from pf_backends.memory.backend import LIKE_OBJECTS, MemoryBackend
from pf_fuse.operations import Named
from pf_fuse.vfs.freshness import Freshness
from support.vfs_site import ME, Site, got

THERE = [f"{number:05}" for number in range(1100)]


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    backend = MemoryBackend(capabilities=LIKE_OBJECTS)
    for name in THERE:
        backend.put(f"F/{name}", b"")
    site = Site(backend, tmp_path, freshness=Freshness(most=10))
    yield site
    site.die()


class Reader:
    """Somebody who reads the folder, some things at a time."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._node = site.node("F")
        self._place = 0
        got(site.vfs.opendir(ME, self._node))

    def some(self, count: int) -> Sequence[Named]:
        found = got(self._site.vfs.readdir(self._node, self._place, count))
        if found:
            self._place = found[-1].place
        return found

    def rest(self) -> Sequence[Named]:
        found = list[Named]()
        while more := self.some(100):
            found += more
        return found


def names(found: Sequence[Named]) -> Sequence[str]:
    return sorted(os.fsdecode(each.name) for each in found)


def sizes(found: Sequence[Named]) -> dict[bytes, int]:
    return {each.name: each.known.attributes.size for each in found if each.known.attributes}


@pytest.mark.parametrize("name", ["00000-", "zzz"])
def test_a_file_that_is_only_here_is_listed_once(site: Site, name: str) -> None:
    node = site.create(f"F/{name}")
    assert sorted(site.names("F")) == sorted([*THERE, name])
    site.close(node)
    assert sorted(site.names("F")) == sorted([*THERE, name])
    site.remove(f"F/{name}")
    assert sorted(site.names("F")) == THERE


@pytest.mark.parametrize("before", [0, 1, 500])
def test_it_is_listed_once_also_when_it_is_uploaded_meanwhile(site: Site, before: int) -> None:
    nodes = [site.create("F/000"), site.create("F/zzz")]
    reader = Reader(site)
    found = list(reader.some(before)) if before else []
    for node in nodes:
        site.close(node)
    assert names([*found, *reader.rest()]) == sorted([*THERE, "000", "zzz"])


def test_what_is_removed_meanwhile_hides_nothing_else(site: Site) -> None:
    nodes = [site.create("F/000"), site.create("F/zzz")]
    reader = Reader(site)
    found = list(reader.some(1))
    for name in ("000", "zzz", "00500"):
        site.remove(f"F/{name}")
    left = {*THERE} - {"00500"}
    found += reader.rest()
    assert left <= {*names(found)}
    assert len(names(found)) == len({*names(found)})
    for node in nodes:
        site.close(node)


def test_files_are_as_they_are_here(site: Site) -> None:
    opened = [site.open("F/00007", os.O_WRONLY), site.create("F/zzz")]
    for node in opened:
        site.put(node, b"some")
    reader = Reader(site)
    first = reader.some(1)
    site.write("F/00009", b"other")
    found = sizes([*first, *reader.rest()])
    assert (found[b"00007"], found[b"00009"], found[b"00011"]) == (4, 5, 0)
    assert sizes(Reader(site).rest())[b"zzz"] == 4
    for node in opened:
        site.close(node)


@pytest.mark.parametrize("name", ["00007", "zzz"])
def test_an_old_list_does_not_take_the_name_of_a_file_that_is_open(site: Site, name: str) -> None:
    first = site.create("F/000")
    node = site.open(f"F/{name}", os.O_WRONLY) if name in THERE else site.create(f"F/{name}")
    reader = Reader(site)
    reader.some(1)
    site.put(node, b"some")
    got(site.vfs.fsync(node, data_only=False))
    with site.tree.lock:
        # As where the store has not told yet of which time it is.
        site.tree.ask_again(site.nodes[node])
    reader.rest()
    assert site.node(f"F/{name}") == node
    site.put(node, b"thing", 4)
    for each in (first, node):
        site.close(each)
    assert site.read(f"F/{name}") == b"something"
