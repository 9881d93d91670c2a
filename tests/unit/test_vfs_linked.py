"""Files of several places in one mount: each place renames as it can, and nothing is moved from one to another."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from pf_backends.linked import LinkedBackend
from pf_backends.memory.backend import EVERYTHING, LIKE_OBJECTS, MemoryBackend
from pf_backends.port import Backend
from support.backend_places import names, walked
from support.vfs_site import Site, fails

RENAMES_ONLY = replace(EVERYTHING, copies=False, parts=None)


def with_objects(main: Backend) -> Backend:
    linked = LinkedBackend(main, {"linked": MemoryBackend(capabilities=LIKE_OBJECTS)})
    linked.make_folder("d")
    for path in ("d/f", "linked/d/f"):
        linked.put(path, b"some")
    return linked


@pytest.fixture(params=[RENAMES_ONLY, LIKE_OBJECTS], ids=["trees", "objects"])
def backend(request: pytest.FixtureRequest) -> Backend:
    return with_objects(MemoryBackend(capabilities=request.param))


@pytest.fixture
def site(backend: Backend, tmp_path: Path) -> Iterator[Site]:
    site = Site(backend, tmp_path)
    yield site
    site.die()


def test_a_place_that_renames_does_so_whatever_is_linked_into_it(tmp_path: Path) -> None:
    done: list[str] = []
    place = MemoryBackend(capabilities=RENAMES_ONLY, before=lambda operation, _: done.append(operation))
    site = Site(with_objects(place), tmp_path)
    done.clear()
    site.rename("d/f", "d/g")
    site.rename("d", "e")
    assert done.count("rename") == 2
    assert {"copy", "fetch", "put", "remove"}.isdisjoint(done)
    site.rename("linked/d", "linked/e")
    assert site.read("e/g") == site.read("linked/e/f") == b"some"
    site.die()


@pytest.mark.parametrize(("source", "target"), [("d", "linked/e"), ("d", "linked/d"), ("linked/d", "e")])
def test_a_folder_that_would_go_to_another_place_stays(site: Site, backend: Backend, source: str, target: str) -> None:
    before = names(walked(backend))
    with fails(errno.EXDEV):
        site.rename(source, target)
    assert names(walked(backend)) == before


def test_an_empty_folder_is_not_replaced_by_one_of_another_place(site: Site, backend: Backend) -> None:
    site.mkdir("linked/empty")
    with fails(errno.EXDEV):
        site.rename("d", "linked/empty")
    assert "linked/empty" in names(walked(backend))
    assert site.read("d/f") == b"some"


def test_a_folder_with_another_place_in_it_stays(tmp_path: Path) -> None:
    main, linked = (MemoryBackend(capabilities=LIKE_OBJECTS) for _ in range(2))
    site = Site(backend := LinkedBackend(main, {"d/linked": linked}), tmp_path)
    for path in ("d/f", "d/linked/f"):
        backend.put(path, b"some")
    with fails(errno.EBUSY):
        site.rename("d", "e")
    assert names(walked(backend)) == ["d/f", "d/linked/f"]
    site.die()
