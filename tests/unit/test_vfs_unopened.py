"""Folders of datasets, which the kernel lists without having opened them."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from pathlib import Path

import pytest

from pf_backends.memory.backend import LIKE_OBJECTS, MemoryBackend
from pf_fuse.operations import TOP
from support.vfs_site import ME, PlainKernel, Site, fails, got

FOLDERS, FILES = 600, 5


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    backend = MemoryBackend(capabilities=LIKE_OBJECTS)
    for folder in range(FOLDERS):
        for file in range(FILES):
            backend.put(f"d{folder}/f{file}", b"")
    made = Site(backend, tmp_path)
    made.kernel = PlainKernel(zero_open=True)
    made.vfs.begin(made.kernel)
    yield made
    made.die()


def listed(site: Site, node: int, place: int = 0) -> list[tuple[str, int]]:
    return [(each.name.decode(), each.place) for each in got(site.vfs.readdir(node, place, 2))]


def test_nobody_is_asked_to_open_folders(site: Site) -> None:
    with fails(errno.ENOSYS):
        got(site.vfs.opendir(ME, TOP))


def test_who_lists_many_folders_at_once_sees_each_name_once(site: Site) -> None:
    nodes = [site.node(f"d{number}") for number in range(FOLDERS)]
    seen: list[list[str]] = [[] for _ in nodes]
    places = [0] * len(nodes)
    going_on = set(range(len(nodes)))
    while going_on:
        for turn in sorted(going_on):
            some = listed(site, nodes[turn], places[turn])
            seen[turn] += [name for name, _ in some]
            places[turn] = some[-1][1] if some else 0
            going_on -= set() if some else {turn}
    assert all(sorted(names) == [f"f{file}" for file in range(FILES)] for names in seen)
