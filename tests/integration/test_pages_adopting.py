"""Files that are taken into the page cache as they lie, with nothing copied."""

from __future__ import annotations

import fcntl
import os
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any

import pytest

from pf_backends.entries import Entry, Kind
from pf_fuse.pages.cache import CacheSettings, PageCache
from pf_fuse.pages.keys import PAGE, Key
from pf_fuse.staging.handing import Handing
from pf_fuse.staging.staged import Stage
from support.fake_place import content

KEY = Key("s3://bucket", "folder/name", "v1")
SIZES = [1, 3 * PAGE + 1000, 600 * PAGE + 1]
"""Of the last one the seals are a file of their own."""


class AtOnce(Executor):
    """Does what it is asked to before it returns."""

    def submit(self, work: Any, /, *args: Any, **named: Any) -> Future[Any]:
        done = Future[Any]()
        done.set_result(work(*args, **named))
        return done


def made(path: Path, size: int) -> tuple[Path, int, bytes]:
    data = content("name", size)
    path.write_bytes(data)
    return path, os.open(path, os.O_RDWR), data


def cache_in(folder: Path, **how: int) -> PageCache:
    return PageCache(CacheSettings([str(folder)], **how))


@pytest.mark.parametrize("size", SIZES)
def test_it_is_there_whole_and_checked(tmp_path: Path, size: int) -> None:
    source, descriptor, data = made(tmp_path / "source", size)
    cache = cache_in(tmp_path / "cache")
    assert cache.adopt(KEY, str(source), descriptor)
    os.close(descriptor)
    source.unlink()
    file = cache.open(KEY, size)
    assert file.checked
    assert file.fix() >= 0
    assert file.read(0, size) == data
    cache.close(file)
    assert cache.check().removed == 0
    cache.end()


@pytest.mark.parametrize("size", SIZES)
def test_a_later_process_finds_it(tmp_path: Path, size: int) -> None:
    source, descriptor, data = made(tmp_path / "source", size)
    assert cache_in(tmp_path / "cache").adopt(KEY, str(source), descriptor)
    cache = cache_in(tmp_path / "cache")
    file = cache.open(KEY, size)
    assert file.verify()
    assert file.read(0, size) == data
    os.close(descriptor)


def test_what_is_there_already_stays(tmp_path: Path) -> None:
    source, descriptor, data = made(tmp_path / "source", SIZES[1])
    cache = cache_in(tmp_path / "cache")
    file = cache.open(KEY, SIZES[1])
    assert file.fill(0, data)
    cache.close(file)
    assert not cache_in(tmp_path / "cache").adopt(KEY, str(source), descriptor)
    assert os.fstat(descriptor).st_nlink == 1
    os.close(descriptor)


def test_nothing_is_taken_for_which_there_is_no_room(tmp_path: Path) -> None:
    source, descriptor, _ = made(tmp_path / "source", SIZES[1])
    assert not cache_in(tmp_path / "cache", bytes=SIZES[1] - 1).adopt(KEY, str(source), descriptor)
    assert not cache_in(tmp_path / "other", files=0).adopt(KEY, str(source), descriptor)
    os.close(descriptor)


def test_nothing_is_taken_from_another_disk(tmp_path: Path) -> None:
    disks = (Path("/dev/shm"), Path.home())  # noqa: S108  # the one that the test's folder is not on
    far = next(disk for disk in disks if disk.stat().st_dev != tmp_path.stat().st_dev)
    source, descriptor, _ = made(far / f"pf-adopting-{os.getpid()}", SIZES[1])
    source.unlink()
    cache = cache_in(tmp_path / "cache")
    assert not cache.adopt(KEY, str(source), descriptor)
    assert not cache.stats().folders[0].trouble
    os.close(descriptor)


@pytest.mark.parametrize("size", SIZES)
def test_one_that_was_not_finished_when_a_process_ended_counts_as_nothing(tmp_path: Path, size: int) -> None:
    source, descriptor, _ = made(tmp_path / "source", size)
    cache = cache_in(tmp_path / "cache")
    path = Path(next(iter(cache.usable)).file(KEY.name))
    path.parent.mkdir()
    os.link(source, path)
    file = cache.open(KEY, size)
    assert not file.complete
    assert file.missing(0, size)
    fcntl.flock(descriptor, fcntl.LOCK_UN)
    os.close(descriptor)


@pytest.mark.parametrize("size", [5, 2 << 20])
def test_what_was_uploaded_is_handed_over(tmp_path: Path, size: int) -> None:
    cache = cache_in(tmp_path / "cache")
    stage = Stage(tmp_path / "stage", lambda: "name", Handing(cache, KEY.address, AtOnce()).end)
    staged = stage.begin()
    os.pwrite(staged.descriptor, content("name", size), 0)
    staged.arrived(Entry(KEY.path, Kind.FILE, size, 1, KEY.version))
    stage.end(staged)
    assert cache.at_hand(KEY, size) or cache.open(KEY, size).checked
    assert not list((tmp_path / "stage").iterdir())


@pytest.mark.parametrize("why", ["newer than what was uploaded", "cut off", "of no version", "empty"])
def test_what_is_not_what_was_uploaded_is_not_handed_over(tmp_path: Path, why: str) -> None:
    cache = cache_in(tmp_path / "cache")
    stage = Stage(tmp_path / "stage", lambda: "name", Handing(cache, KEY.address, AtOnce()).end)
    staged = stage.begin()
    os.pwrite(staged.descriptor, b"" if why == "empty" else b"some", 0)
    version = "" if why == "of no version" else KEY.version
    staged.arrived(Entry(KEY.path, Kind.FILE, {"cut off": 5, "empty": 0}.get(why, 4), 1, version))
    if why == "newer than what was uploaded":
        staged.touched()
    stage.end(staged)
    assert not cache.open(KEY, 4).complete
    assert not list((tmp_path / "stage").iterdir())
