"""A mount with a quota takes so much and no more, and says how much is left."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pf_backends.entries import Space
from pf_backends.memory.backend import LIKE_OBJECTS, MemoryBackend
from pf_fuse.operations import TOP, Changes
from pf_fuse.vfs.limiting import Limiting, kept_limits
from pf_fuse.vfs.quota import Counter, Held, Limits, Quota
from support.full_machine import no_more_threads
from support.vfs_site import ME, Site, fails, got
from support.waiting import wait_until

Make = Callable[[int | None, int | None], Site]


@pytest.fixture
def backend() -> MemoryBackend:
    backend = MemoryBackend(capabilities=LIKE_OBJECTS)
    backend.put("there", b"x" * 60)
    return backend


@pytest.fixture
def limited(backend: MemoryBackend, tmp_path: Path) -> Iterator[Make]:
    sites: list[Site] = []

    def make(size: int | None, files: int | None) -> Site:
        sites.append(Site(backend, tmp_path, quota=Quota(Limits(size, files))))
        sites[-1].counter.count()
        return sites[-1]

    yield make
    for site in sites:
        site.die()


def left(site: Site) -> tuple[int, int]:
    """Blocks of 4 KiB, and files."""
    told = got(site.vfs.statfs(TOP))
    return told.f_bavail, told.f_favail


def test_what_goes_beyond_it_is_refused_and_the_rest_is_kept(limited: Make, backend: MemoryBackend) -> None:
    site = limited(100, None)
    node = site.create("f")
    site.put(node, b"a" * 40)
    with fails(errno.EDQUOT):
        site.put(node, b"b", 40)
    site.put(node, b"c" * 40)
    site.close(node)
    assert backend.fetch("f", limit=100)[1] == b"c" * 40


@pytest.mark.parametrize("how", ["removed", "cut", "begun anew", "replaced"])
def test_what_is_gone_makes_room(limited: Make, how: str) -> None:
    site = limited(100, None)
    site.write("f", b"a" * 40)
    assert site.size("there") == 60
    match how:
        case "removed":
            site.remove("there")
        case "cut":
            site.truncate("there", 0)
        case "begun anew":
            site.write("there", b"")
        case _:
            site.rename("f", "there")
    site.write("g", b"b" * 60)
    with fails(errno.EDQUOT):
        site.write("h", b"c")


@pytest.mark.parametrize("removed", [True, False], ids=["removed", "not removed"])
def test_what_is_written_while_somebody_removes_it_is_counted_as_what_was_there(
    limited: Make, backend: MemoryBackend, removed: bool
) -> None:
    site = limited(1000, None)
    node = site.create("f", os.O_RDWR)
    site.put(node, b"a" * 10)

    def write(operation: str, _path: str) -> None:
        if operation == "remove":
            site.put(node, b"b" * 500)
            if not removed:
                raise OSError(errno.EACCES, "not you")

    backend.before = write
    if removed:
        site.remove("f")
        site.put(node, b"c" * 700)
    else:
        with fails(errno.EACCES):
            site.remove("f")
    assert site.quota.held == (Held(60, 1) if removed else Held(560, 2))


@pytest.mark.parametrize("cut", [False, True])
def test_what_is_put_aside_makes_room(limited: Make, backend: MemoryBackend, cut: bool) -> None:
    def refuse(operation: str, _path: str) -> None:
        if operation == "put":
            raise OSError(errno.EACCES, "not you")

    site = limited(1000, None)
    node = site.open("there", os.O_RDWR) if cut else site.create("f")
    if cut:
        got(site.vfs.setattr(ME, node, Changes(size=20, by_handle=True)))
    else:
        site.put(node, b"a" * 100)
    backend.before = refuse
    with fails(errno.EACCES):
        site.close(node)
    assert site.quota.held == Held(60, 1)


def test_making_a_file_longer_takes_room_too(limited: Make) -> None:
    site = limited(100, None)
    with fails(errno.EDQUOT):
        site.truncate("there", 101)
    node = site.open("there", os.O_RDWR)
    with fails(errno.EDQUOT):
        got(site.vfs.fallocate(node, 0, 0, 101))
    site.close(node)
    assert site.size("there") == 60


def test_files_are_counted_too(limited: Make, backend: MemoryBackend) -> None:
    site = limited(None, 2)
    site.write("f", b"")
    with fails(errno.EDQUOT):
        site.create("g")
    assert site.size("there") == 60
    site.remove("there")
    site.write("g", b"")
    assert {entry.path for entry in backend.list("").entries} == {"f", "g"}


def test_what_others_do_counts_when_it_is_counted_again(limited: Make, backend: MemoryBackend) -> None:
    site = limited(100, None)
    backend.put("other", b"x" * 40)
    site.write("f", b"a" * 40)
    site.counter.count()
    with fails(errno.EDQUOT):
        site.write("g", b"b")
    backend.remove("there")
    site.counter.count()
    site.write("g", b"b")


def test_what_is_not_uploaded_yet_is_counted(limited: Make) -> None:
    site = limited(100, 2)
    node = site.create("f")
    site.put(node, b"a" * 40)
    site.counter.count()
    with fails(errno.EDQUOT):
        site.put(node, b"b", 40)
    with fails(errno.EDQUOT):
        site.create("g")
    site.close(node)


@pytest.mark.parametrize("flags", [os.O_WRONLY | os.O_TRUNC, os.O_WRONLY])
@pytest.mark.parametrize("killed", [False, True])
def test_a_file_that_is_written_again_is_counted_once(
    limited: Make, backend: MemoryBackend, flags: int, killed: bool
) -> None:
    site = limited(70, 2)
    node = site.open("there", flags)
    site.put(node, b"a" * 30)
    if killed:
        site.die()
        site = limited(70, 2)
    site.counter.count()
    site.put(node, b"b" * 40, 30)
    with fails(errno.EDQUOT):
        site.put(node, b"c", 70)
    site.close(site.create("g"))
    with fails(errno.EDQUOT):
        site.create("h")
    site.close(node)
    assert backend.fetch("there", limit=100)[1] == b"a" * 30 + b"b" * 40


def test_a_file_that_was_uploaded_and_is_written_on_is_counted_once(limited: Make) -> None:
    site = limited(100, 2)
    node = site.create("f")
    site.put(node, b"a" * 30)
    got(site.vfs.fsync(node, data_only=False))
    site.put(node, b"b" * 5, 30)
    site.die()
    site = limited(100, 2)
    site.put(node, b"c" * 5, 35)
    with fails(errno.EDQUOT):
        site.put(node, b"d", 40)
    with fails(errno.EDQUOT):
        site.create("g")


def refuse(*_: object) -> int:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_what_the_disk_refuses_takes_no_room(limited: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    site = limited(100, None)
    node = site.create("f", os.O_RDWR)
    site.put(node, b"a" * 10)
    with monkeypatch.context() as full:
        full.setattr(os, "pwrite", refuse)
        with fails(errno.ENOSPC):
            got(site.vfs.write(node, 10, memoryview(b"b" * 30), 0))
    with monkeypatch.context() as full:
        full.setattr(os, "ftruncate", refuse)
        with fails(errno.ENOSPC):
            got(site.vfs.setattr(ME, node, Changes(size=40)))
    with monkeypatch.context() as full:
        full.setattr(os, "posix_fallocate", fill_and_refuse)
        with fails(errno.ENOSPC):
            got(site.vfs.fallocate(node, 0, 0, 40))
    site.put(node, b"c" * 30, 10)
    with fails(errno.EDQUOT):
        site.put(node, b"d", 40)
    site.close(node)
    assert site.read("f") == b"a" * 10 + b"c" * 30


def test_a_file_that_the_disk_refuses_is_not_there(limited: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    site = limited(None, 2)
    with monkeypatch.context() as full:
        full.setattr(site.nodes.stage, "begin", lambda **_: refuse())
        with fails(errno.ENOSPC):
            site.create("f")
    assert site.names("") == ["there"]
    with pytest.raises(FileNotFoundError):
        site.node("f")
    site.write("f", b"")
    assert sorted(site.names("")) == ["f", "there"]


def fill_and_refuse(descriptor: int, _offset: int, _length: int) -> None:
    """As some disks do that become full amid it."""
    os.truncate(descriptor, 35)
    refuse()


def test_what_the_disk_takes_in_part_is_counted_in_part(limited: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    site = limited(100, None)
    node = site.create("f")
    write = os.pwrite
    with monkeypatch.context() as full:
        full.setattr(os, "pwrite", lambda descriptor, data, offset: write(descriptor, data[:10], offset))
        assert got(site.vfs.write(node, 0, memoryview(b"a" * 40), 0)) == 10
    site.put(node, b"b" * 30, 10)
    with fails(errno.EDQUOT):
        site.put(node, b"c", 40)
    site.close(node)


def test_what_is_left_is_told(limited: Make) -> None:
    site = limited(10 * 4096, 3)
    assert left(site) == (9, 2)
    site.write("f", b"a" * 4096 * 2)
    assert left(site) == (7, 1)


def test_nothing_is_refused_before_it_was_counted() -> None:
    quota = Quota(Limits(10, 1))
    quota.take("f", 100, files=5)
    quota.counted(Held(20, 3))
    quota.take("f", -5, files=-1)
    with fails(errno.EDQUOT):
        quota.take("f", 1)
    assert quota.space(Space(5, 4, 3, 2)) == Space(10, 0, 1, 0)


def test_the_place_may_have_less_room_than_the_quota() -> None:
    assert Quota(Limits(1000)).space(Space(50, 40, 30, 20)) == Space(1000, 40, 30, 20)


def test_another_quota_holds_at_once_and_for_the_next_process(backend: MemoryBackend, tmp_path: Path) -> None:
    kept = tmp_path / "quota"
    quota = Quota(Limits(None, 3))
    site = Site(backend, tmp_path, quota=quota)
    limiting = Limiting(quota, site.counter, kept)
    site.counter.count()
    limiting.become(Limits(70, 9))
    assert limiting.most == Limits(70, 3)
    with fails(errno.EDQUOT):
        site.write("f", b"a" * 11)
    limiting.become(Limits(100))
    assert kept_limits(kept) == Limits(100)
    site.write("f", b"a" * 40)
    limiting.become(Limits(10))
    with fails(errno.EDQUOT):
        site.write("f", b"a" * 41)
    site.remove("there")
    limiting.become(Limits())
    site.write("g", b"a" * 400)
    site.counter.end()
    site.die()


def test_a_mount_that_writes_nothing_counts_when_it_is_asked_and_then_not_for_an_hour(
    backend: MemoryBackend, tmp_path: Path
) -> None:
    now, walks = [0.0], list[str]()
    backend.before = lambda operation, path: walks.append(path) if operation == "walk" else None
    site = Site(backend, tmp_path, read_only=True)
    quota = Quota(Limits(100, None))
    counter = Counter(backend, site.tree, quota, lambda: now[0], rarely=True)
    counter.begin()
    assert not walks
    counter.asked()
    wait_until(lambda: quota.held == Held(60, 1))
    for _ in range(3):
        now[0] += 1000.0
        counter.asked()
    assert len(walks) == 1
    backend.put("more", b"x")
    now[0] += 10_000.0
    counter.asked()
    wait_until(lambda: quota.held == Held(61, 2))
    site.die()


@pytest.mark.parametrize("rarely", [True, False])
def test_it_is_counted_later_where_no_thread_can_be_started(
    backend: MemoryBackend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rarely: bool
) -> None:
    quota = Quota(Limits(100))
    site = Site(backend, tmp_path, quota=quota)
    counter = Counter(backend, site.tree, quota, rarely=rarely)
    with no_more_threads(monkeypatch) as refused:
        if rarely:
            counter.asked()
        else:
            with fails(errno.EAGAIN):
                counter.begin()
    assert refused == ["count"]
    counter.asked()
    counter.begin()
    wait_until(lambda: quota.held == Held(60, 1))
    counter.end()
    site.die()
