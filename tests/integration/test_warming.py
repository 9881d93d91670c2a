"""Files come into the cache before they are read: by a mount, and without one."""

from __future__ import annotations

import errno
import os
from contextlib import closing
from pathlib import Path

import pytest

from paddleflow.mounted import follow
from paddleflow.mounting import MountOptions, make_folders, run_errand
from paddleflow.warming import followed
from pf_backends.memory.backend import MemoryBackend
from pf_fuse.pages.cache import CacheSettings, PageCache
from pf_fuse.pages.keys import PAGE, Key
from pf_fuse.warming.warmer import Warmer
from support import fuse_mounts
from support.full_machine import no_more_threads
from support.mounts import new_mount
from support.stacks import wait_until
from support.vfs_site import fails

MIB = 1 << 20


@pytest.fixture
def cache(tmp_path: Path) -> PageCache:
    return PageCache(CacheSettings([str(tmp_path / "pages")]))


@pytest.fixture
def backend() -> MemoryBackend:
    made = MemoryBackend()
    made.make_folder("d")
    made.make_folder("d/inner")
    for number in range(50):
        made.put(f"d/inner/{number}", os.urandom(1000 * number))
    made.put("d/large", os.urandom(9 * MIB + 5))
    return made


def warmed(backend: MemoryBackend, cache: PageCache, *paths: str) -> Warmer:
    warmer = Warmer(backend, cache)
    warmer.begin(paths)
    while not warmer.wait(10.0):
        pass
    warmer.stop()
    return warmer


def whole(backend: MemoryBackend, cache: PageCache, path: str) -> bool:
    entry = backend.stat(path)
    file = cache.open(Key(backend.address, path, entry.version), entry.size)
    data = file.read(0, entry.size) if file.complete else None
    cache.close(file)
    into = bytearray(entry.size)
    backend.read(path, 0, memoryview(into))
    return data == bytes(into)


def test_all_files_below_are_here_and_are_not_fetched_again(backend: MemoryBackend, cache: PageCache) -> None:
    first = warmed(backend, cache, "d").progress()
    assert (first.files, first.files_done, first.failed, first.listed) == (51, 51, 0, True)
    assert first.bytes == first.bytes_done == first.bytes_fetched
    assert all(whole(backend, cache, f"d/inner/{number}") for number in range(50))
    assert whole(backend, cache, "d/large")
    again = warmed(backend, cache, "d/inner", "d/large").progress()
    assert (again.files_done, again.files_kept, again.bytes_fetched) == (51, 51, 0)


def test_what_is_here_of_a_file_is_not_fetched_again(backend: MemoryBackend, cache: PageCache) -> None:
    entry = backend.stat("d/large")
    file = cache.open(Key(backend.address, entry.path, entry.version), entry.size)
    into = memoryview(bytearray(2 * PAGE))
    backend.read("d/large", 6 * PAGE, into)
    assert file.fill(6 * PAGE, into)
    cache.close(file)
    done = warmed(backend, cache, "d/large").progress()
    assert (done.files_done, done.bytes_fetched) == (1, entry.size - 2 * PAGE)
    assert whole(backend, cache, "d/large")


def test_what_cannot_come_is_told_and_the_rest_comes(backend: MemoryBackend, tmp_path: Path) -> None:
    small = PageCache(CacheSettings([str(tmp_path / "pages")], 4 * MIB))
    done = warmed(backend, small, "d", "nothing").progress()
    assert (done.files_done, done.failed) == (50, 2)
    assert {each.path: "room" in each.why for each in done.failures} == {"d/large": True, "nothing": False}


def test_files_that_a_fault_holds_up_are_told_and_the_rest_comes(backend: MemoryBackend, cache: PageCache) -> None:
    faults = [MemoryError() for _ in range(20)]

    def before(operation: str, _: str) -> None:
        if operation == "fetch" and faults:
            raise faults.pop()

    backend.before = before
    done = warmed(backend, cache, "d").progress()
    assert (done.files, done.files_done, done.failed) == (51, 31, 20)
    assert {each.why for each in done.failures} == {"a fault of this program, please report it: MemoryError()"}


@pytest.mark.parametrize("operation", ["walk", "stat"])
def test_a_fault_of_who_lists_files_is_told(backend: MemoryBackend, cache: PageCache, operation: str) -> None:
    def before(asked: str, _: str) -> None:
        if asked == operation:
            raise MemoryError

    backend.before = before
    done = warmed(backend, cache, "d").progress()
    assert [each.why for each in done.failures] == ["gave up: a fault of this program, please report it: MemoryError()"]


def test_it_is_refused_where_no_thread_can_be_begun(
    backend: MemoryBackend, cache: PageCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    warmer = Warmer(backend, cache)
    with no_more_threads(monkeypatch), fails(errno.EAGAIN):
        warmer.begin(["d"])
    warmer.stop()
    assert warmed(backend, cache, "d").progress().files_done == 51


def test_stopped_amid_a_file_leaves_it_to_the_next(backend: MemoryBackend, cache: PageCache) -> None:
    warmer = Warmer(backend, cache, at_once=1)
    warmer.begin(["d"])
    wait_until(lambda: warmer.progress().bytes_fetched > 0)
    warmer.stop()
    assert not warmer.progress().failures
    assert warmed(backend, cache, "d").progress().files_done == 51


def test_without_a_mount_by_a_process_that_ends_when_nobody_follows(tmp_path: Path) -> None:
    place = tmp_path / "files"
    place.mkdir()
    for number in range(20):
        (place / str(number)).write_bytes(os.urandom(100_000))
    source = {"url": f"local://{place}", "cache": {"folders": [str(tmp_path / "pages")]}}
    make_folders(source)
    told = {"source": source, "paths": [""]}
    *_, last = followed(run_errand("warm", told))
    assert (last.files, last.files_done, last.files_kept, last.failures) == (20, 20, 0, [])
    with closing(followed(run_errand("warm", told))) as reports:
        next(reports)
    *_, last = followed(run_errand("warm", told))
    assert last.files_kept == 20


@pytest.mark.skipif(bool(fuse_mounts.missing()), reason=fuse_mounts.missing())
def test_a_mount_fetches_for_its_readers(tmp_path: Path) -> None:
    for number in range(30):
        (tmp_path / f"f-{number}").write_bytes(os.urandom(50_000))
    with new_mount() as mount:
        mount.begin(f"local://{tmp_path}", {}, MountOptions(read_only=True))
        *_, last = followed(follow(mount.place, mount.environ, "warm", paths=[""], at_once=4))
        assert (last.files_done, last.failed) == (30, 0)
        fetched = mount.stats()["fetching"]["counts"]["fetched"]
        for number in range(30):
            assert (mount.place / f"f-{number}").read_bytes() == (tmp_path / f"f-{number}").read_bytes()
        assert mount.stats()["fetching"]["counts"]["fetched"] == fetched
        mount.end()
