"""What fails on the machine itself leaves nothing of it: no name, no bytes, nothing that is taken for open."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from pf_backends.memory.backend import EVERYTHING, LIKE_OBJECTS, MemoryBackend
from pf_fuse.operations import Changes
from pf_fuse.staging.staged import Stage
from pf_fuse.vfs.journal import Journal
from pf_fuse.vfs.quota import Limits, Quota
from support.vfs_site import ME, Site, fails, got

CONTENT = b"0123456789"


@pytest.fixture(params=[EVERYTHING, LIKE_OBJECTS], ids=["folders", "objects"])
def backend(request: pytest.FixtureRequest) -> MemoryBackend:
    backend = MemoryBackend(capabilities=request.param)
    backend.put("f", CONTENT)
    return backend


@pytest.fixture
def clock() -> list[float]:
    return [100.0]


@pytest.fixture
def quota() -> Quota:
    return Quota(Limits(100, 10))


@pytest.fixture
def site(backend: MemoryBackend, tmp_path: Path, clock: list[float], quota: Quota) -> Iterator[Site]:
    site = Site(backend, tmp_path, clock=lambda: clock[0], quota=quota)
    site.counter.count()
    yield site
    site.die()


@pytest.fixture(
    params=[(Journal, "put", 0), (Journal, "put", 1), (Stage, "begin", 0)], ids=["journal", "later", "stage"]
)
def full(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Callable[[], AbstractContextManager[None]]:
    """A disk that is full amid what is done, somewhere."""
    return lambda: filled(monkeypatch, *request.param)


@contextmanager
def filled(monkeypatch: pytest.MonkeyPatch, where: type, what: str, passes: int) -> Iterator[None]:
    real, left = getattr(where, what), [passes]

    def refuse(*arguments: object, **more: object) -> object:
        left[0] -= 1
        if left[0] >= 0:
            return real(*arguments, **more)
        raise OSError(errno.ENOSPC, "the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(where, what, refuse)
        yield


def staged_files(folder: Path) -> list[Path]:
    return list((folder / "stage").iterdir())


def test_a_file_that_cannot_be_made_has_no_name(
    site: Site, full: Callable[[], AbstractContextManager[None]], tmp_path: Path, quota: Quota
) -> None:
    site.names("")
    before = quota.space(None)
    with full(), fails(errno.ENOSPC):
        site.create("new", os.O_WRONLY | os.O_EXCL)
    assert site.names("") == ["f"]
    with pytest.raises(FileNotFoundError):
        site.known("new")
    assert quota.space(None) == before
    assert not staged_files(tmp_path)
    site.write("new", b"made after all")
    assert site.read("new") == b"made after all"


def test_a_file_that_cannot_be_emptied_is_as_it_was(
    site: Site, backend: MemoryBackend, full: Callable[[], AbstractContextManager[None]], tmp_path: Path
) -> None:
    node = site.node("f")
    with full(), fails(errno.ENOSPC):
        got(site.vfs.open(ME, node, os.O_WRONLY | os.O_TRUNC))
    assert site.read("f") == CONTENT
    site.truncate("f", 3)
    assert backend.fetch("f", limit=99)[1] == CONTENT[:3], "nobody has it open"
    assert not staged_files(tmp_path)


@pytest.mark.parametrize("full", [(Journal, "put", 0), (Stage, "begin", 0)], ids=["journal", "stage"], indirect=True)
@pytest.mark.parametrize("by_handle", [True, False])
def test_a_file_that_cannot_be_cut_is_as_it_was(
    site: Site, backend: MemoryBackend, full: Callable[[], AbstractContextManager[None]], by_handle: bool
) -> None:
    with site.opening("f", os.O_RDWR) as node:
        with full(), fails(errno.ENOSPC):
            got(site.vfs.setattr(ME, node, Changes(size=3, by_handle=by_handle)))
        assert site.bytes_of(node) == CONTENT
        site.put(node, b"X", 9)
    assert backend.fetch("f", limit=99)[1] == b"012345678X"


def test_a_file_that_may_not_grow_is_not_kept_here(
    site: Site, backend: MemoryBackend, clock: list[float], tmp_path: Path
) -> None:
    with fails(errno.EDQUOT):
        site.truncate("f", 1000)
    assert not staged_files(tmp_path)
    backend.put("f", b"another one")
    clock[0] += 10
    assert (site.size("f"), site.read("f")) == (11, b"another one")


def test_what_is_closed_is_closed_also_where_that_cannot_be_written_down(
    site: Site, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    node = site.create("new")
    site.put(node, b"some")
    got(site.vfs.flush(node, 1))
    with filled(monkeypatch, Journal, "put", 0), fails(errno.ENOSPC):
        got(site.vfs.release(node, 0, 1))
    with site.opening("new", os.O_RDWR) as again:
        site.put(again, b" more", 4)
    site.vfs.forget([(node, 100)])
    assert site.tree.at("new") is None, "nobody knows of it any more"
    assert site.read("new") == b"some more"
    assert not staged_files(tmp_path)


@pytest.mark.parametrize(
    "full",
    [(Journal, "put", n) for n in range(3)] + [(Stage, "begin", 0)],
    ids=["first", "second", "third", "stage"],
    indirect=True,
)
def test_what_another_one_has_made_meanwhile_is_as_it_was_where_it_cannot_be_opened(
    site: Site,
    backend: MemoryBackend,
    full: Callable[[], AbstractContextManager[None]],
    clock: list[float],
    tmp_path: Path,
) -> None:
    with pytest.raises(FileNotFoundError):
        site.node("new")
    backend.put("new", CONTENT)
    clock[0] += 10
    with full(), fails(errno.ENOSPC):
        site.create("new", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    assert site.tree.at("new") is None, "nobody knows of it"
    assert site.read("new") == CONTENT
    assert not staged_files(tmp_path)
